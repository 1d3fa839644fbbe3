"""Logs of LLM judges: tables of calls -> `JudgeLog` -> one answer per judge and item -> votes.

`judge_calls.py` makes the table of calls. Here verdicts become codes, the swap is undone, failed
calls are recognised, and what was read is said. Truths are votes of people on the same items, and
are read the same way, whether a column, a file or some of the judges have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io import judge_calls as calls
from finegold.io.columns import bare_name, words_in
from finegold.io.exports.judges import is_tool_file, majority_of_people, tool_of
from finegold.io.judge_calls import MOST_CLASSES, Roles, SmallCodes, fitting, replaced
from finegold.io.source import Source, is_files, sources_of
from finegold.io.tables import Table, open_table
from finegold.io.verdicts import (
    FAILURES,
    NO_ERROR,
    NO_SCORES,
    LogReading,
    Meaning,
    class_of,
    fold,
    number_of,
    sounds_like_failure,
)
from finegold.votes.encoding import MISSING, Codes, Names, encode_ids, text_of, to_list
from finegold.votes.hygiene import Finding
from finegold.votes.labels import is_missing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# which side of the item was shown first; -1 if that is not known
A_FIRST, B_FIRST = 0, 1
TIE = "tie"
# the code of a tie in a pairwise log, and of an answer whose calls contradict each other
TIED, UNDECIDED = 2, -2
# what an undecided answer counts: chance, where there are two classes
HALF = 0.5
SYSTEMS = ("system_a", "system_b")
# roles that are said in other words
ROLES_SAID = {"system_a": "first system", "system_b": "second system", "gold": "truth"}
# a column that says whether a judge is a person
KINDS = words_in("sourcetype annotatorkind annotatortype judgetype ratertype evaluatortype")
# from this share on, in so many pairs, verdicts may name answers and not positions
CONTRADICTS, FEWEST_PAIRS = 0.6, 20
# standard deviations
SIGNIFICANT = 3.0
# with a larger share, the column is not one of verdicts
MOST_UNREADABLE = 0.5
# share of numbers from which verdicts are scores
MOST_NUMBERS = 0.8
# share of the verdicts of two judges from which what sounds like a failure is a class
LEAST_CLASS = 0.1
# of the verdicts that cannot be read: how many are shown, and their characters
UNREAD_SHOWN, SHOWN = 5, 60


class RoleReading(NamedTuple):
    """What a role was read from: columns, and what they hold in a few words."""

    columns: tuple[str, ...]
    about: str = ""

    def __str__(self) -> str:
        return " + ".join(self.columns) + (f" ({self.about})" if self.about else "")


@dataclass(frozen=True)
class Interpretation:
    """How a log was read: the column of each role, and the columns that are not used."""

    roles: dict[str, RoleReading]
    unused: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{role} = {read}" for role, read in self.roles.items()]
        parts += [f"not used: {', '.join(self.unused)}"] if self.unused else []
        return " · ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain values, with the whole as one line of text."""
        roles = {
            role: {"columns": list(read.columns), "about": read.about}
            for role, read in self.roles.items()
        }
        return {"line": str(self), "roles": roles, "unused": list(self.unused)}


class People(NamedTuple):
    """What people said of the items, one vote each."""

    item: Codes
    person: Codes
    answer: Codes
    names: list[str]


@dataclass(frozen=True, eq=False)
class JudgeLog:
    """Calls of LLM judges: the result of `finegold.judges.read`.

    Attributes:
        kind ({"pairwise", "pointwise"}): Whether verdicts compare two answers, or judge one.
        item, judge (ndarray of int of shape (n_verdicts,)): Positions in `item_names` and
            `judge_names`.
        answer (ndarray of int of shape (n_verdicts,)): The verdict as a position in `class_names`,
            with the swap undone; -1 if the call failed.
        first (ndarray of int of shape (n_verdicts,)): Which side of the item was shown first: 0 for
            the first class, 1 for the second, -1 if that is not known.
        failure (ndarray of int of shape (n_verdicts,)): 0, or why the call failed: 10 error, 11
            refusal, 12 unreadable text, 13 empty.
        cost (ndarray of float of shape (n_verdicts,)): The price of each call; NaN where there is
            none.
        item_names, judge_names, class_names (list): The names. A pairwise log has three classes:
            the first side, the second side and a tie.
        gold (ndarray of int of shape (n_items,)): The known truth of each item, as a position in
            `class_names`; -1 where there is none.
        system_names (list): The systems that are compared; empty if the log does not name them.
        system_a, system_b (ndarray of int of shape (n_items,)): The systems behind the first and
            the second class, as positions in `system_names`; empty like it.
        is_ordered: Whether classes are numbers in ascending order.
        notes: What a user should know about how the log was read.
        unread (dict): Verdicts that could not be read -> how often each occurs, the most frequent
            first.
        reading (Interpretation): Which column is what.
        criterion: What is judged, if the log has several criteria.
        people (People, optional): The votes of people, where several voted.
        about (polars.DataFrame): What else the log says of each item, such as its texts: one row
            per item.
    """

    kind: Literal["pairwise", "pointwise"]
    item: Codes
    judge: Codes
    answer: Codes
    first: SmallCodes
    failure: SmallCodes
    cost: Floats
    item_names: list[Any]
    judge_names: list[str]
    class_names: list[Any]
    gold: Codes
    system_names: list[str] = field(default_factory=list)
    system_a: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    system_b: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    is_ordered: bool = False
    notes: list[str] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    reading: Interpretation = field(default_factory=lambda: Interpretation({}))
    criterion: str = ""
    people: People | None = None
    about: pl.DataFrame = field(default_factory=pl.DataFrame)

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

    @property
    def scores(self) -> Floats:
        """The scores that the classes of an ordered log are."""
        return np.array([float(name) for name in self.class_names])

    def __repr__(self) -> str:
        sizes = f"{self.n_verdicts:,} verdicts, {self.n_items:,} items, {self.n_judges:,} judges"
        return f"JudgeLog({self.kind}, {sizes}, {self.n_failed:,} failed)"

    def failures(self) -> dict[str, dict[str, int]]:
        """Return the number of failed calls of each judge, by reason.

        Returns:
            dict: Judge -> reason (error, refusal, unreadable, empty) -> number of calls.
        """
        n = Counter(zip(self.judge.tolist(), self.failure.tolist(), strict=True))
        return {
            name: {why: n[j, code] for code, why in FAILURES.items() if n[j, code]}
            for j, name in enumerate(self.judge_names)
        }

    def calls(self) -> pl.DataFrame:
        """Return the log as a table with one row per call.

        Returns:
            polars.DataFrame: The columns item, judge, verdict (null if the call failed), failure
                (null if it did not), shown_first (the class that was shown first), gold, cost and,
                if the log names them, system_a and system_b. What is not known is null.
        """

        def names(known: Sequence[Any], codes: Any) -> pl.Series:
            return pl.Series([known[c] if c >= 0 else None for c in codes.tolist()], strict=False)

        columns: dict[str, Any] = {
            "item": names(self.item_names, self.item),
            "judge": names(self.judge_names, self.judge),
            "verdict": names(self.class_names, self.answer),
            "failure": pl.Series([FAILURES.get(c) for c in self.failure.tolist()], dtype=pl.String),
            "shown_first": names(self.class_names, self.first),
            "gold": names(self.class_names, self.gold[self.item]),
            "cost": pl.Series(self.cost).fill_nan(None),
        }
        for name, side in (("system_a", self.system_a), ("system_b", self.system_b)):
            if self.system_names:
                columns[name] = names(self.system_names, side[self.item])
        return pl.DataFrame(columns)


def only_judges(log: JudgeLog, judges: Iterable[str]) -> JudgeLog:
    """Return the log with the calls of some judges, on the same items."""
    is_in = np.isin(log.judge_names, list(judges))
    parts = {name: getattr(log, name)[is_in[log.judge]] for name in OF_CALLS}
    parts["judge"] = (np.cumsum(is_in) - 1).astype(np.int32)[parts["judge"]]
    return replace(log, **parts, judge_names=np.array(log.judge_names)[is_in].tolist())


OF_CALLS = ("item", "judge", "answer", "first", "failure", "cost")


# One answer per judge and item.


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of judges, one per judge and item that was asked (P in all), and how right they
    are.
    """

    # [P] in ascending order
    judge: Integers
    # [P]
    item: Integers
    # [3, P, K] how often each class was named with the first side first, the second, or not known
    counts: Floats
    # [P, K] the same, where every order counts 1 in all of its calls together
    points: Floats
    # [P] a class; UNDECIDED if the calls contradict each other, MISSING if all of them failed
    answer: Integers
    # [P] the mean score of an ordered log; NaN if every call failed
    score: Floats
    # [K] without ties if they are not a class
    names: list[Any]
    # [P] 1 if the answer is right, a half if it is undecided, 0 if every call failed; NaN without a
    # truth
    credit: Floats
    # [P] 1 if every call was right; NaN without a truth
    strict: Floats
    # [P] 1 if the orders together favour the right answer; NaN without a truth or without pairs
    pair: Floats


def merge_calls(log: JudgeLog) -> Answers:
    """Merge the calls of each judge on each item, and compare them with the truths.

    An answer is the class that most of the calls name, when both orders count alike; of scores it
    is the class next to their mean. If the orders contradict each other, it is undecided. Ties are
    a class only if there are truths that are ties, or no truths at all and verdicts that are ties;
    otherwise a tie decides nothing, and is undecided too.
    """
    used, K, names = log.answer != MISSING, len(log.class_names), list(log.class_names)
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    pairs, row = np.unique(log.judge.astype(np.int64) * log.n_items + log.item, return_inverse=True)
    judge, item, P = pairs // log.n_items, pairs % log.n_items, len(pairs)
    has_counts = K <= MOST_CLASSES or not log.is_ordered
    counts = np.zeros((1 if log.is_ordered else 3, P, K if has_counts else 0))
    if has_counts:
        np.add.at(counts, (log.first[used] % len(counts), row[used], log.answer[used]), 1.0)
    points = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)).sum(axis=0)
    n_top = (points >= points.max(axis=1, keepdims=True, initial=0) - 1e-9).sum(axis=1)
    n, score = np.bincount(row[used], minlength=P), np.full(P, np.nan)
    if log.is_ordered:
        sums = np.bincount(row[used], log.scores[log.answer[used]], minlength=P)
        score[n > 0] = sums[n > 0] / n[n > 0]
        answer = np.abs(np.nan_to_num(score)[:, None] - log.scores).argmin(axis=1)
    else:
        answer = np.where(n_top == 1, points.argmax(axis=1), UNDECIDED)
    answer[n == 0] = MISSING
    if log.kind == "pairwise":
        known = log.gold != MISSING
        if not ((log.gold if known.any() else log.answer) == TIED).any():
            answer[answer == TIED] = UNDECIDED
            names, points = names[:TIED], points[:, :TIED]
    # How right answers are.
    gold, K = log.gold[item], points.shape[1]
    n_right = np.bincount(row, log.answer == gold[row], minlength=P)
    right = points[np.arange(P), np.clip(gold, 0, K - 1)] if K else np.zeros(P)
    right[(gold < 0) | (gold >= K)] = 0.0
    pair, part = np.full(P, np.nan), (right > 0) / np.maximum(n_top, 1)
    if log.kind == "pairwise":
        for_sides = points[:, :TIED].sum(axis=1)
        pair = (right > np.where(gold == TIED, for_sides, for_sides - right)) * 1.0
        part = np.full(P, HALF)
    credit = np.where(answer == UNDECIDED, part, answer == gold)
    strict = (n_right == np.bincount(row, minlength=P)) * 1.0
    figures = (np.where(gold >= 0, each, np.nan) for each in (credit, strict, pair))
    return Answers(judge, item, counts, points, answer, score, names, *figures)


def as_votes(log: JudgeLog) -> tuple[pl.DataFrame, Finding]:
    """Return one vote per judge and item as a long table of task, annotator, label and gold, and
    how the log was read. The label is null where a judge has no answer.
    """
    merged = merge_calls(log)
    gold = log.gold[merged.item].tolist()
    columns = {
        "task": [str(log.item_names[i]) for i in merged.item.tolist()],
        "annotator": [log.judge_names[j] for j in merged.judge.tolist()],
        "label": [str(merged.names[c]) if c >= 0 else None for c in merged.answer.tolist()],
        "gold": [str(log.class_names[code]) if code >= 0 else None for code in gold],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    lost = {
        "call{} failed": log.n_failed,
        "answer{} contradicting each other after the swap": (merged.answer == UNDECIDED).sum(),
    }
    words = [f"{n:,} " + text.format("" if n == 1 else "s") for text, n in lost.items() if n]
    said = f"read as a log of LLM judges: {log.reading}"
    said += f"; not votes: {', '.join(words)}" if words else ""
    return frame, Finding("judges", said)


# Records -> logs.


def read_judge_log(log: Any, gold: Any = None, **given: Any) -> JudgeLog:
    """Read the log of one criterion; see `finegold.judges.read`. What is given are fields of
    `LogReading`.
    """
    logs = read_judge_logs(log, gold, **given)
    if len(logs) > 1:
        listed = ", ".join(f'"{name}" ({each.n_verdicts:,})' for name, each in logs.items())
        one = use(question=Placeholder("NAME"), text="for one of them")
        raise InputError(f"the log has {len(logs)} criteria: {listed}", remedies=[one])
    return next(iter(logs.values()))


def read_judge_logs(log: Any, gold: Any = None, **given: Any) -> dict[str, JudgeLog]:
    """Read a log by criterion; a log without criteria has one, with the name ""."""
    is_column = isinstance(gold, str) and not Path(gold).exists()
    golds = [] if gold is None or is_column else [gold]
    if isinstance(log, JudgeLog):
        reading, logs = LogReading(), {log.criterion: log}
        golds = [] if gold is None else [gold]
    else:
        reading = LogReading(**given | ({"gold": gold} if is_column else {}))
        notes: list[str] = []
        name, frame, truths = calls.load_records(log, notes)
        logs, golds = _logs_of(name, frame, reading, notes), [*truths, *golds]
    for known in golds:
        logs = {name: _with_gold(each, known, reading) for name, each in logs.items()}
    return logs


def _logs_of(
    name: str, frame: pl.DataFrame, reading: LogReading, notes: list[str]
) -> dict[str, JudgeLog]:
    """Make the log of each criterion of some records."""
    if not reading.judge and not reading.verdict:
        frame, by_column = calls.by_row(frame)
        reading = replace(reading, **by_column)
    roles = calls.choose_columns(frame, reading)
    kind = next((each for each in frame.columns if bare_name(each) in KINDS), None)
    if kind is not None and "judge" in roles and reading.people is None:
        is_person = frame[kind].str.to_lowercase().str.contains("human|person|expert|user")
        people = frame.filter(is_person)[roles["judge"][0]].unique().to_list()
        if 0 < len(people) < frame[roles["judge"][0]].n_unique():
            reading = replace(reading, people=",".join(map(str, people)))
    if "verdict" not in roles:
        calls.refuse_lost("verdict", frame, roles, name)
    roles = calls.tell_apart(frame, roles, name, notes)
    if "item" not in roles and "judge" in roles and frame[roles["judge"][0]].n_unique() > 1:
        calls.refuse_lost("item", frame, roles, name)
    table = calls.table_of(frame, roles, name, notes)
    table, are_pairs = calls.with_orders(table, roles, reading, name, notes)
    parts = {"": table}
    if "criterion" in table.columns:
        named = table.with_columns(pl.col("criterion").fill_null("?"))
        groups = named.group_by("criterion", maintain_order=True)
        parts = {str(key): part for (key,), part in groups if reading.question in (None, key)}
        if not parts:
            listed = ", ".join(f'"{each}"' for each in named["criterion"].unique())
            raise InputError(f'there is no criterion "{reading.question}" among {listed}', name)
    logs = {}
    for criterion, part in parts.items():
        log = _log_of(part, are_pairs, reading, f"{name} {criterion}".strip())
        if "repeat" not in roles:
            _refuse_hidden_orders(log, name)
        log = replace(log, criterion=criterion, about=_about(log, part, roles, frame))
        log = _with_own_truths(log, part, reading, roles, frame)
        log.notes.extend([*notes, *_unread(log, roles, reading, frame)])
        logs[criterion] = replace(log, reading=_interpretation(log, part, roles, frame))
    return logs


def _log_of(table: pl.DataFrame, are_pairs: bool, reading: LogReading, source: str) -> JudgeLog:
    """Make the log of a table of calls, without truths."""
    said = (_compare if are_pairs else _judge)(table, reading)
    n = int((said["failure"] == Meaning.UNREADABLE).sum())
    unread = table["verdict"].filter(pl.Series(said["failure"] == Meaning.UNREADABLE))
    n_all = n + int((said["failure"] == 0).sum())
    if n > n_all * MOST_UNREADABLE:
        other = "pointwise" if are_pairs else "pairwise"
        example = unread[0].replace("\n", " ")[:SHOWN]
        problem = f"{n:,} of {n_all:,} verdicts cannot be read as {said['kind']} ones"
        remedies = [
            use(f"if they are {other}", kind=other),
            use("to find them in a text", verdict_pattern=Placeholder("REGEX")),
            use("to say what they mean", verdict_map=Placeholder("X=A,Y=B")),
        ]
        raise InputError(f"{problem}, such as {example!r}", source, remedies)
    items = encode_ids(Names(said.pop("items")), is_text=True)
    judges = encode_ids(Names(table["judge"]), is_text=True)
    item, item_names = items.codes, to_list(items.names)
    for name in {"system_a", "system_b"} & said.keys():
        by_item = np.zeros(len(item_names), np.int32)
        by_item[item] = said[name]
        said[name] = by_item
    counts = unread.str.slice(0, SHOWN).value_counts()
    cost = np.full(table.height, np.nan)
    if "cost" in table.columns:
        cost = table["cost"].fill_null(np.nan).to_numpy()
    return JudgeLog(
        item=item,
        judge=judges.codes,
        item_names=item_names,
        judge_names=[str(name) for name in to_list(judges.names)],
        cost=cost,
        unread=dict(counts.sort("count", "verdict", descending=[True, False]).rows()),
        gold=np.full(len(item_names), MISSING, np.int32),
        **said,
    )


# Calls that compare two answers.


def _compare(table: pl.DataFrame, reading: LogReading) -> dict[str, Any]:
    """Return what calls that compare two answers say: fields of a log by call, with the items."""
    n, flip = table.height, np.zeros(table.height, bool)
    orders = table["order"].to_numpy() if "order" in table.columns else np.full(n, -1, np.int8)
    found: dict[str, Any] = {"items": table["item"], "class_names": ["A", "B", TIE]}
    if "system_a" in table.columns:
        table = _by_pair(table.with_columns(pl.col(*SYSTEMS).fill_null("?")))
        flip = table["flip"].to_numpy()
        # more than two systems answered a prompt: each pair is an item
        if table.select("item", "a", "b").n_unique() > table["item"].n_unique():
            found["items"] = table["pair"]
        systems = sorted({*table["a"].unique(), *table["b"].unique()})
        code_of = {name: code for code, name in enumerate(systems)}
        found |= {f"system_{side}": replaced(table[side], code_of, MISSING) for side in "ab"}
        found["system_names"] = systems
        if len(systems) == 2:
            found["class_names"] = [*systems, TIE]
        if "order" in table.columns:
            # if the columns of the systems are exchanged with it, it says nothing more
            sides = table.group_by("item", "a", "b").agg(n=pl.n_unique("flip"))["n"]
            shown = table.group_by("item", "a", "b", "flip").agg(n=pl.n_unique("order"))["n"]
            if (sides > 1).any() and (shown == 1).all():
                orders = np.full(n, A_FIRST, np.int8)
    meaning = _with_errors(table, _meanings(table, "verdict", reading))
    by_place = reading.verdicts == "position"
    answer = _sides(meaning, orders if by_place else np.zeros(n), flip)
    first = np.where(orders < 0, -1, np.where(flip, 1 - orders, orders)).astype(np.int8)
    failure = np.where(meaning >= Meaning.ERROR, meaning, 0).astype(np.int8)
    notes = _doubts(table, answer, first) if by_place else []
    own = {"kind": "pairwise", "answer": answer, "first": first, "failure": failure}
    return found | own | {"notes": notes}


def _by_pair(table: pl.DataFrame) -> pl.DataFrame:
    """Add the systems of each row in alphabetical order as a and b, whether that exchanges them,
    and a name of the item with both.
    """
    ends = pl.col("system_a"), pl.col("system_b")
    a, b = pl.min_horizontal(*ends), pl.max_horizontal(*ends)
    pair = pl.concat_str("item", pl.lit(", "), a, pl.lit(" vs "), b)
    return table.with_columns(a=a, b=b, flip=(ends[0] > ends[1]).fill_null(False), pair=pair)


def _meanings(table: pl.DataFrame, name: str, reading: LogReading) -> SmallCodes:
    """Read a column of pairwise verdicts: names of the row's systems, otherwise words."""
    column = table[name]
    meanings = reading.meanings(column.drop_nulls(), "verdicts" if name == "verdict" else "truths")
    codes: SmallCodes = replaced(column, meanings, int(Meaning.EMPTY), pl.Int8)
    if "system_a" in table.columns:
        words = column.str.strip_chars().str.to_lowercase()
        for system, side in zip(SYSTEMS, (Meaning.SIDE_A, Meaning.SIDE_B), strict=True):
            is_named = words == table[system].str.strip_chars().str.to_lowercase()
            codes[is_named.fill_null(False).to_numpy()] = side
    return codes


def _with_errors(table: pl.DataFrame, codes: SmallCodes) -> SmallCodes:
    """Mark the calls that failed by the column of errors."""
    if "error" in table.columns:
        known = table["error"].drop_nulls().unique()
        failed = {each: NO_ERROR.fullmatch(each.strip()) is None for each in known}
        is_failed = replaced(table["error"], failed, False, pl.Boolean)
        codes[is_failed & (codes != Meaning.REFUSAL)] = Meaning.ERROR
    return codes


def _sides(meaning: SmallCodes, orders: Any, flip: NDArray[np.bool_]) -> Codes:
    """Return the side of the item that each verdict is for: 0, 1, 2 for a tie, -1 for a failed
    call.
    """
    side = np.where(meaning >= Meaning.SIDE_A, meaning - Meaning.SIDE_A, meaning)
    is_exchanged = flip ^ ((orders == B_FIRST) & (meaning < Meaning.SIDE_A))
    side = np.where(is_exchanged & (side < TIED), 1 - side, side)
    return np.where(meaning <= Meaning.SIDE_B, side, MISSING).astype(np.int32)


def _doubts(table: pl.DataFrame, answer: Codes, first: SmallCodes) -> list[str]:
    """Warn if a judge contradicts itself after the swap for either position: it may name the
    answers. One that prefers a position says "first, first" or "second, second", hardly both.
    """
    calls = table.select("item", "judge", answer=pl.Series(answer), first=pl.Series(first))
    calls = calls.filter(pl.col("answer").is_between(0, TIED - 1))
    one, other = (
        calls.filter(first=side).unique(("item", "judge"), keep="last") for side in (0, 1)
    )
    both = one.join(other, on=("item", "judge")).group_by("judge", maintain_order=True)
    up = (pl.col("answer") < pl.col("answer_right")).mean()
    down = (pl.col("answer") > pl.col("answer_right")).mean()
    odd = both.agg(n=pl.len(), share=up + down, least=2 * (up * down).sqrt())
    odd = odd.filter(pl.col("n") >= FEWEST_PAIRS, pl.col("least") > CONTRADICTS)
    return [
        f"in {share:.0%} of the swapped pairs {judge} contradicts itself: if A and B name the"
        ' answers and not their positions, set the option verdicts to "answer"'
        for judge, share in odd.select("judge", "share").rows()
    ][:1]


def _refuse_hidden_orders(log: JudgeLog, name: str) -> None:
    """Refuse two verdicts of a judge on an item that contradict each other more than chance if no
    order is known: the answers may be swapped in the second.
    """
    if log.kind != "pairwise" or len({*log.first.tolist()}) > 1:
        return
    votes = pl.DataFrame({each: getattr(log, each) for each in ("item", "judge", "answer")})
    pairs = votes.filter(pl.col("answer").is_between(0, TIED - 1)).group_by("item", "judge")
    twice = pairs.agg(n=pl.len(), apart=pl.n_unique("answer") == 2).filter(n=2)
    n, apart = twice.group_by("judge").agg(pl.len(), pl.sum("apart")).drop("judge")
    if (2 * apart > n + SIGNIFICANT * n.sqrt()).any():
        share = float(apart.sum()) / int(n.sum())
        problem = (
            "there are two verdicts per judge and item, and no column says in which order the"
            f" answers were shown; {share:.0%} of them contradict each other, as"
            " they do if answers are swapped in the second"
        )
        column = Placeholder("COLUMN")
        remedies = [use(order=column), use("if they are repeats", repeat=column)]
        raise InputError(problem, name, remedies)


# Calls that judge one answer each.


def _judge(table: pl.DataFrame, reading: LogReading) -> dict[str, Any]:
    """Return what calls that judge one answer each say, classes or scores: fields of a log by call,
    with the items.
    """
    verdicts = table["verdict"]
    counts = dict(verdicts.drop_nulls().value_counts().rows())
    parts = {text: reading.said(text) for text in counts}
    known = {fold(reading.meant(text)) for text in _texts_of(table, "gold")}
    known |= {fold(meant) for meant in reading.meaning_of_words.values()}
    classes, notes = _odd_classes(table, parts, known)
    said: dict[str, str | Meaning] = {
        text: Meaning.UNREADABLE if part is None else class_of(part, classes)
        for text, part in parts.items()
    }
    names = {text: each for text, each in said.items() if isinstance(each, str)}
    n_numbers = sum(counts[text] for text, each in names.items() if number_of(each) is not None)
    is_ordered = n_numbers > 0 and n_numbers >= MOST_NUMBERS * sum(counts[text] for text in names)
    if is_ordered:
        said = {text: _score(each, classes) for text, each in said.items()}
    # the most frequent spelling of each class
    spelled: Counter[str] = Counter()
    for text, each in said.items():
        if isinstance(each, str):
            spelled[each] += counts[text]
    spelling = {fold(name): name for name in sorted(spelled, key=lambda x: (spelled[x], x))}
    class_names = sorted(spelling.values(), key=float if is_ordered else None)
    code_of = {fold(name): code for code, name in enumerate(class_names)}
    codes = {text: code_of[fold(each)] for text, each in said.items() if isinstance(each, str)}
    failures = {text: 0 if isinstance(each, str) else int(each) for text, each in said.items()}
    failure = _with_errors(table, replaced(verdicts, failures, int(Meaning.EMPTY), pl.Int8))
    return {
        "kind": "pointwise",
        "items": table["item"],
        "answer": np.where(failure > 0, MISSING, replaced(verdicts, codes, MISSING)).astype(
            np.int32
        ),
        "failure": failure,
        "first": np.full(table.height, -1, np.int8),
        "class_names": class_names,
        "is_ordered": is_ordered,
        "notes": notes,
    }


def _texts_of(table: pl.DataFrame, name: str) -> list[str]:
    return table[name].drop_nulls().unique().to_list() if name in table.columns else []


def _score(said: str | Meaning, classes: Iterable[str] = ()) -> str | Meaning:
    """Return the shortest form of a score: 4 for 4.0 and 4/5. MT-bench writes -1 for none."""
    if not isinstance(said, str):
        return said
    score = number_of(said)
    if score is None:
        return Meaning.UNREADABLE
    return Meaning.EMPTY if score == -1 and not NO_SCORES & {*classes} else f"{score:g}"


def _odd_classes(
    table: pl.DataFrame, parts: Mapping[str, str | None], known: set[str]
) -> tuple[frozenset[str], list[str]]:
    """Return the classes that sound like failed calls, such as error beside no_error, and notes.

    What sounds so is a class if it is one of the truths, if the user says so, or if it is a tenth
    of the verdicts of two judges.
    """
    words = {text: fold(part) for text, part in parts.items() if part and fold(part)}
    odd = {word: text for text, word in words.items() if sounds_like_failure(str(parts[text]))}
    if not odd:
        return frozenset(), []
    said = pl.col("verdict").replace_strict(words, default=None, return_dtype=pl.String)
    counts = table.select("judge", said=said).drop_nulls().group_by("judge", "said").len()
    share = pl.col("len") / pl.col("len").sum().over("judge")
    n_judges, notes = Counter(counts.filter(share >= LEAST_CLASS)["said"].to_list()), []
    for word in [each for each in odd if each in n_judges and each not in known]:
        if is_class := n_judges[word] > 1 and ":" not in word:
            known = known | {word}
        what, other = ("class", "failed call") if is_class else ("failed call", "class")
        remedy = "leave such rows empty" if is_class else f"use verdict_map: {word}={word}"
        notes.append(f"{odd[word]!r} is read as a {what}; if it is a {other}, {remedy}")
    return frozenset(odd.keys() & known), notes


# Truths, and votes of people.


def _with_gold(log: JudgeLog, gold: Any, reading: LogReading) -> JudgeLog:
    """Add known truths to a log: item -> truth, or a table of items and truths, in which several
    people may have voted on an item.
    """
    name, votes = _truths(log, gold)
    known = votes.filter(pl.col("item").is_in([str(each) for each in log.item_names]))
    if not known.height:
        examples = f"the gold has {votes['item'][:1].to_list()}, the log has {log.item_names[:1]}"
        problem = f"none of the {votes.height:,} gold truths belongs to an item of the log"
        raise InputError(f"{problem}: {examples}; write items alike", name)
    if n := votes.height - known.height:
        note = f"{n:,} gold truths belong to no item of the log and are left out"
        log = replace(log, notes=[*log.notes, note])
    log = _with_votes(log, known, reading, name)
    about = f"{int((log.gold != MISSING).sum()):,} of {log.n_items:,}"
    roles = log.reading.roles | {"truth": RoleReading((PurePath(name).name,), about)}
    return replace(log, reading=replace(log.reading, roles=roles))


def _truths(log: JudgeLog, gold: Any) -> tuple[str, pl.DataFrame]:
    """Return a table of item, judge (the person) and gold (what the person says)."""
    if isinstance(gold, Mapping) and not any(isinstance(each, Mapping) for each in gold.values()):
        several = (list, tuple, np.ndarray)
        rows = [
            (text_of(item), str(number), text_of(said))
            for item, cell in gold.items()
            for number, said in enumerate(cell if isinstance(cell, several) else [cell], 1)
            if not is_missing(said)
        ]
        return "the gold", pl.DataFrame(rows, ["item", "judge", "gold"], orient="row")
    source = gold.name if isinstance(gold, Source) else gold if isinstance(gold, str) else ""
    of_people = None
    if isinstance(gold, str | PathLike | Source):
        of_people = majority_of_people(sources_of(gold)[0])
    name, frame, _ = calls.load_records(gold if of_people is None else of_people, [])
    name = source or name
    own = [each for each in frame.columns if log.criterion and fold(each) == fold(log.criterion)]
    if log.criterion and (found := [*fitting("criterion", frame.columns)]):
        frame = frame.filter(pl.col(found[0]).str.to_lowercase() == log.criterion.casefold())
    # a table of truths is a log of which people are the judges
    roles = calls.choose_columns(frame.drop(own), LogReading())
    taken = {column for each in roles.values() for column in each}
    free = [each for each in frame.columns if each not in taken]
    item = roles.get("item") or free[:1]
    names = ("gold", "verdict", "judged", "people")
    truth = own or next((roles[each] for each in names if each in roles), [])
    truth = truth or [each for each in free if each not in item][:1]
    if item and "item" not in log.reading.roles:
        # items are numbered by rows, which names of items may look like
        problem = "no column of the log is read as its items, so truths by"
        like = item[0] if item[0] in log.reading.unused else Placeholder("COLUMN")
        raise InputError(f"{problem} {item[0]} match nothing", name, [use(item=like)])
    if not item or not truth:
        problem = "found no columns of items and truths" + calls.listing(frame, roles)
        raise InputError(problem, name, [Remedy(text="name them item and truth")])
    sides = [pl.col(roles[end][0]).alias(end) for end in SYSTEMS if end in roles]
    votes = frame.select(pl.col(item[0]).alias("item"), *sides)
    if truth == roles.get("people"):
        votes = _votes_in(votes.hstack(frame.select(truth)), truth)
    else:
        # without names, the votes on an item are numbered
        number = pl.int_range(1, pl.len() + 1).over(votes.columns).cast(pl.String)
        person = frame[roles["judge"][0]] if "judge" in roles else number
        votes = votes.with_columns(gold=frame[truth[0]], judge=person)
    if sides and log.system_names:
        votes = _by_pair(votes)
        is_pair = pl.col("pair").is_in([str(each) for each in log.item_names])
        votes = votes.with_columns(item=pl.when(is_pair).then("pair").otherwise("item"))
    return name, votes.filter(pl.col("gold").str.strip_chars() != "", ~pl.col("item").is_null())


def _votes_in(frame: pl.DataFrame, people: Sequence[str]) -> pl.DataFrame:
    """Return the votes in the columns of people as rows of judge and gold."""
    rest = [each for each in frame.columns if each not in people]
    votes = frame.unpivot(people, index=rest, variable_name="judge", value_name="gold")
    return votes.drop_nulls("gold")


def _with_own_truths(
    log: JudgeLog, table: pl.DataFrame, reading: LogReading, roles: Roles, frame: pl.DataFrame
) -> JudgeLog:
    """Take truths from the columns of truths or people, or from those judges who are people."""
    if columns := roles.get("people") or roles.get("gold"):
        rows = table.select("row", *({*SYSTEMS, "order"} & {*table.columns}))
        rows = rows.with_columns(item=pl.Series([str(log.item_names[i]) for i in log.item]))
        rows = rows.hstack(
            frame.select(pl.col(columns).name.prefix("said "))[rows["row"].to_numpy()]
        )
        votes = _votes_in(rows.drop("row"), [f"said {each}" for each in columns])
        if "people" in roles:
            votes = votes.unique(("item", "judge"), keep="first", maintain_order=True)
            votes = votes.with_columns(pl.col("judge").str.strip_prefix("said "))
        if votes.height:
            log = _with_votes(log, votes, reading, ", ".join(roles.get("people", ())))
    if reading.people is None or "people" in roles:
        return log
    patterns = [part.strip() for part in reading.people.split(",")]
    who = [name for name in log.judge_names if any(fnmatchcase(name, each) for each in patterns)]
    rest = [name for name in log.judge_names if name not in who]
    if not who or not rest:
        problem = f"{reading.people} names {'all judges' if who else 'no judge'}"
        listed = ", ".join(log.judge_names[:MOST_CLASSES])
        raise InputError(f"{problem}; the judges are {listed}")
    own = merge_calls(only_judges(log, who))
    item, person, answer = (
        part[own.answer >= 0].astype(np.int32) for part in (own.item, own.judge, own.answer)
    )
    gold, _ = _majority(item, answer, log.n_items)
    names = [name for name in log.judge_names if name in who]
    return replace(only_judges(log, rest), gold=gold, people=People(item, person, answer, names))


def _with_votes(
    log: JudgeLog, votes: pl.DataFrame, reading: LogReading, name: str = ""
) -> JudgeLog:
    """Take what most people say as the truth, and keep their votes if several voted. Without the
    name of what holds them, votes that cannot be read are left out.
    """
    item = replaced(votes["item"], {str(each): i for i, each in enumerate(log.item_names)}, MISSING)
    if log.kind == "pointwise":
        log, answer = _classes_of(log, votes["gold"], reading, is_said=bool(name))
    else:
        flip = np.zeros(len(item), bool)
        if log.system_names:
            if "system_a" not in votes.columns:
                ends = zip(SYSTEMS, (log.system_a, log.system_b), strict=True)
                named = [
                    pl.Series(end, [log.system_names[s] for s in side[item]]) for end, side in ends
                ]
                votes = votes.with_columns(named)
            flip = _by_pair(votes)["flip"].to_numpy()
        meanings = _meanings(votes, "gold", reading)
        answer = _sides(meanings, np.zeros(len(item)), flip)
        if "order" in votes.columns:
            # A and B of a truth are the systems of the row, in whichever order they were shown,
            # unless truths contradict each other, and would not if they were positions
            by_place = _sides(meanings, votes["order"].to_numpy(), flip)
            n_torn = [_majority(item, each, log.n_items)[1] for each in (answer, by_place)]
            answer = by_place if n_torn[0] > n_torn[1] == 0 else answer
    if name and (odd := np.flatnonzero(answer == MISSING)).size:
        i, expected = item[odd[0]], log.class_names
        if log.system_names:
            expected = [log.system_names[log.system_a[i]], log.system_names[log.system_b[i]], TIE]
        problem = f"the gold of item {log.item_names[i]!r} is {votes['gold'][int(odd[0])]!r}"
        listed = ", ".join(map(str, expected[:MOST_CLASSES]))
        raise InputError(f"{problem}; expected one of {listed}", name)
    gold, n_differ = _majority(item, answer, log.n_items)
    if n_differ and not name:
        text = f"the truths of {n_differ:,} items differ from row to row; what most rows say counts"
        log.notes.append(text)
    names, person = np.unique(votes["judge"].to_numpy(), return_inverse=True)
    people = People(item, person.astype(np.int32), answer, list(map(str, names)))
    is_shared = len(names) > 1 and np.bincount(item).max() > 1
    return replace(log, gold=gold, people=people if is_shared else log.people)


def _classes_of(
    log: JudgeLog, truths: pl.Series, reading: LogReading, is_said: bool
) -> tuple[JudgeLog, Codes]:
    """Return the class of each truth, and the log with the classes that no judge used."""
    names = {fold(name): str(name) for name in log.class_names}
    said: dict[str, str] = {}
    for text in truths.drop_nulls().unique(maintain_order=True):
        name = class_of(reading.meant(text), frozenset(names))
        name = _score(name, names) if log.is_ordered else name
        said |= {text: name} if isinstance(name, str) else {}
    new = {fold(name): name for name in said.values() if fold(name) not in names}
    is_right = len(new) < len({fold(name) for name in said.values()})
    if new and is_right and (log.is_ordered or len(new | names) <= MOST_CLASSES):
        every = sorted([*names.values(), *new.values()], key=float if log.is_ordered else None)
        code = np.array([*(every.index(name) for name in names.values()), MISSING], np.int32)
        notes = [*log.notes]
        if is_said and not log.is_ordered:
            listed = ", ".join(sorted(new.values()))
            notes.append(f"no judge used the class {listed}, which truths have")
        parts: dict[str, Any] = {"answer": code[log.answer], "gold": code[log.gold]}
        log = replace(log, class_names=every, notes=notes, **parts)
    code_of = {fold(name): code for code, name in enumerate(log.class_names)}
    codes = {text: code_of[fold(name)] for text, name in said.items() if fold(name) in code_of}
    return log, replaced(truths, codes, MISSING)


def _majority(item: Codes, answer: Codes, n_items: int) -> tuple[Codes, int]:
    """Return the class that most votes on each item name, -1 where several do or nobody voted, and
    on how many items votes differ.
    """
    best: Codes = np.full(n_items, MISSING, np.int32)
    votes = pl.DataFrame({"item": item, "answer": answer}).filter(pl.col("answer") >= 0)
    counts = votes.group_by("item", "answer").len()
    by_item = counts.group_by("item").agg(
        n_said=pl.len(),
        is_tied=(pl.col("len") == pl.col("len").max()).sum() > 1,
        top=pl.col("answer").sort_by("len").last(),
    )
    clear = by_item.filter(~pl.col("is_tied"))
    best[clear["item"].to_numpy()] = clear["top"].to_numpy()
    return best, int((by_item["n_said"] > 1).sum())


# What was read.


def _unread(log: JudgeLog, roles: Roles, reading: LogReading, frame: pl.DataFrame) -> list[str]:
    """Return what cannot be read, as notes."""
    notes = []
    known = frame[roles["gold"][0]].drop_nulls().to_list() if "gold" in roles else []
    if len(known) and (log.gold == MISSING).all():
        problem = f'no truth in the column "{roles["gold"][0]}" can be read'
        problem += f", such as {known[0][:40]!r}"
        if reading.gold is not None:
            raise InputError(problem)
        notes.append(f"{problem}: it is not used")
    if log.unread:
        shown = [f"{text!r} ({n:,})" for text, n in log.unread.items()]
        others = f" and {len(shown) - UNREAD_SHOWN:,} others" if len(shown) > UNREAD_SHOWN else ""
        notes.append(
            f"{sum(log.unread.values()):,} verdicts cannot be read and count as failed:"
            f" {', '.join(shown[:UNREAD_SHOWN])}{others}; say what they mean with verdict_map, or"
            " where in the text the verdict is with verdict_pattern"
        )
    return notes


def _interpretation(
    log: JudgeLog, table: pl.DataFrame, roles: Roles, frame: pl.DataFrame
) -> Interpretation:
    used = {"judge": log.judge_names} | roles
    is_lost = {"gold": (log.gold == MISSING).all(), "order": "order" not in table.columns}
    used = {role: columns for role, columns in used.items() if not is_lost.get(role)}
    classes = [str(name) for name in log.class_names]
    values = ", ".join(classes[:4]) + (", ..." if len(classes) > 4 else "")
    sizes = [str(frame[column].n_unique()) for column in roles.get("judge", ())]
    judged = log.judge.astype(np.int64) * log.n_items + log.item
    is_both = np.intersect1d(judged[log.first == A_FIRST], judged[log.first == B_FIRST]).size
    is_mixed = {A_FIRST, B_FIRST} <= {*log.first.tolist()}
    about = {
        "judge": " x ".join(sizes) or "one judge",
        "criterion": log.criterion,
        "verdict": f"{classes[0]} to {classes[-1]}" if log.is_ordered else values,
        "order": "both" if is_both else "one per item" if is_mixed else "one",
        "gold": f"{int((log.gold != MISSING).sum()):,} of {log.n_items:,}",
        "people": str(len(log.people.names)) if log.people else "",
    }
    read = {
        ROLES_SAID.get(role, role): RoleReading(tuple(used[role]), about.get(role, ""))
        for role in (*calls.WORDS, "people")
        if role in used
    }
    taken = {column for columns in used.values() for column in columns}
    unused = [
        each
        for each in frame.columns
        if each not in taken and not each.startswith((calls.FILE, calls.FOLDER))
    ]
    return Interpretation(read, tuple(unused))


def _about(log: JudgeLog, table: pl.DataFrame, roles: Roles, frame: pl.DataFrame) -> pl.DataFrame:
    """Return what the log says of each item, and the same in all of its rows."""
    of_calls = ("judge", "verdict", "order", "repeat", "cost", "error", "gold", "criterion")
    taken = {column for role in of_calls for column in roles.get(role, ())}
    columns = [each for each in frame.columns if each not in taken]
    if not columns:
        return pl.DataFrame({"item": [str(name) for name in log.item_names]})
    item = pl.Series("finegold item", log.item)
    part = frame.select(columns)[table["row"].to_numpy()].with_columns(item)
    groups = part.group_by("finegold item", maintain_order=True)
    first = groups.agg(pl.all().first()).sort("finegold item").drop("finegold item")
    same = groups.agg(pl.all().n_unique()).drop("finegold item").max().row(0)
    return first.select([name for name, n in zip(first.columns, same, strict=True) if n == 1])


# For commands that read votes.


def find_judge_logs(
    votes: Any, gold: str | None = None, item: Any = None
) -> dict[str, JudgeLog] | None:
    """Read what commands take for votes as a log of judges, by criterion; None if it is not one."""
    log: Any = None
    if is_files(votes):
        log = sources = sources_of(votes)
        columns = {*sources[0].columns, *sources[0].record} if sources else set()
        is_tool = bool(sources) and is_tool_file(sources[0])
    elif isinstance(votes, Table) or hasattr(type(votes), "columns"):
        log = votes if isinstance(votes, Table) else open_table(votes)
        columns = {str(name) for name in log.columns}
        is_tool = tool_of(columns) is not None
    else:
        return None
    has_verdict = any(
        line < 2 or bare_name(column).endswith(("verdict", "winner"))
        for column, line in fitting("verdict", columns).items()
    )
    has_judge = 0 in fitting("judge", columns).values()
    sides = calls.systems_in(pl.DataFrame(schema=dict.fromkeys(columns, pl.String)))
    is_clear = is_tool or has_judge or bool(sides)
    if not is_tool and not (has_verdict and (is_clear or fitting("order", columns))):
        return None
    known = {role: name for role, name in (("item", item), ("gold", gold)) if isinstance(name, str)}
    try:
        logs = read_judge_logs(log, **known)
    except InputError:
        # a table of votes may well have a column that is called so
        if is_clear:
            raise
        return None
    are_pairs = all(log.kind == "pairwise" for log in logs.values())
    return logs if is_tool or has_judge or are_pairs else None
