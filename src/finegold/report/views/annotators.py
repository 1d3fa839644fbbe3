"""The quality of each annotator."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.spam import spam
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import ANNOTATORS_TABLE, Matrix, Shown, plain, texts
from finegold.results.data import ResultData
from finegold.results.matrices import matrices
from finegold.votes.encoding import MISSING
from finegold.votes.key import Key

Integers = NDArray[np.int64]

# that are named in each group
MAX_MEMBERS = 50
MAX_ROWS = 300
# in the ranking chart: more lines cannot be told apart
MAX_RANKED = 40
MAX_DOTS = 2000
# in all confusion matrices of a report together
MAX_NUMBERS = 60_000

MATRICES = "confusion matrices of annotators"
# What each value of `spam.kind` means.
KINDS = {
    "one class": "nearly always votes for one class",
    "random": "votes independently of the truth",
    "inverted": "is wrong more often than by chance",
}


@dataclass(frozen=True)
class Group:
    """Annotators who agree more than their accuracy explains."""

    number: int
    members: list[str]
    members_left_out: int
    # 0 for independent annotators, 1 for copies
    excess: float


@dataclass(frozen=True)
class Suspects:
    # [W] -1 for annotators in no group
    group: NDArray[np.int64]
    # [W] "" for annotators who are not suspected
    kind: list[str]
    groups: list[Group]
    # effective number of independent annotators
    effective: float


def suspects(result: ResultData, correlated: CorrelatedAnnotators | None = None) -> Suspects | None:
    """None where the votes are not known."""
    if result.annotations is None:
        return None
    correlated = correlated or correlated_annotators(result)
    groups = []
    for number, excess in enumerate(plain(correlated.excess)):
        members = np.flatnonzero(correlated.group == number)
        names = texts(correlated.names, members[:MAX_MEMBERS])
        groups.append(Group(number + 1, names, len(members) - len(names), excess))
    return Suspects(correlated.group, spam(result).kind.tolist(), groups, correlated.effective)


@dataclass(frozen=True)
class Ranked:
    """What the charts show of an annotator."""

    annotator: str
    n_votes: int
    accuracy: float
    # 95 % interval; None without enough known truths
    low: float | None
    high: float | None


@dataclass(frozen=True)
class AnnotatorRow(Ranked):
    code: int
    rank: int
    agreement: float
    # of each prototype
    weights: list[float]
    # annotators with correlated votes have the same number
    group: int | None
    # the kind of spammer that this annotator may be, or ""
    suspicion: str
    # share of right votes among those on tasks with known truth
    measured: float | None
    n_measured: int


@dataclass(frozen=True)
class Confusions:
    """Confusion matrices of some annotators: truth in rows, vote in columns."""

    annotators: list[str]
    classes: list[str]
    matrices: list[Matrix]
    shown: Shown


@dataclass(frozen=True)
class Annotators:
    n: int
    # mean accuracy, weighted by the number of votes
    mean: float
    lowest: float
    highest: float
    # accuracy of always voting for the most frequent class
    chance: float
    # number of annotators who are better than that, judged by the labels
    n_better: int
    # with an interval, from tasks with known truths
    n_known: int
    rows: list[AnnotatorRow]
    shown: Shown
    ranking: list[Ranked]
    ranking_shown: Shown
    dots: list[Ranked]
    dots_shown: Shown
    confusions: Confusions | None
    # why there are no confusion matrices
    absent: str | None
    groups: list[Group]
    # effective number of independent annotators
    effective: float | None
    n_suspects: int


def annotators(
    result: ResultData,
    key: Key | None = None,
    found: Suspects | None = None,
    *,
    most: int = MAX_ROWS,
) -> Annotators:
    """Return the view of the annotators. `found` comes from `suspects`; without it, nobody is
    marked.
    """
    order = ranking(result)
    chosen, words = _ends(order, most)
    drawn, drawn_words = _ends(order, MAX_RANKED)
    by_votes = np.argsort(-result.votes_per_annotator, kind="stable")[:MAX_DOTS]
    chance = float(result.posterior.mean(axis=0).max())
    return Annotators(
        n=len(order),
        mean=float(np.average(result.accuracy, weights=result.votes_per_annotator)),
        lowest=plain(result.accuracy.min()),
        highest=plain(result.accuracy.max()),
        chance=chance,
        n_better=int((result.accuracy > chance).sum()),
        n_known=int(np.isfinite(result.accuracy_low).sum()),
        rows=annotator_rows(result, chosen, key, found),
        shown=Shown(len(chosen), len(order), words, ANNOTATORS_TABLE),
        ranking=_rank_rows(result, drawn),
        ranking_shown=Shown(len(drawn), len(order), drawn_words, ANNOTATORS_TABLE),
        dots=_rank_rows(result, by_votes),
        dots_shown=Shown(len(by_votes), len(order), "number of votes", ANNOTATORS_TABLE),
        confusions=confusions(result),
        absent=None
        if result.learned.has_matrices
        else f"{result.method} does not learn {MATRICES}.",
        groups=[] if found is None else found.groups,
        effective=None if found is None else found.effective,
        n_suspects=0 if found is None else sum(bool(kind) for kind in found.kind),
    )


def ranking(result: ResultData) -> Integers:
    """Return the annotators, the most accurate first; ties are ordered by the number of votes."""
    return np.lexsort((-result.votes_per_annotator, -result.accuracy))


def confusions(result: ResultData) -> Confusions | None:
    """Those with most votes, as many as a file can bear."""
    if not result.learned.has_matrices:
        return None
    classes = shown_classes(result)
    n = max(MAX_NUMBERS // len(classes) ** 2, 1)
    chosen = np.argsort(-result.votes_per_annotator, kind="stable")[:n]
    confusion = matrices(result, chosen.astype(np.int32), classes)
    return Confusions(
        annotators=texts(result.annotator_names, chosen),
        classes=texts(result.class_names, classes),
        matrices=np.round(confusion, 3).tolist(),
        shown=Shown(
            len(chosen), len(result.accuracy), "number of votes", "result.confusion(annotator)"
        ),
    )


def _ends(order: Integers, most: int) -> tuple[Integers, str]:
    """Return all annotators, or the best and the worst if there are too many."""
    if len(order) <= most:
        return order, "expected accuracy"
    half = most // 2
    words = f"expected accuracy: the {half} best and the {most - half} worst"
    return np.concatenate([order[:half], order[half - most :]]), words


def _rank_rows(result: ResultData, codes: Integers) -> list[Ranked]:
    rows = []
    for name, j in zip(texts(result.annotator_names, codes), codes.tolist(), strict=True):
        ends = (float(end[j]) for end in (result.accuracy_low, result.accuracy_high))
        low, high = (None if np.isnan(end) else end for end in ends)
        rows.append(
            Ranked(name, int(result.votes_per_annotator[j]), plain(result.accuracy[j]), low, high)
        )
    return rows


def annotator_rows(
    result: ResultData, chosen: Integers, key: Key | None = None, found: Suspects | None = None
) -> list[AnnotatorRow]:
    """Return all details of these annotators. `found` comes from `suspects`; without it, nobody is
    marked.
    """
    n = len(result.accuracy)
    rank = np.empty(n, np.int64)
    rank[ranking(result)] = np.arange(1, n + 1)
    # right votes, and all, on tasks with known truth
    right = judged = np.zeros(n, np.int64)
    if key is not None and result.annotations is not None:
        task, who, label = result.annotations.votes()
        right = np.bincount(who[key.codes[task] == label], minlength=n)
        judged = np.bincount(who[key.codes[task] != MISSING], minlength=n)
    weights = result.learned.weights
    return [
        AnnotatorRow(
            code=j,
            rank=int(rank[j]),
            **asdict(drawn),
            agreement=plain(result.agreement[j]),
            weights=[] if weights is None else plain(weights[j]),
            group=None if found is None or found.group[j] == MISSING else int(found.group[j]) + 1,
            suspicion="" if found is None or not found.kind[j] else KINDS[found.kind[j]],
            measured=plain(right[j] / judged[j]) if judged[j] else None,
            n_measured=int(judged[j]),
        )
        for j, drawn in zip(chosen.tolist(), _rank_rows(result, chosen), strict=True)
    ]
