"""Raw logs of LLM judges -> `JudgeLog`: verdicts in any usual form, the swap undone, failed calls recognised."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.columns import Role, bare_name, file_names, named_column
from finegold.io.exports import find_export, look
from finegold.io.read import read
from finegold.io.source import Source, is_files, sources_of
from finegold.io.tables import Opened, as_text, open_sources, open_table
from finegold.io.truth import read_truth
from finegold.io.verdicts import FAILURES, Meaning, class_of, failure_of, is_clearly_pairwise, meaning_of, number_of
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_list, to_polars
from finegold.votes.names import Coded, encode_column

__all__ = [
    "A_FIRST",
    "B_FIRST",
    "ROLES",
    "TIE",
    "Chosen",
    "JudgeLog",
    "Kind",
    "choose_columns",
    "columns_of_shape",
    "costs_of",
    "encoded",
    "file_of",
    "flatten",
    "gold_of_items",
    "has_order",
    "log_of_votes",
    "pairwise_log",
    "pointwise_log",
    "read_judge_log",
    "refuse_unreadable",
    "with_gold",
]


Kind = Literal["pairwise", "pointwise"]
A_FIRST, B_FIRST = 0, 1  # which side of the item was shown first; -1 if that is not known
TIE = "tie"


@dataclass(frozen=True, eq=False)
class JudgeLog:
    """Verdicts of LLM judges: the result of `finegold.judges.read`.

    Attributes
    ----------
    kind : {"pairwise", "pointwise"}
        Whether verdicts compare two answers, or judge one.
    item, judge : ndarray of int of shape (n_verdicts,)
        Positions in `item_names` and `judge_names`.
    answer : ndarray of int of shape (n_verdicts,)
        The verdict as a position in `class_names`, with the swap undone; -1 if the call failed.
    first : ndarray of int of shape (n_verdicts,)
        Which side of the item was shown first: 0 for the first class, 1 for the second, -1 if that is not known.
    failure : ndarray of int of shape (n_verdicts,)
        0, or why the call failed: 10 error, 11 refusal, 12 unreadable text, 13 empty.
    cost : ndarray of float of shape (n_verdicts,)
        The price of each call; NaN where there is none.
    item_names, judge_names, class_names : list
        The names.
    system_names : list
        The systems that are compared; empty if the log does not name them.
    system_a, system_b : ndarray of int of shape (n_items,)
        The systems behind the first and the second class, as positions in `system_names`.
    gold : ndarray of int of shape (n_items,)
        The known truth of each item, as a position in `class_names`; -1 where there is none.
    is_ordered : bool
        Whether classes are numbers in ascending order.
    notes : list of str
        What a user should know about how the log was read.
    """

    kind: Kind
    item: Codes
    judge: Codes
    answer: Codes
    first: NDArray[np.int8]
    failure: NDArray[np.int8]
    cost: NDArray[np.float64]
    item_names: list[Any]
    judge_names: list[str]
    class_names: list[Any]
    system_names: list[str]
    system_a: Codes
    system_b: Codes
    gold: Codes
    is_ordered: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def n_verdicts(self) -> int:
        """The number of calls, failed ones included."""
        return len(self.item)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.item_names)

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.judge_names)

    @property
    def n_failed(self) -> int:
        """The number of calls that failed."""
        return int((self.answer == MISSING).sum())

    def __repr__(self) -> str:
        return (
            f"JudgeLog({self.kind}, {self.n_verdicts:,} verdicts, {self.n_items:,} items, {self.n_judges:,} judges, "
            f"{self.n_failed:,} failed)"
        )

    def failures(self) -> dict[str, dict[str, int]]:
        """Return the number of failed calls of each judge, by reason.

        Returns
        -------
        dict
            Judge -> reason (error, refusal, unreadable, empty) -> number of calls.
        """
        counts = {
            reason: np.bincount(self.judge[self.failure == code], minlength=self.n_judges)
            for code, reason in FAILURES.items()
        }
        return {
            name: {reason: int(count[j]) for reason, count in counts.items() if count[j]}
            for j, name in enumerate(self.judge_names)
        }


def with_gold(log: JudgeLog, gold: Any) -> JudgeLog:
    """Return the log with these truths: a file, a data frame, or a mapping of items to classes or systems."""
    items, truths = map(to_list, read_truth(gold))
    place = {str(name): code for code, name in enumerate(log.item_names)}
    codes = np.full(log.n_items, MISSING, np.int32)
    n_unknown = 0
    for item, truth in zip(items, truths, strict=True):
        code = place.get(str(item))
        if code is None:
            n_unknown += 1
        else:
            codes[code] = _class(log, code, str(truth))
    if n_unknown == len(items):
        raise InputError(
            f"none of the {len(items):,} gold truths belongs to an item of the log: the gold has {items[:1]}, "
            f"the log has {log.item_names[:1]}; write items alike"
        )
    more = [f"{n_unknown:,} gold truths belong to no item of the log and are left out"] if n_unknown else []
    return replace(log, gold=codes, notes=[*log.notes, *more])


def _class(log: JudgeLog, item: int, truth: str) -> int:
    """Return the class of a truth, which may be the name of the better system."""
    names: Sequence[str] = [str(name) for name in log.class_names]
    if log.system_names:
        names = [log.system_names[log.system_a[item]], log.system_names[log.system_b[item]], TIE]
    found = [code for code, name in enumerate(names) if name.casefold() == truth.strip().casefold()]
    if not found:
        listed = ", ".join(names)
        raise InputError(f"the gold of item {log.item_names[item]!r} is {truth!r}; expected one of {listed}")
    return found[0]


MOST_UNREADABLE = 0.5  # with a larger share, the column is not one of verdicts


def encoded(column: pl.Series, what: str, source: str) -> Coded:
    """Encode the items or judges. Blank ones are refused."""
    coded = encode_column(nw.from_native(column, series_only=True), is_text=True)
    if (coded.codes < 0).any():
        row = int(np.argmax(coded.codes < 0)) + 1
        raise InputError(f"{source}: verdict {row:,} has no {what}; fill it in or remove the row")
    return coded


def costs_of(table: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if "cost" not in table.columns:
        return np.full(table.height, np.nan)
    return table.get_column("cost").fill_null(np.nan).to_numpy()


def gold_of_items(items: Coded, gold: Codes, source: str) -> Codes:
    """Return the truth of each item from the truth of each row; contradictions are refused."""
    found = np.full(len(items.names), -1, np.int32)
    known = gold >= 0
    found[items.codes[known]] = gold[known]
    wrong = np.flatnonzero(known & (found[items.codes] != gold))
    if wrong.size:
        item = to_list(items.names)[items.codes[wrong[0]]]
        raise InputError(f"{source}: item {item!r} has two different gold truths; keep one of them")
    return found


def file_of(source: str) -> str:
    """Return the name to show in a command."""
    return "LOG" if source == "the data frame" else source.split(", ")[0]


def refuse_unreadable(texts: pl.Series, source: str, *, n_readable: int, kind: str) -> None:
    """Refuse a column most of whose values are no verdicts, with a command to paste."""
    n = len(texts)
    if n == 0 or n <= (n + n_readable) * MOST_UNREADABLE:
        return
    example = str(texts[0]).replace("\n", " ")[:60]
    other = "pointwise" if kind == "pairwise" else "pairwise"
    file = shlex.quote(file_of(source))
    raise InputError(
        f"{source}: {n:,} of {n + n_readable:,} verdicts cannot be read as {kind} ones, such as {example!r}; "
        f"if another column has them: finegold judges {file} --verdict COLUMN; "
        f"if they are {other}: finegold judges {file} --kind {other}"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ROLES: dict[str, tuple[str, ...]] = {
    "item": _names(
        "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid instanceid uid "
        "battleid conversationid instruction question prompt sample instance input unit unitid id index"
    ),
    "judge": _names(
        "judge judgemodel judgename judgeid evaluator evaluatormodel evaluatorname grader gradermodel annotator "
        "annotatorid annotatorindex rater raterid scorer reviewer critic judgellm llm"
    ),
    "verdict": _names(
        "verdict judgment judgement decision winner preference preferred choice vote outcome result rawverdict "
        "rawjudgment label answer response output completion rating score grade"
    ),
    "order": _names(
        "order position presentation presentationorder answerorder swapped isswapped swap flipped isflipped reversed "
        "shownfirst firstshown"
    ),
    "repeat": _names("repeat repeatid repetition run runid trial attempt replicate epoch"),
    "cost": _names("cost costusd price usd totalcost callcost"),
    "error": _names("error errors errormessage exception failure failed status callstatus"),
    "gold": _names("gold goldlabel truth groundtruth humanlabel humanverdict humanwinner humanpreference truelabel"),
    "turn": _names("turn"),
}
# The two systems that are compared. The first column is the answer that the judge saw first, unless an order says else.
SYSTEMS = (
    *((f"{name}a", f"{name}b") for name in _names("model system generator assistant candidate player contestant")),
    *((f"{name}1", f"{name}2") for name in _names("model system generator assistant candidate player")),
    ("modelleft", "modelright"),
    ("firstmodel", "secondmodel"),
)
# One system and its opponent: nothing is known about the position of the answers.
OPPONENTS = tuple(
    (name, other)
    for name in _names("model system candidate generator")
    for other in _names("baseline baselinemodel reference referencemodel opponent")
)
EVALUATED = _names("model system modelid modelname generator candidate")  # the system of a pointwise verdict
UNPLACED = ("generator1", "generator2")  # AlpacaEval undoes its random order itself


@dataclass(frozen=True)
class Chosen:
    """The columns of a judge log by role; None for those that the log does not have."""

    item: str
    judge: str | None
    verdict: str
    order: str | None = None
    repeat: str | None = None
    cost: str | None = None
    error: str | None = None
    gold: str | None = None
    turn: str | None = None
    system_a: str | None = None
    system_b: str | None = None
    system: str | None = None
    is_placed: bool = True  # the first system is the answer that was shown first, unless an order says else

    @property
    def columns(self) -> list[str]:
        values = (value for value in vars(self).values() if isinstance(value, str))
        return list(dict.fromkeys(values))


def choose_columns(columns: Sequence[Any], given: Mapping[str, str | None], *, source: str, by_file: bool) -> Chosen:
    """Return the column of every role: the one that the user names, or the first with a usual name."""
    named = {
        role: named_column(columns, name, Role(role, role.replace("_", "-"), frozenset()))
        for role, name in given.items()
        if name is not None
    }
    free = {bare_name(column): column for column in columns if column not in named.values()}
    found = {role: _first(free, names) for role, names in ROLES.items() if role not in named} | named
    first, second, is_placed = _systems(free, found)
    found = {"system_a": first, "system_b": second} | found
    found["judge"] = found["judge"] or (None if by_file else _spare(free, found, ("model", "modelname", "modelid")))
    if found["system_a"] is None:
        found["system"] = _spare(free, found, EVALUATED)
    required = ("item", "verdict") if by_file else ("item", "judge", "verdict")
    if lost := [role for role in required if found[role] is None]:
        raise InputError(_nothing_found(columns, lost, found, source))
    return Chosen(**found, is_placed=is_placed)


def _first(free: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((free[name] for name in names if name in free), None)


def _spare(free: Mapping[str, Any], found: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first of these columns that has no other role."""
    return next((free[name] for name in names if name in free and free[name] not in found.values()), None)


def _systems(free: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    for first, second in SYSTEMS:
        if first in free and second in free:
            return free[first], free[second], (first, second) != UNPLACED
    for first, second in OPPONENTS:
        if first in free and second in free and found["judge"] is not None:
            return free[first], free[second], False
    return None, None, True


def _nothing_found(columns: Sequence[Any], lost: list[str], found: Mapping[str, Any], source: str) -> str:
    """Name the columns that are missing, with a command to paste."""
    if not columns:
        return f"{source}: there are no columns; expected a table with a header and one verdict per row"
    listed = ", ".join(f'"{column}"' for column in columns[:20])
    spare = [str(column) for column in columns if column not in found.values()]
    options = " ".join(f"--{role} {shlex.quote(name)}" for role, name in _paired(lost, spare))
    return (
        f"{source}: found no column of {' and no column of '.join(f'{role}s' for role in lost)} among {listed}; "
        f"name it, such as: finegold judges {shlex.quote(file_of(source))} {options}"
    )


def _paired(lost: list[str], spare: list[str]) -> list[tuple[str, str]]:
    return [(role, spare[place] if place < len(spare) else "COLUMN") for place, role in enumerate(lost)]


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
    system_names, system_a, system_b = _systems_pairwise(items.codes, len(items.names), a, b)
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


def _systems_pairwise(item: Codes, n_items: int, a: Any, b: Any) -> tuple[list[str], Codes, Codes]:
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


Failures = NDArray[np.int8]
MOSTLY = 0.8  # share of numbers from which verdicts are scores
MOST_CLASSES = 20
NO_SCORE = -1.0  # how MT-bench writes that no score was found


def pointwise_log(table: pl.DataFrame, source: str) -> JudgeLog:
    """Make the log of a table whose columns are text with the names of their roles."""
    items = encoded(table.get_column("item"), "item", source)
    judges = encoded(table.get_column("judge"), "judge", source)
    verdicts = table.get_column("verdict")
    meaning = {text: class_of(text) for text in verdicts.drop_nulls().unique()}
    is_scores = _is_scores(verdicts, meaning)
    if is_scores:
        meaning = {text: _score(said) for text, said in meaning.items()}
    names = _classes(meaning, source, is_scores)
    answer, failure = _codes(verdicts, meaning, names)
    failure = _with_errors(table, failure)
    answer = np.where(failure > 0, MISSING, answer).astype(np.int32)
    unreadable = verdicts.filter(pl.Series(failure == Meaning.UNREADABLE))
    refuse_unreadable(unreadable, source, n_readable=int((answer >= 0).sum()), kind="pointwise")
    nowhere = np.full(len(items.names), MISSING, np.int32)
    return JudgeLog(
        kind="pointwise",
        item=items.codes,
        judge=judges.codes,
        answer=answer,
        first=np.full(table.height, -1, np.int8),
        failure=failure,
        cost=costs_of(table),
        item_names=to_list(items.names),
        judge_names=[str(name) for name in to_list(judges.names)],
        class_names=names,
        system_names=[],
        system_a=nowhere,
        system_b=nowhere,
        gold=gold_of_items(items, _gold_pointwise(table, names, is_scores), source),
        is_ordered=is_scores,
    )


def log_of_votes(votes: Annotations) -> JudgeLog:
    """Make a log of votes that another reader has read, such as the scores in a log of Inspect."""
    task, annotator, label = votes.votes()
    nowhere = np.full(votes.n_tasks, MISSING, np.int32)
    left_out = [f"{number:,} {what} left out" for what, number in votes.counts.left_out.items()]
    return JudgeLog(
        kind="pointwise",
        item=task,
        judge=annotator,
        answer=label,
        first=np.full(len(task), -1, np.int8),
        failure=np.zeros(len(task), np.int8),
        cost=np.full(len(task), np.nan),
        item_names=to_list(votes.task_names),
        judge_names=[str(name) for name in to_list(votes.annotator_names)],
        class_names=to_list(votes.class_names),
        system_names=[],
        system_a=nowhere,
        system_b=nowhere,
        gold=votes.gold,
        notes=left_out,
    )


def _is_scores(verdicts: pl.Series, meaning: dict[str, str | Meaning]) -> bool:
    """Return whether most verdicts that can be read are numbers."""
    is_class = {text: isinstance(said, str) for text, said in meaning.items()}
    is_number = {text: isinstance(said, str) and number_of(said) is not None for text, said in meaning.items()}
    n_classes, n_numbers = (
        int(verdicts.replace_strict(kind, default=False, return_dtype=pl.Boolean).sum())
        for kind in (is_class, is_number)
    )
    return n_classes > 0 and n_numbers >= MOSTLY * n_classes


def _score(said: str | Meaning) -> str | Meaning:
    """Return a score as text: 4 for 4.0 and 4/5."""
    if not isinstance(said, str):
        return said
    number = number_of(said)
    if number is None:
        return Meaning.UNREADABLE
    return Meaning.EMPTY if number == NO_SCORE else f"{number:g}"


def _classes(meaning: dict[str, str | Meaning], source: str, is_scores: bool) -> list[str]:
    names = {said for said in meaning.values() if isinstance(said, str)}
    if len(names) > MOST_CLASSES and is_scores:
        raise InputError(
            f"{source}: the verdicts have {len(names):,} different scores, more than {MOST_CLASSES}; "
            "round them to fewer, such as 1 to 5, or name another column with --verdict NAME"
        )
    return sorted(names, key=float) if is_scores else sorted(names)


def _codes(verdicts: pl.Series, meaning: dict[str, str | Meaning], names: list[str]) -> tuple[Codes, Failures]:
    """Return the class of each verdict, and why there is none."""
    place = {name: code for code, name in enumerate(names)}
    class_of_text = {text: place[said] if isinstance(said, str) else MISSING for text, said in meaning.items()}
    why = {text: 0 if isinstance(said, str) else int(said) for text, said in meaning.items()}
    answer = verdicts.replace_strict(class_of_text, default=MISSING, return_dtype=pl.Int32).fill_null(MISSING)
    failure = verdicts.replace_strict(why, default=int(Meaning.EMPTY), return_dtype=pl.Int8).fill_null(Meaning.EMPTY)
    return answer.to_numpy(), failure.to_numpy()


def _with_errors(table: pl.DataFrame, failure: Failures) -> Failures:
    if "error" not in table.columns:
        return failure
    failed = [failure_of(text) for text in table.get_column("error")]
    return np.where(np.array(failed) & (failure != Meaning.REFUSAL), Meaning.ERROR, failure).astype(np.int8)


def _gold_pointwise(table: pl.DataFrame, names: list[str], is_scores: bool) -> Codes:
    if "gold" not in table.columns:
        return np.full(table.height, MISSING, np.int32)
    place = {name: code for code, name in enumerate(names)}
    said = {text: place.get(str(class_of(text)), MISSING) for text in table.get_column("gold").drop_nulls().unique()}
    return (
        table.get_column("gold")
        .replace_strict(said, default=MISSING, return_dtype=pl.Int32)
        .fill_null(MISSING)
        .to_numpy()
    )


MT_BENCH = {"g1_winner", "g2_winner", "model_1", "model_2"}
JUDGE_BENCH = {"pair_id", "judgments"}
ARENA_HARD = {"judge", "games", "model"}


def columns_of_shape(columns: Sequence[Any]) -> list[str]:
    """Return the columns to read of a log with several verdicts per row; none if it is a plain table."""
    names = set(columns)
    if names >= MT_BENCH:
        wanted = ["question_id", "turn", "judge", *sorted(MT_BENCH)]
    elif names >= JUDGE_BENCH:
        wanted = ["pair_id", "judge_name", "judgments", "label"]
    elif names >= ARENA_HARD:
        wanted = ["question_id", "uid", "judge", "model", "baseline", "games"]
    else:
        return []
    return [name for name in wanted if name in names]


def flatten(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a row per verdict, with columns of usual names."""
    names = set(frame.columns)
    if names >= MT_BENCH:
        return _mt_bench(frame)
    return _judge_bench(frame) if names >= JUDGE_BENCH else _arena_hard(frame)


def _mt_bench(frame: pl.DataFrame) -> pl.DataFrame:
    """Two games; the winners are named by model, and the second game shows model_2 first."""
    frame = frame.rename({"model_1": "model_a", "model_2": "model_b"})
    games = [
        frame.with_columns(verdict=pl.col(name), order=pl.lit(order)).drop("g1_winner", "g2_winner")
        for name, order in (("g1_winner", "AB"), ("g2_winner", "BA"))
    ]
    return pl.concat(games)


def _judge_bench(frame: pl.DataFrame) -> pl.DataFrame:
    """Judgements alternate in order, and their decisions (A>B) are about positions; the label is the truth."""
    frame = _one_game_per_row(frame, "judgments")
    said = frame.get_column("judgments").struct
    found = frame.with_columns(verdict=said.field("decision").cast(pl.String), judge=_judge(frame))
    return found.drop("judgments", "judge_name", strict=False).rename({"label": "gold"}, strict=False)


def _judge(frame: pl.DataFrame) -> pl.Series:
    """Return the prompt and the model of the judge."""
    parts = [frame.get_column("judge_name")] if "judge_name" in frame.columns else []
    about = frame.get_column("judgments").struct
    if "judgment" in about.fields and "judge_model" in about.field("judgment").struct.fields:
        parts.append(about.field("judgment").struct.field("judge_model").alias("model").fill_null(strategy="forward"))
    if not parts:
        parts = [pl.repeat("judge", frame.height, eager=True).alias("name")]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()


def _arena_hard(frame: pl.DataFrame) -> pl.DataFrame:
    """The baseline is the first answer of the first game, and the second answer of the second game."""
    frame = _one_game_per_row(frame, "games")
    baseline = pl.col("baseline") if "baseline" in frame.columns else pl.lit("baseline")
    score = pl.col("games").struct.field("score").cast(pl.String)
    return frame.with_columns(verdict=score, model_a=baseline, model_b=pl.col("model")).drop(
        "games", "model", "baseline", strict=False
    )


def _one_game_per_row(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    numbered = frame.with_columns(game=pl.int_ranges(pl.col(column).list.len()))
    single = numbered.explode(column, "game")
    return single.with_columns(order=pl.when(pl.col("game") % 2 == 0).then(pl.lit("AB")).otherwise(pl.lit("BA"))).drop(
        "game"
    )


LOOKED_AT = 2000  # verdicts that tell whether a log is pairwise
# Exports that hold one verdict of a scorer per sample; the other pairwise ones are read by their columns.
SCORES = ("inspect",)


def read_judge_log(
    log: Any,
    *,
    kind: Kind | None = None,
    verdicts: Literal["position", "answer"] = "position",
    **columns: str | None,
) -> JudgeLog:
    """Read a judge log; see `finegold.judges.read`."""
    if verdicts not in ("position", "answer"):
        raise InputError(f'verdicts must be "position" or "answer", not {verdicts!r}')
    if kind not in (None, "pairwise", "pointwise"):
        raise InputError(f'kind must be "pairwise" or "pointwise", not {kind!r}')
    if isinstance(log, JudgeLog):
        return log
    sources = sources_of(log) if is_files(log) else []
    if _is_scores_read(sources):
        return log_of_votes(read(sources, repeated="all"))
    opened = _with_judges(open_sources(sources) if sources else open_table(log), columns.get("judge"))
    frame, chosen = _frame_and_columns(opened, columns)
    table = _standard(frame, chosen)
    if columns.get("order") is not None and not has_order(table):
        raise InputError(f'{opened.name}: the column "{chosen.order}" has other values than AB and BA; see --order')
    kind = kind or _kind(table, chosen)
    if kind == "pointwise":
        found = pointwise_log(table, opened.name)
    else:
        by_position = verdicts == "position"
        found = pairwise_log(table, opened.name, is_placed=chosen.is_placed, by_position=by_position)
    return replace(found, notes=[*found.notes, *_notes(table, frame, chosen, kind)])


def _notes(table: pl.DataFrame, frame: pl.DataFrame, chosen: Chosen, kind: str) -> list[str]:
    """Return what was in the log but is not used."""
    notes = []
    if "order" in table.columns and (kind == "pointwise" or not has_order(table)):
        notes.append(f'the column "{chosen.order}" is not used: its values are not AB and BA, or answers stand alone')
    if chosen.cost is not None:
        blank = frame.get_column(chosen.cost).null_count()
        n = table.get_column("cost").null_count() - blank
        notes += [f'{n:,} values in the column "{chosen.cost}" are no numbers and are left out'] if n > 0 else []
    return notes


def _is_scores_read(sources: list[Source]) -> bool:
    if not sources:
        return False
    export = find_export(look(sources[:1]))
    return export is not None and export.name in SCORES


def _with_judges(opened: Opened, judge: str | None) -> Opened:
    """Name the judges after the files, if there are several files and no column of judges."""
    names = file_names(opened.sources)
    if judge is not None or len(names) < 2 or columns_of_shape(opened.columns):
        return opened
    found = choose_columns(opened.columns, {}, source=opened.name, by_file=True)
    if found.judge is not None:
        return opened
    return open_sources([replace(one, annotator=name) for one, name in zip(opened.sources, names, strict=True)])


def _frame_and_columns(opened: Opened, given: Mapping[str, str | None]) -> tuple[pl.DataFrame, Chosen]:
    if nested := columns_of_shape(opened.columns):
        frame = _flat(to_polars(opened.load(nested).frame), opened.name)
        return frame, choose_columns(frame.columns, given, source=opened.name, by_file=False)
    chosen = choose_columns(opened.columns, given, source=opened.name, by_file=False)
    return to_polars(opened.load(chosen.columns).frame.select(chosen.columns)), chosen


def _flat(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    try:
        return flatten(frame)
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        raise InputError(
            f"{source} looks like a log of JudgeBench or Arena-Hard, but its judgements are no lists of objects with a "
            f"decision or a score ({said}); write one row per verdict, with the columns item, judge, order and verdict"
        ) from None


def _standard(frame: pl.DataFrame, chosen: Chosen) -> pl.DataFrame:
    """Return the columns as text under the names of their roles."""
    roles = ("item", "judge", "verdict", "order", "repeat", "error", "gold", "system_a", "system_b", "system", "turn")
    series = {role: _text(frame.get_column(column)) for role in roles if (column := getattr(chosen, role)) is not None}
    table = pl.DataFrame(series)
    if chosen.cost is not None:
        table = table.with_columns(cost=_price(frame.get_column(chosen.cost)))
    table = _whole_items(table)
    return _last_attempts(table)


def _text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.List):  # MT-bench writes the judge and its prompt
        column = column.list.first()
    if column.dtype.is_float() or column.dtype == pl.Boolean:
        return as_text(column)
    return column.cast(pl.String)


def _price(column: pl.Series) -> pl.Series:
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    return _text(column).str.strip_chars(" $€£").cast(pl.Float64, strict=False)


def _whole_items(table: pl.DataFrame) -> pl.DataFrame:
    """Add the turn of a conversation and the judged system to the item, if they are not the same everywhere."""
    for name, words in (("turn", ", turn "), ("system", ", ")):
        if name in table.columns:
            if table[name].n_unique() > 1:
                both = pl.concat_str(pl.col("item"), pl.lit(words), pl.col(name).fill_null("?"))
                table = table.with_columns(item=both)
            table = table.drop(name)
    return table


def _last_attempts(table: pl.DataFrame) -> pl.DataFrame:
    """Keep the last of several rows for the same repeat: it is a call that was made again."""
    if "repeat" not in table.columns:
        return table
    key = [name for name in ("item", "judge", "order", "system_a", "system_b", "repeat") if name in table.columns]
    return table.unique(subset=key, keep="last", maintain_order=True).drop("repeat")


def _kind(table: pl.DataFrame, chosen: Chosen) -> Kind:
    if chosen.system_a is not None or has_order(table):
        return "pairwise"
    some = table.get_column("verdict").drop_nulls().unique(maintain_order=True).head(LOOKED_AT)
    return "pairwise" if is_clearly_pairwise(some) else "pointwise"
