"""Consensus spans on the names that a crowd marked in news (CoNLL 2003), against rules on single tokens.

    python -m bench.accuracy.spans

The public votes are on tokens. A run of tokens of one class is a span, and a document ends where its readers change. F1,
precision and recall ask for the same tokens and the same class as the experts' spans.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.machine import SHARED
from finegold.spans import Marks, aggregate
from finegold.spans.marks import SCHEMA

# the class of tokens that are part of no name
NOTHING = 0
METHODS = ("mv", "ds", "ptbcc")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of the data")
    folder = parser.parse_args().shared / "real" / "conll_ner_tokens"
    votes = np.loadtxt(folder / "label.csv.gz", dtype=int, delimiter=",", skiprows=1)
    truth = dict(np.loadtxt(folder / "truth.csv.gz", dtype=int, delimiter=",", skiprows=1).tolist())
    gold = set(runs(truth))
    by_annotator: dict[int, dict[int, int]] = defaultdict(dict)
    by_token: dict[int, list[int]] = defaultdict(list)
    for token, annotator, label in votes.tolist():
        by_annotator[annotator][token] = label
        by_token[token].append(label)
    found: dict[str, set[Any]] = {
        "majority of each token": set(
            runs(
                {token: Counter(labels).most_common(1)[0][0] for token, labels in by_token.items()}
            )
        ),
        "all that anybody marked": {
            span for marks in by_annotator.values() for span in runs(marks)
        },
    }
    marks = marks_of(by_annotator)
    for method in (None, *METHODS):
        result = aggregate(marks, method)
        rows = result.spans().select("start", "end", "label").rows()
        found[f"finegold.spans, {result.method}"] = {
            (start, end, int(label)) for start, end, label in rows
        }
    print("| | F1 | precision | recall | spans |\n|---|---:|---:|---:|---:|")
    for name, spans in found.items():
        right = len(spans & gold)
        precision, recall = right / len(spans), right / len(gold)
        f1 = 2 * precision * recall / (precision + recall)
        print(f"| {name} | {f1:.3f} | {precision:.3f} | {recall:.3f} | {len(spans):,} |")
    print(f"\n{len(gold):,} spans by experts, {len(by_annotator)} annotators")


def runs(labels: dict[int, int]) -> list[tuple[int, int, int]]:
    """Return the runs of tokens with one class, with their first token and the one after their last."""
    found: list[tuple[int, int, int]] = []
    for token in sorted(labels):
        if labels[token] == NOTHING:
            continue
        if found and found[-1][1:] == (token, labels[token]):
            found[-1] = (found[-1][0], token + 1, labels[token])
        else:
            found.append((token, token + 1, labels[token]))
    return found


def marks_of(by_annotator: dict[int, dict[int, int]]) -> Marks:
    """Return the marks, in documents that are tokens in a row with the same readers."""
    readers: dict[int, frozenset[int]] = defaultdict(frozenset)
    for annotator, labels in by_annotator.items():
        for token in labels:
            readers[token] |= {annotator}
    document: dict[int, str] = {}
    for token in sorted(readers):
        same = readers.get(token - 1) == readers[token]
        document[token] = document[token - 1] if same else f"{token}"
    spans, read = [], set()
    for annotator, labels in by_annotator.items():
        read |= {(document[token], f"{annotator}") for token in labels}
        for start, end, label in runs(labels):
            spans.append((document[start], f"{annotator}", start, end, f"{label}"))
    columns = ["document", "annotator"]
    return Marks(
        pl.DataFrame(spans, SCHEMA, orient="row"), pl.DataFrame(sorted(read), columns, orient="row")
    )


if __name__ == "__main__":
    main()
