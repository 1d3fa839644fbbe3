"""The quality of each annotator."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.insight.correlation import CorrelatedAnnotators
from finegold.insight.spam import spam
from finegold.report.sections.classes import shown_classes
from finegold.report.sections.common import ANNOTATORS_TABLE, Integers, Matrix, Shown, plain, texts
from finegold.report.sections.subject import Subject
from finegold.results.data import ResultData, votes_of
from finegold.results.matrices import matrices
from finegold.votes.encoding import MISSING
from finegold.votes.key import Key

# that are named in each group
MAX_MEMBERS = 50
MAX_ROWS = 300
# in the ranking chart: more lines cannot be told apart
MAX_RANKED = 40
MAX_DOTS = 2000
# below, a chart of accuracies by number of votes shows nothing that the table does not
MIN_DOTS = 8
# classes of the confusion matrix of an annotator, and cells of all these matrices together
MAX_CLASSES = 12
MAX_CELLS = 6000

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


def suspects(result: ResultData, correlated: CorrelatedAnnotators) -> Suspects:
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
    # empty if there are few
    dots: list[Ranked]
    dots_shown: Shown
    # by the code of the annotator
    confusions: dict[int, Matrix]
    classes: list[str]
    groups: list[Group]
    # effective number of independent annotators
    effective: float
    n_suspects: int


def annotators(subject: Subject) -> Annotators:
    result, found = subject.result, suspects(subject.result, subject.trust.correlated)
    order = ranking(result)
    chosen, words = _ends(order, MAX_ROWS)
    drawn, drawn_words = _ends(order, MAX_RANKED)
    n, chance = len(order), float(result.posterior.mean(axis=0).max())
    by_votes = np.argsort(-result.votes_per_annotator, kind="stable")
    dots = by_votes[: MAX_DOTS if n >= MIN_DOTS else 0]
    return Annotators(
        n=n,
        mean=float(np.average(result.accuracy, weights=result.votes_per_annotator)),
        lowest=plain(result.accuracy.min()),
        highest=plain(result.accuracy.max()),
        chance=chance,
        n_better=int((result.accuracy > chance).sum()),
        n_known=int(np.isfinite(result.accuracy_low).sum()),
        rows=annotator_rows(result, chosen, subject.key, found),
        shown=Shown(len(chosen), n, words, ANNOTATORS_TABLE),
        ranking=_rank_rows(result, drawn),
        ranking_shown=Shown(len(drawn), n, drawn_words, ANNOTATORS_TABLE),
        dots=_rank_rows(result, dots),
        dots_shown=Shown(len(dots), n, "number of votes", ANNOTATORS_TABLE),
        confusions=confusions(result, by_votes[np.isin(by_votes, chosen)]),
        classes=texts(result.class_names, shown_classes(result)),
        groups=found.groups,
        effective=found.effective,
        n_suspects=sum(bool(kind) for kind in found.kind),
    )


def ranking(result: ResultData) -> Integers:
    """Return the annotators, the most accurate first; ties are ordered by the number of votes."""
    return np.lexsort((-result.votes_per_annotator, -result.accuracy))


def confusions(result: ResultData, codes: Integers) -> dict[int, Matrix]:
    """Return the confusion matrices of the first of these annotators, as many as a page can bear."""
    classes = shown_classes(result)
    if not result.learned.has_matrices or len(classes) > MAX_CLASSES:
        return {}
    codes = codes[: MAX_CELLS // len(classes) ** 2]
    found = matrices(result, codes.astype(np.int32), classes)
    return dict(zip(codes.tolist(), plain(found), strict=True))


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
    if key is not None:
        task, who, label = votes_of(result).votes()
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
