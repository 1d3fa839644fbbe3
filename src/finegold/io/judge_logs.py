"""Raw logs of LLM judges -> `JudgeLog`: verdicts in any usual form, the swap undone, failed calls recognised.

A log becomes a table of calls with a column per role (`ROLES`): that of a plain table by the names of its columns, that
of MT-bench, JudgeBench and Arena-Hard by `exports/judges.py`. `pairwise_log` and `pointwise_log` make a `JudgeLog` of
such a table, and everything else, the votes of `aggregate` included, is derived from the `JudgeLog`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import Role, bare_name, named_column
from finegold.io.exports import find_export, look
from finegold.io.exports.judges import calls_of_frame, columns_of_tool, majority_of_people, read_nested, read_qrels
from finegold.io.read import read
from finegold.io.source import READABLE, Source, is_files, sources_of
from finegold.io.tables import Opened, as_text, open_sources, open_table
from finegold.io.truth import read_truth
from finegold.io.verdicts import FAILURES, Meaning, Words, class_of, failure_of, is_clearly_pairwise, number_of
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, to_list
from finegold.votes.frames import to_polars
from finegold.votes.names import Coded, encode_column

Kind = Literal["pairwise", "pointwise"]
Floats = NDArray[np.float64]
SmallCodes = NDArray[np.int8]
A_FIRST, B_FIRST = 0, 1  # which side of the item was shown first; -1 if that is not known
TIE = "tie"
TIED = 2  # the code of a tie in a pairwise log


@dataclass(frozen=True, eq=False)
class JudgeLog:
    """Calls of LLM judges: the result of `finegold.judges.read`.

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
        The names. A pairwise log has three classes: the first side, the second side and a tie.
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
    time : ndarray of datetime64 of shape (n_verdicts,), optional
        When each call was made; NaT where that is not known. None if the log has no times.
    unread : dict
        Verdicts that could not be read -> how often each occurs, the most frequent first.
    length_a, length_b : ndarray of float of shape (n_items,), optional
        The number of characters of the answers behind the first and the second class. None if the log has no answers.
    """

    kind: Kind
    item: Codes
    judge: Codes
    answer: Codes
    first: SmallCodes
    failure: SmallCodes
    cost: Floats
    item_names: list[Any]
    judge_names: list[str]
    class_names: list[Any]
    system_names: list[str]
    system_a: Codes
    system_b: Codes
    gold: Codes
    is_ordered: bool = False
    notes: list[str] = field(default_factory=list)
    time: NDArray[np.datetime64] | None = None
    length_a: Floats | None = None
    length_b: Floats | None = None
    unread: dict[str, int] = field(default_factory=dict)

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

    def calls(self) -> pl.DataFrame:
        """Return the log as a table with one row per call.

        Returns
        -------
        polars.DataFrame
            The columns item, judge, verdict (null if the call failed), failure (null if it did not), shown_first (the
            class that was shown first), gold, cost, time and, if the log names them, system_a, system_b, length_a and
            length_b. What is not known is null.
        """

        def names(known: Sequence[Any], codes: Codes | SmallCodes) -> pl.Series:
            return pl.Series([known[code] if code >= 0 else None for code in codes.tolist()], strict=False)

        reasons = {int(code): reason for code, reason in FAILURES.items()}
        columns: dict[str, Any] = {
            "item": names(self.item_names, self.item),
            "judge": names(self.judge_names, self.judge),
            "verdict": names(self.class_names, self.answer),
            "failure": pl.Series([reasons.get(code) for code in self.failure.tolist()], dtype=pl.String),
            "shown_first": names(self.class_names, self.first),
            "gold": names(self.class_names, self.gold[self.item]),
            "cost": pl.Series(self.cost).fill_nan(None),
        }
        if self.time is not None:
            columns["time"] = self.time
        if self.system_names:
            columns["system_a"] = names(self.system_names, self.system_a[self.item])
            columns["system_b"] = names(self.system_names, self.system_b[self.item])
        if self.length_a is not None and self.length_b is not None:
            columns["length_a"], columns["length_b"] = self.length_a[self.item], self.length_b[self.item]
        return pl.DataFrame(columns)


# Which column is what.

ROLES: dict[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "item": "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid instanceid "
        "uid traceid battleid conversationid instruction question prompt sample instance input unit unitid id index",
        "judge": "judge judgemodel judgename judgeid evaluator evaluatormodel evaluatorname grader gradermodel "
        "annotator annotatorid annotatorindex rater raterid scorer reviewer critic judgellm llm",
        "verdict": "verdict judgment judgement decision winner preference preferred choice vote outcome result "
        "rawverdict rawjudgment answer response output completion rating score grade stringvalue value",
        "order": "order position presentation presentationorder answerorder swapped isswapped swap flipped isflipped "
        "reversed shownfirst firstshown",
        "repeat": "repeat repeatid repetition run runid trial attempt replicate epoch",
        "cost": "cost costusd price usd totalcost callcost",
        "error": "error errors errormessage exception failure failed status callstatus",
        "gold": "gold goldlabel truth groundtruth humanlabel humanverdict humanwinner humanpreference humanscore "
        "truelabel human label reference referencelabel",
        "turn": "turn",
        "time": "time timestamp tstamp createdat judgedat datetime date",
    }.items()
}
VERDICT_ENDS = ("verdict", "winner", "decision", "preference", "judgment", "result")  # of other names of columns
TRUTHS = ("human", "gold", "truth", "label", "reference")  # how the name of a file of truths begins
WORDS_FOR_SYSTEMS = ["model", "system", "generator", "assistant", "candidate", "player"]
# The two systems that are compared. The first column is the answer that was shown first, unless an order is given.
SYSTEMS = (
    *((f"{name}a", f"{name}b") for name in (*WORDS_FOR_SYSTEMS, "contestant")),
    *((f"{name}1", f"{name}2") for name in WORDS_FOR_SYSTEMS),
    ("modelleft", "modelright"),
    ("firstmodel", "secondmodel"),
)
# One system and its opponent: nothing is known about the position of the answers.
OPPONENTS = tuple(
    (name, other)
    for name in ("model", "system", "candidate", "generator")
    for other in ("baseline", "baselinemodel", "reference", "referencemodel", "opponent")
)
# The texts of the two answers, of which the log keeps the lengths.
ANSWERS = tuple(
    (f"{name}{first}", f"{name}{second}")
    for name in ("response", "answer", "output", "completion", "text")
    for first, second in ("ab", "12")
)
EVALUATED = ("model", "system", "modelid", "modelname", "generator", "candidate")  # the system of a pointwise verdict
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
    time: str | None = None
    system_a: str | None = None
    system_b: str | None = None
    system: str | None = None
    text_a: str | None = None
    text_b: str | None = None
    is_pairwise: bool = False  # whatever the verdicts look like
    is_placed: bool = True  # the first system is the answer that was shown first, unless an order is given

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

    def first_free(names: Sequence[str], taken: Sequence[Any] = ()) -> Any:
        return next((free[name] for name in names if name in free and free[name] not in taken), None)

    def pair(pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
        return next((both for both in pairs if both[0] in free and both[1] in free), None)

    roles: dict[str, Any] = {role: first_free(names) for role, names in ROLES.items() if role not in named} | named
    if roles["verdict"] is None:
        roles["verdict"] = next((free[name] for name in free if name.endswith(VERDICT_ENDS)), None)
    if roles["verdict"] is None and bare_name(roles["gold"]) == "label" and "gold" not in named:
        roles |= {"verdict": roles["gold"], "gold": None}  # unless it turns out to be a truth, see `read_judge_log`
    if {"traceid", "runid"} & free.keys():  # scores of Langfuse and feedback of LangSmith
        roles |= {"judge": roles["judge"] or first_free(("key", "name"))}
        roles |= {"item": roles["repeat"], "repeat": None} if roles["item"] is None else {}
    systems = pair(SYSTEMS)
    is_placed = systems != UNPLACED
    if systems is None and roles["judge"] is not None and (systems := pair(OPPONENTS)) is not None:
        is_placed = False
    for end, names in (("system", systems), ("text", pair(ANSWERS))):
        if names is not None:
            roles = {f"{end}_a": free[names[0]], f"{end}_b": free[names[1]]} | roles
    if roles["judge"] is None and not by_file:
        roles["judge"] = first_free(("model", "modelname", "modelid"), list(roles.values()))
    if roles.get("system_a") is None:
        roles["system"] = first_free(EVALUATED, list(roles.values()))
    lost = [role for role in ("item", "judge", "verdict") if roles[role] is None and not (by_file and role == "judge")]
    if lost and not columns:
        raise InputError("there are no columns; expected a table with a header and one verdict per row", source)
    if lost:
        roles |= dict.fromkeys(lost)
        known = {name for names in ROLES.values() for name in names}
        spare = [str(column) for column in columns if column not in roles.values() and bare_name(column) not in known]
        is_guess = len(lost) == 1 and len(spare) == 1
        options = {role: spare[0] if is_guess else Placeholder("COLUMN") for role in lost}
        raise InputError(
            f"found no column of {' and no column of '.join(f'{role}s' for role in lost)} among "
            + ", ".join(f'"{column}"' for column in columns[:20]),
            source,
            [use(**options, text="if that is the column" if len(lost) == 1 else "if those are the columns")],
        )
    return Chosen(**roles, is_placed=is_placed)


# Reading.

LOOKED_AT = 2000  # verdicts that tell whether a log is pairwise
MOST_CLASSES = 20
SCORES = ("inspect",)  # exports that hold one verdict of a scorer per sample, which their own reader reads
FILE = "finegold_file"  # the column of judges that are named after files
TEXTS = ("item", "judge", "verdict", "order", "repeat", "error", "gold", "system_a", "system_b", "system", "turn")


def read_judge_log(
    log: Any,
    *,
    kind: Kind | None = None,
    verdicts: Literal["position", "answer"] = "position",
    words: Words | None = None,
    **columns: str | None,
) -> JudgeLog:
    """Read a judge log; see `finegold.judges.read`."""
    if verdicts not in ("position", "answer"):
        raise InputError(f'verdicts must be "position" or "answer", not {verdicts!r}')
    if kind not in (None, "pairwise", "pointwise"):
        raise InputError(f'kind must be "pairwise" or "pointwise", not {kind!r}')
    if isinstance(log, JudgeLog):
        return log
    sources = _sources(log) if is_files(log) else []
    if sources and (export := find_export(look(sources[:1]))) is not None and export.name in SCORES:
        return log_of_votes(read(sources, repeated="all"))
    is_truth = [len(sources) > 1 and _holds_truths(source) for source in sources]
    truths = [source for source, only in zip(sources, is_truth, strict=True) if only and not all(is_truth)]
    sources = [source for source in sources if source not in truths]
    parts, notes = _parts(sources, columns) if sources else ([_part(open_table(log), columns)], [])
    name, chosen = parts[0].name, parts[0].chosen
    table = pl.concat([part.table for part in parts], how="diagonal_relaxed") if len(parts) > 1 else parts[0].table
    notes += list(dict.fromkeys(note for part in parts for note in part.notes))
    words = words or Words()
    _refuse_truths_as_verdicts(table, chosen, columns, name)
    is_ordered = "order" in table.columns and _orders(table.get_column("order")) is not None
    if columns.get("order") is not None and not is_ordered:
        problem = f'the column "{chosen.order}" has other values than AB and BA'
        raise InputError(problem, name, [Remedy(text="name another column"), leave_out("order")])
    if kind is None:
        is_pairwise = chosen.system_a is not None or is_ordered or chosen.is_pairwise or _speaks_of_pairs(table, words)
        kind = "pairwise" if is_pairwise else "pointwise"
    if kind == "pointwise":
        read_log = pointwise_log(table, name, words=words)
        if read_log.is_ordered and len(read_log.class_names) > MOST_CLASSES:
            raise InputError(
                f"the verdicts have {len(read_log.class_names):,} different scores, more than {MOST_CLASSES}",
                name,
                [Remedy(text="round them to fewer, such as 1 to 5"), use(verdict=Placeholder("COLUMN"))],
            )
    else:
        by_position = verdicts == "position"
        read_log = pairwise_log(table, name, is_placed=chosen.is_placed, by_position=by_position, words=words)
    if "order" in table.columns and (kind == "pointwise" or not is_ordered):
        notes.append(f'the column "{chosen.order}" is not used: its values are not AB and BA, or answers stand alone')
    if "gold" in table.columns:
        notes += _about_gold(table, read_log, chosen.gold, is_named=columns.get("gold") is not None)
    read_log = replace(read_log, notes=[*read_log.notes, *notes, *_about_unread(read_log)])
    for source in truths:
        read_log = with_gold(read_log, source)
        n = int((read_log.gold != MISSING).sum())
        read_log.notes.append(
            f"{source.name} holds truths by its name or its columns, and is used as gold: {n:,} items"
        )
    return read_log


def _sources(log: Any) -> list[Source]:
    """Return the files; a folder may also hold text files of scores."""
    given = log if isinstance(log, list | tuple) else [log]
    if len(given) == 1 and isinstance(given[0], str | PathLike) and (folder := Path(given[0])).is_dir():
        names = sorted(folder.iterdir())
        if names and all(re.search(r"\.(txt|qrels)(\.gz)?$", name.name) for name in names):
            given = names
    return sources_of(list(given))


@dataclass(frozen=True)
class Part:
    """The calls of one file, or of several that look alike."""

    name: str
    table: pl.DataFrame
    chosen: Chosen
    notes: list[str]


def _parts(sources: list[Source], columns: Mapping[str, str | None]) -> tuple[list[Part], list[str]]:
    """Read files together if they name their judges, otherwise one by one, with judges named after the files."""
    nested = [frame for source in sources if (frame := read_nested(source)) is not None]
    if nested:
        return [_part(open_table(frame), columns) for frame in nested], []
    if read_qrels(sources[0]) is None:
        first = open_sources(sources[:1])
        frame_columns = columns_of_tool(first.columns) and calls_of_frame(_load(first, 1), first.name).columns
        chosen = choose_columns(frame_columns or first.columns, columns, source=first.name, by_file=True)
        if chosen.judge is not None:
            return [_part(open_sources(sources), columns)], []
        if len(sources) == 1 and not columns_of_tool(first.columns):
            return [_part(first, columns)], []  # which says that there is no judge
    stems = [_stem(source) for source in sources]
    folders = [PurePath(source.name).parent.name for source in sources]
    names = folders if len(set(stems)) == 1 and len(sources) > 1 else stems
    parts = []
    for source, judge in zip(sources, names, strict=True):
        qrels = read_qrels(source)
        opened = open_table(qrels) if qrels is not None else open_sources([source])
        parts.append(_part(opened, columns, judge))
    shown = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(set(names)) > 3 else "")
    return parts, [f"no column names the judges, so they are named after the files: {shown}"]


def _stem(source: Source) -> str:
    path = PurePath(source.name)
    while path.suffix.lower() in READABLE or path.suffix.lower() in (".txt", ".qrels"):
        path = path.with_suffix("")
    return path.name


def _load(opened: Opened, rows: int | None = None) -> pl.DataFrame:
    frame = to_polars(opened.load(columns_of_tool(opened.columns)).frame)
    return frame if rows is None else frame.head(rows)


def _part(opened: Opened, columns: Mapping[str, str | None], judge: str | None = None) -> Part:
    is_tool = bool(columns_of_tool(opened.columns))
    frame = calls_of_frame(_load(opened), opened.name) if is_tool else None
    names = opened.columns if frame is None else frame.columns
    chosen = choose_columns(names, columns, source=opened.name, by_file=judge is not None)
    frame = to_polars(opened.load(chosen.columns).frame.select(chosen.columns)) if frame is None else frame
    if chosen.judge is None:
        frame, chosen = frame.with_columns(pl.lit(judge).alias(FILE)), replace(chosen, judge=FILE)
    table, notes = _table_of_calls(frame, chosen)
    if chosen.cost is not None:
        n = table.get_column("cost").null_count() - frame.get_column(chosen.cost).null_count()
        notes += [f'{n:,} values in the column "{chosen.cost}" are not numbers and are left out'] if n > 0 else []
    return Part(opened.name, table, replace(chosen, is_pairwise=is_tool), notes)


def _holds_truths(source: Source) -> bool:
    """Return whether a file among others has truths and no verdicts: by its name, or votes of people in columns."""
    return _stem(source).casefold().startswith(TRUTHS) or majority_of_people(source) is not None


def _speaks_of_pairs(table: pl.DataFrame, words: Words) -> bool:
    """Return whether verdicts, or truths beside them, compare two answers."""
    texts = {name: table.get_column(name).drop_nulls().unique(maintain_order=True).head(LOOKED_AT).to_list()
             for name in ("verdict", "gold") if name in table.columns}  # fmt: skip
    said = [part for text in texts["verdict"] if (part := words.said(text)) is not None]
    plain = {text.strip(" [](){}*.\"'").casefold() for text in said}
    if is_clearly_pairwise(said) or is_clearly_pairwise(texts.get("gold", [])):
        return True
    return {"a", "b"} <= plain <= {"a", "b", "c", ""} or (
        "length_a" in table.columns and bool(plain) and plain <= {"a", "b", "c", "0", "1", "2", "3", ""}
    )


def _refuse_truths_as_verdicts(
    table: pl.DataFrame, chosen: Chosen, given: Mapping[str, str | None], source: str
) -> None:
    """Refuse a column "label" that is the same for all judges of an item: it is the truth, and there is no verdict."""
    if given.get("verdict") is not None or bare_name(chosen.verdict) != "label":
        return
    by_item = table.group_by("item").agg(pl.len().alias("n"), pl.col("verdict").n_unique().alias("k"))
    if (by_item["n"] > 1).any() and (by_item["k"] > 1).any():
        return
    raise InputError(
        f'found no column of verdicts; "{chosen.verdict}" seems to hold the truths',
        source,
        [use(verdict=Placeholder("COLUMN")), use(verdict=chosen.verdict, text="if those are verdicts")],
    )


def _about_gold(table: pl.DataFrame, log: JudgeLog, column: str | None, *, is_named: bool) -> list[str]:
    """Return what a user should know about the column of truths, or refuse one that the user names in vain."""
    n_rows, n = len(table) - table.get_column("gold").null_count(), int((log.gold != MISSING).sum())
    known = {log.item_names[code] for code in np.flatnonzero(log.gold == MISSING).tolist()}
    if n:
        lost = table.filter(pl.col("gold").is_not_null()).get_column("item").unique().is_in(list(map(str, known))).sum()
        more = f"; {lost:,} others cannot be read" if lost else ""
        return [f'the column "{column}" is used as the truth of {n:,} items{more}']
    if not n_rows:
        return []
    example = table.get_column("gold").drop_nulls()[0][:40]
    if is_named:
        raise InputError(f'no truth in the column "{column}" can be read, such as {example!r}')
    return [f'the column "{column}" is not used as truth: its values are not verdicts, such as {example!r}']


def _about_unread(log: JudgeLog) -> list[str]:
    if not log.unread:
        return []
    listed = ", ".join(f"{text!r} ({n:,})" for text, n in list(log.unread.items())[:5])
    more = f" and {len(log.unread) - 5:,} others" if len(log.unread) > 5 else ""
    return [
        f"{sum(log.unread.values()):,} verdicts cannot be read and count as failed: {listed}{more}; say what they mean "
        "with verdict_map, or where in the text the verdict is with verdict_pattern"
    ]


def _table_of_calls(frame: pl.DataFrame, chosen: Chosen) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns under the names of their roles, mostly as text, and what was left out."""
    columns = {role: frame.get_column(column) for role, column in vars(chosen).items() if isinstance(column, str)}
    series = {role: _text(columns[role]) for role in TEXTS if role in columns}
    if "cost" in columns:
        cost = columns["cost"]
        is_number = cost.dtype.is_numeric()
        text = pl.Series() if is_number else _text(cost).str.strip_chars(" $€£")
        series["cost"] = cost.cast(pl.Float64).fill_nan(None) if is_number else text.cast(pl.Float64, strict=False)
    if "time" in columns:
        series["time"] = _times(columns["time"])
    for role in ("text_a", "text_b"):
        if role in columns and columns[role].dtype == pl.String:
            series[role.replace("text", "length")] = columns[role].str.len_chars()
    table, notes = pl.DataFrame(series), []
    for name, words in (("turn", ", turn "), ("system", ", ")):  # if they are not the same everywhere
        if name in table.columns:
            if table[name].n_unique() > 1:
                table = table.with_columns(item=pl.concat_str("item", pl.lit(words), pl.col(name).fill_null("?")))
            table = table.drop(name)
    if "repeat" in table.columns:  # several rows for the same repeat are a call that was made again
        key = [name for name in ("item", "judge", "order", "system_a", "system_b", "repeat") if name in table.columns]
        table = table.unique(subset=key, keep="last", maintain_order=True).drop("repeat")
    if "system_a" in table.columns:
        n_before = table.height
        table = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
        if n := n_before - table.height:
            notes.append(f"{n:,} verdicts compare a system with itself and are left out")
    return table, notes


def _text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.List):  # MT-bench writes the judge and its prompt
        column = column.list.first()
    if column.dtype.is_float() or column.dtype == pl.Boolean:
        return as_text(column)
    return column.cast(pl.String)


def _times(column: pl.Series) -> pl.Series:
    """Return times of seconds or milliseconds since 1970, or of ISO 8601; null where they are neither."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us"), strict=False)
    number = column.cast(pl.Float64, strict=False)
    if number.null_count() < len(number):
        seconds = pl.select(pl.when(number > 1e11).then(number / 1000).otherwise(number)).to_series()
        return (seconds * 1e6).cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
    with suppress(pl.exceptions.PolarsError):
        return _text(column).str.to_datetime(strict=False, time_unit="us").dt.replace_time_zone(None)
    return pl.Series([None] * len(column), dtype=pl.Datetime("us"))


# From a table of calls to a log.

ORDERS = {
    **dict.fromkeys(("ab", "a,b", "a b", "a-b", "a_b", "original", "normal", "a first", "a_first", "forward"), 0),
    **dict.fromkeys(("false", "no", "unswapped", "not swapped", "1,2", "12", "first", "a", "default"), 0),
    **dict.fromkeys(("ba", "b,a", "b a", "b-a", "b_a", "swapped", "swap", "reversed", "b first", "b_first"), 1),
    **dict.fromkeys(("true", "yes", "flipped", "reverse", "2,1", "21", "second", "b", "backward"), 1),
}
LOWEST_CONSISTENCY = 0.4  # below, verdicts may name answers and not positions
FEWEST_PAIRS = 20  # for that
SHOWN = 60  # characters of a verdict that cannot be read
MOST_UNREADABLE = 0.5  # with a larger share, the column is not one of verdicts
MOSTLY = 0.8  # share of numbers from which verdicts are scores
NO_SCORE = -1.0  # how MT-bench writes that no score was found


def pairwise_log(
    table: pl.DataFrame,
    source: str,
    *,
    is_placed: bool = True,
    by_position: bool = True,
    words: Words | None = None,
) -> JudgeLog:
    """Make the log of a table of calls that compare two answers.

    Parameters
    ----------
    table : polars.DataFrame
        One row per call, with the columns item, judge and verdict and, if known, order, system_a, system_b, error, gold
        (all of them text), cost, time, length_a and length_b.
    source : str
        The name of the log in messages.
    is_placed : bool, default True
        Whether system_a is the answer that was shown first where there is no order.
    by_position : bool, default True
        Whether A and B in verdicts mean the positions of the answers; otherwise they mean the answers.
    words : Words, optional
        How verdicts are written.
    """
    has_systems = "system_a" in table.columns
    flip, low, high = np.zeros(table.height, bool), None, None
    if has_systems:  # the sides of an item are its systems in alphabetical order
        one, other = table.get_column("system_a").fill_null("?"), table.get_column("system_b").fill_null("?")
        flip = (one > other).to_numpy()
        low = pl.select(pl.when(pl.lit(flip)).then(other).otherwise(one)).to_series()
        high = pl.select(pl.when(pl.lit(flip)).then(one).otherwise(other)).to_series()
    orders = _orders(table.get_column("order")) if "order" in table.columns else None
    if orders is None or (has_systems and _is_exchanged(table)):
        orders = np.full(table.height, A_FIRST if has_systems and is_placed else -1, np.int8)
    meaning = _with_errors(table, _meanings(table, "verdict", words or Words()))
    _refuse_unreadable(table, meaning, source, kind="pairwise")
    item_texts = table.get_column("item")
    if low is not None and high is not None:  # if more than two systems answered a prompt, each pair is an item
        pairs = pl.DataFrame({"item": item_texts, "a": low, "b": high})
        if pairs.n_unique() > item_texts.n_unique():
            item_texts = pairs.select(pl.concat_str("item", pl.lit(", "), "a", pl.lit(" vs "), "b")).to_series()
    items = _encode(item_texts, "item", source)
    systems = sorted({*low.unique(), *high.unique()}) if low is not None and high is not None else []
    gold = np.full(table.height, MISSING, np.int32)
    if "gold" in table.columns:  # A and B of a truth are the systems of the row, in whichever order they were shown
        gold = _sides(_meanings(table, "gold", Words()), np.zeros(table.height, np.int8), flip)
    lengths = [table.get_column(name).to_numpy() for name in ("length_a", "length_b") if name in table.columns]
    if len(lengths) == 2:
        lengths = [_of_items(items, np.where(flip, lengths[1 - side], lengths[side]), np.nan) for side in (0, 1)]
    log = _log(
        table,
        source,
        items,
        kind="pairwise",
        answer=_sides(meaning, orders if by_position else np.zeros_like(orders), flip),
        first=np.where(orders < 0, -1, np.where(flip, 1 - orders, orders)).astype(np.int8),
        failure=np.where(meaning >= Meaning.ERROR, meaning, 0).astype(np.int8),
        class_names=[*(systems if len(systems) == 2 else ("A", "B")), TIE],
        system_names=systems,
        system_a=_of_items(items, _codes(low, systems), MISSING),
        system_b=_of_items(items, _codes(high, systems), MISSING),
        gold=_gold_of_items(items, gold, source),
        unread=_unread(table, meaning),
        length_a=lengths[0] if len(lengths) == 2 else None,
        length_b=lengths[1] if len(lengths) == 2 else None,
    )
    return replace(log, notes=_doubts(log)) if by_position else log


def pointwise_log(table: pl.DataFrame, source: str, *, words: Words | None = None) -> JudgeLog:
    """Make the log of a table of calls that judge one answer each, by a class or a score; see `pairwise_log`."""
    verdicts = table.get_column("verdict")
    meaning: dict[str, str | Meaning] = {
        text: (words or Words()).class_of(text) for text in verdicts.drop_nulls().unique()
    }
    is_class = {text: isinstance(said, str) for text, said in meaning.items()}
    is_number = {text: isinstance(said, str) and number_of(said) is not None for text, said in meaning.items()}
    n_classes, n_numbers = (
        int(verdicts.replace_strict(known, default=False, return_dtype=pl.Boolean).sum())
        for known in (is_class, is_number)
    )
    is_scores = n_classes > 0 and n_numbers >= MOSTLY * n_classes
    if is_scores:
        meaning = {text: _score(said) for text, said in meaning.items()}
    classes = {said for said in meaning.values() if isinstance(said, str)}
    truths = pl.Series([], dtype=pl.String)
    known: dict[str, str | Meaning] = {}
    if "gold" in table.columns:
        truths = table.get_column("gold")
        known = {text: class_of(text) for text in truths.drop_nulls().unique()}
        known = {text: _score(said) for text, said in known.items()} if is_scores else known
        true = {said for said in known.values() if isinstance(said, str)}
        if len(classes | true) <= MOST_CLASSES and true & classes:
            classes |= true
    names = sorted(classes, key=float) if is_scores else sorted(classes)
    code_of = {name: code for code, name in enumerate(names)}
    failures = {text: 0 if isinstance(said, str) else int(said) for text, said in meaning.items()}
    failure = _with_errors(table, _replace(verdicts, failures, int(Meaning.EMPTY), pl.Int8))
    _refuse_unreadable(table, failure, source, kind="pointwise")
    answer = _replace(verdicts, {text: code_of.get(str(said), MISSING) for text, said in meaning.items()}, MISSING)
    gold = np.full(table.height, MISSING, np.int32)
    if known:
        gold = _replace(truths, {text: code_of.get(str(said), MISSING) for text, said in known.items()}, MISSING)
    items = _encode(table.get_column("item"), "item", source)
    unknown = np.full(len(items.names), MISSING, np.int32)
    return _log(
        table,
        source,
        items,
        kind="pointwise",
        answer=np.where(failure > 0, MISSING, answer).astype(np.int32),
        first=np.full(table.height, -1, np.int8),
        failure=failure,
        class_names=names,
        system_names=[],
        system_a=unknown,
        system_b=unknown,
        gold=_gold_of_items(items, gold, source),
        is_ordered=is_scores,
        unread=_unread(table, failure),
    )


def log_of_votes(votes: Annotations) -> JudgeLog:
    """Make a log of votes that another reader has read, such as the scores in a log of Inspect."""
    task, annotator, label = votes.votes()
    unknown = np.full(votes.n_tasks, MISSING, np.int32)
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
        system_a=unknown,
        system_b=unknown,
        gold=votes.gold,
        notes=[f"{number:,} {what} left out" for what, number in votes.counts.left_out.items()],
    )


def _log(table: pl.DataFrame, source: str, items: Coded, **known: Any) -> JudgeLog:
    """Return the log with what both kinds have."""
    judges = _encode(table.get_column("judge"), "judge", source)
    has_cost = "cost" in table.columns
    return JudgeLog(
        item=items.codes,
        judge=judges.codes,
        cost=table.get_column("cost").fill_null(np.nan).to_numpy() if has_cost else np.full(table.height, np.nan),
        item_names=to_list(items.names),
        judge_names=[str(name) for name in to_list(judges.names)],
        time=table.get_column("time").to_numpy() if "time" in table.columns else None,
        **known,
    )


def _encode(column: pl.Series, what: str, source: str) -> Coded:
    """Encode the items or judges. Blank ones are refused."""
    coded = encode_column(nw.from_native(column, series_only=True), is_text=True)
    if (coded.codes < 0).any():
        row = int(np.argmax(coded.codes < 0)) + 1
        raise InputError(f"{source}: verdict {row:,} has no {what}; fill it in or remove the row")
    return coded


def _replace(column: pl.Series, codes: Mapping[str, int], default: int, dtype: Any = pl.Int32) -> Any:
    """Return the code of each text as an array."""
    replaced = column.replace_strict(codes, default=default, return_dtype=dtype)
    return replaced.fill_null(default).to_numpy().copy()


def _codes(column: pl.Series | None, names: Sequence[str]) -> Any:
    if column is None:
        return MISSING
    return _replace(column, {name: code for code, name in enumerate(names)}, MISSING)


def _of_items(items: Coded, values: Any, default: Any) -> Any:
    """Return the value of each item from the values of its rows."""
    of_items = np.full(len(items.names), default, np.int32 if default == MISSING else np.float64)
    of_items[items.codes] = values
    return of_items


def _gold_of_items(items: Coded, gold: Codes, source: str) -> Codes:
    """Return the truth of each item from the truth of each row; contradictions are refused."""
    truths = np.full(len(items.names), MISSING, np.int32)
    known = gold >= 0
    truths[items.codes[known]] = gold[known]
    contradictions = np.flatnonzero(known & (truths[items.codes] != gold))
    if contradictions.size:
        item = to_list(items.names)[items.codes[contradictions[0]]]
        raise InputError(f"{source}: item {item!r} has two different gold truths; keep one of them")
    return truths


def _orders(column: pl.Series) -> SmallCodes | None:
    """Return 0 for AB, 1 for BA and -1 for blank; None if a value is neither."""
    words = {value: value.strip().casefold() for value in column.drop_nulls().unique()}
    known = dict(ORDERS)
    if set(words.values()) <= {"0", "1"}:
        known |= {"0": 0, "1": 1}
    elif set(words.values()) <= {"1", "2"}:
        known |= {"1": 0, "2": 1}
    if not words or any(word not in known for word in words.values()):
        return None
    codes: SmallCodes = _replace(column, {value: known[word] for value, word in words.items()}, -1, pl.Int8)
    return codes


def _is_exchanged(table: pl.DataFrame) -> bool:
    """Return whether the columns of the systems are exchanged with the order, so that it says nothing more."""
    if "order" not in table.columns:
        return False
    pair = [pl.min_horizontal("system_a", "system_b"), pl.max_horizontal("system_a", "system_b").alias("other")]
    arrangements = table.group_by("item", *pair).agg(n=pl.col("system_a").n_unique())["n"]
    orders = table.group_by("item", "system_a", "system_b").agg(n=pl.col("order").n_unique())["n"]
    return bool((arrangements > 1).any() and (orders == 1).all())


def _unread(table: pl.DataFrame, meaning: SmallCodes) -> dict[str, int]:
    """Return the texts that cannot be read, and how often each occurs."""
    texts = table.get_column("verdict").filter(pl.Series(meaning == Meaning.UNREADABLE)).str.slice(0, SHOWN)
    counted = texts.value_counts().sort("count", "verdict", descending=[True, False])
    return dict(counted.rows())


def _meanings(table: pl.DataFrame, name: str, words: Words) -> SmallCodes:
    """Read a column of pairwise verdicts: names of the row's systems, otherwise words."""
    column = table.get_column(name)
    codes: SmallCodes = _replace(column, words.meanings(column.drop_nulls().unique()), int(Meaning.EMPTY), pl.Int8)
    if "system_a" in table.columns:
        said = column.str.strip_chars().str.to_lowercase()
        for system, side in (("system_a", Meaning.SIDE_A), ("system_b", Meaning.SIDE_B)):
            is_named = said == table.get_column(system).str.strip_chars().str.to_lowercase()
            codes[is_named.fill_null(False).to_numpy()] = side
    return codes


def _with_errors(table: pl.DataFrame, codes: SmallCodes) -> SmallCodes:
    """Mark the calls that failed by the column of errors."""
    if "error" in table.columns:
        errors = table.get_column("error")
        failed = {text: failure_of(text) for text in errors.drop_nulls().unique()}
        codes[_replace(errors, failed, False, pl.Boolean) & (codes != Meaning.REFUSAL)] = Meaning.ERROR
    return codes


def _sides(meaning: SmallCodes, orders: SmallCodes, flip: NDArray[np.bool_]) -> Codes:
    """Return the side of the item that each verdict is for: 0, 1, 2 for a tie, -1 for a failed call."""
    shown_first = np.where(orders == B_FIRST, 1, 0)
    side_of: dict[Meaning, Any] = {Meaning.FIRST: shown_first, Meaning.SECOND: 1 - shown_first}
    side_of |= {Meaning.SIDE_A: np.zeros_like(shown_first), Meaning.SIDE_B: np.ones_like(shown_first)}
    sides = np.where(meaning == Meaning.TIE, TIED, MISSING)
    for code, side in side_of.items():
        sides = np.where(meaning == code, np.where(flip, 1 - side, side), sides)
    return sides.astype(np.int32)


def _score(said: str | Meaning) -> str | Meaning:
    """Return a score as text: 4 for 4.0 and 4/5."""
    if not isinstance(said, str):
        return said
    if (number := number_of(said)) is None:
        return Meaning.UNREADABLE
    return Meaning.EMPTY if number == NO_SCORE else f"{number:g}"


def _refuse_unreadable(table: pl.DataFrame, meaning: SmallCodes, source: str, kind: Kind) -> None:
    """Refuse a column most of whose values are not verdicts."""
    is_unreadable = meaning == Meaning.UNREADABLE
    n, n_readable = int(is_unreadable.sum()), int((meaning < Meaning.ERROR).sum())
    if n == 0 or n <= (n + n_readable) * MOST_UNREADABLE:
        return
    example = table.get_column("verdict").filter(pl.Series(is_unreadable))[0].replace("\n", " ")[:60]
    other: Kind = "pointwise" if kind == "pairwise" else "pairwise"
    raise InputError(
        f"{n:,} of {n + n_readable:,} verdicts cannot be read as {kind} ones, such as {example!r}",
        source,
        [
            use("if another column has them", verdict=Placeholder("COLUMN")),
            use(f"if they are {other}", kind=other),
            use("to find them in a text", verdict_pattern=Placeholder("REGEX")),
            use("to say what they mean", verdict_map=Placeholder("X=A,Y=B")),
        ],
    )


def _doubts(log: JudgeLog) -> list[str]:
    """Warn if judges contradict themselves so often after the swap that it may not be theirs to undo."""
    used = (log.answer >= 0) & (log.answer < TIED) & (log.first >= 0)
    pairs, pair = np.unique(log.item[used].astype(np.int64) * log.n_judges + log.judge[used], return_inverse=True)
    by_order = np.zeros((2, len(pairs)), np.int8)
    by_order[log.first[used], pair] = np.where(log.answer[used] == 0, 1, -1)
    both = (by_order != 0).all(axis=0)
    if both.sum() < FEWEST_PAIRS:
        return []
    share = (by_order[0] != by_order[1])[both].mean()
    if share <= 1 - LOWEST_CONSISTENCY:
        return []
    return [
        f"in {share:.0%} of the swapped pairs a judge contradicts itself: if A and B name the answers and not their "
        'positions, set the option verdicts to "answer"'
    ]


def with_gold(log: JudgeLog, gold: Any) -> JudgeLog:
    """Return the log with these truths: a file, a data frame, or a mapping of items to classes or systems."""
    items, truths = _truths(gold)
    code_of = {str(name): code for code, name in enumerate(log.item_names)}
    classes = [str(name).casefold() for name in log.class_names]
    if log.is_ordered and (more := sorted({str(truth) for truth in truths} - set(log.class_names))):
        log = _with_scores(log, more)
        classes = list(log.class_names)
    meant = Words().meanings({str(truth) for truth in truths}) if log.kind == "pairwise" else {}
    sides = {Meaning.FIRST: 0, Meaning.SECOND: 1, Meaning.TIE: TIED, Meaning.SIDE_A: 0, Meaning.SIDE_B: 1}
    codes = np.full(log.n_items, MISSING, np.int32)
    n_unknown = 0
    for name, truth in zip(items, truths, strict=True):
        if (item := code_of.get(str(name))) is None:
            n_unknown += 1
            continue
        said = str(truth).strip().casefold()
        if log.system_names:  # a truth may be the name of the better system
            names = [log.system_names[log.system_a[item]], log.system_names[log.system_b[item]], TIE]
            classes = [name.casefold() for name in names]
        code = classes.index(said) if said in classes else sides.get(meant.get(str(truth), Meaning.EMPTY), MISSING)
        if code == MISSING:
            expected = ", ".join(classes)
            raise InputError(f"the gold of item {log.item_names[item]!r} is {str(truth)!r}; expected one of {expected}")
        codes[item] = code
    if n_unknown == len(items):
        raise InputError(
            f"none of the {len(items):,} gold truths belongs to an item of the log: the gold has {items[:1]}, "
            f"the log has {log.item_names[:1]}; write items alike"
        )
    more = [f"{n_unknown:,} gold truths belong to no item of the log and are left out"] if n_unknown else []
    return replace(log, gold=codes, notes=[*log.notes, *more])


def _truths(gold: Any) -> tuple[list[Any], list[Any]]:
    """Return items and truths of a file, a data frame or a mapping; the majority where a file has votes of people."""
    if is_files(gold) or isinstance(gold, Source):
        source = sources_of(gold)[0]
        if (qrels := read_qrels(source)) is not None:
            return qrels["item"].to_list(), qrels["verdict"].to_list()
        if (people := majority_of_people(source)) is not None:
            return people["item"].to_list(), people["gold"].to_list()
    items, truths = read_truth(gold)
    return to_list(items), to_list(truths)


def _with_scores(log: JudgeLog, more: Sequence[str]) -> JudgeLog:
    """Return the log with further scores among its classes, which only truths have."""
    given = [f"{number:g}" for text in more if (number := number_of(text)) is not None]
    names = sorted({*log.class_names, *given}, key=float)
    new = np.array([*(names.index(name) for name in log.class_names), MISSING], np.int32)
    return replace(log, class_names=names, answer=new[log.answer], gold=new[log.gold])
