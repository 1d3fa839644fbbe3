"""The quality of each annotator."""

from __future__ import annotations

import numpy as np

from finegold.insight.spam import KINDS, spam
from finegold.insight.votes import Integers
from finegold.report.sections.classes import shown_classes
from finegold.report.sections.common import ANNOTATORS_TABLE, Shown, Subject, View, plain, texts
from finegold.results.matrices import matrices
from finegold.votes.encoding import MISSING

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


def annotators(subject: Subject) -> View:
    result, correlated = subject.result, subject.trust.correlated
    n, n_votes = len(result.accuracy), result.votes_per_annotator
    # the most accurate first
    order = np.lexsort((-n_votes, -result.accuracy))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(1, n + 1)
    names = texts(result.annotator_names)
    numbers = plain(np.column_stack([result.accuracy, result.accuracy_low, result.accuracy_high]))
    # right votes, and all, on tasks with known truth
    right = judged = np.zeros(n, np.int64)
    if subject.key is not None:
        task, who, label = result.annotations.votes()
        truth = subject.key.codes[task]
        right = np.bincount(who[truth == label], minlength=n)
        judged = np.bincount(who[truth != MISSING], minlength=n)
    kinds, weights = spam(result).kind.tolist(), result.learned.weights

    def row(j: int) -> View:
        accuracy, *ends = numbers[j]
        # None without known truths
        low, high = (None if end != end else end for end in ends)
        return {
            "annotator": names[j],
            "n_votes": int(n_votes[j]),
            "accuracy": accuracy,
            "low": low,
            "high": high,
            "code": j,
            "rank": int(rank[j]),
            "agreement": plain(result.agreement[j]),
            # of each prototype
            "weights": [] if weights is None else plain(weights[j]),
            # of correlated annotators; 0 for none
            "group": int(correlated.group[j]) + 1,
            "suspicion": KINDS.get(kinds[j], ""),
            # share of right votes among those on tasks with known truth
            "measured": plain(right[j] / judged[j]) if judged[j] else None,
            "n_measured": int(judged[j]),
        }

    rows, rows_shown = _ends(order, MAX_ROWS)
    ranked, ranking_shown = _ends(order, MAX_RANKED)
    by_votes = np.argsort(-n_votes, kind="stable")
    dots = by_votes[: MAX_DOTS if n >= MIN_DOTS else 0]
    classes, confusions = shown_classes(result), {}
    if result.learned.has_matrices and len(classes) <= MAX_CLASSES:
        some = by_votes[np.isin(by_votes, rows)][: MAX_CELLS // len(classes) ** 2]
        found = matrices(result, some.astype(np.int32), classes)
        confusions = dict(zip(some.tolist(), plain(found), strict=True))
    groups = []
    for number, excess in enumerate(plain(correlated.excess), 1):
        members = np.flatnonzero(correlated.group == number - 1).tolist()
        shown = [names[j] for j in members[:MAX_MEMBERS]]
        groups.append((number, shown, len(members) - len(shown), excess))
    chance = float(result.posterior.mean(axis=0).max())
    return {
        "n": n,
        "mean": float(np.average(result.accuracy, weights=n_votes)),
        "lowest": plain(result.accuracy.min()),
        "highest": plain(result.accuracy.max()),
        # accuracy of always voting for the most frequent class, and who is better by the labels
        "chance": chance,
        "n_better": int((result.accuracy > chance).sum()),
        # with an interval, from tasks with known truths
        "n_known": int(np.isfinite(result.accuracy_low).sum()),
        "rows": [row(j) for j in rows.tolist()],
        "shown": rows_shown,
        "ranking": [row(j) for j in ranked.tolist()],
        "ranking_shown": ranking_shown,
        # empty if there are few
        "dots": [row(j) for j in dots.tolist()],
        "dots_shown": Shown(len(dots), n, "number of votes", ANNOTATORS_TABLE),
        # by the code of the annotator
        "confusions": confusions,
        "classes": texts(result.class_names, classes),
        # number, members, members left out, excess agreement: 1 for copies
        "groups": groups,
        # number of independent annotators
        "effective": correlated.effective,
        "n_suspects": sum(map(bool, kinds)),
    }


def _ends(order: Integers, most: int) -> tuple[Integers, Shown]:
    """Return all annotators, or the best and the worst if there are too many."""
    n, words = len(order), "expected accuracy"
    if n > most:
        half = most // 2
        words = f"{words}: the {half} best and the {most - half} worst"
        order = np.concatenate([order[:half], order[half - most :]])
    return order, Shown(len(order), n, words, ANNOTATORS_TABLE)
