"""Pairwise verdicts: undo the swap, so that every verdict is for one side of its item."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.io.readers.judge_logs.log import TIE, JudgeLog
from finegold.io.readers.judge_logs.names import costs_of, encoded, gold_of_items, refuse_unreadable
from finegold.io.readers.verdicts import Meaning, failure_of, meaning_of
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_list

__all__ = ["has_order", "pairwise_log"]

Integers = NDArray[np.int8]
SIDE_TIE = 2
ORDERS = {
    **dict.fromkeys(("ab", "a,b", "a b", "a-b", "a_b", "original", "normal", "a first", "a_first", "forward"), 0),
    **dict.fromkeys(("false", "no", "unswapped", "not swapped", "1,2", "12", "first", "a", "default"), 0),
    **dict.fromkeys(("ba", "b,a", "b a", "b-a", "b_a", "swapped", "swap", "reversed", "b first", "b_first"), 1),
    **dict.fromkeys(("true", "yes", "flipped", "reverse", "2,1", "21", "second", "b", "backward"), 1),
}
LOWEST_CONSISTENCY = 0.4  # below, verdicts may name answers and not positions


def has_order(table: pl.DataFrame) -> bool:
    """Return whether the table has a column of orders with values that are understood."""
    return "order" in table.columns and _orders(table.get_column("order")) is not None


def pairwise_log(table: pl.DataFrame, source: str, *, is_placed: bool, by_position: bool) -> JudgeLog:
    """Make the log of a table whose columns are text with the names of their roles."""
    table, notes = _without_own_opponents(table)
    flip, a, b = _sides(table)
    row_first = _row_first(table, a, is_placed)
    meaning = _meanings(table, source)
    side = _side(meaning, row_first, by_position)
    answer = _undo(side, flip)
    items = encoded(_items(table, a, b), "item", source)
    judges = encoded(table.get_column("judge"), "judge", source)
    system_names, system_a, system_b = _systems(items.codes, len(items.names), a, b)
    first = np.where(row_first < 0, -1, np.where(flip, 1 - row_first, row_first)).astype(np.int8)
    log = JudgeLog(
        kind="pairwise",
        item=items.codes,
        judge=judges.codes,
        answer=answer,
        first=first,
        failure=np.where(meaning >= Meaning.ERROR, meaning, 0).astype(np.int8),
        cost=costs_of(table),
        item_names=to_list(items.names),
        judge_names=[str(name) for name in to_list(judges.names)],
        class_names=[*(system_names if len(system_names) == 2 else ("A", "B")), TIE],
        system_names=system_names,
        system_a=system_a,
        system_b=system_b,
        gold=gold_of_items(items, _gold(table, flip), source),
        notes=notes,
    )
    if by_position:
        notes += _doubtful(log)
    return log


def _without_own_opponents(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    if "system_a" not in table.columns:
        return table, []
    kept = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
    n = table.height - kept.height
    return kept, [f"{n:,} verdicts compare a system with itself and are left out"] if n else []


def _sides(table: pl.DataFrame) -> tuple[NDArray[np.bool_], Any, Any]:
    """Return where the row names its systems in the other order than the alphabet, and the systems in that order."""
    if "system_a" not in table.columns:
        return np.zeros(table.height, bool), None, None
    one, other = table.get_column("system_a").fill_null("?"), table.get_column("system_b").fill_null("?")
    flip = (one > other).to_numpy()
    low = pl.select(pl.min_horizontal(one.alias("a"), other.alias("b"))).to_series()
    high = pl.select(pl.max_horizontal(one.alias("a"), other.alias("b"))).to_series()
    return flip, low, high


def _row_first(table: pl.DataFrame, a: Any, is_placed: bool) -> Integers:
    """Return which answer of the row was shown first: 0, 1, or -1 if that is not known."""
    orders = _orders(table.get_column("order")) if "order" in table.columns else None
    if orders is not None and not (a is not None and _is_exchanged(table)):
        return orders
    known = 0 if a is not None and is_placed else -1
    return np.full(table.height, known, np.int8)


def _is_exchanged(table: pl.DataFrame) -> bool:
    """Return whether the columns of the systems are exchanged with the order, so that it says nothing more."""
    pair = [pl.min_horizontal("system_a", "system_b"), pl.max_horizontal("system_a", "system_b").alias("other")]
    arrangements = table.group_by("item", *pair).agg(n=pl.col("system_a").n_unique())["n"]
    orders = table.group_by("item", "system_a", "system_b").agg(n=pl.col("order").n_unique())["n"]
    return bool((arrangements > 1).any() and (orders == 1).all())


def _orders(column: pl.Series) -> Integers | None:
    """Return 0 for AB, 1 for BA and -1 for blank; None if a value is neither."""
    values = column.drop_nulls().unique().to_list()
    words = {value: value.strip().casefold() for value in values}
    known = dict(ORDERS)
    if set(words.values()) <= {"0", "1"}:
        known |= {"0": 0, "1": 1}
    elif set(words.values()) <= {"1", "2"}:
        known |= {"1": 0, "2": 1}
    if not values or any(word not in known for word in words.values()):
        return None
    codes = column.replace_strict(
        {value: known[word] for value, word in words.items()}, default=-1, return_dtype=pl.Int8
    )
    return codes.fill_null(-1).to_numpy()


def _meanings(table: pl.DataFrame, source: str) -> Integers:
    """Return what each verdict means, as a code of `Meaning`."""
    meaning = _parsed(table, "verdict")
    if "error" in table.columns:
        errors = table.get_column("error")
        failed = {text: failure_of(text) for text in errors.drop_nulls().unique()}
        has_failed = errors.replace_strict(failed, default=False, return_dtype=pl.Boolean).fill_null(False).to_numpy()
        meaning[has_failed & (meaning != Meaning.REFUSAL)] = Meaning.ERROR
    unreadable = table.get_column("verdict").filter(pl.Series(meaning == Meaning.UNREADABLE))
    refuse_unreadable(unreadable, source, n_readable=int((meaning < Meaning.ERROR).sum()), kind="pairwise")
    return meaning


def _parsed(table: pl.DataFrame, name: str) -> Integers:
    """Read a column of verdicts: names of the row's systems, otherwise words."""
    column = table.get_column(name)
    words = {text: int(meaning_of(text)) for text in column.drop_nulls().unique()}
    codes = column.replace_strict(words, default=Meaning.EMPTY, return_dtype=pl.Int8).fill_null(Meaning.EMPTY)
    if "system_a" in table.columns:
        said = column.str.strip_chars().str.to_lowercase()
        for system, side in (("system_a", Meaning.SIDE_A), ("system_b", Meaning.SIDE_B)):
            is_named = (said == table.get_column(system).str.strip_chars().str.to_lowercase()).fill_null(False)
            codes = pl.select(pl.when(is_named).then(int(side)).otherwise(codes)).to_series().cast(pl.Int8)
    return codes.to_numpy().copy()


def _side(meaning: Integers, row_first: Integers, by_position: bool) -> Codes:
    """Return the side of the row that each verdict is for: 0, 1, 2 for a tie, -1 for a failed call."""
    shown_first = np.where(by_position & (row_first == 1), 1, 0)
    choices = [shown_first, 1 - shown_first, np.full(len(meaning), SIDE_TIE), np.zeros_like(shown_first)]
    side = np.full(len(meaning), MISSING, np.int32)
    for code, values in enumerate([*choices, np.ones_like(shown_first)]):
        side[meaning == code] = values[meaning == code]
    return side


def _undo(side: Codes, flip: NDArray[np.bool_]) -> Codes:
    """Return the side in alphabetical order of the systems."""
    turned: Codes = np.where(flip & (side >= 0) & (side < SIDE_TIE), 1 - side, side).astype(np.int32)
    return turned


def _gold(table: pl.DataFrame, flip: NDArray[np.bool_]) -> Codes:
    """Return the truth of each row. A and B are the systems of the row, in whichever order they were shown."""
    if "gold" not in table.columns:
        return np.full(table.height, MISSING, np.int32)
    meaning = _parsed(table, "gold")
    return _undo(_side(meaning, np.zeros(table.height, np.int8), False), flip)


def _items(table: pl.DataFrame, a: Any, b: Any) -> pl.Series:
    """Return the items; if a prompt was answered by more than two systems, each pair is an item of its own."""
    item = table.get_column("item")
    if a is None:
        return item
    frame = pl.DataFrame({"item": item, "a": a, "b": b})
    if frame.n_unique() == item.n_unique():
        return item
    return frame.select(pl.concat_str("item", pl.lit(", "), "a", pl.lit(" vs "), "b")).to_series()


def _systems(item: Codes, n_items: int, a: Any, b: Any) -> tuple[list[str], Codes, Codes]:
    if a is None:
        return [], np.full(n_items, MISSING, np.int32), np.full(n_items, MISSING, np.int32)
    names = sorted({*a.unique(), *b.unique()})
    code = {name: place for place, name in enumerate(names)}
    sides = []
    for column in (a, b):
        of_item = np.full(n_items, MISSING, np.int32)
        of_item[item] = column.replace_strict(code, return_dtype=pl.Int32).to_numpy()
        sides.append(of_item)
    return names, sides[0], sides[1]


def _doubtful(log: JudgeLog) -> list[str]:
    """Warn if judges contradict themselves so often after the swap that it may not be theirs to undo."""
    used = (log.answer >= 0) & (log.answer < SIDE_TIE) & (log.first >= 0)
    key = log.item[used].astype(np.int64) * log.n_judges + log.judge[used]
    pairs, place = np.unique(key, return_inverse=True)
    by_order = np.zeros((2, len(pairs)), np.int8)
    by_order[log.first[used], place] = np.where(log.answer[used] == 0, 1, -1)
    both = (by_order != 0).all(axis=0)
    if both.sum() < 20 or (by_order[0] == by_order[1])[both].mean() >= LOWEST_CONSISTENCY:
        return []
    share = (by_order[0] != by_order[1])[both].mean()
    return [
        f"in {share:.0%} of the swapped pairs a judge contradicts itself: if A and B name the answers and not their "
        "positions, use --verdicts answer"
    ]
