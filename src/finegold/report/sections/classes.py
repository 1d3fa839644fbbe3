"""The frequencies of the classes, and which classes are confused."""

from __future__ import annotations

import numpy as np

from finegold.insight.votes import Floats, Integers
from finegold.report.sections.common import Shown, Subject, View, plain, texts
from finegold.results.data import ResultData
from finegold.results.matrices import pooled_votes

# with more classes, cells are too small to see
MAX_IN_MATRIX = 60
MAX_ROWS = 100
MAX_MISTAKES = 5
# votes on tasks of a class, below which nothing is said about how it is confused
MIN_SUPPORT = 20


def shown_classes(result: ResultData) -> Integers:
    """Return all classes, or the most frequent ones if there are too many, in their order."""
    most = np.argsort(-result.posterior.sum(axis=0), kind="stable")[:MAX_IN_MATRIX]
    return np.sort(most)


def classes(subject: Subject) -> View:
    result, votes = subject.result, subject.result.annotations
    chosen = shown_classes(result)
    names = texts(result.class_names, chosen)
    # of all annotators together, and the number of votes that each row is made of
    counted = pooled_votes(votes, result.posterior)[np.ix_(chosen, chosen)]
    support = counted.sum(axis=1)
    matrix = counted / np.where(support > 0, support, 1.0)[:, None]
    known = np.where(support[:, None] >= MIN_SUPPORT, matrix, 0.0)
    off = np.where(np.eye(len(known), dtype=bool), 0.0, known)
    # the class that annotators vote for most often instead, and how often
    worst = zip(chosen.tolist(), off.argmax(axis=1).tolist(), off.max(axis=1), strict=True)
    taken_for = {k: (names[v], plain(share)) for k, v, share in worst if share > 0}
    n = np.bincount(result.label_codes, minlength=len(result.class_names))
    order = np.argsort(-n, kind="stable")[:MAX_ROWS]
    expected, of_votes = result.posterior.mean(axis=0), votes.votes_per_class / votes.n_votes
    sure = np.bincount(result.label_codes, result.confidence, minlength=len(n))
    recall = dict(zip(chosen.tolist(), plain(np.diag(matrix)), strict=True))
    rows = [
        {
            "label": name,
            "n_labels": int(n[k]),
            "share": plain(n[k] / n.sum()),
            # of the tasks, by the posterior
            "expected": plain(expected[k]),
            "votes": plain(of_votes[k]),
            "confidence": plain(sure[k] / n[k]) if n[k] else None,
            # how often annotators vote for it when it is the truth
            "recall": recall.get(k),
            "taken_for": taken_for.get(k),
        }
        for k, name in zip(order.tolist(), texts(result.class_names, order), strict=True)
    ]
    words = "the order of the classes, the most frequent"
    return {
        "rows": rows,
        "shown": Shown(len(order), len(n), "number of labels", "result.learned.class_prior"),
        "names": names,
        "matrix": plain(matrix),
        "matrix_shown": Shown(len(chosen), len(n), words, "result.posterior"),
        "mistakes": _mistakes(known, names, MAX_MISTAKES),
    }


def _mistakes(matrix: Floats, names: list[str], most: int) -> list[View]:
    """Return the largest shares outside the diagonal."""
    off = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
    largest = np.argsort(-off, axis=None, kind="stable")[:most]
    cells = [divmod(place, len(off)) for place in largest.tolist()]
    return [
        {"truth": names[k], "vote": names[v], "share": plain(off[k, v])}
        for k, v in cells
        if off[k, v] > 0
    ]


def prototypes(subject: Subject) -> View:
    result, known = subject.result, subject.result.learned
    assert known.prototypes is not None
    assert known.weights is not None
    chosen = shown_classes(result)
    names = texts(result.class_names, chosen)
    shares = result.votes_per_annotator @ known.weights / result.votes_per_annotator.sum()
    found = []
    for s, whole in enumerate(known.prototypes):
        matrix = whole[np.ix_(chosen, chosen)]
        found.append(
            {
                "number": s + 1,
                "share": plain(shares[s]),
                # of an annotator who follows only this one, weighted by the class frequencies
                "accuracy": plain(known.class_prior @ np.diag(whole)),
                "matrix": plain(matrix),
                "mistakes": _mistakes(matrix, names, most=2),
            }
        )
    rest = "result.learned.prototypes"
    return {
        "prototypes": found,
        "classes": names,
        "classes_shown": Shown(len(chosen), len(result.class_names), "number of tasks", rest),
    }
