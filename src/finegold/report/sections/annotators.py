"""The quality of each annotator."""

from __future__ import annotations

import numpy as np
import polars as pl
from polars import selectors

from finegold.insight.spam import KINDS, spam
from finegold.insight.votes import Integers
from finegold.report.sections.classes import shown_classes
from finegold.report.sections.common import (
    ANNOTATORS_TABLE,
    DIGITS,
    Shown,
    Subject,
    View,
    plain,
    texts,
)
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
    n, n_votes = len(result.annotator_accuracy), result.votes_per_annotator
    # the most accurate first
    order = np.lexsort((-n_votes, -result.annotator_accuracy))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(1, n + 1)
    # right votes, and all, on tasks with known truth
    right = judged = np.zeros(n, np.int64)
    if subject.key is not None:
        task, who, label = result.annotations.votes()
        truth = subject.key.codes[task]
        right = np.bincount(who[truth == label], minlength=n)
        judged = np.bincount(who[truth != MISSING], minlength=n)
    measured = np.where(judged > 0, right / np.maximum(judged, 1), np.nan)
    kind, weights = spam(result).kind, result.learned.weights

    def table(codes: Integers) -> list[View]:
        columns = {
            "annotator": texts(result.annotator_names, codes),
            "code": codes,
            "n_votes": n_votes[codes],
            "accuracy": result.annotator_accuracy[codes],
            # None without known truths
            "low": result.annotator_accuracy_low[codes],
            "high": result.annotator_accuracy_high[codes],
            "rank": rank[codes],
            "agreement": result.annotator_agreement[codes],
            # of correlated annotators; 0 for none
            "group": correlated.group[codes] + 1,
            "suspicion": [KINDS.get(each, "") for each in kind[codes]],
            # share of right votes among those on tasks with known truth
            "measured": measured[codes],
            "n_measured": judged[codes],
        }
        if weights is not None:
            columns |= {f"prototype {s + 1}": share for s, share in enumerate(weights[codes].T)}
        numbers = selectors.float().fill_nan(None).round(DIGITS)
        return pl.DataFrame(columns).with_columns(numbers).to_dicts()

    rows, rows_shown = _ends(order, MAX_ROWS)
    ranked, ranking_shown = _ends(order, MAX_RANKED)
    by_votes = np.argsort(-n_votes, kind="stable")
    dots = by_votes[: MAX_DOTS if n >= MIN_DOTS and np.ptp(n_votes) else 0]
    classes, confusions = shown_classes(result), {}
    if result.learned.has_matrices and len(classes) <= MAX_CLASSES:
        some = by_votes[np.isin(by_votes, rows)][: MAX_CELLS // len(classes) ** 2]
        found = matrices(result, some.astype(np.int32), classes)
        confusions = dict(zip(some.tolist(), plain(found), strict=True))
    groups = []
    for number, excess in enumerate(plain(correlated.excess), 1):
        members = np.flatnonzero(correlated.group == number - 1)
        shown = texts(correlated.names, members[:MAX_MEMBERS])
        groups.append((number, shown, len(members) - len(shown), excess))
    chance = float(result.posterior.mean(axis=0).max())
    return {
        "n": n,
        "mean": float(np.average(result.annotator_accuracy, weights=n_votes)),
        "lowest": plain(result.annotator_accuracy.min()),
        "highest": plain(result.annotator_accuracy.max()),
        # accuracy of always voting for the most frequent class, and who is better by the labels
        "chance": chance,
        "n_better": int((result.annotator_accuracy > chance).sum()),
        # with an interval, from tasks with known truths
        "n_known": int(np.isfinite(result.annotator_accuracy_low).sum()),
        "rows": table(rows),
        "shown": rows_shown,
        "ranking": table(ranked),
        "ranking_shown": ranking_shown,
        "dots": table(dots),
        "dots_shown": Shown(len(dots), n, "number of votes", ANNOTATORS_TABLE),
        "confusions": confusions,
        "classes": texts(result.class_names, classes),
        # number, members, members left out, excess agreement: 1 for copies
        "groups": groups,
        "effective": correlated.effective,
        "n_suspects": int((kind != "").sum()),
        "prototypes": []
        if weights is None
        else [f"prototype {s + 1}" for s in range(weights.shape[1])],
    }


def _ends(order: Integers, most: int) -> tuple[Integers, Shown]:
    """Return all annotators, or the best and the worst if there are too many."""
    n, words = len(order), "expected accuracy"
    if n > most:
        half = most // 2
        words = f"{words}: the {half} best and the {most - half} worst"
        order = np.concatenate([order[:half], order[half - most :]])
    return order, Shown(len(order), n, words, ANNOTATORS_TABLE)
