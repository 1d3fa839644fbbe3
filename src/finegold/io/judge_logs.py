"""Raw logs of LLM judges -> `JudgeLog`: verdicts in any usual form, the swap undone, failed calls
recognised.

A log becomes a table of calls with a column per role (`ROLES`): that of a plain table by the names
of its columns, that of MT-bench, JudgeBench and Arena-Hard by `exports/judges.py`. `pairwise_log`
and `pointwise_log` make a `JudgeLog` of such a table, and everything else, the votes of `aggregate`
included, is derived from the `JudgeLog`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import Role, bare_name, named_column
from finegold.io.exports import find_export
from finegold.io.exports.judges import load_calls, majority_of_people, read_nested, read_qrels
from finegold.io.read import read
from finegold.io.source import READABLE, Source, is_files, sources_of
from finegold.io.tables import Table, open_sources, open_table
from finegold.io.truth import read_truth
from finegold.io.verdicts import (
    FAILURES,
    NO_ERROR,
    LogReading,
    Meaning,
    class_of,
    is_clearly_pairwise,
    number_of,
)
from finegold.votes.encoding import MISSING, Codes, Names, as_text, encode_ids, to_list

Kind = Literal["pairwise", "pointwise"]
Floats = NDArray[np.float64]
SmallCodes = NDArray[np.int8]
# which side of the item was shown first; -1 if that is not known
A_FIRST, B_FIRST = 0, 1
TIE = "tie"
# the code of a tie in a pairwise log
TIED = 2


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
        time (ndarray of datetime64 of shape (n_verdicts,), optional): When each call was made; NaT
            where that is not known. None if the log has no times.
        unread (dict): Verdicts that could not be read -> how often each occurs, the most frequent
            first.
        length_a, length_b (ndarray of float of shape (n_items,), optional): The number of
            characters of the answers behind the first and the second class. None if the log has no
            answers.
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
    gold: Codes
    system_names: list[str] = field(default_factory=list)
    system_a: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    system_b: Codes = field(default_factory=lambda: np.empty(0, np.int32))
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
        sizes = f"{self.n_verdicts:,} verdicts, {self.n_items:,} items, {self.n_judges:,} judges"
        return f"JudgeLog({self.kind}, {sizes}, {self.n_failed:,} failed)"

    def failures(self) -> dict[str, dict[str, int]]:
        """Return the number of failed calls of each judge, by reason.

        Returns:
            dict: Judge -> reason (error, refusal, unreadable, empty) -> number of calls.
        """
        counts: dict[str, dict[str, int]] = {name: {} for name in self.judge_names}
        for code, reason in FAILURES.items():
            for j, n in enumerate(
                np.bincount(self.judge[self.failure == code], minlength=self.n_judges).tolist()
            ):
                counts[self.judge_names[j]] |= {reason: n} if n else {}
        return counts

    def calls(self) -> pl.DataFrame:
        """Return the log as a table with one row per call.

        Returns:
            polars.DataFrame: The columns item, judge, verdict (null if the call failed), failure
                (null if it did not), shown_first (the class that was shown first), gold, cost, time
                and, if the log names them, system_a, system_b, length_a and length_b. What is not
                known is null.
        """

        def names(known: Sequence[Any], codes: Codes | SmallCodes) -> pl.Series:
            return pl.Series(
                [known[code] if code >= 0 else None for code in codes.tolist()], strict=False
            )

        columns: dict[str, Any] = {
            "item": names(self.item_names, self.item),
            "judge": names(self.judge_names, self.judge),
            "verdict": names(self.class_names, self.answer),
            "failure": pl.Series(
                [FAILURES.get(code) for code in self.failure.tolist()], dtype=pl.String
            ),
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
            columns["length_a"], columns["length_b"] = (
                self.length_a[self.item],
                self.length_b[self.item],
            )
        return pl.DataFrame(columns)


def only_judges(log: JudgeLog, judges: Sequence[str]) -> JudgeLog:
    """Return the log with the calls of some judges, on the same items."""
    names = [name for name in log.judge_names if name in set(judges)]
    kept = np.isin(log.judge, [log.judge_names.index(name) for name in names])
    of_calls = ("item", "judge", "answer", "first", "failure", "cost", "time")
    parts = {name: values[kept] for name in of_calls if (values := getattr(log, name)) is not None}
    new = np.array(
        [names.index(name) if name in names else MISSING for name in log.judge_names], np.int32
    )
    return replace(log, **parts | {"judge": new[parts["judge"]], "judge_names": names})


# Which column is what.

ROLES = {
    "item": (
        "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid"
        " instanceid uid qid traceid battleid conversationid customid pair idx instruction question"
        " prompt sample instance input unit unitid id index"
    ),
    "judge": (
        "judge judgemodel judgename judgeid evaluator evaluatormodel evaluatorname grader"
        " gradermodel annotator annotatorid annotatorindex rater raterid scorer reviewer critic"
        " judgellm llm"
    ),
    "verdict": (
        "verdict decision winner preference preferred choice vote judgment judgement outcome result"
        " rawverdict rawjudgment prediction predictedlabel answer response output completion rating"
        " score grade stringvalue value"
    ),
    "order": (
        "order position presentation presentationorder answerorder swapped isswapped swap flipped"
        " isflipped reversed shownfirst firstshown afirst isafirst game"
    ),
    "repeat": "repeat repeatid repetition run runid trial attempt replicate epoch",
    "cost": "cost costusd price usd totalcost callcost",
    "error": "error errors errormessage exception failure failed status callstatus",
    "gold": (
        "gold goldlabel truth groundtruth humanlabel humanverdict humanwinner humanpreference"
        " humanscore truelabel human label reference referencelabel"
    ),
    "turn": "turn",
    "time": "time timestamp tstamp createdat judgedat datetime date",
}
# of other names of columns
VERDICT_ENDS = ("verdict", "winner", "decision", "preference", "judgment", "result")
# how the name of a file of truths begins
TRUTHS = ("human", "gold", "truth", "label", "reference")
WORDS_FOR_SYSTEMS = ["model", "system", "generator", "assistant", "candidate", "player"]
# The two systems that are compared. The first column is the answer that was shown first, unless an
# order is given.
SYSTEMS = [(f"{name}a", f"{name}b") for name in [*WORDS_FOR_SYSTEMS, "contestant"]]
SYSTEMS += [(f"{name}1", f"{name}2") for name in WORDS_FOR_SYSTEMS]
SYSTEMS += [("modelleft", "modelright"), ("firstmodel", "secondmodel")]
OF_OPPONENTS = ["baseline", "baselinemodel", "reference", "referencemodel", "opponent"]
OPPONENTS = [
    (name, other)
    for name in ["model", "system", "candidate", "generator"]
    for other in OF_OPPONENTS
]
# nothing is known about positions; AlpacaEval undoes the order
UNPLACED = (*OPPONENTS, ("generator1", "generator2"))
# The texts of the two answers, of which the log keeps the lengths.
TEXTS_OF_ANSWERS = ["response", "answer", "output", "completion", "text"]
ANSWERS = [(f"{name}{a}", f"{name}{b}") for name in TEXTS_OF_ANSWERS for a, b in ("ab", "12")]
# the system of a pointwise verdict
EVALUATED = ("model", "system", "modelid", "modelname", "generator", "candidate")


def choose_columns(
    columns: Sequence[Any], reading: LogReading, *, source: str, by_file: bool
) -> dict[str, str]:
    """Return the column of every role that the log has: the one that the user names, or the first
    with a usual name.
    """
    named = {
        role: named_column(columns, name, Role(role, role.replace("_", "-"), frozenset()))
        for role in (*ROLES, "system_a", "system_b")
        if (name := getattr(reading, role, None)) is not None
    }
    free = {bare_name(column): column for column in columns if column not in named.values()}

    def first_free(names: Sequence[str], taken: Sequence[Any] = ()) -> Any:
        return next(
            (free[name] for name in names if name in free and free[name] not in taken), None
        )

    roles: dict[str, Any] = {
        role: first_free(names.split()) for role, names in ROLES.items()
    } | named
    if roles["verdict"] is None:
        roles["verdict"] = next((free[name] for name in free if name.endswith(VERDICT_ENDS)), None)
    # unless it turns out to be a truth, see `read_judge_log`
    if roles["verdict"] is None and "label" in free:
        roles |= {"verdict": free["label"]} | (
            {"gold": None} if roles["gold"] == free["label"] else {}
        )
    # scores of Langfuse and feedback of LangSmith
    if {"traceid", "runid"} & free.keys():
        roles |= {"judge": roles["judge"] or first_free(("key", "name"))}
        roles |= {"item": roles["repeat"], "repeat": None} if roles["item"] is None else {}
    pairs_of = {
        "system": SYSTEMS if roles["judge"] is None else SYSTEMS + OPPONENTS,
        "text": ANSWERS,
    }
    for end, pairs in pairs_of.items():
        if (names := next((pair for pair in pairs if free.keys() >= set(pair)), None)) is not None:
            roles = {f"{end}_a": free[names[0]], f"{end}_b": free[names[1]]} | roles
    if roles["judge"] is None and not by_file:
        roles["judge"] = first_free(("model", "modelname", "modelid"), list(roles.values()))
    if "system_a" not in roles:
        roles["system"] = first_free(EVALUATED, list(roles.values()))
    lost = [
        role
        for role in ("item", "judge", "verdict")
        if roles[role] is None and not (by_file and role == "judge")
    ]
    if not lost:
        return {role: column for role, column in roles.items() if column is not None}
    if not columns:
        raise InputError(
            "there are no columns; expected a table with a header and one verdict per row", source
        )
    known = " ".join(ROLES.values()).split()
    spare = [
        str(column)
        for column in columns
        if column not in roles.values() and bare_name(column) not in known
    ]
    guess = spare[0] if len(lost) == 1 and len(spare) == 1 else Placeholder("COLUMN")
    problem = f"found no column of {' and no column of '.join(f'{role}s' for role in lost)} among "
    problem += ", ".join(f'"{column}"' for column in columns[:20])
    text = "if that is the column" if len(lost) == 1 else "if those are the columns"
    raise InputError(problem, source, [use(text=text, **dict.fromkeys(lost, guess))])


# Reading.

# verdicts that tell whether a log is pairwise
LOOKED_AT = 2000
MOST_CLASSES = 20
UNREAD_SHOWN = 5
# the columns of judges and orders that the names of files say
FILE, FILE_ORDER = "finegold_file", "finegold_order"
TEXTS = (
    "item",
    "judge",
    "verdict",
    "order",
    "repeat",
    "error",
    "gold",
    "system_a",
    "system_b",
    "system",
    "turn",
)


def read_judge_log(log: Any, **given: Any) -> JudgeLog:
    """Read a judge log; see `finegold.judges.read`. What is given are fields of `LogReading`."""
    reading = LogReading(**given)
    if isinstance(log, JudgeLog):
        return log
    paths = list(log) if isinstance(log, list | tuple) else [log]
    if (
        len(paths) == 1
        and isinstance(paths[0], str | PathLike)
        and (folder := Path(paths[0])).is_dir()
    ):
        # a folder may also hold text files of scores
        names = sorted(folder.iterdir())
        if names and all(re.search(r"\.(txt|qrels)(\.gz)?$", name.name) for name in names):
            paths = names
    sources = sources_of(paths) if is_files(log) else []
    if sources and (export := find_export(sources[:1])) is not None and export.name == "inspect":
        # a verdict of each scorer per sample
        votes = read(sources, repeated="all")
        task, annotator, label = votes.votes()
        first, failure, cost = (
            np.full(len(task), -1, np.int8),
            np.zeros(len(task), np.int8),
            np.full(len(task), np.nan),
        )
        items, judges, labels = map(
            to_list, (votes.task_names, votes.annotator_names, votes.class_names)
        )
        scores = (task, annotator, label, first, failure, cost)
        left_out = [f"{number:,} {what} left out" for what, number in votes.counts.left_out.items()]
        return JudgeLog(
            "pointwise", *scores, items, list(map(str, judges)), labels, votes.gold, notes=left_out
        )
    # Files of truths among others: by their names, or with votes of people in columns.
    several = sources if len(sources) > 1 else []
    truths = [
        each
        for each in several
        if _stem(each).casefold().startswith(TRUTHS) or majority_of_people(each) is not None
    ]
    truths = truths if len(truths) < len(sources) else []
    notes: list[str] = []
    parts = (
        _read_files([source for source in sources if source not in truths], reading, notes)
        if sources
        else []
    )
    parts = parts or [_read_calls(open_table(log), reading, notes)]
    name, column_of, table = parts[0]
    if len(parts) > 1:
        table = pl.concat([each for _, _, each in parts], how="diagonal_relaxed")
    if reading.verdict is None and bare_name(column_of["verdict"]) == "label":
        # If it is the same for all judges of an item, it is the truth, and there is no verdict.
        by_item = table.group_by("item").agg(
            pl.len().alias("n"), pl.col("verdict").n_unique().alias("k")
        )
        if not ((by_item["n"] > 1).any() and (by_item["k"] > 1).any()):
            problem = (
                f'found no column of verdicts; "{column_of["verdict"]}" seems to hold the truths'
            )
            these = use(verdict=column_of["verdict"], text="if those are verdicts")
            raise InputError(problem, name, [use(verdict=Placeholder("COLUMN")), these])
    is_ordered = _orders(table) is not None
    if reading.order is not None and not is_ordered:
        problem = f'the column "{column_of["order"]}" has other values than AB and BA'
        raise InputError(problem, name, [Remedy(text="name another column"), leave_out("order")])
    is_pairwise = reading.kind == "pairwise"
    if reading.kind is None and ({"system_a", "tool"} & column_of.keys() or is_ordered):
        is_pairwise = True
    elif reading.kind is None:
        # do verdicts, or truths beside them, compare two answers?
        columns = [table.get_column(role) for role in ("verdict", "gold") if role in table.columns]
        texts, *golds = (
            each.drop_nulls().unique(maintain_order=True).head(LOOKED_AT).to_list()
            for each in columns
        )
        verdicts = [part for text in texts if (part := reading.said(text)) is not None]
        classes = {word for text in verdicts if isinstance(word := class_of(text), str)}
        is_pairwise = any(map(is_clearly_pairwise, (verdicts, *golds))) or {
            "a",
            "b",
        } <= classes <= {"a", "b", "c"}
        if "length_a" in table.columns and classes:
            is_pairwise |= classes <= {"a", "b", "c", "0", "1", "2", "3"}
    if is_pairwise:
        is_placed = (
            tuple(bare_name(column_of.get(role)) for role in ("system_a", "system_b"))
            not in UNPLACED
        )
        read_log = pairwise_log(table, name, reading, is_placed=is_placed)
        # Two verdicts per judge and item that contradict each other more than chance need an order,
        # if none is known.
        calls = pl.DataFrame(
            {name: getattr(read_log, name) for name in ("item", "judge", "answer")}
        )
        calls = calls.filter(pl.col("answer").is_between(0, TIED - 1))
        twice = (
            calls.group_by("item", "judge")
            .agg(pl.len(), pl.n_unique("answer"))
            .filter(pl.col("len") == 2)
        )
        is_known = "repeat" in column_of or len(set(read_log.first.tolist())) > 1
        if not is_known and 2 * twice.height >= MOSTLY * max(calls.height, 1):
            problem = (
                "there are two verdicts per judge and item, and no column says in which order the"
                " answers were "
            )
            problem += "shown"
            by_judge = twice.group_by("judge").agg(pl.len(), n_apart=(pl.col("answer") == 2).sum())
            if (
                2 * by_judge["n_apart"] > by_judge["len"] + SIGNIFICANT * by_judge["len"].sqrt()
            ).any():
                share = by_judge["n_apart"].sum() / twice.height
                reason = "contradict each other, as they do if answers are swapped in the second"
                remedies = [
                    use(order=Placeholder("COLUMN")),
                    use("if they are repeats", repeat=Placeholder("COLUMN")),
                ]
                raise InputError(f"{problem}; {share:.0%} of them {reason}", name, remedies)
            notes.append(f"{problem}: they count as repeats")
    else:
        read_log = pointwise_log(table, name, reading)
        if read_log.is_ordered and len(read_log.class_names) > MOST_CLASSES:
            problem = (
                f"the verdicts have {len(read_log.class_names):,} different scores, more than"
                f" {MOST_CLASSES}"
            )
            remedies = [
                Remedy(text="round them to fewer, such as 1 to 5"),
                use(verdict=Placeholder("COLUMN")),
            ]
            raise InputError(problem, name, remedies)
    notes = list(dict.fromkeys(notes))
    if "order" in table.columns and not (is_pairwise and is_ordered):
        reason = "its values are not AB and BA, or answers stand alone"
        notes.append(f'the column "{column_of["order"]}" is not used: {reason}')
    given_gold = (
        table.filter(pl.col("gold").is_not_null()) if "gold" in table.columns else table.clear()
    )
    if n := int((read_log.gold != MISSING).sum()):
        unknown = {
            str(read_log.item_names[code])
            for code in np.flatnonzero(read_log.gold == MISSING).tolist()
        }
        lost = given_gold.get_column("item").unique().is_in(list(unknown)).sum()
        more = f"; {lost:,} others cannot be read" if lost else ""
        notes.append(f'the column "{column_of["gold"]}" is used as the truth of {n:,} items{more}')
    elif not given_gold.is_empty():
        column, example = column_of["gold"], given_gold.get_column("gold")[0][:40]
        if reading.gold is not None:
            raise InputError(f'no truth in the column "{column}" can be read, such as {example!r}')
        notes.append(
            f'the column "{column}" is not used as truth: its values are not verdicts, such as'
            f" {example!r}"
        )
    if read_log.unread:
        examples = ", ".join(
            f"{text!r} ({n:,})" for text, n in list(read_log.unread.items())[:UNREAD_SHOWN]
        )
        n_others = len(read_log.unread) - UNREAD_SHOWN
        examples += f" and {n_others:,} others" if n_others > 0 else ""
        note = (
            f"{sum(read_log.unread.values()):,} verdicts cannot be read and count as failed:"
            f" {examples}; say what "
        )
        notes.append(
            f"{note}they mean with verdict_map, or where in the text the verdict is with"
            " verdict_pattern"
        )
    read_log = replace(read_log, notes=[*read_log.notes, *notes])
    for source in truths:
        read_log = with_gold(read_log, source)
        what = f"{source.name} holds truths by its name or its columns, and is used as gold"
        read_log.notes.append(f"{what}: {int((read_log.gold != MISSING).sum()):,} items")
    return read_log


# of one source: its name, its columns by role, and a row per call
Calls = tuple[str, dict[str, str], pl.DataFrame]


def _read_files(sources: list[Source], reading: LogReading, notes: list[str]) -> list[Calls]:
    """Read files together if they name their judges, otherwise one by one, with judges named after
    the files.
    """
    nested = [frame for source in sources if (frame := read_nested(source)) is not None]
    if nested:
        return [_read_calls(open_table(frame), reading, notes) for frame in nested]
    stems = [_stem(source) for source in sources]
    folders = [PurePath(source.name).parent.name for source in sources]
    # of the judges
    names = folders if len(set(stems)) == 1 and len(sources) > 1 else stems
    # The names of files may say an order, if every swapped one has a partner.
    words = [
        re.findall(r"[^\W_]+", f"{folder}/{stem}".casefold())
        for folder, stem in zip(folders, stems, strict=True)
    ]
    rests = [tuple(word for word in each if word not in ORDER_WORDS) for each in words]
    orders = ["BA" if any(ORDER_WORDS.get(word) for word in each) else "AB" for each in words]
    pairs = sorted((rest, order) for rest in set(rests) for order in ("AB", "BA"))
    has_orders = "BA" in orders and pairs == sorted(zip(rests, orders, strict=True))
    if has_orders:
        ends = rf"(?i)(?:[\W_]+(?:{'|'.join(ORDER_WORDS)})\b|\b(?:{'|'.join(ORDER_WORDS)})[\W_]+)"
        names = [re.sub(ends, "", stem) for stem in stems]
    has_judges = False
    if read_qrels(sources[0]) is None:
        first = open_sources(sources[:1])
        calls = load_calls(first, most=1)
        columns = first.columns if calls is None else calls.columns
        column_of = choose_columns(columns, reading, source=first.name, by_file=True)
        # without a judge, an error says so
        has_judges = "judge" in column_of or (len(sources) == 1 and calls is None)
        if has_judges and ("order" in column_of or not has_orders):
            return [_read_calls(open_sources(sources), reading, notes)]
    if not has_judges:
        shown = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(set(names)) > 3 else "")
        notes.append(f"no column names the judges, so they are named after the files: {shown}")
    if has_orders:
        swapped = PurePath(sources[orders.index("BA")].name).name
        notes.append(
            f"the names of the files say in which order answers were shown: swapped in {swapped}"
        )
    parts = []
    for source, judge, order in zip(sources, names, orders, strict=True):
        qrels = read_qrels(source)
        opened = open_sources([source]) if qrels is None else open_table(qrels)
        of_file = None if has_judges else judge, order if has_orders else None
        parts.append(_read_calls(opened, reading, notes, *of_file))
    return parts


def _stem(source: Source) -> str:
    path = PurePath(source.name)
    while path.suffix.lower() in (*READABLE, ".txt", ".qrels"):
        path = path.with_suffix("")
    return path.name


def _read_calls(
    opened: Table,
    reading: LogReading,
    notes: list[str],
    judge: str | None = None,
    order: str | None = None,
) -> Calls:
    """Return the columns under the names of their roles, mostly as text, and note what is left out."""
    calls = load_calls(opened)
    columns = opened.columns if calls is None else calls.columns
    column_of = choose_columns(columns, reading, source=opened.name, by_file=judge is not None)
    frame = opened.read(list(column_of.values())) if calls is None else calls
    if "judge" not in column_of:
        frame, column_of = (
            frame.with_columns(pl.lit(judge).alias(FILE)),
            column_of | {"judge": FILE},
        )
    if order is not None and "order" not in column_of:
        frame, column_of = (
            frame.with_columns(pl.lit(order).alias(FILE_ORDER)),
            column_of | {"order": FILE_ORDER},
        )
    series = {role: _text(frame.get_column(column_of[role])) for role in TEXTS if role in column_of}
    # not whether it is swapped
    if bare_name(column_of.get("order")).endswith("afirst"):
        orders = {"true": "AB", "1": "AB", "false": "BA", "0": "BA"}
        series["order"] = series["order"].str.to_lowercase().replace(orders)
    if "cost" in column_of:
        cost = frame.get_column(column_of["cost"])
        text = cost if cost.dtype.is_numeric() else _text(cost).str.strip_chars(" $€£")
        series["cost"] = text.cast(pl.Float64, strict=False).fill_nan(None)
        if (n := series["cost"].null_count() - cost.null_count()) > 0:
            notes.append(
                f'{n:,} values in the column "{column_of["cost"]}" are not numbers and are left out'
            )
    if "time" in column_of:
        series["time"] = _times(frame.get_column(column_of["time"]))
    for side in "ab":
        if (
            f"text_{side}" in column_of
            and (texts := frame.get_column(column_of[f"text_{side}"])).dtype == pl.String
        ):
            series[f"length_{side}"] = texts.str.len_chars()
    table = pl.DataFrame(series)
    # if they are not the same everywhere
    for name, words in (("turn", ", turn "), ("system", ", ")):
        if name in table.columns:
            if table[name].n_unique() > 1:
                table = table.with_columns(
                    item=pl.concat_str("item", pl.lit(words), pl.col(name).fill_null("?"))
                )
            table = table.drop(name)
    # several rows for the same repeat are a call that was made again
    if "repeat" in table.columns:
        key = [
            name
            for name in ("item", "judge", "order", "system_a", "system_b", "repeat")
            if name in table.columns
        ]
        table = table.unique(subset=key, keep="last", maintain_order=True).drop("repeat")
    if "system_a" in table.columns:
        n_before = table.height
        table = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
        if n := n_before - table.height:
            notes.append(f"{n:,} verdicts compare a system with itself and are left out")
    return opened.name, column_of if calls is None else column_of | {"tool": "tool"}, table


def _text(column: pl.Series) -> pl.Series:
    # MT-bench writes the judge and its prompt
    while isinstance(column.dtype, pl.List):
        column = column.list.first()
    # an object of JSON with the verdict in a field
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode()
    if column.dtype.is_float() or column.dtype == pl.Boolean:
        return as_text(column)
    return column.cast(pl.String)


def _times(column: pl.Series) -> pl.Series:
    """Return times of seconds or milliseconds since 1970, or of ISO 8601; null where they are
    neither.
    """
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us"), strict=False)
    number = column.cast(pl.Float64, strict=False)
    if number.null_count() < len(number):
        seconds = pl.select(
            pl.when(number > 1e11).then(number / 1000).otherwise(number)
        ).to_series()
        return (seconds * 1e6).cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
    try:
        return (
            _text(column).str.to_datetime(strict=False, time_unit="us").dt.replace_time_zone(None)
        )
    except pl.exceptions.PolarsError:
        return pl.Series([None] * len(column), dtype=pl.Datetime("us"))


# From a table of calls to a log.

ORDERS = {
    **dict.fromkeys(
        ("ab", "a,b", "a b", "a-b", "a_b", "original", "normal", "a first", "a_first", "forward"), 0
    ),
    **dict.fromkeys(
        ("false", "no", "unswapped", "not swapped", "1,2", "12", "first", "a", "default"), 0
    ),
    **dict.fromkeys(
        ("ba", "b,a", "b a", "b-a", "b_a", "swapped", "swap", "reversed", "b first", "b_first"), 1
    ),
    **dict.fromkeys(
        ("true", "yes", "flipped", "reverse", "2,1", "21", "second", "b", "backward"), 1
    ),
}
# in names of files
ORDER_WORDS = dict.fromkeys(
    ("ab", "original", "orig", "normal", "unswapped", "noswap", "forward"), 0
) | dict.fromkeys(("ba", "swapped", "swap", "reversed", "reverse", "flipped", "backward"), 1)
# below, in so many pairs, verdicts may name answers and not positions
LOWEST_CONSISTENCY, FEWEST_PAIRS = 0.4, 20
# standard deviations from which a log is not read as it seems
SIGNIFICANT = 3.0
# characters of a verdict that cannot be read
SHOWN = 60
# with a larger share, the column is not one of verdicts
MOST_UNREADABLE = 0.5
# share of numbers from which verdicts are scores
MOSTLY = 0.8
# how MT-bench writes that no score was found
NO_SCORE = -1.0


def pairwise_log(
    table: pl.DataFrame, source: str, reading: LogReading | None = None, *, is_placed: bool = True
) -> JudgeLog:
    """Make the log of a table of calls that compare two answers.

    The table has the columns item, judge and verdict and, if known, order, system_a, system_b,
    error, gold (all of them text), cost, time, length_a and length_b. Without an order, system_a is
    shown first if `is_placed`.
    """
    reading = reading or LogReading()
    flip, items, systems = np.zeros(table.height, bool), table.get_column("item"), []
    of_items: dict[str, Any] = {}
    has_systems = "system_a" in table.columns
    # the sides of an item are its systems in alphabetical order
    if has_systems:
        pair = [table.get_column(name).fill_null("?") for name in ("system_a", "system_b")]
        flip = (pair[0] > pair[1]).to_numpy()
        sides = table.select("item", a=pl.min_horizontal(*pair), b=pl.max_horizontal(*pair))
        # more than two systems answered a prompt: each pair is an item
        if sides.n_unique() > items.n_unique():
            items = sides.select(
                pl.concat_str("item", pl.lit(", "), "a", pl.lit(" vs "), "b")
            ).to_series()
        systems = sorted({*pair[0].unique(), *pair[1].unique()})
        code_of = {name: code for code, name in enumerate(systems)}
        of_items = {
            f"system_{side}": _replace(sides.get_column(side), code_of, MISSING) for side in "ab"
        }
    orders, is_exchanged = _orders(table), False
    # if the columns of the systems are exchanged with it, it says nothing more
    if orders is not None and has_systems:
        ends = [
            pl.min_horizontal("system_a", "system_b"),
            pl.max_horizontal("system_a", "system_b").alias("other"),
        ]
        arrangements = table.group_by("item", *ends).agg(n=pl.col("system_a").n_unique())["n"]
        n_orders = table.group_by("item", "system_a", "system_b").agg(n=pl.col("order").n_unique())[
            "n"
        ]
        is_exchanged = bool((arrangements > 1).any() and (n_orders == 1).all())
    if orders is None or is_exchanged:
        orders = np.full(table.height, A_FIRST if has_systems and is_placed else -1, np.int8)
    meaning = _with_errors(table, _meanings(table, "verdict", reading))
    # A and B of a truth are the systems of the row, in whichever order they were shown
    if "gold" in table.columns:
        truths = _meanings(table, "gold", LogReading(verdict_map=reading.verdict_map))
        gold, by_place = (_sides(truths, order, flip) for order in (np.zeros_like(orders), orders))
        pairs = (pl.DataFrame({"item": items, "gold": codes}) for codes in (gold, by_place))
        n_truths = [pair.filter(pl.col("gold") >= 0).n_unique() for pair in pairs]
        # Unless they contradict each other, and would not if they named positions, as verdicts do.
        are_positions = n_truths[1] == items.filter(pl.Series(gold >= 0)).n_unique() < n_truths[0]
        of_items["gold"] = by_place if are_positions else gold
    if {"length_a", "length_b"} <= set(table.columns):
        a, b = (
            table.get_column(name).cast(pl.Float64).to_numpy() for name in ("length_a", "length_b")
        )
        of_items |= {"length_a": np.where(flip, b, a), "length_b": np.where(flip, a, b)}
    by_position = reading.verdicts == "position"
    failure = np.where(meaning >= Meaning.ERROR, meaning, 0).astype(np.int8)
    answer = _sides(meaning, orders if by_position else np.zeros_like(orders), flip)
    first = np.where(orders < 0, -1, np.where(flip, 1 - orders, orders)).astype(np.int8)
    names = {
        "class_names": [*(systems if len(systems) == 2 else ("A", "B")), TIE],
        "system_names": systems,
    }
    log = _make_log(
        table,
        items,
        source,
        failure,
        of_items,
        kind="pairwise",
        answer=answer,
        first=first,
        **names,
    )
    return replace(log, notes=_doubts(log)) if by_position else log


def _doubts(log: JudgeLog) -> list[str]:
    """Warn if verdicts do not depend on the order as those of judges do: they may name the answers,
    not positions.

    A judge that prefers a position does so for most items: it says "first, first" or "second,
    second", hardly both. Whatever its bias and its noise, it gives the same answer after a swap in
    2 sqrt(ff ss) of the pairs or more.
    """
    calls = pl.DataFrame(
        {name: getattr(log, name) for name in ("item", "judge", "first", "answer")}
    )
    decided = calls.filter(pl.col("answer").is_between(0, TIED - 1), pl.col("first") >= 0)
    by_order = decided.group_by("item", "judge", "first", maintain_order=True).agg(
        pl.last("answer")
    )
    first, second = (
        by_order.filter(first=side).select("item", "judge", "answer") for side in (A_FIRST, B_FIRST)
    )
    both, by_judge = (
        pl.concat_str("answer", "answer_right"),
        first.join(second, on=("item", "judge")).group_by("judge"),
    )
    pairs = by_judge.agg(pl.len(), ff=(both == "01").sum(), ss=(both == "10").sum())
    n, ff, ss = (pairs[name].cast(pl.Float64).to_numpy() for name in ("len", "ff", "ss"))
    share = (ff + ss).sum() / max(n.sum(), 1)
    is_odd = (2 * np.sqrt(ff * ss) - (n - ff - ss) > SIGNIFICANT * np.sqrt(n)).any()
    if not is_odd and (share <= 1 - LOWEST_CONSISTENCY or n.sum() < FEWEST_PAIRS):
        return []
    return [
        f"in {share:.0%} of the swapped pairs a judge contradicts itself: if A and B name the"
        ' answers and not their positions, set the option verdicts to "answer"'
    ]


def pointwise_log(table: pl.DataFrame, source: str, reading: LogReading | None = None) -> JudgeLog:
    """Make the log of a table of calls that judge one answer each, by a class or a score; see
    `pairwise_log`.
    """
    reading, verdicts = reading or LogReading(), table.get_column("verdict")
    truths = table.get_column("gold") if "gold" in table.columns else pl.Series([], dtype=pl.String)
    parts = {text: reading.said(text) for text in verdicts.drop_nulls().unique()}
    meaning = {
        text: Meaning.UNREADABLE if part is None else class_of(part) for text, part in parts.items()
    }
    known = {text: class_of(text) for text in truths.drop_nulls().unique()}
    counts = dict(verdicts.drop_nulls().value_counts().rows())
    classes = [text for text, said in meaning.items() if isinstance(said, str)]
    n_numbers = sum(counts[text] for text in classes if number_of(str(meaning[text])) is not None)
    is_scores = bool(classes) and n_numbers >= MOSTLY * sum(counts[text] for text in classes)
    for said_of in (meaning, known) if is_scores else ():
        for text, said in said_of.items():
            # 4 for 4.0 and 4/5
            if isinstance(said, str):
                score = number_of(said)
                no_score = Meaning.UNREADABLE if score is None else Meaning.EMPTY
                said_of[text] = no_score if score in (None, NO_SCORE) else f"{score:g}"
    names, true = (
        {said for said in said_of.values() if isinstance(said, str)} for said_of in (meaning, known)
    )
    if len(names | true) <= MOST_CLASSES and true & names:
        names |= true
    class_names = sorted(names, key=float if is_scores else None)
    code_of = {name: code for code, name in enumerate(class_names)}
    answer, gold = (
        _replace(
            column,
            {text: code_of.get(str(said), MISSING) for text, said in said_of.items()},
            MISSING,
        )
        for column, said_of in ((verdicts, meaning), (truths, known))
    )
    failures = {text: 0 if isinstance(said, str) else int(said) for text, said in meaning.items()}
    failure = _with_errors(table, _replace(verdicts, failures, int(Meaning.EMPTY), pl.Int8))
    answer = np.where(failure > 0, MISSING, answer).astype(np.int32)
    about = {"kind": "pointwise", "class_names": class_names, "is_ordered": is_scores}
    of_items, first = {"gold": gold} if len(gold) else {}, np.full(table.height, -1, np.int8)
    return _make_log(
        table, table["item"], source, failure, of_items, answer=answer, first=first, **about
    )


def _make_log(
    table: pl.DataFrame,
    items: pl.Series,
    source: str,
    failure: SmallCodes,
    of_items: Mapping[str, Any],
    **more: Any,
) -> JudgeLog:
    """Make a log of values per call; those of `of_items`, with the gold among them, become values
    per item.
    """
    unread = table.get_column("verdict").filter(pl.Series(failure == Meaning.UNREADABLE))
    n, n_readable, kind = len(unread), int((failure == 0).sum()), more["kind"]
    if n > (n + n_readable) * MOST_UNREADABLE:
        other = "pointwise" if kind == "pairwise" else "pairwise"
        example = unread[0].replace("\n", " ")[:60]
        problem = (
            f"{n:,} of {n + n_readable:,} verdicts cannot be read as {kind} ones, such as"
            f" {example!r}"
        )
        remedies = [
            use("if another column has them", verdict=Placeholder("COLUMN")),
            use(f"if they are {other}", kind=other),
            use("to find them in a text", verdict_pattern=Placeholder("REGEX")),
            use("to say what they mean", verdict_map=Placeholder("X=A,Y=B")),
        ]
        raise InputError(problem, source, remedies)
    coded = []
    for what, column in (("item", items), ("judge", table["judge"])):
        names = encode_ids(Names(column), is_text=True)
        if (names.codes < 0).any():
            row = int(np.argmax(names.codes < 0)) + 1
            raise InputError(
                f"{source}: verdict {row:,} has no {what}; fill it in or remove the row"
            )
        coded.append((names.codes, to_list(names.names)))
    (item, item_names), (judge, judge_names) = coded
    by_item = {name: np.zeros(len(item_names), values.dtype) for name, values in of_items.items()}
    by_item["gold"] = np.full(len(item_names), MISSING, np.int32)
    for name, values in of_items.items():
        is_known = values >= 0 if name == "gold" else np.ones(len(item), bool)
        by_item[name][item[is_known]] = values[is_known]
        if (
            name == "gold"
            and (wrong := np.flatnonzero(is_known & (by_item[name][item] != values))).size
        ):
            what = (
                f"item {item_names[item[wrong[0]]]!r} has two different gold truths; keep one of"
                " them"
            )
            raise InputError(f"{source}: {what}")
    counts = (
        unread.str.slice(0, SHOWN).value_counts().sort("count", "verdict", descending=[True, False])
    )
    fields = (
        by_item
        | more
        | {
            "item": item,
            "judge": judge,
            "failure": failure,
            "item_names": item_names,
        }
    )
    has_cost, has_time = "cost" in table.columns, "time" in table.columns
    return JudgeLog(
        cost=(
            table["cost"].fill_null(np.nan).to_numpy()
            if has_cost
            else np.full(table.height, np.nan)
        ),
        judge_names=[str(name) for name in judge_names],
        time=table["time"].to_numpy() if has_time else None,
        unread=dict(counts.rows()),
        **fields,
    )


def _replace(
    column: pl.Series, codes: Mapping[str, int], default: int, dtype: Any = pl.Int32
) -> Any:
    return (
        column.replace_strict(codes, default=default, return_dtype=dtype)
        .fill_null(default)
        .to_numpy()
        .copy()
    )


def _orders(table: pl.DataFrame) -> SmallCodes | None:
    """Return 0 for AB or the name of the first system, 1 for BA or the second, -1 for blank; None
    for other values.
    """
    if "order" not in table.columns:
        return None
    column = table.get_column("order")
    if "system_a" in table.columns:
        sides = [
            (column == table.get_column(side)).fill_null(False) for side in ("system_a", "system_b")
        ]
        if (sides[0] | sides[1] | column.is_null()).all():
            return np.where(column.is_null(), -1, sides[1].cast(pl.Int8)).astype(np.int8)
    words = {value: value.strip().casefold() for value in column.drop_nulls().unique()}
    # numbers from 0 or from 1
    first = "0" if set(words.values()) <= {"0", "1"} else "1"
    numbers = {first: 0, str(int(first) + 1): 1}
    known = ORDERS | (numbers if set(words.values()) <= numbers.keys() else {})
    if not words or any(word not in known for word in words.values()):
        return None
    codes: SmallCodes = _replace(
        column, {value: known[word] for value, word in words.items()}, -1, pl.Int8
    )
    return codes


def _meanings(table: pl.DataFrame, name: str, reading: LogReading) -> SmallCodes:
    """Read a column of pairwise verdicts: names of the row's systems, otherwise words."""
    column = table.get_column(name)
    meanings = reading.meanings(column.drop_nulls(), "verdicts" if name == "verdict" else "truths")
    codes: SmallCodes = _replace(column, meanings, int(Meaning.EMPTY), pl.Int8)
    if "system_a" in table.columns:
        words = column.str.strip_chars().str.to_lowercase()
        for system, side in (("system_a", Meaning.SIDE_A), ("system_b", Meaning.SIDE_B)):
            is_named = words == table.get_column(system).str.strip_chars().str.to_lowercase()
            codes[is_named.fill_null(False).to_numpy()] = side
    return codes


def _with_errors(table: pl.DataFrame, codes: SmallCodes) -> SmallCodes:
    """Mark the calls that failed by the column of errors."""
    if "error" in table.columns:
        errors = table.get_column("error")
        failed = {
            text: text.strip().casefold() not in NO_ERROR for text in errors.drop_nulls().unique()
        }
        codes[_replace(errors, failed, False, pl.Boolean) & (codes != Meaning.REFUSAL)] = (
            Meaning.ERROR
        )
    return codes


def _sides(meaning: SmallCodes, orders: SmallCodes, flip: NDArray[np.bool_]) -> Codes:
    """Return the side of the item that each verdict is for: 0, 1, 2 for a tie, -1 for a failed
    call.
    """
    first = np.where(orders == B_FIRST, 1, 0)
    is_said = [
        meaning == code for code in (Meaning.FIRST, Meaning.SECOND, Meaning.SIDE_A, Meaning.SIDE_B)
    ]
    side = np.select(is_said, [first, 1 - first, 0, 1])
    is_any = [meaning == Meaning.TIE, np.any(is_said, axis=0)]
    return np.select(is_any, [TIED, np.where(flip, 1 - side, side)], MISSING).astype(np.int32)


def with_gold(log: JudgeLog, gold: Any) -> JudgeLog:
    """Return the log with these truths: a file, a data frame, or a mapping of items to classes or
    systems.
    """
    source = sources_of(gold)[0] if is_files(gold) or isinstance(gold, Source) else None
    if source is not None and (qrels := read_qrels(source)) is not None:
        items, truths = qrels["item"].to_list(), qrels["verdict"].to_list()
    elif source is not None and (people := majority_of_people(source)) is not None:
        items, truths = people["item"].to_list(), people["gold"].to_list()
    else:
        items, truths = map(to_list, read_truth(gold.name if isinstance(gold, Source) else gold))
    code_of = {str(name): code for code, name in enumerate(log.item_names)}
    if log.is_ordered and (more := {str(truth) for truth in truths} - set(log.class_names)):
        scores = {f"{number:g}" for text in more if (number := number_of(text)) is not None}
        names = sorted({*log.class_names, *scores}, key=float)
        new = np.array([*(names.index(name) for name in log.class_names), MISSING], np.int32)
        log = replace(log, class_names=names, answer=new[log.answer], gold=new[log.gold])
    classes = [str(name).casefold() for name in log.class_names]
    meant = LogReading().meanings(map(str, truths), "truths") if log.kind == "pairwise" else {}
    sides = {
        Meaning.FIRST: 0,
        Meaning.SECOND: 1,
        Meaning.TIE: TIED,
        Meaning.SIDE_A: 0,
        Meaning.SIDE_B: 1,
    }
    codes = np.full(log.n_items, MISSING, np.int32)
    n_unknown = 0
    for name, truth in zip(items, truths, strict=True):
        if (item := code_of.get(str(name))) is None:
            n_unknown += 1
            continue
        said = str(truth).strip().casefold()
        # a truth may be the name of the better system
        if log.system_names:
            pair = [log.system_names[log.system_a[item]], log.system_names[log.system_b[item]], TIE]
            classes = [name.casefold() for name in pair]
        code = (
            classes.index(said)
            if said in classes
            else sides.get(meant.get(str(truth), Meaning.EMPTY), MISSING)
        )
        if code == MISSING:
            expected = ", ".join(classes)
            raise InputError(
                f"the gold of item {log.item_names[item]!r} is {str(truth)!r}; expected one of"
                f" {expected}"
            )
        codes[item] = code
    if n_unknown == len(items):
        examples = f"the gold has {items[:1]}, the log has {log.item_names[:1]}; write items alike"
        raise InputError(
            f"none of the {len(items):,} gold truths belongs to an item of the log: {examples}"
        )
    left_out = (
        [f"{n_unknown:,} gold truths belong to no item of the log and are left out"]
        if n_unknown
        else []
    )
    return replace(log, gold=codes, notes=[*log.notes, *left_out])
