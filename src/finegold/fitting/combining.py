"""Combine votes with the class probabilities of models, after any method has been fitted to the
votes.

    q_i    posterior of the method for task i, from the votes alone
    p_mi   probabilities of model m; .001 at least. An answer without a probability has one of .9

With 25 known truths or more, the posterior of votes and models is proportional to exp(v log q_i +
sum_m w_m log p_mi). The weights maximise the likelihood of the truths, with normal priors of
variance 1/4 whose means are .8 for v and .6 / (number of models) for w_m. All q are then those of a
fit without the truths, so that v is learned from what it is applied to.

Otherwise the votes say what a model is worth, and may be wrong together. Each hypothesis is a power
w of the probabilities (1: they are calibrated; .1: they say next to nothing) and a power v of the
likelihood L_i of the votes, normalised over the classes. Under a hypothesis

    c_i    = sum_l softmax(w log p_i)_l R_l.   what the model says, R_lk the probability of class k
             where the model means l
    s      = ((mean of c_i.c_i - 1 / K) / (1 - 1 / K))^(1/2), how much the model says
    P      = exp(-.15 n r s v) times the product of softmax(v log L_i).c_i over the n tasks

R is learned by EM from L^v; before, the claims of the model count for 30 tasks of each class. r is
the share of votes that only repeat others, 1 - 1 / (mean of D_i): the more there are, and the more
a model says, the less is left to votes that differ from it. The hypotheses are equally probable at
first. Their mean, weighted with P, gives c and v of each model, and the posterior of n models is
proportional to L_i^(mean of v) prod_m c_mi^(1 / sqrt(n)): models err together as annotators do.

The likelihood of the votes is the mean of that of the method and of annotators estimated from q,
log L_i = (log q_i + A_i) / 2 without the frequencies of classes, where

    A_ik   = sum over the votes (j, l) on i of .7 log pi_jkl + .3 log mu_kl, divided by D_i, + log
             tau_k; with mu, pi and tau of q as in `anchored`
    D_i    = 1 + (d_i - 1) rho, with d_i votes, and rho the correlation of two residuals of a task
             (whether a vote is right, minus the accuracy of its annotator)

So no model is ignored because it agrees with the votes, or differs from them. One is: the model
whose classes in another order agree with the votes twice as often, which the user is warned of.

Where a model and the labels of the votes differ, votes cannot say who is right; where they agree,
both may err. If they agree on a share a of the tasks, where the labels have the mean q g, the model
is taken to be right on .7 a g of the tasks at least, and may be right on all.
docs/evidence/predictions.md has figures of all this on real crowds.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from finegold.errors import warn_user
from finegold.fitting.solve import fit
from finegold.methods.anchored import LEAST_SHARE, PRIOR_VOTES
from finegold.methods.base import Method
from finegold.methods.lookup import method_of
from finegold.results.data import (
    Combined,
    ModelRecord,
    ResultData,
    votes_of,
    with_posterior,
)
from finegold.results.matrices import OWN_SHARE
from finegold.results.metrics import exact_interval
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import MISSING, Codes, match

Floats = NDArray[np.float64]

# that weights are learned from
ENOUGH_TRUTHS = 25
# means of the weights of votes and models before truths are seen, and their variance
TRUSTED, VARIANCE = (0.8, 0.6), 0.25
# hypotheses on a model, w, and on the votes beside it, v
MODEL_POWERS = (0.1, 0.25, 0.5, 1.0)
VOTE_POWERS = (0.75, 1.0, 1.5)
# log odds against v, for each task, if all votes repeated others and the model were certain
PRICE_OF_REPEATS = 0.15
# of the labels on which votes and a model agree may be wrong
SHARED_ERRORS = 0.3
# that the claims of a model count for, of each class
CLAIM_TASKS = 30.0
# probability of an answer of a model without probabilities
SURE_OF_ANSWERS = 0.9
PREDICTED_ONLY = "tasks without votes were labelled from predictions only."


def combine(
    result: ResultData, predictions: Predictions, method: Method | None = None
) -> ResultData:
    """Return the result with labels that follow from votes and predictions together.

    The method is needed if it is not registered, and enough truths are known.
    """
    result = without_predictions(result)
    votes, n, K = votes_of(result), len(result.posterior), len(result.class_names)
    fixed = np.flatnonzero(votes.gold != MISSING)
    known = fixed[predictions.known[:, fixed].any(axis=0)]
    by_truths = len(known) >= ENOUGH_TRUTHS
    unseen = replace(votes, gold=np.full_like(votes.gold, MISSING))
    alone = fit(method or method_of(result), unseen) if by_truths else result
    of_votes = alone.posterior.astype(np.float64)
    models = list(zip(predictions.models, predictions.probabilities, strict=True))
    x = np.stack([_logs(p) for _, p in models])
    swapped = {
        name: f'Model {name} says "{votes.class_names[said]}" where the votes say'
        f' "{votes.class_names[voted]}"; are its classes in another order?'
        for name, p in models
        for said, voted in _better_order(p[:n], of_votes)
    }
    used = [m for m, (name, _) in enumerate(models) if by_truths or name not in swapped]
    weights, posterior, predicted = np.zeros(len(x)), of_votes, np.full_like(x[0, n:], 1 / K)
    if used:
        learned = (
            (of_votes, x, known, votes.gold[known]) if by_truths else (of_votes, x[used], votes)
        )
        weights[used], joint = (_from_truths if by_truths else _from_votes)(*learned)
        posterior, predicted = softmax(joint[:n], axis=1), softmax(joint[n:], axis=1)
    posterior[fixed] = np.eye(K)[votes.gold[fixed]]
    records, notes = [], []
    for (name, p), weight in zip(models, weights.tolist(), strict=True):
        record, note = _describe(name, p, weight, posterior, of_votes, votes, by_truths)
        records.append(record)
        notes.append(note)
    for sentence in swapped.values():
        notes.append(sentence)
        if not by_truths:
            warn_user(f"{sentence} It is ignored.")
    both = with_posterior(result, posterior.astype(result.posterior.dtype))
    unlabelled = both.unlabelled
    if n_more := len(predictions.task_names):
        notes.append(f"{n_more:,} {PREDICTED_ONLY}")
        is_labelled = match(unlabelled.to_list(), predictions.task_names) != MISSING
        unlabelled = unlabelled[np.flatnonzero(~is_labelled)]
    combined = Combined(predictions, result.posterior, predicted, records)
    return replace(both, combined=combined, notes=[*both.notes, *notes], unlabelled=unlabelled)


def without_predictions(result: ResultData) -> ResultData:
    """Return the result of the votes alone."""
    if result.combined is None:
        return result
    of_votes = with_posterior(result, result.combined.votes_posterior)
    starts = tuple(f"Model {one.model}" for one in result.combined.records)
    notes = [
        note
        for note in of_votes.notes
        if not note.startswith(starts) and not note.endswith(PREDICTED_ONLY)
    ]
    return replace(of_votes, notes=notes, temperature=1.0)


def gives_answers(probabilities: Floats) -> bool:
    """Return whether a model is certain of everything it says, as one is that gives answers without
    probabilities.
    """
    return probabilities.shape[1] > 1 and bool(np.isin(probabilities, (0, 1)).all())


def _logs(probabilities: Floats) -> Floats:
    """[T + P, K] Return log p; 0 for tasks without a prediction."""
    known, K = probabilities.any(axis=1), probabilities.shape[1]
    if gives_answers(probabilities):
        other = (1 - SURE_OF_ANSWERS) / (K - 1)
        probabilities = probabilities * SURE_OF_ANSWERS + (1 - probabilities) * other
    x = np.zeros_like(probabilities)
    x[known] = np.log(np.maximum(probabilities[known], LEAST_SHARE))
    return x


def _from_truths(
    of_votes: Floats, x: Floats, known: NDArray[np.int64], truth: Codes
) -> tuple[Floats, Floats]:
    """Return the weights of models with which, beside a weight of the votes, they predict truths
    best, and the logarithms of the posterior.
    """
    # importing it takes a quarter of a second, and few fits have predictions
    from scipy.optimize import minimize

    votes = np.zeros_like(x[:1])
    votes[0, : len(of_votes)] = np.log(np.maximum(of_votes, LEAST_SHARE))
    evidence = np.concatenate([votes, x])
    seen = evidence[:, known]
    of_truth = seen[:, np.arange(len(truth)), truth].sum(axis=1)
    mean = np.append(TRUSTED[0], np.full(len(x), TRUSTED[1] / len(x)))

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores, off = np.tensordot(weights, seen, 1), weights - mean
        gained = of_truth - (softmax(scores, axis=1) * seen).sum(axis=(1, 2))
        fitting = weights @ of_truth - logsumexp(scores, axis=1).sum()
        return float(off @ off / VARIANCE / 2 - fitting), off / VARIANCE - gained

    # above 0, so that tasks without votes have the order of classes that the model gives them
    bounds = [(0.01, None)] * len(mean)
    weights = np.asarray(minimize(loss, mean, jac=True, method="L-BFGS-B", bounds=bounds).x)
    return weights[1:], np.asarray(np.tensordot(weights, evidence, 1))


def _from_votes(of_votes: Floats, x: Floats, votes: Annotations) -> tuple[Floats, Floats]:
    """Return the mean power of each model, and the logarithms of the posterior."""
    likelihood, repeats = _likelihood(np.maximum(of_votes, LEAST_SHARE), votes)
    log_likelihood = np.log(likelihood)
    log_c, powers, of_the_votes = zip(
        *(_weigh(each, log_likelihood, repeats) for each in x), strict=True
    )
    share = 1 / np.sqrt(len(x))
    joint = share * sum(log_c)
    joint[: len(of_votes)] += np.mean(of_the_votes) * log_likelihood
    return share * np.array(powers), joint


def _weigh(x: Floats, log_likelihood: Floats, repeats: float) -> tuple[Floats, float, float]:
    """Return log c [T + P, K], w and v of a model: means over the hypotheses."""
    K, voted = x.shape[1], np.flatnonzero(x[: len(log_likelihood)].any(axis=1))
    claims = CLAIM_TASKS * np.eye(K) + 0.5 / max(K - 1, 1)
    log_claims = np.log(claims / claims.sum(axis=1, keepdims=True))
    hypotheses = list(product(MODEL_POWERS, VOTE_POWERS))
    found, scores = [], []
    for power, vote_power in hypotheses:
        said = softmax(power * x[voted], axis=1)
        bears_out = softmax(vote_power * log_likelihood[voted], axis=1)
        R = np.exp(log_claims)
        for _ in range(5):
            total = ((said @ R) * bears_out).sum(axis=1, keepdims=True)
            R = R * (said.T @ (bears_out / total)) + claims
            R /= R.sum(axis=1, keepdims=True)
        c = said @ R
        skill = np.sqrt(max(((c**2).sum(axis=1).mean() * K - 1) / max(K - 1, 1), 0.0))
        price = PRICE_OF_REPEATS * len(voted) * repeats * skill * vote_power
        fitting = np.log((c * bears_out).sum(axis=1)).sum()
        scores.append(fitting - price + (claims * (np.log(R) - log_claims)).sum())
        found.append(R)
    probable, c = softmax(scores), np.zeros_like(x)
    for share, R, (power, _) in zip(probable, found, hypotheses, strict=True):
        c += softmax(power * x, axis=1) @ (share * R)
    c[~x.any(axis=1)] = 1 / K
    power, vote_power = probable @ np.array(hypotheses)
    return np.log(c), float(power), float(vote_power)


def _likelihood(posterior: Floats, votes: Annotations) -> tuple[Floats, float]:
    """Return L, [T, K], with the annotators' matrices estimated from the posterior, and r."""
    task, annotator, label = votes.votes()
    (n_tasks, K), W = posterior.shape, votes.n_annotators
    cell = annotator.astype(np.int64) * K + label
    n = np.stack([np.bincount(cell, posterior[task, k], W * K) for k in range(K)])
    n = n.reshape(K, W, K).transpose(1, 0, 2)
    mu = n.sum(axis=0) + 0.5
    mu /= mu.sum(axis=1, keepdims=True)
    pi = n + PRIOR_VOTES * mu
    pi /= pi.sum(axis=2, keepdims=True)
    w = OWN_SHARE * np.log(pi) + (1 - OWN_SHARE) * np.log(mu)
    A = np.stack([np.bincount(task, w[annotator, k, label], n_tasks) for k in range(K)], axis=1)
    cast = np.bincount(task, minlength=n_tasks)
    design_effect = 1 + (cast - 1) * _correlation((task, annotator, label), posterior, W)
    log_tau = np.log(posterior.mean(axis=0))
    of_annotators = log_softmax(A / design_effect[:, None] + log_tau, axis=1)
    both = (np.log(posterior) + of_annotators) / 2
    return np.asarray(softmax(both - log_tau, axis=1)), 1 - 1 / float(design_effect.mean())


def _correlation(votes: tuple[Any, Any, Any], posterior: Floats, n_annotators: int) -> float:
    """Return the correlation of two residuals of a task: whether a vote is right, minus its
    annotator's accuracy.
    """
    task, annotator, label = votes
    right, cast = posterior[task, label], np.bincount(annotator, minlength=n_annotators)
    # rounding
    accuracy = np.clip(np.bincount(annotator, right, n_annotators) / cast, 0.0, 1.0)
    # and the largest ones
    residuals = (right - accuracy[annotator], np.sqrt(accuracy * (1 - accuracy))[annotator])
    # of two of a task
    products = ((np.bincount(task, values) ** 2).sum() - (values**2).sum() for values in residuals)
    observed, most = map(float, products)
    return min(max(observed / most, 0.0), 1.0) if most > 0 else 0.0


def _describe(
    name: str,
    p: Floats,
    weight: float,
    posterior: Floats,
    of_votes: Floats,
    votes: Annotations,
    by_truths: bool,
) -> tuple[ModelRecord, str]:
    """Return what was learned about a model, and what cannot be known."""
    predicted = np.flatnonzero(p.any(axis=1))
    voted = predicted[predicted < len(posterior)]
    said, q, truth = p[voted].argmax(axis=1), of_votes[voted], votes.gold[voted]
    n_truths, hits = int((truth != MISSING).sum()), int((said == truth).sum())
    if by_truths:
        low, high = map(float, exact_interval(hits, n_truths))
    else:
        agreed = np.where(said == q.argmax(axis=1), q.max(axis=1), 0.0)
        low, high = (1 - SHARED_ERRORS) * float(agreed.mean()) if weight else 0.0, 1.0
    accuracy = min(max(float(posterior[voted, said].mean()), low), high)
    confidence, counts = float(p[voted, said].mean()), (len(voted), len(predicted) - len(voted))
    record = ModelRecord(name, *counts, weight, accuracy, confidence, low, high)
    claims = "it gives no probabilities" if gives_answers(p) else f"claims {confidence:.0%}"
    between, advice = "", ""
    if by_truths:
        between = f"{low:.0%} to {high:.0%} by {n_truths:,} known truths; "
    elif not weight:
        advice = " It is ignored."
    else:
        advice = (
            " Votes cannot say who is right where it differs from them, so it may be right on"
            f" {low:.0%} to {high:.0%}; {ENOUGH_TRUTHS} tasks that you check (as gold) settle how"
            " far to follow it."
        )
    return record, (
        f"Model {name}: weight {weight:.2f}, right on about {accuracy:.0%} of {len(voted):,} tasks"
        f" with votes ({between}{claims}).{advice}"
    )


def _better_order(probabilities: Floats, of_votes: Floats) -> list[tuple[int, int]]:
    """Return a class that a model says, and the class of the votes that it fits, if the model
    agrees with the votes twice as often with its classes in another order.
    """
    from scipy.optimize import linear_sum_assignment

    known, K = probabilities.any(axis=1), of_votes.shape[1]
    said, q = probabilities[known].argmax(axis=1), of_votes[known]
    together = np.stack([np.bincount(said, q[:, k], K) for k in range(K)], axis=1)
    here, there = linear_sum_assignment(-together)
    fits = together[here, there]
    if known.sum() < CLAIM_TASKS or fits.sum() <= 2 * np.trace(together):
        return []
    worst = np.where(here != there, fits, -1.0).argmax()
    return [(int(here[worst]), int(there[worst]))]
