r"""Combine votes with the class probabilities of models, after any method has been fitted to the
votes.

    q_i    posterior of the method for task i, from the votes alone
    x_mi   logarithms of the probabilities of model m; 0 for tasks without a prediction.
    Probabilities are .001 at least r_i    posterior of votes and predictions, at first q_i

With 25 known truths or more, r_i is proportional to exp(v log q_i + sum_m w_m x_mi). The weights v
and w maximise the likelihood of the truths, with normal priors of variance 1/4 whose means are .8
for v and .6 / (number of models) for w_m. All q are then those of a fit without the truths, so that
v is learned from what it is applied to.

Otherwise the votes say what models are worth. Each of three rounds estimates annotators from r,
with everybody's matrix as half of their evidence, as `anchored` does, so that they profit from the
predictions:

    n_jkl  = sum of r_ik over the votes of annotator j for l
    mu_kl  = (sum_j n_jkl + 1/2) / its row sum
    pi_jkl = (n_jkl + 2 mu_kl) / its row sum
    A_ik   = sum over the votes (j, l) on i of (log pi_jkl + log mu_kl) / 2, divided by the design
    effect D_i,
             + log mean r_k
    V_i    = log softmax(log q_i / 4 + 3 A_i / 4)
    r_i    proportional to exp(V_i + sum_m w_m x_mi)

D_i = 1 + (d_i - 1) rho, where d_i is the number of votes and rho the correlation of two residuals
of a task (whether a vote is right, minus the accuracy of its annotator): annotators who err
together must not outvote a model. The weights maximise the likelihood of the votes, sum_i log sum_k
c_ik exp(V_ik) with c_i = softmax(sum_m w_m x_mi), with normal priors of mean 1 / (number of models)
and precision (n + 10) / 10 for a model with n predictions: annotators who err together look like a
model that errs, however many tasks there are.

Without truths, a model is ignored, w_m = 0, if its labels agree with those of the votes no more
than chance does (a kappa below .1 on more than 10 tasks), or if it repeats the votes: it agrees
with the most frequent votes of contested tasks more often than the truth does, by three standard
deviations.

If the classes that a model predicts have other frequencies than those of the votes (three tenths of
the tasks would have to change), they are not trusted: the mean of x_m over its n tasks (their sum /
(n + 10)) is subtracted. An answer without a probability has one of .9.

Where a model and the labels of the votes differ, votes cannot say who is right; where they agree,
both may err. If they agree on a share a of the tasks, where the labels have the mean q g, the model
is taken to be right on .8 a g of the tasks at least, and may be right on all.
docs/guides/predictions.md has figures of all this on real crowds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from finegold.fitting.solve import fit
from finegold.methods.base import Method
from finegold.methods.lookup import method_of
from finegold.results.data import (
    BESIDE_SETTINGS,
    Combined,
    ModelRecord,
    ResultData,
    summarise,
    votes_of,
)
from finegold.results.metrics import exact_interval
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import MISSING, Codes, match

Floats = NDArray[np.float64]

# that weights are learned from
ENOUGH_TRUTHS = 25
# means of the weights of votes and models before truths are seen
TRUSTED = (0.8, 0.6)
# of these weights
VARIANCE = 0.25
LEAST_PROBABILITY = 1e-3
# added to the tasks of a model in its mean and its prior, for models with few predictions
PRIOR_TASKS = 10
# so that tasks without votes have the order of classes that the model gives them
LEAST_WEIGHT = 0.01
# precision of the prior of a weight, per task, without truths
PULL = 0.1
# in which annotators are estimated from the combined posterior
ROUNDS = 3
# weight of the method's own evidence; the rest is that of annotators estimated from r
METHOD_SHARE = 0.25
# weight of an annotator's own matrix; the rest is everybody's
OWN_SHARE = 0.5
# that everybody's matrix counts for in that of each annotator
PRIOR_VOTES = 2.0
# for each class and vote in everybody's matrix
PSEUDO_VOTES = 0.5
# share of tasks that would have to change for a model to have the frequencies of the votes
OTHER_FREQUENCIES = 0.3
# of a model with the labels of the votes; one that agrees less is ignored
LEAST_KAPPA = 0.1
# largest share of votes for a class at which a task shows whether a model has seen the votes
CONTESTED = 0.75
# standard deviations by which a model agrees more with contested votes than their posterior allows
SUSPICIOUS = 3.0
# probability of an answer of a model without probabilities
SURE_OF_ANSWERS = 0.9
# share of the expected accuracy of labels on which votes and a model agree that is relied on
RELIABLE = 0.8
# share of tasks that a model must gain in another order of its classes, to say so
OTHER_ORDER = 0.2
PREDICTED_ONLY = "tasks without votes were labelled from predictions only."


def combine(
    result: ResultData, predictions: Predictions, method: Method | None = None
) -> ResultData:
    """Return the result with labels that follow from votes and predictions together."""
    # The method is needed if it is not registered, and enough truths are known.
    result = without_predictions(result)
    votes, n = votes_of(result), len(result.posterior)
    known = np.flatnonzero((votes.gold != MISSING) & predictions.known[:, :n].any(axis=0))
    by_truths = len(known) >= ENOUGH_TRUTHS
    unseen = replace(votes, gold=np.full_like(votes.gold, MISSING))
    alone = fit(method or method_of(result), unseen) if by_truths else result
    of_votes = alone.posterior.astype(np.float64)
    x = np.stack([_logs(p, of_votes) for p in predictions.probabilities])
    kappas = [_kappa(p[:n], of_votes) for p in predictions.probabilities]
    repeats = [_repeats(p[:n], of_votes, votes) for p in predictions.probabilities]
    is_used = np.array([kappa >= LEAST_KAPPA for kappa in kappas]) & ~np.array(repeats)
    weights, posterior = np.zeros(len(x)), of_votes
    if by_truths:
        weights, posterior = _from_truths(of_votes, x[:, :n], known, votes.gold[known])
    elif is_used.any():
        weights[is_used], posterior = _from_votes(of_votes, x[is_used, :n], votes)
    predicted = softmax(np.tensordot(weights, x[:, n:], 1), axis=1)
    fixed = np.flatnonzero(votes.gold != MISSING)
    posterior[fixed] = np.eye(votes.n_classes)[votes.gold[fixed]]
    records, notes = _describe(
        predictions, weights, posterior, of_votes, votes, by_truths, kappas, repeats
    )
    if n_more := len(predictions.task_names):
        notes.append(f"{n_more:,} {PREDICTED_ONLY}")
    joint = _with_posterior(result, posterior.astype(result.posterior.dtype))
    unlabelled = joint.unlabelled
    if len(unlabelled) and n_more:
        unlabelled = unlabelled[
            np.flatnonzero(match(unlabelled.to_list(), predictions.task_names) == MISSING)
        ]
    combined = Combined(predictions, result.posterior, predicted, records)
    return replace(joint, combined=combined, notes=[*joint.notes, *notes], unlabelled=unlabelled)


def without_predictions(result: ResultData) -> ResultData:
    """Return the result of the votes alone."""
    if result.combined is None:
        return result
    of_votes = _with_posterior(result, result.combined.votes_posterior)
    starts = tuple(f"Model {one.model}" for one in result.combined.records)
    notes = [
        note
        for note in of_votes.notes
        if not note.startswith(starts) and not note.endswith(PREDICTED_ONLY)
    ]
    return replace(of_votes, notes=notes, temperature=1.0)


def _with_posterior(result: ResultData, posterior: Floats) -> ResultData:
    summary = summarise(
        result.method, result.settings, votes_of(result), posterior, result.steps, result.learned
    )
    kept = (
        "converged",
        "stopped",
        "seconds",
        "notes",
        *BESIDE_SETTINGS.values(),
    )
    return replace(summary, **{name: getattr(result, name) for name in kept})


def gives_answers(probabilities: Floats) -> bool:
    """Return whether a model is certain of everything it says, as one is that gives answers without
    probabilities.
    """
    return probabilities.shape[1] > 1 and bool(np.isin(probabilities, (0, 1)).all())


def _logs(probabilities: Floats, of_votes: Floats) -> Floats:
    """[T + P, K] Return x: log p, or what it says about each task beyond what it says about all of
    them.
    """
    known, K = probabilities.any(axis=1), probabilities.shape[1]
    if gives_answers(probabilities):
        probabilities = probabilities * SURE_OF_ANSWERS + (1 - probabilities) * (
            1 - SURE_OF_ANSWERS
        ) / (K - 1)
    logs = np.log(np.maximum(probabilities[known], LEAST_PROBABILITY))
    said = np.bincount(logs.argmax(axis=1), minlength=K) / max(len(logs), 1)
    if np.abs(said - of_votes.mean(axis=0)).sum() / 2 > OTHER_FREQUENCIES:
        logs -= logs.sum(axis=0) / (len(logs) + PRIOR_TASKS)
    x = np.zeros_like(probabilities)
    x[known] = logs
    return x


def _kappa(probabilities: Floats, of_votes: Floats) -> float:
    """Return how far a model agrees with the labels of the votes: 0 as by chance, 1 always, and for
    few tasks.
    """
    known, K = probabilities.any(axis=1), probabilities.shape[1]
    if known.sum() <= PRIOR_TASKS:
        return 1.0
    said, voted = (np.eye(K)[p[known].argmax(axis=1)] for p in (probabilities, of_votes))
    chance = float(said.mean(axis=0) @ voted.mean(axis=0))
    return (
        1.0 if chance == 1 else float(((said * voted).sum(axis=1).mean() - chance) / (1 - chance))
    )


def _from_truths(
    of_votes: Floats, x: Floats, known: NDArray[np.int64], truth: Codes
) -> tuple[Floats, Floats]:
    """Return the weights of models with which, beside a weight of the votes, they predict truths
    best, and r.
    """
    evidence = np.concatenate([np.log(np.maximum(of_votes, LEAST_PROBABILITY))[None], x])
    seen = evidence[:, known]
    of_truth = seen[:, np.arange(len(truth)), truth].sum(axis=1)
    mean = np.append(TRUSTED[0], np.full(len(x), TRUSTED[1] / len(x)))

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores, off = np.tensordot(weights, seen, 1), weights - mean
        gained = of_truth - (softmax(scores, axis=1) * seen).sum(axis=(1, 2))
        fitting = weights @ of_truth - logsumexp(scores, axis=1).sum()
        return float(off @ off / VARIANCE / 2 - fitting), off / VARIANCE - gained

    weights = _minimum(loss, mean)
    return weights[1:], softmax(np.tensordot(weights, evidence, 1), axis=1)


def _from_votes(of_votes: Floats, x: Floats, votes: Annotations) -> tuple[Floats, Floats]:
    """Return the weights of models that explain the votes best, and r."""
    posterior, cast = of_votes, votes.votes()
    of_method = np.log(np.maximum(of_votes, LEAST_PROBABILITY))
    mean, pull = np.full(len(x), 1 / len(x)), PULL * (PRIOR_TASKS + x.any(axis=2).sum(axis=1))
    for _ in range(ROUNDS):
        classes = np.log(posterior.mean(axis=0) + LEAST_PROBABILITY)
        of_annotators = _likelihood(cast, posterior, votes.n_annotators) + classes
        evidence = log_softmax(
            METHOD_SHARE * of_method + (1 - METHOD_SHARE) * of_annotators, axis=1
        )

        def loss(weights: Floats, evidence: Floats = evidence) -> tuple[float, Floats]:
            log_c, off = log_softmax(np.tensordot(weights, x, 1), axis=1), weights - mean
            total = logsumexp(log_c + evidence, axis=1, keepdims=True)
            slope = np.exp(log_c + evidence - total) - np.exp(log_c)
            return float(pull * off @ off / 2 - total.sum()), pull * off - (slope * x).sum(
                axis=(1, 2)
            )

        weights = _minimum(loss, mean)
        posterior = softmax(evidence + np.tensordot(weights, x, 1), axis=1)
    return weights, posterior


def _minimum(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    # importing it takes a quarter of a second, and few fits have predictions
    from scipy.optimize import minimize

    return np.asarray(
        minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(LEAST_WEIGHT, None)] * len(start)
        ).x
    )


def _likelihood(votes: tuple[Any, Any, Any], posterior: Floats, n_annotators: int) -> Floats:
    """[T, K] Return A, with the annotators' matrices estimated from the posterior."""
    task, annotator, label = votes
    n_tasks, K = posterior.shape
    cell = annotator.astype(np.int64) * K + label
    counts = np.stack([np.bincount(cell, posterior[task, k], n_annotators * K) for k in range(K)])
    counts = counts.reshape(K, n_annotators, K).transpose(1, 0, 2)
    everybody = counts.sum(axis=0) + PSEUDO_VOTES
    everybody /= everybody.sum(axis=1, keepdims=True)
    own = counts + PRIOR_VOTES * everybody
    own /= own.sum(axis=2, keepdims=True)
    evidence = OWN_SHARE * np.log(own) + (1 - OWN_SHARE) * np.log(everybody)
    sums = np.stack(
        [np.bincount(task, evidence[annotator, k, label], n_tasks) for k in range(K)], axis=1
    )
    design_effect = 1 + (np.bincount(task, minlength=n_tasks) - 1) * _correlation(
        votes, posterior, n_annotators
    )
    return np.asarray(sums / design_effect[:, None])


def _correlation(votes: tuple[Any, Any, Any], posterior: Floats, n_annotators: int) -> float:
    """Return the correlation of two residuals of a task: whether a vote is right, minus its
    annotator's accuracy.
    """
    task, annotator, label = votes
    right = posterior[task, label]
    accuracy = np.bincount(annotator, right, n_annotators) / np.bincount(
        annotator, minlength=n_annotators
    )
    # rounding
    accuracy = np.clip(accuracy, 0.0, 1.0)
    # and the largest ones
    residuals = (right - accuracy[annotator], np.sqrt(accuracy * (1 - accuracy))[annotator])
    # of two of a task
    products = ((np.bincount(task, values) ** 2).sum() - (values**2).sum() for values in residuals)
    observed, most = map(float, products)
    return min(max(observed / most, 0.0), 1.0) if most > 0 else 0.0


def _describe(
    predictions: Predictions,
    weights: Floats,
    posterior: Floats,
    of_votes: Floats,
    votes: Annotations,
    by_truths: bool,
    kappas: list[float],
    repeats: list[bool],
) -> tuple[list[ModelRecord], list[str]]:
    """Return what was learned about each model; and for people, also what cannot be known, and what
    looks wrong.
    """
    records, notes = [], []
    each = zip(
        predictions.models,
        predictions.probabilities,
        weights.tolist(),
        kappas,
        repeats,
        strict=True,
    )
    for name, p, weight, kappa, is_repeating in each:
        given = np.flatnonzero(p.any(axis=1))
        voted = given[given < len(posterior)]
        said, q, truth = p[voted].argmax(axis=1), of_votes[voted], votes.gold[voted]
        n_truths, hits = int((truth != MISSING).sum()), int((said == truth).sum())
        # Clopper and Pearson, 95 %
        if by_truths:
            low, high = map(float, exact_interval(hits, n_truths))
        else:
            agreed = np.where(said == q.argmax(axis=1), q.max(axis=1), 0.0)
            low, high = RELIABLE * agreed.mean() if weight else 0.0, 1.0
        accuracy = min(max(float(posterior[voted, said].mean()), low), high)
        confidence, counts = float(p[voted, said].mean()), (len(voted), len(given) - len(voted))
        records.append(
            ModelRecord(name, *counts, weight, accuracy, confidence, float(low), float(high))
        )
        worth = (
            f"Model {name}: weight {weight:.2f}, right on about {accuracy:.0%} of {len(voted):,}"
            " tasks with votes"
        )
        claims = "it gives no probabilities" if gives_answers(p) else f"claims {confidence:.0%}"
        between = f"{low:.0%} to {high:.0%}"
        unknown = (
            "Votes cannot say who is right where it differs from them, so it may be right on"
            f" {between};"
        )
        checks = f"{ENOUGH_TRUTHS} tasks that you check (as gold) settle how far to follow it."
        if by_truths:
            notes.append(f"{worth} ({between} by {n_truths:,} known truths; {claims}).")
        else:
            notes.append(
                f"{worth} ({claims}). {f'{unknown} {checks}' if weight else 'It is ignored.'}"
            )
        if (other := _better_order(said, q)) is not None:
            what = (
                f'"{votes.class_names[other[0]]}" where the votes say'
                f' "{votes.class_names[other[1]]}"'
            )
            notes.append(f"Model {name} says {what}; are its classes in another order?")
        elif kappa < LEAST_KAPPA:
            notes.append(f"Model {name} agrees with the votes no more often than chance does.")
        elif is_repeating:
            what = f"Model {name} follows contested votes more often than a perfect model would"
            notes.append(
                f"{what}; if it was trained on these votes, predict out of sample"
                " (cross-validation)."
            )
    return records, notes


def _repeats(probabilities: Floats, of_votes: Floats, votes: Annotations) -> bool:
    """Return whether a model agrees with the most frequent votes of contested tasks more often than
    the truth does.
    """
    counts = np.zeros((votes.n_tasks, votes.n_classes))
    counts[np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr)), votes.cell_class] = (
        np.diff(votes.cell_ptr)
    )
    most = counts.max(axis=1, keepdims=True)
    is_contested = most[:, 0] < CONTESTED * counts.sum(axis=1)
    contested = np.flatnonzero(is_contested & probabilities.any(axis=1))
    leads = (counts == most)[contested]
    agreed = leads[np.arange(len(contested)), probabilities[contested].argmax(axis=1)].sum()
    expected = (of_votes[contested] * leads).sum(axis=1)
    return bool(
        agreed - expected.sum() > SUSPICIOUS * np.sqrt((expected * (1 - expected)).sum() + 1)
    )


def _better_order(said: NDArray[np.int64], of_votes: Floats) -> tuple[int, int] | None:
    """Return a class that a model says, and the class of the votes that it fits, if another order
    fits far better.
    """
    from scipy.optimize import linear_sum_assignment

    K = of_votes.shape[1]
    shares = np.stack([np.bincount(said, of_votes[:, k], K) for k in range(K)], axis=1) / max(
        len(said), 1
    )
    here, there = linear_sum_assignment(-shares)
    if shares[here, there].sum() <= np.trace(shares) + OTHER_ORDER:
        return None
    moved = np.where(here != there, shares[here, there], -1.0)
    return int(here[moved.argmax()]), int(there[moved.argmax()])
