r"""Combine votes with the class probabilities of models, after any method has been fitted to the votes.

    p_mi   probabilities of model m for task i, at least 10^-4; x_mi = log p_mi minus its mean over the n tasks of the
           model (their sum / (n + 10)), and 0 for tasks without a prediction
    q_i    posterior of the method, from the votes alone; M_i = log q_i - log mean q
    r_i    posterior of votes and predictions; at first q_i

Each of three rounds estimates annotators from r, with everybody's matrix as half of their evidence, as `anchored` does,
so that they profit from the predictions:

    n_jkl  = sum of r_ik over the votes of annotator j for l
    mu_kl  = (sum_j n_jkl + 1/2) / its row sum
    pi_jkl = (n_jkl + 2 mu_kl) / its row sum
    A_ik   = sum over the votes (j, l) on i of (log pi_jkl + log mu_kl) / 2, divided by the design effect D_i
    V_i    = M_i / 4 + 3 A_i / 4, the log-likelihood of the votes on task i

D_i = 1 + (d_i - 1) rho, where d_i is the number of votes and rho the correlation of two residuals of a task (whether a
vote is right, minus the accuracy of its annotator): annotators who err together must not outvote a model. Known truths
replace V_i. A class is drawn from c_i, and votes are drawn given the class:

    c_i = softmax(b + sum_m B_m x_mi)
    r_i proportional to c_i exp(V_i)

The matrices B and biases b maximise the likelihood of the votes, sum_i log sum_k c_ik exp(V_ik), with normal priors.
Those of B_m have the mean I / (number of models) and a weight in proportion to n + 10: annotators who err together look
like a model that errs, however many tasks there are. So B is what the votes say that a single model is worth: I if its
probabilities are calibrated, less on the diagonal if it is overconfident, 0 if it does not predict the votes, and
positive beside the diagonal if it says one class where another is true. Copies of a model share its weight. The
posterior of a task without votes is c_i.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from finegold.results.data import BESIDE_SETTINGS, Combined, ModelRecord, ResultData, summarise, votes_of
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import MISSING, as_column, look_up

__all__ = ["combine", "without_predictions"]

Floats = NDArray[np.float64]

LEAST_PROBABILITY = 1e-4  # of a class, as a model predicts it
PRIOR_TASKS = 10  # added to the tasks of a model in its mean and its prior, for models with few predictions
WEIGHT_PENALTY = 0.03  # per task, on half the squares of the diagonal of B - I
CONFUSION_PENALTY = 0.5  # the same beside the diagonal
ROUNDS = 3  # in which annotators are estimated from the combined posterior
METHOD_SHARE = 0.25  # weight of the method's own evidence; the rest is that of annotators estimated from r
OWN_SHARE = 0.5  # weight of an annotator's own matrix; the rest is everybody's
PRIOR_VOTES = 2.0  # that everybody's matrix counts for in that of each annotator
PSEUDO_VOTES = 0.5  # for each class and vote in everybody's matrix
IMPOSSIBLE = -50.0  # log-likelihood of classes other than a known truth


def combine(result: ResultData, predictions: Predictions) -> ResultData:
    """Return the result with labels that follow from votes and predictions together."""
    result = without_predictions(result)
    votes = votes_of(result)
    x = np.stack([_centred(p) for p in predictions.probabilities])
    matrices, bias, posterior = _fit(votes, result.posterior.astype(np.float64), x[:, : votes.n_tasks])
    predicted = softmax(_logits(matrices, bias, x[:, votes.n_tasks :]), axis=1)
    records = _records(predictions, _weights(matrices), np.vstack([posterior, predicted]), votes.n_tasks)
    combined = Combined(predictions, result.posterior, predicted, records)
    joint = _with_posterior(result, posterior.astype(result.posterior.dtype))
    unlabelled = joint.unlabelled
    if len(unlabelled) and len(predictions.task_names):
        place = look_up(as_column(unlabelled), predictions.task_names)  # type: ignore[arg-type]
        unlabelled = unlabelled[np.flatnonzero(place == MISSING)]
    return replace(joint, combined=combined, notes=[*joint.notes, *_notes(combined)], unlabelled=unlabelled)


def without_predictions(result: ResultData) -> ResultData:
    """Return the result of the votes alone."""
    if result.combined is None:
        return result
    of_votes = _with_posterior(result, result.combined.votes_posterior)
    of_models = _notes(result.combined)
    return replace(of_votes, notes=[note for note in of_votes.notes if note not in of_models], temperature=1.0)


def _with_posterior(result: ResultData, posterior: Floats) -> ResultData:
    summary = summarise(result.method, result.settings, votes_of(result), posterior, result.steps, result.learned)
    kept = ("converged", "stopped", "seconds", "notes", "votes_folded_in", *BESIDE_SETTINGS.values())
    return replace(summary, **{name: getattr(result, name) for name in kept})


def _notes(combined: Combined) -> list[str]:
    """Return a sentence about each model, and one about tasks without votes, for people."""
    notes = [
        f"Model {record.model}: weight {record.weight:.2f}, right on about {record.accuracy:.0%} of {record.n_tasks:,} "
        f"tasks with votes (claims {record.confidence:.0%})."
        for record in combined.records
    ]
    n = len(combined.posterior)
    return [*notes, *([f"{n:,} tasks without votes were labelled from predictions only."] if n else [])]


def _centred(probabilities: Floats) -> Floats:
    """[T + P, K] Return x: log p without its mean over tasks, which is what the model says about all of them."""
    known = probabilities.any(axis=1)
    x = np.zeros_like(probabilities)
    logs = np.log(np.maximum(probabilities[known], LEAST_PROBABILITY))
    x[known] = logs - logs.sum(axis=0) / (len(logs) + PRIOR_TASKS)
    return x


def _fit(votes: Annotations, posterior: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the matrix of each model, the bias of each class, and the combined posterior of the tasks with votes."""
    of_method = np.log(np.maximum(posterior, 1e-9)) - np.log(np.maximum(posterior.mean(axis=0), 1e-9))
    cast, known = votes.votes(), np.flatnonzero(votes.gold != MISSING)
    for _ in range(ROUNDS):
        of_annotators = _likelihood(cast, posterior, votes.n_annotators)
        likelihood = METHOD_SHARE * of_method + (1 - METHOD_SHARE) * of_annotators
        likelihood[known] = IMPOSSIBLE
        likelihood[known, votes.gold[known]] = 0.0
        matrices, bias, posterior = _calibrate(x, likelihood)
    return matrices, bias, posterior


def _calibrate(x: Floats, likelihood: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the matrices B and biases b that maximise the penalised likelihood of the votes, and the posterior r."""
    (n_models, _, K), is_diagonal = x.shape, np.eye(x.shape[2]).ravel() == 1
    shape, size = (n_models, K, K), n_models * K * K
    start = np.append(np.tile(is_diagonal / n_models, n_models), np.zeros(K))
    per_task = np.where(is_diagonal, WEIGHT_PENALTY, CONFUSION_PENALTY)
    penalty = np.append(np.outer(PRIOR_TASKS + x.any(axis=2).sum(axis=1), per_task), np.ones(K))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_c = log_softmax(_logits(parameters[:size].reshape(shape), parameters[size:], x), axis=1)
        joint = log_c + likelihood
        total = logsumexp(joint, axis=1, keepdims=True)
        slope = np.exp(joint - total) - np.exp(log_c)
        gradient = np.append(slope.T @ x, slope.sum(axis=0))
        off = parameters - start
        return float(penalty * off @ off / 2 - total.sum()), penalty * off - gradient

    from scipy.optimize import minimize  # importing it takes a quarter of a second, and few fits have predictions

    bounds = [(0.0 if diagonal else None, None) for diagonal in is_diagonal] * n_models + [(None, None)] * K
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    matrices, bias = best[:size].reshape(shape), best[size:]
    return matrices, bias, softmax(_logits(matrices, bias, x) + likelihood, axis=1)


def _logits(matrices: Floats, bias: Floats, x: Floats) -> Floats:
    """[T, K] Return b + sum_m B_m x_mi."""
    return np.asarray(bias + (x @ matrices.transpose(0, 2, 1)).sum(axis=0))


def _weights(matrices: Floats) -> Floats:
    """[M] Return the mean diagonal of each B over that beside it: a for a I; constants in a column have no effect."""
    K = matrices.shape[1]
    diagonal = np.trace(matrices, axis1=1, axis2=2)
    if K == 1:
        return np.asarray(diagonal)
    return np.asarray((diagonal - (matrices.sum(axis=(1, 2)) - diagonal) / (K - 1)) / K)


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
    sums = np.stack([np.bincount(task, evidence[annotator, k, label], n_tasks) for k in range(K)], axis=1)
    design_effect = 1 + (np.bincount(task, minlength=n_tasks) - 1) * _correlation(votes, posterior, n_annotators)
    return np.asarray(sums / design_effect[:, None])


def _correlation(votes: tuple[Any, Any, Any], posterior: Floats, n_annotators: int) -> float:
    """Return the correlation of two residuals of a task: whether a vote is right, minus its annotator's accuracy."""
    task, annotator, label = votes
    right = posterior[task, label]
    accuracy = np.bincount(annotator, right, n_annotators) / np.bincount(annotator, minlength=n_annotators)
    accuracy = np.clip(accuracy, 0.0, 1.0)  # rounding
    observed = _pair_products(task, right - accuracy[annotator])
    most = _pair_products(task, np.sqrt(accuracy * (1 - accuracy))[annotator])
    return min(max(observed / most, 0.0), 1.0) if most > 0 else 0.0


def _pair_products(task: NDArray[Any], values: Floats) -> float:
    """Return the sum of the products of two values of the same task."""
    return float((np.bincount(task, values) ** 2).sum() - (values**2).sum())


def _records(predictions: Predictions, weights: Floats, posterior: Floats, n_tasks: int) -> list[ModelRecord]:
    records = []
    for name, probabilities, weight in zip(
        predictions.models, predictions.probabilities, weights.tolist(), strict=True
    ):
        known = np.flatnonzero(probabilities.any(axis=1))
        voted = known[known < n_tasks]
        best = probabilities[voted].argmax(axis=1)
        accuracy, confidence = posterior[voted, best].mean(), probabilities[voted, best].mean()
        counts = len(voted), len(known) - len(voted)
        records.append(ModelRecord(name, *counts, weight, float(accuracy), float(confidence)))
    return records
