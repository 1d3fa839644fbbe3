"""How well confidences match known truths, and a temperature that makes them match better."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from finegold.insight.votes import Floats, truth_codes
from finegold.results import metrics
from finegold.results.data import ResultData, summarise
from finegold.results.metrics import temper
from finegold.votes.encoding import MISSING, Codes, Names
from finegold.votes.frames import make_frame

AnyResult = TypeVar("AnyResult", bound=ResultData)

N_FOLDS = 5
# temperatures lie between 1/20 and 20
MAX_LOG_TEMPERATURE = np.log(20.0)
# smaller probabilities are raised to this, so that a temperature can raise them further
MIN_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class Calibration:
    """Metrics on `n` truths; fields ending in `_after` use the temperature, cross-validated."""

    n: int
    accuracy: float
    # mean probability of the labels
    confidence: float
    # expected calibration error, 15 bins
    ece: float
    log_loss: float
    temperature: float
    ece_after: float
    log_loss_after: float
    # [n, K] of the tasks with a truth
    posterior: Floats = field(repr=False)
    # [n]
    truth: Codes = field(repr=False)
    # of the tasks; the curve is a data frame of their kind
    names: Names = field(repr=False)

    def curve(self) -> Any:
        """Return a data frame of bins of confidence: their accuracy with a 95 % interval."""
        confidence, right = self.posterior.max(axis=1), metrics.credit(self.posterior, self.truth)
        of_bin = metrics.bin_of(confidence)
        n = np.bincount(of_bin, minlength=metrics.BINS)
        used = n > 0
        n, hits = n[used], np.bincount(of_bin, right, minlength=metrics.BINS)[used]
        low, high = metrics.exact_interval(hits, n)
        edges = np.arange(metrics.BINS + 1) / metrics.BINS
        columns = {
            "low": edges[:-1][used],
            "high": edges[1:][used],
            "n": n,
            "confidence": np.bincount(of_bin, confidence, minlength=metrics.BINS)[used] / n,
            "accuracy": hits / n,
            "accuracy_low": low,
            "accuracy_high": high,
        }
        return make_frame(columns, like=self.names)

    def figures(self) -> dict[str, float]:
        return {name: value for name, value in vars(self).items() if isinstance(value, float | int)}

    def apply(self, result: AnyResult) -> AnyResult:
        """Return the same labels with calibrated probabilities."""
        note = (
            f"Confidences have the temperature {self.temperature:.3g}, fitted to {self.n:,} known"
            " truths."
        )
        return _tempered(result, self.temperature, note)


def keep_temperature(result: AnyResult, temperature: float) -> AnyResult:
    """Return the result with the temperature that an earlier result of the same votes had."""
    note = f"Confidences keep the temperature {temperature:.3g} of the earlier calibration."
    return _tempered(result, temperature, note)


def _tempered(result: AnyResult, temperature: float, note: str) -> AnyResult:
    combined = result.combined
    if combined:
        combined = replace(combined, posterior=temper(combined.posterior, temperature))
    tempered = temper(np.maximum(result.posterior, MIN_PROBABILITY), temperature)
    posterior = np.where((result.gold == MISSING)[:, None], tempered, result.posterior)
    votes, settings = result.annotations, result.settings
    made = summarise(result.method, settings, votes, posterior, result.steps, result.learned)
    return replace(
        result,
        posterior=made.posterior,
        annotator_accuracy=made.annotator_accuracy,
        annotator_accuracy_low=made.annotator_accuracy_low,
        annotator_accuracy_high=made.annotator_accuracy_high,
        temperature=temperature * result.temperature,
        combined=combined,
        notes=[*result.notes, note],
    )


def calibration(result: ResultData, truth: Any, seed: int = 0) -> Calibration:
    """Measure the calibration of a result with known truths (a path, a data frame or a mapping)."""
    codes = truth_codes(result, truth)
    known, n_classes = codes != MISSING, len(result.class_names)
    # One column stands for all classes that nobody voted for: their number must not change the
    # temperature.
    truths = np.minimum(codes[known], np.int32(n_classes))
    posterior = metrics.pad_classes(result.posterior[known], n_classes + 1)
    after = _cross_fitted(posterior, truths, np.random.default_rng(seed))
    return Calibration(
        n=len(truths),
        accuracy=metrics.accuracy(posterior, truths),
        confidence=float(posterior.max(axis=1).mean()),
        ece=metrics.calibration_error(posterior, truths),
        log_loss=metrics.log_loss(posterior, truths),
        temperature=_best_temperature(posterior, truths),
        ece_after=metrics.calibration_error(after, truths),
        log_loss_after=metrics.log_loss(after, truths),
        posterior=posterior,
        truth=truths,
        names=result.task_names,
    )


def _best_temperature(posterior: Floats, truth: Codes) -> float:
    # importing it takes a quarter of a second
    from scipy.optimize import minimize_scalar

    rows = np.maximum(posterior, MIN_PROBABILITY)

    def loss(log_temperature: float) -> float:
        """Return the log loss, with a normal prior that bounds the log temperature."""
        prior = log_temperature**2 / (2 * len(truth))
        return metrics.log_loss(temper(rows, float(np.exp(log_temperature))), truth) + prior

    ends = (-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE)
    return float(
        np.exp(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-3}).x)
    )


def _cross_fitted(posterior: Floats, truth: Codes, rng: np.random.Generator) -> Floats:
    """Return the posterior of each fold with the temperature fitted to the other folds."""
    fold = rng.permutation(len(truth)) % N_FOLDS
    after = posterior.copy()
    for f in np.unique(fold) if len(truth) > 1 else []:
        rest = fold != f
        temperature = _best_temperature(posterior[rest], truth[rest])
        after[~rest] = temper(np.maximum(posterior[~rest], MIN_PROBABILITY), temperature)
    return after
