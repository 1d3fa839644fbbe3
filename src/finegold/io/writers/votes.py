"""Votes -> plain tables: long (a row per vote) or wide (a row per task, a column per annotator)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from finegold.errors import InputError
from finegold.io.writers.tables import write_pieces
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, Names
from finegold.votes.frames import polars_column, take, to_list

if TYPE_CHECKING:
    import polars as pl

__all__ = ["votes_pieces", "wide_votes", "write_votes"]

MOST_ROWS = 2**18  # in a piece


def write_votes(
    votes: Annotations | Mapping[str, Annotations],
    path: str | os.PathLike[str],
    *,
    wide: bool = False,
    gold: bool = False,
    escape_formulas: bool | None = None,
) -> None:
    """Write votes as a plain table: CSV, TSV, JSONL or Parquet, as the extension says.

    Parameters
    ----------
    votes : Annotations or mapping of str to Annotations
        The votes on one question, or on several, as `finegold.read_each` returns them: a column then has the question.
    path : str or Path
        The file to write.
    wide : bool, default False
        Write a row per task and a column per annotator, instead of a row per vote.
    gold : bool, default False
        Add a column of the known truths.
    escape_formulas : bool, optional
        Put an apostrophe in front of texts in CSV and TSV that a spreadsheet would take for formulas. Finegold's
        readers remove it. The default is True.

    Raises
    ------
    InputError
        If the format is not known, or if the votes do not fit into a wide table.

    Examples
    --------
    >>> import finegold, tempfile
    >>> from pathlib import Path
    >>> votes = finegold.Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["x", "y", "x"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     finegold.write_votes(votes, f"{folder}/votes.csv")
    ...     print(Path(folder, "votes.csv").read_text())
    task,annotator,label
    1,ann,x
    1,bob,y
    2,ann,x
    <BLANKLINE>
    """
    each = {"": votes} if isinstance(votes, Annotations) else votes
    pieces = _all_pieces(each, wide=wide, gold=gold)
    pieces = _of_one_kind(pieces) if len(each) > 1 else pieces
    write_pieces(pieces, path, escape_formulas=escape_formulas)


def votes_pieces(votes: Annotations, *, gold: bool = False) -> Iterator[pl.DataFrame]:
    """Yield long tables, sorted by task. Tasks without votes come last, without annotator and label."""
    task, annotator, label = votes.votes()
    for first in range(0, votes.n_votes, MOST_ROWS):
        rows = slice(first, first + MOST_ROWS)
        yield _long(votes, task[rows], annotator[rows], label[rows], gold)
    if len(votes.unlabelled):
        yield _unlabelled(votes, _long(votes, task[:0], annotator[:0], label[:0], gold))


def wide_votes(votes: Annotations, *, gold: bool = False) -> pl.DataFrame:
    """Return a wide table, which holds one vote per task and annotator."""
    import polars as pl

    names = [str(name) for name in to_list(votes.annotator_names)]
    taken = sorted({"question", "task", "gold"} & set(names))
    if taken:
        raise InputError(f'an annotator is called "{taken[0]}", as a column of the wide table is; write a long one')
    long = pl.concat(list(votes_pieces(votes)), how="vertical").with_columns(pl.col("annotator").cast(pl.String))
    if long.select(pl.struct("task", "annotator").is_duplicated().any()).item():
        raise InputError(
            "an annotator voted on a task more than once, and a wide table holds one vote; read the votes with "
            'repeated="first", "last" or "majority"'
        )
    table = long.pivot(on="annotator", on_columns=names, index="task", values="label", maintain_order=True)
    if not gold:
        return table
    truths = np.append(votes.gold, np.full(len(votes.unlabelled), MISSING, np.int32))
    return table.with_columns(_column(votes.class_names, truths).alias("gold"))


def _all_pieces(votes: Mapping[str, Annotations], *, wide: bool, gold: bool) -> Iterator[pl.DataFrame]:
    import polars as pl

    for question, one in votes.items():
        pieces = [wide_votes(one, gold=gold)] if wide else votes_pieces(one, gold=gold)
        for piece in pieces:
            yield piece.select(pl.lit(question).alias("question"), pl.all()) if len(votes) > 1 else piece


def _of_one_kind(pieces: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Join the tables of several questions, as text: labels may be numbers for one and words for another."""
    import polars as pl

    yield pl.concat([piece.cast(pl.String) for piece in pieces], how="diagonal")


def _long(votes: Annotations, task: Codes, annotator: Codes, label: Codes, gold: bool) -> pl.DataFrame:
    import polars as pl

    columns = {
        "task": _column(votes.task_names, task),
        "annotator": _column(votes.annotator_names, annotator),
        "label": _column(votes.class_names, label),
    }
    if gold:
        columns["gold"] = _column(votes.class_names, votes.gold[task])
    return pl.DataFrame(columns)


def _unlabelled(votes: Annotations, like: pl.DataFrame) -> pl.DataFrame:
    tasks = _column(votes.unlabelled, np.arange(len(votes.unlabelled), dtype=np.int32))
    return like.clear(len(tasks)).with_columns(tasks.cast(like.schema["task"], strict=False).alias("task"))


def _column(names: Names, codes: Codes) -> pl.Series:
    import polars as pl

    taken = take(names, codes)
    return polars_column(taken) if isinstance(taken, nw.Series) else pl.Series(to_list(taken), strict=False)
