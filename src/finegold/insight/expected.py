"""How often labels with a given confidence are right on real data; measured for the default method only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv

from finegold.insight.votes import truth_codes, votes_of
from finegold.methods.anchored import small_data_caution
from finegold.methods.measured import BINS, METHOD, N_SETS, SETTINGS
from finegold.results import metrics
from finegold.results.data import ResultData, summarise
from finegold.results.metrics import temper
from finegold.votes.encoding import MISSING, Codes, Names
from finegold.votes.frames import make_frame

__all__ = [
    "Calibration",
    "Expected",
    "calibration",
    "caution",
    "expected_accuracy",
    "expected_of",
    "in_words",
    "widened",
]


WITHOUT_EFFECT = {"seed", "tolerance"}  # settings that do not change the results of the default method
STANDARD_ERRORS = 1.2816  # on either side of the mean, 80 % of a normal distribution: its 10th to 90th percentile


class Expected(NamedTuple):
    """Shares of right labels: the range of four in five families of data sets, and means over families."""

    low: float
    mean: float
    high: float
    people: float  # where people voted
    machines: float  # where LLMs, systems or labelling functions voted


def expected_accuracy(confidence: ArrayLike) -> Expected:
    """Return the share of labels with this confidence that is right on real data sets.

    `bench/real_confidence.py` measured the shares for the default method. Between its bins they are interpolated.

    Parameters
    ----------
    confidence : float or array of floats
        The confidence of a label, or of each label of a result.

    Returns
    -------
    Expected
        `low`, `mean` and `high`, and the means where `people` and where `machines` voted. For several labels, these
        are means over the labels, and the range includes the sampling error for this number of labels.

    Examples
    --------
    >>> from finegold.insight import expected_accuracy
    >>> low, mean, high, *_ = expected_accuracy(0.85)
    >>> low < mean < high
    True
    """
    values: NDArray[np.float64] = np.atleast_1d(np.asarray(confidence, dtype=float))
    bins = np.array(BINS).T
    low, mean, high, people, machines = (float(np.interp(values, bins[0], column).mean()) for column in bins[1:])
    if values.size > 1:
        low, mean, high = widened(low, mean, high, values.size)
    return Expected(low, mean, high, people, machines)


def widened(low: float, mean: float, high: float, n: int) -> tuple[float, float, float]:
    """Return the range with the sampling error of n labels added in quadrature."""
    error = STANDARD_ERRORS * np.sqrt(mean * (1 - mean) / n)
    return (
        max(float(mean - np.hypot(mean - low, error)), 0.0),
        mean,
        min(float(mean + np.hypot(high - mean, error)), 1.0),
    )


def expected_of(result: ResultData) -> Expected | None:
    """Return the expected accuracy of a result's labels; None if another method or other settings produced them."""
    found = result.gold == MISSING
    return expected_accuracy(result.confidence[found]) if found.any() and _is_measured(result) else None


def in_words(expected: Expected) -> str:
    """Return a sentence that states the expected accuracy."""
    low, mean, high, people, machines = (f"{100 * share:.0f}" for share in expected)
    return (
        f"On {N_SETS} real data sets, {low} to {high} % of labels with this confidence were right, {mean} % on "
        f"average ({people} % where people voted, {machines} % where LLMs, systems or labelling functions did)."
    )


def caution(result: ResultData) -> str:
    """Return a warning if the result has few tasks; empty for results of methods other than the default."""
    return small_data_caution(len(result.label_codes)) if _is_measured(result) else ""


def _is_measured(result: ResultData) -> bool:
    settings = {name: value for name, value in result.all_settings.items() if name not in WITHOUT_EFFECT}
    return result.method == METHOD and settings == SETTINGS and result.combined is None


Floats = NDArray[np.float64]
AnyResult = TypeVar("AnyResult", bound=ResultData)

N_FOLDS = 5
MAX_LOG_TEMPERATURE = np.log(20.0)  # temperatures lie between 1/20 and 20
MIN_PROBABILITY = 1e-15  # smaller probabilities are raised to this, so that a temperature can raise them further


@dataclass(frozen=True, eq=False)
class Calibration:
    """Metrics on `n` truths; fields ending in `_after` use the temperature, cross-validated."""

    n: int
    accuracy: float
    confidence: float  # mean probability of the labels
    ece: float  # expected calibration error, 15 bins
    log_loss: float
    temperature: float
    ece_after: float
    log_loss_after: float
    posterior: Floats = field(repr=False)  # [n, K] of the tasks with a truth
    truth: Codes = field(repr=False)  # [n]
    names: Names = field(repr=False)  # of the tasks; the curve is a data frame of their kind

    def curve(self) -> Any:
        """Return a data frame with one row per bin of confidence: mean confidence, accuracy and its 95 % interval."""
        confidence, right = self.posterior.max(axis=1), metrics.credit(self.posterior, self.truth)
        of_bin = metrics.bin_of(confidence)
        n = np.bincount(of_bin, minlength=metrics.BINS)
        used = n > 0
        n, hits = n[used], np.bincount(of_bin, right, minlength=metrics.BINS)[used]
        low, high = (betaincinv(hits + 0.5, n - hits + 0.5, tail) for tail in (0.025, 0.975))
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
        names = ("n", "accuracy", "confidence", "ece", "log_loss", "temperature", "ece_after", "log_loss_after")
        return {name: getattr(self, name) for name in names}

    def apply(self, result: AnyResult) -> AnyResult:
        """Return the same labels with calibrated probabilities."""
        combined = result.combined and replace(
            result.combined, posterior=temper(result.combined.posterior, self.temperature)
        )
        posterior = np.where((result.gold == MISSING)[:, None], _tempered(result, self.temperature), result.posterior)
        made = summarise(result.method, result.settings, votes_of(result), posterior, result.steps, result.learned)
        note = f"Probabilities have the temperature {self.temperature:.3g}, fitted to {self.n:,} known truths."
        return replace(
            result,
            **{name: getattr(made, name) for name in ("posterior", "accuracy", "accuracy_low", "accuracy_high")},
            temperature=self.temperature * result.temperature,
            combined=combined,
            notes=[*result.notes, note],
        )


def calibration(result: ResultData, truth: Any, seed: int = 0) -> Calibration:
    """Measure the calibration of a result with known truths (a path, a data frame or a mapping)."""
    codes = truth_codes(result, truth)
    known, n_classes = codes != MISSING, len(result.class_names)
    # One column stands for all classes that nobody voted for: their number must not change the temperature.
    truths = np.minimum(codes[known], np.int32(n_classes))
    posterior = metrics.padded(result.posterior[known], n_classes + 1)
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


def _tempered(result: ResultData, temperature: float) -> Floats:
    return temper(np.maximum(result.posterior, MIN_PROBABILITY), temperature)


def _best_temperature(posterior: Floats, truth: Codes) -> float:
    rows = np.maximum(posterior, MIN_PROBABILITY)

    def loss(log_temperature: float) -> float:
        """Return the log loss plus a normal prior on the log temperature, which a few right labels do not bound."""
        prior = log_temperature**2 / (2 * len(truth))
        return metrics.log_loss(temper(rows, float(np.exp(log_temperature))), truth) + prior

    best = minimize_scalar(
        loss, bounds=(-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(best.x))


def _cross_fitted(posterior: Floats, truth: Codes, rng: np.random.Generator) -> Floats:
    """Return the posterior of each fold with the temperature fitted to the other folds."""
    fold = rng.permutation(len(truth)) % N_FOLDS
    after = posterior.copy()
    for f in np.unique(fold) if len(truth) > 1 else []:
        rest = fold != f
        temperature = _best_temperature(posterior[rest], truth[rest])
        after[~rest] = temper(np.maximum(posterior[~rest], MIN_PROBABILITY), temperature)
    return after
