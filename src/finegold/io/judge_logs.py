"""Logs of LLM judges -> `JudgeLog`: verdicts in any usual form, the swap undone, failed calls
recognised, and said what was read.

The way is records -> calls -> `JudgeLog` -> votes. Records are rows of any table; those of tools
become calls in `exports/judges.py`. `choose_columns` says which column is what, by its name and by
what it holds; `tell_apart` finds the columns that tell several rows of a judge and an item apart, or
refuses. `judge_logs` makes a `JudgeLog` of each criterion, `as_votes` the votes of all commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import MODELS, Role, bare_name, candidates, named_column, words_in
from finegold.io.exports.judges import (
    by_judge,
    calls_in,
    is_tool_file,
    majority_of_people,
    read_calls,
    tool_of,
)
from finegold.io.source import READABLE, Source, is_files, sources_of
from finegold.io.tables import Table, open_sources, open_table
from finegold.io.verdicts import (
    FAILURES,
    NO_ERROR,
    NO_SCORES,
    LogReading,
    Meaning,
    class_of,
    fold,
    is_clearly_pairwise,
    meaning_of,
    number_of,
    sounds_like_failure,
)
from finegold.votes.encoding import MISSING, Codes, Names, as_text, encode_ids, text_of, to_list
from finegold.votes.hygiene import Finding
from finegold.votes.labels import is_missing

Kind = Literal["pairwise", "pointwise"]
Floats = NDArray[np.float64]
SmallCodes = NDArray[np.int8]
# which side of the item was shown first; -1 if that is not known
A_FIRST, B_FIRST = 0, 1
TIE = "tie"
# the code of a tie in a pairwise log, and of an answer whose calls contradict each other
TIED, UNDECIDED = 2, -2
# classes that are counted; scores with more values have means only
MOST_CLASSES = 20


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
        counts: dict[str, dict[str, int]] = {name: {} for name in self.judge_names}
        for code, j in zip(self.failure.tolist(), self.judge.tolist(), strict=True):
            if code:
                own = counts[self.judge_names[j]]
                own[FAILURES[code]] = own.get(FAILURES[code], 0) + 1
        return counts

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
    names = [name for name in log.judge_names if name in set(judges)]
    kept = np.isin(log.judge, [log.judge_names.index(name) for name in names])
    new = np.array(
        [names.index(name) if name in names else MISSING for name in log.judge_names], np.int32
    )
    parts = {name: getattr(log, name)[kept] for name in OF_CALLS}
    return replace(log, **parts | {"judge": new[log.judge[kept]], "judge_names": names})


OF_CALLS = ("item", "judge", "answer", "first", "failure", "cost")


class Merged(NamedTuple):
    """The calls of each judge on each item as one answer (P pairs of judge and item in all)."""

    # [P] in ascending order
    judge: NDArray[np.int64]
    # [P]
    item: NDArray[np.int64]
    # [3, P, K] how often each class was named with the first side first, the second, or not known
    counts: Floats
    # [P, K] the same, where every order counts 1 in all of its calls together
    points: Floats
    # [P] a class; UNDECIDED if the calls contradict each other, MISSING if all of them failed
    answer: NDArray[np.int64]
    # [P] the mean score, of an ordered log; NaN if every call failed
    score: Floats
    # [K] without ties if they are not a class
    names: list[Any]


def merge_calls(log: JudgeLog) -> Merged:
    """Merge the calls of each judge on each item.

    An answer is the class that most of the calls name, when both orders count alike; of scores it
    is the class next to their mean. If the orders contradict each other, it is undecided. Ties are
    a class only if there are truths that are ties, or no truths at all and verdicts that are ties;
    otherwise a tie decides nothing, and is undecided too.
    """
    used = log.answer != MISSING
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    is_pairwise, K = log.kind == "pairwise", len(log.class_names)
    pairs, row = np.unique(log.judge.astype(np.int64) * log.n_items + log.item, return_inverse=True)
    judge, item = pairs // log.n_items, pairs % log.n_items
    score, P = np.full(len(pairs), np.nan), len(pairs)
    if log.is_ordered:
        n = np.bincount(row[used], minlength=P)
        sums = np.bincount(row[used], log.scores[log.answer[used]], minlength=P)
        score[n > 0] = sums[n > 0] / n[n > 0]
        nearest = np.abs(np.nan_to_num(score)[:, None] - log.scores).argmin(axis=1)
        answer = np.where(n > 0, nearest, MISSING)
        counts = np.zeros((1, P, K if K <= MOST_CLASSES else 0))
        if K <= MOST_CLASSES:
            np.add.at(counts[0], (row[used], log.answer[used]), 1.0)
        points = counts[0] / np.maximum(counts[0].sum(axis=1, keepdims=True), 1)
        return Merged(judge, item, counts, points, answer, score, list(log.class_names))
    counts = np.zeros((3, P, K))
    np.add.at(counts, (log.first[used], row[used], log.answer[used]), 1.0)
    points = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)).sum(axis=0)
    is_top = (points >= points.max(axis=1, keepdims=True) - 1e-9) & (points > 0)
    n_top = is_top.sum(axis=1)
    answer = np.where(n_top == 1, points.argmax(axis=1), np.where(n_top > 1, UNDECIDED, MISSING))
    has_ties = not is_pairwise or bool((log.gold == TIED).any())
    if not has_ties and (log.gold == MISSING).all():
        has_ties = bool((log.answer == TIED).any())
    if not has_ties:
        answer[answer == TIED] = UNDECIDED
    names = list(log.class_names if has_ties else log.class_names[:TIED])
    return Merged(judge, item, counts, points[:, : len(names)], answer, score, names)


def as_votes(log: JudgeLog) -> tuple[pl.DataFrame, Finding]:
    """Return one vote per judge and item as a long table of task, annotator, label and gold, and
    how the log was read. The label is null where a judge has no answer.
    """
    merged = merge_calls(log)
    names, gold = [*map(str, merged.names)], log.gold[merged.item]
    label = [names[code] if code >= 0 else None for code in merged.answer.tolist()]
    truth = [str(log.class_names[code]) if code >= 0 else None for code in gold.tolist()]
    columns = {
        "task": [str(log.item_names[i]) for i in merged.item.tolist()],
        "annotator": [log.judge_names[j] for j in merged.judge.tolist()],
        "label": label,
        "gold": truth,
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


# Which column is what.


def _role(name: str, *tiers: str, option: str = "") -> Role:
    words, *others = (frozenset(tier.split()) for tier in tiers)
    return Role(name, option or name.replace("_", "-"), words, tuple(others))


ITEM = _role(
    "item",
    "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid"
    " instanceid uid qid traceid battleid conversationid customid docid recordid caseid testid"
    " queryid q requestid spanid",
    "pair idx instruction question prompt sample instance input unit unitid query case test hit"
    " image imageid",
    "id index runid responseid",
    "response answer output completion text summary document",
)
JUDGE = _role(
    "judge",
    "judge judgemodel judgename judgeid judgellm evaluator evaluatormodel evaluatorname"
    " evaluatorid grader gradermodel gradername graderid llmjudge",
    "annotator annotatorid annotatorindex annotatorname rater raterid scorer reviewer critic llm"
    " sourceid sourcename",
)
VERDICT = _role(
    "verdict",
    "verdict judgeverdict llmverdict decision winner preference preferred choice vote judgment"
    " judgement rawverdict rawjudgment judgelabel llmlabel judgescore llmscore predictedlabel"
    " modelverdict judgerating judgeoutput judgedecision judgechoice pick picked selected",
    "passed pass iscorrect correct success score rating grade",
    "outcome result prediction predicted label stringvalue value",
    "answer response output completion rawoutput rawresponse raw",
)
ORDER = _role(
    "order",
    "order promptorder answerorder position presentation presentationorder swapped isswapped swap"
    " flipped isflipped reversed isreversed shownfirst firstshown afirst isafirst game aborder",
)
ORDER_ENDS = ("order", "swapped", "flipped", "reversed", "shownfirst", "swap")
CRITERION = _role(
    "criterion",
    "criterion criteria criterionname metric metricname dimension aspect rubric rubricname"
    " attribute facet evaluationcriterion qualitydimension assessment assessmentname scorename",
)
REPEAT = _role(
    "repeat",
    "repeat repeatid repetition run runid trial attempt replicate epoch iteration sampleidx"
    " sampleindex seed draw",
)
COST = _role("cost", "cost costusd price usd totalcost callcost")
ERROR = _role("error", "error errors errormessage exception failure failed status callstatus")
GOLD = _role(
    "gold",
    "gold goldlabel goldverdict goldscore truth groundtruth groundtruthlabel humanlabel"
    " humanverdict humanwinner humanpreference humanscore humanrating humangrade humanvote"
    " humanjudgment humanjudgement truelabel expertlabel expertscore goldstandard",
    "human expert label",
    "reference referencelabel expected expectedlabel target targetlabel",
)
GOLD_STARTS = ("human", "gold", "truth", "groundtruth", "expert")
SYSTEM_A, SYSTEM_B = _role("system_a", ""), _role("system_b", "")
NAMED = (ITEM, JUDGE, VERDICT, ORDER, CRITERION, REPEAT, COST, ERROR, GOLD, SYSTEM_A, SYSTEM_B)
MODEL = frozenset({"model", "modelname", "modelid"})
# further parts of a judge, and of an item
OF_JUDGE = words_in(
    "prompt promptname promptversion prompttemplate promptstyle promptid judgeprompt template"
    " templateid version variant temperature strategy style config setting persona method technique"
    " judgeversion mode"
)
OF_ITEM = words_in(
    "model modelname modelid system systemid systemname generator candidate provider application"
    " turn pair pairid responseid answerid outputid language subset split dataset response answer"
    " output completion topic document passage summary"
)
# never tell calls apart: they differ from call to call by themselves
# a column per judge: the judge, and what it gave
OF_ONE_JUDGE = re.compile(
    r"(?P<who>.+?)[\W_]+(?P<what>verdict|score|label|rating|judge?ment|decision|vote|grade)"
    rf"|(?P<model>(?:{'|'.join(MODELS.split())})(?:[\W_\d].*)?)",
    re.IGNORECASE,
)
# whether a judge is a person
KINDS = words_in("sourcetype annotatorkind annotatortype judgetype ratertype evaluatortype")
BY_CALL = re.compile(
    r"reason|rational|explan|comment|creat|stamp|latency|token|duration|time|date|raw|log|confidence|prob"
    r"|feedback|justif|thought|cot|text|score|uuid|requestid|cost"
)
SYSTEM_WORDS = words_in(
    "model system generator assistant candidate player contestant llm bot engine agent policy"
    " checkpoint"
)
TEXT_WORDS = words_in("response answer output completion text")
SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"))
OPPONENTS = ("baseline", "baselinemodel", "reference", "referencemodel", "opponent")
# nothing is known about positions; AlpacaEval undoes the order
UNPLACED = ("generator1", "generator2")
PERSON = re.compile(
    r"(?:human|annotator|expert|person|rater|worker|crowd|labell?er)s?(?:label|vote|score)?\d+$"
)
# columns that the names of files and folders make
COLUMN = "the column's name"
FILE, FOLDER, FILE_ORDER = "the file's name", "the folder's name", "the order in the file's name"
# how the name of a file of truths begins
TRUTHS = ("human", "gold", "truth", "label", "reference")
# verdicts that are looked at to tell what they are
LOOKED_AT = 2000
# the most values of a column that tells calls apart, unless there are many rows
FEW_VALUES, ROWS_PER_VALUE = 50, 20
# share of readable verdicts that makes a column one of verdicts
MOSTLY = 0.5
# share of rows that may repeat another without being said to be different things
FEW_REPEATS = 0.05

Roles = dict[str, list[str]]


def choose_columns(frame: pl.DataFrame, reading: LogReading, name: str) -> Roles:
    """Return the columns of every role that the log has: those that the user names, or those with a
    usual name whose values fit.
    """
    columns = [column for column in frame.columns if column not in (FILE, FILE_ORDER)]
    columns = [column for column in columns if not column.startswith(FOLDER)]
    roles: Roles = {}
    for role in NAMED:
        if (words := getattr(reading, role.name, None)) is not None:
            parts = [words] if words in frame.columns else words.split(",")
            roles[role.name] = [named_column(frame.columns, part.strip(), role) for part in parts]

    def free() -> list[str]:
        taken = {column for each in roles.values() for column in each}
        return [column for column in columns if column not in taken]

    for end, pair in _pairs(frame.select(free())).items():
        roles |= {f"{end}_a": [pair[0]], f"{end}_b": [pair[1]]}
    for role in (ORDER, CRITERION, REPEAT, COST, ERROR):
        found = candidates(free(), role)
        if role is ORDER and not found:
            found = [each for each in free() if bare_name(each).endswith(ORDER_ENDS)]
        if role.name not in roles and found:
            roles[role.name] = found[:1]
    if FILE_ORDER in frame.columns:
        roles.setdefault("order", [FILE_ORDER])
    if "people" not in roles:
        people = [each for each in free() if PERSON.fullmatch(bare_name(each))]
        roles |= {"people": people} if len(people) > 1 else {}
    if "judge" not in roles and (found := candidates(free(), JUDGE)):
        roles["judge"] = found[:1]
    bare = {bare_name(each): each for each in free()}
    # scores of Langfuse and feedback of LangSmith
    if {"traceid", "runid"} & {bare_name(each) for each in columns} and "criterion" not in roles:
        roles |= next(({"criterion": [bare[key]]} for key in ("key", "name") if key in bare), {})
        if "repeat" in roles and "judge" not in roles and not candidates(free(), ITEM):
            roles["item"] = roles.pop("repeat")
    if "system_a" not in roles and "judge" in roles and (models := [*(MODEL & bare.keys())]):
        others = [bare[each] for each in OPPONENTS if each in bare and _is_name(frame[bare[each]])]
        roles |= {"system_a": [bare[models[0]]], "system_b": others[:1]} if others else {}
    if "item" not in roles and (items := _items(frame, free(), roles.get("judge"))):
        roles["item"] = items[:1]
    if "verdict" not in roles:
        _add_verdict(frame, free(), roles, name)
    if "gold" not in roles and "people" not in roles:
        found = candidates(free(), GOLD)
        starts = [each for each in free() if bare_name(each).startswith(GOLD_STARTS)]
        weak = {word for tier in GOLD.others for word in tier}
        if starts and (not found or bare_name(found[0]) in weak):
            found = starts
        roles |= {"gold": found[:1]} if found else {}
    if "judge" not in roles and "system_a" not in roles:
        models = [each for each in free() if bare_name(each) in MODEL]
        if models and not any(bare_name(each).startswith("judge") for each in columns):
            roles |= {} if _truths_differ(frame, roles, models[0]) else {"judge": models[:1]}
    return roles


def _pairs(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Return the two columns that name the systems, and the two with their answers."""
    parts = {
        tuple(re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", each).casefold())): each
        for each in frame.columns
    }
    found: dict[str, tuple[str, str]] = {}
    for names, column in parts.items():
        for one, other in SIDES:
            for place in [place for place, part in enumerate(names) if part == one]:
                rest = {*names[:place], *names[place + 1 :]}
                partner = parts.get((*names[:place], other, *names[place + 1 :]))
                if partner is None or (not rest and one not in ("left", "first")):
                    continue
                is_short = _is_name(frame[column]) and _is_name(frame[partner])
                if (rest & SYSTEM_WORDS or not rest) and is_short:
                    found.setdefault("system", (column, partner))
                elif rest & TEXT_WORDS and not rest & SYSTEM_WORDS:
                    found.setdefault("text", (column, partner))
    return found


def _is_name(column: pl.Series) -> bool:
    """Return whether a column holds few names, and no texts."""
    known = column.drop_nulls().head(LOOKED_AT)
    few = known.n_unique() * 2 <= len(known) and known.n_unique() <= FEW_VALUES
    return few or int(known.str.len_chars().sum()) <= 80 * len(known)


def _items(frame: pl.DataFrame, columns: Sequence[str], judge: list[str] | None) -> list[str]:
    """Return the columns that may name the items, the most likely first: numbers of rows are not
    items where several judges share them.
    """
    found: list[str] = []
    for words in (ITEM.words, *ITEM.others):
        found += [each for each in columns if bare_name(each) in words]
    found = found or [each for each in columns if bare_name(each).endswith("id")]
    is_shared = {each: frame[each].n_unique() < frame.height for each in found}
    if judge is not None and frame[judge[0]].n_unique() > 1 and any(is_shared.values()):
        found = [each for each in found if is_shared[each]]
    return found


def _truths_differ(frame: pl.DataFrame, roles: Roles, column: str) -> bool | None:
    """Return whether the truths of an item differ with this column, which then names what is
    judged; None if too little is known.
    """
    if not {"item", "gold"} <= roles.keys():
        return None
    gold = roles["gold"][0]
    known = frame.filter(pl.col(gold).is_not_null())
    groups = known.group_by(roles["item"]).agg(pl.n_unique(column, gold)).filter(pl.col(column) > 1)
    return bool((groups[gold] > 1).any()) if groups.height > 4 else None


def _add_verdict(frame: pl.DataFrame, columns: Sequence[str], roles: Roles, name: str) -> None:
    """Add the column of verdicts: the first with a usual name that holds verdicts, and not what was
    judged, which is the same for all judges of an item.
    """
    found = [
        (each, tier)
        for tier, words in enumerate((VERDICT.words, *VERDICT.others))
        for each in columns
        if bare_name(each) in words
    ]
    ends = ("verdict", "winner", "decision", "preference", "judgment", "result", "judgescore")
    known = {each for each, _ in found}
    found += [(each, 2) for each in columns if bare_name(each).endswith(ends) and each not in known]
    by_judge = roles.get("judge") or [each for each in (FILE,) if each in frame.columns]
    judged: list[str] = []
    kept: list[str] = []
    for each, tier in found:
        if not _holds_verdicts(frame[each], tier):
            continue
        is_same = False
        if by_judge and "item" in roles and tier > 1:
            sizes = frame.group_by(roles["item"]).agg(
                pl.n_unique(by_judge[0]), pl.col(each).n_unique().alias("finegold n")
            )
            several = sizes.filter(pl.col(by_judge[0]) > 1)
            is_same = several.height > 0 and bool((several["finegold n"] == 1).all())
        (judged if is_same else kept).append(each)
    # a column with one value says nothing where another says something
    kept.sort(key=lambda each: frame[each].n_unique() < 2)
    if not kept and not judged and not (found and found[0][1] == 0):
        # the only other column with a few values
        names = GOLD.words.union(*GOLD.others)
        rest = [
            each
            for each in columns
            if bare_name(each) not in names
            and not bare_name(each).startswith(GOLD_STARTS)
            and frame[each].n_unique() > 1
            and _holds_verdicts(frame[each], 3)
        ]
        kept = rest if len(rest) == 1 and "item" in roles and "judge" in roles else []
    if kept or (found and found[0][1] == 0):
        roles["verdict"] = [kept[0] if kept else found[0][0]]
    elif judged:
        what = "the truths" if bare_name(judged[0]) == "label" else "what was judged"
        problem = f'found no column of verdicts; "{judged[0]}" seems to hold {what}'
        problem += ", because it is the same for all judges of an item"
        these = use(verdict=judged[0], text="if those are verdicts")
        raise InputError(problem, name, [use(verdict=Placeholder("COLUMN")), these])


def _holds_verdicts(column: pl.Series, tier: int) -> bool:
    """Return whether values look like verdicts. The weaker the name of the column, given by its
    tier, the more they must.
    """
    texts = column.drop_nulls().head(LOOKED_AT).to_list()
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return tier < 2
    if all(number_of(fold(text)) is not None for text in distinct):
        return tier < 3 or len(distinct) <= MOST_CLASSES
    n_marked = sum(meaning_of(text) < Meaning.ERROR for text in distinct)
    if n_marked > MOSTLY * len(distinct):
        return True
    classes = {fold(said) for text in distinct if isinstance(said := class_of(text), str)}
    n_read = sum(class_of(text) != Meaning.UNREADABLE for text in texts)
    few = len(classes) <= max(MOST_CLASSES, len(texts) // ROWS_PER_VALUE)
    return (tier < 1 or few) and n_read > MOSTLY * len(texts)


def tell_apart(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> Roles:
    """Find the columns that tell several rows of one judge and item apart, and give them to the
    judge, the item or the criterion; refuse what could be either.
    """
    one_judge = "judge" not in roles and not _file_judges(frame, roles)
    roles, files = dict(roles), _file_judges(frame, roles)
    if files:
        roles["judge"] = files
    keys = ("item", "judge", "criterion", "order", "repeat", "system_a", "system_b")

    def n_repeated(*more: str) -> int:
        key = [column for role in keys for column in roles.get(role, ())]
        return (
            frame.height - frame.select(*dict.fromkeys([*key, *more])).n_unique()
            if key or more
            else 0
        )

    if "item" not in roles or not (n := n_repeated()):
        return roles
    taken = {column for each in roles.values() for column in each}
    most = max(FEW_VALUES, frame.height // ROWS_PER_VALUE)
    free = [
        column
        for column in frame.columns
        if column not in taken
        and 1 < frame[column].n_unique() <= most
        and not (files and (column == FILE or column.startswith(FOLDER)))
        and (bare_name(column) in OF_JUDGE | OF_ITEM or not BY_CALL.search(bare_name(column)))
    ]
    undecided: list[str] = []
    while n > FEW_REPEATS * frame.height and free:
        left = {column: n_repeated(column) for column in free}
        if not (better := [each for each in free if left[each] < 0.6 * n]):
            break
        known = [each for each in better if _part(frame, roles, each)]
        column = min(known or better, key=lambda each: (left[each], frame[each].n_unique()))
        part = _part(frame, roles, column)
        if not part:
            undecided = better
            break
        roles[part] = [*roles.get(part, ()), column]
        free.remove(column)
        n = n_repeated()
    if undecided or (
        one_judge
        and n > FEW_REPEATS * frame.height
        and "order" not in roles
        and "repeat" not in roles
        and "system_a" not in roles
    ):
        _refuse(frame, roles, name, undecided, n)
    if n:
        notes.append(
            f"{n:,} rows repeat a judge and an item, and no column tells them apart: they count as"
            " repeats"
        )
    return roles


def _file_judges(frame: pl.DataFrame, roles: Roles) -> list[str]:
    """Return the names of files and folders that are judges: several of them share items."""
    levels = [each for each in frame.columns if each.startswith(FOLDER) or each == FILE]
    if "judge" in roles or not levels:
        return []
    if "item" not in roles:
        return [each for each in levels if each == FILE]
    item = roles["item"][0]
    n_items = frame[item].n_unique()
    shared = [each for each in levels if 2 * n_items <= frame.select(item, each).n_unique() + 1]
    return shared or ([FILE] if FILE in levels else levels[:1])


def _part(frame: pl.DataFrame, roles: Roles, column: str) -> str:
    """Return the role that a column which tells rows apart has: a further part of the judge or of
    the item, or the criterion; empty if its name does not say.
    """
    name = bare_name(column)
    if column == FILE or column.startswith(FOLDER):
        return "judge"
    is_of_judge = "judge" in roles and _truths_differ(frame, roles, column) is False
    if (name in OF_ITEM or name.endswith("pair")) and not (name in MODEL and is_of_judge):
        return "item"
    if name in JUDGE.words | OF_JUDGE | MODEL | frozenset().union(*JUDGE.others):
        return "judge"
    if name in CRITERION.words:
        return "criterion"
    if name in ITEM.words | ITEM.others[0]:
        # the same few questions about every item are criteria
        n_pairs = frame.select(*roles["item"], column).n_unique()
        n_items, n_values = frame.select(*roles["item"]).n_unique(), frame[column].n_unique()
        is_crossed = n_pairs > 0.9 * n_items * n_values and n_values <= MOST_CLASSES
        return "criterion" if is_crossed and n_items > n_values else "item"
    return ""


def _refuse(frame: pl.DataFrame, roles: Roles, name: str, columns: Sequence[str], n: int) -> None:
    """Refuse rows that may be several judges, items or criteria, or repeats."""
    problem = f"{n:,} rows have the same judge and item"
    problem += (
        f", and {' or '.join(columns)} tells them apart, but not what it is"
        if columns
        else ", and no column says which judge gave them"
    )
    column: Any = columns[0] if len(columns) == 1 else Placeholder("COLUMN")
    remedies = [
        use("if it is a part of the judge", judge=",".join([*roles.get("judge", ()), column])),
        use("if it is a part of the item", item=",".join([*roles["item"], column])),
        use("if it is the criterion", criterion=column),
        use("if these are repeats", repeat=column),
    ]
    raise InputError(f"{problem}. The columns are:\n{listing(frame, roles)}\n", name, remedies)


def listing(frame: pl.DataFrame, roles: Roles) -> str:
    """Return the columns as a table: what each is read as, how many values it has, an example."""
    role_of = {column: role for role, columns in roles.items() for column in columns}
    lines = []
    for column in frame.columns:
        values = frame[column].drop_nulls()
        example = " ".join(str(values[0]).split())[:30] if len(values) else ""
        words = f"{column:.24}", role_of.get(column, "–"), f"{values.n_unique():,} values", example
        lines.append("  {:24}  {:10}  {:>13}  {}".format(*words).rstrip())
    return "\n".join(lines)


# Records.


class Records(NamedTuple):
    """The rows of a log as text, before anything is said about its columns."""

    name: str
    frame: pl.DataFrame
    # files of truths among those of the log
    truths: Sequence[Source] = ()


def load_records(log: Any, notes: list[str]) -> Records:
    """Load the rows of a log: files, which tools may have written, a data frame or columns, or
    judge -> item -> verdict.
    """
    if isinstance(log, Mapping) and log and all(isinstance(row, Mapping) for row in log.values()):
        return Records("the log", by_judge(log))
    log = [log] if isinstance(log, Source) else log
    if not is_files(log):
        opened = log if isinstance(log, Table) else open_table(log)
        frame = opened.read(opened.columns)
        calls = calls_in(frame, opened.name)
        return Records(opened.name, _as_texts(frame) if calls is None else calls)
    sources = sources_of(log)
    truths = [
        each
        for each in (sources if len(sources) > 1 else [])
        if _stem(each).casefold().startswith(TRUTHS) or majority_of_people(each) is not None
    ]
    truths = truths if len(truths) < len(sources) else []
    sources = [source for source in sources if source not in truths]
    calls_of = [read_calls(source) for source in sources]
    if any(calls is not None for calls in calls_of) and any(calls is None for calls in calls_of):
        others = [each.name for each, calls in zip(sources, calls_of, strict=True) if calls is None]
        names = ", ".join(dict.fromkeys(PurePath(name).name for name in others))
        notes.append(f"{len(others):,} other files hold no verdicts and are left out: {names:.80}")
        sources = [each for each in sources if each.name not in others]
        calls_of = [calls for calls in calls_of if calls is not None]
    frames = []
    for source, calls in zip(sources, calls_of, strict=True):
        if calls is None:
            opened = open_sources([source])
            calls = _as_texts(opened.read(opened.columns))
        frames.append(calls)
    if len(sources) > 1:
        frames = _with_file_names(sources, frames, notes)
    more = f" and {len(sources) - 3:,} more" if len(sources) > 3 else ""
    name = ", ".join(source.name for source in sources[:3]) + more
    return Records(name, pl.concat(frames, how="diagonal"), truths)


# in names of files
ORDER_WORDS = dict.fromkeys(
    ("ab", "original", "orig", "normal", "unswapped", "noswap", "forward"), 0
) | dict.fromkeys(("ba", "swapped", "swap", "reversed", "reverse", "flipped", "backward"), 1)


def _with_file_names(
    sources: Sequence[Source], frames: list[pl.DataFrame], notes: list[str]
) -> list[pl.DataFrame]:
    """Add the parts of the names of files that differ, which may be judges or orders, as columns."""
    stems = [_stem(source) for source in sources]
    folders = [list(PurePath(source.name).parts[-2::-1]) for source in sources]
    words = [
        re.findall(r"[^\W_]+", f"{folder[0] if folder else ''}/{stem}".casefold())
        for folder, stem in zip(folders, stems, strict=True)
    ]
    rests = [tuple(word for word in each if word not in ORDER_WORDS) for each in words]
    orders = ["BA" if any(ORDER_WORDS.get(word) for word in each) else "AB" for each in words]
    # The names say an order if every swapped one has a partner.
    pairs = sorted((rest, order) for rest in set(rests) for order in ("AB", "BA"))
    names = [bare_name(column) for frame in frames for column in frame.columns]
    knows_order = any(name in ORDER.words or name.endswith(ORDER_ENDS) for name in names)
    has_orders = not knows_order and pairs == sorted(zip(rests, orders, strict=True))
    columns: dict[str, list[str]] = {}
    if has_orders:
        ends = rf"(?i)(?:[\W_]+(?:{'|'.join(ORDER_WORDS)})\b|\b(?:{'|'.join(ORDER_WORDS)})[\W_]+)"
        stems = [re.sub(ends, "", stem) for stem in stems]
        folders = [[re.sub(ends, "", part) for part in each[1:]] for each in folders]
        swapped = PurePath(sources[orders.index("BA")].name).name
        notes.append(
            "the names of the files say in which order answers were shown: swapped in " + swapped
        )
        columns[FILE_ORDER] = orders
    if len(set(stems)) > 1 or has_orders:
        columns[FILE] = stems
    for up in range(min(map(len, folders))):
        level = [folder[up] for folder in folders]
        if len(set(level)) > 1:
            columns[FOLDER if up == 0 else f"{FOLDER}, {up} up"] = level
    # from the outermost folder to the file
    columns = dict(reversed(columns.items()))
    return [
        frame.with_columns(pl.lit(values[number]).alias(name) for name, values in columns.items())
        for number, frame in enumerate(frames)
    ]


def _stem(source: Source) -> str:
    path = PurePath(source.name)
    while path.suffix.lower() in (*READABLE, ".txt", ".qrels"):
        path = path.with_suffix("")
    return path.name


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(_text(column) for column in frame.iter_columns())


def _text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.List | pl.Array):
        # MT-bench writes the judge and its prompt; several votes of people stay a list
        if bare_name(column.name) in JUDGE.words:
            return _text(column.list.first())
        cells = [
            None if cell is None else json.dumps(cell.to_list(), default=str) for cell in column
        ]
        return pl.Series(column.name, cells, dtype=pl.String)
    # an object of JSON with the verdict in a field
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode()
    if column.dtype.is_float() or column.dtype in (pl.Boolean, pl.Binary):
        return as_text(column)
    return column.cast(pl.String)


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
    if isinstance(log, JudgeLog):
        return {log.criterion: log if gold is None else with_gold(log, gold)}
    is_column = isinstance(gold, str) and not Path(gold).exists()
    reading = LogReading(**given | ({"gold": gold} if is_column else {}))
    notes: list[str] = []
    records = load_records(log, notes)
    logs = logs_of(records, reading, notes)
    for name, each in logs.items():
        for source in records.truths:
            each = with_gold(each, source, reading)
        logs[name] = each if gold is None or is_column else with_gold(each, gold, reading)
    return logs


def logs_of(records: Records, reading: LogReading, notes: list[str]) -> dict[str, JudgeLog]:
    """Make the log of each criterion of some records."""
    frame, reading = _by_row(records.frame, reading)
    name = records.name
    roles = choose_columns(frame, reading, name)
    kind = next((each for each in frame.columns if bare_name(each) in KINDS), None)
    if kind is not None and "judge" in roles and reading.people is None:
        is_person = frame[kind].str.to_lowercase().str.contains("human|person|expert|user")
        people = frame.filter(is_person)[roles["judge"][0]].unique().to_list()
        if 0 < len(people) < frame[roles["judge"][0]].n_unique():
            reading = replace(reading, people=",".join(map(str, people)))
    if "verdict" not in roles:
        _lose("verdict", frame, roles, name)
    if reading.order is not None:
        order = frame.select(order=pl.col(roles["order"][0]))
        _is_ordered_or_refused(order, roles, reading, name, notes)
    roles = tell_apart(frame, roles, name, notes)
    if "item" not in roles and "judge" in roles and frame[roles["judge"][0]].n_unique() > 1:
        _lose("item", frame, roles, name)
    table = _calls(frame, roles, name, notes)
    _is_ordered_or_refused(table, roles, reading, name, notes)
    is_pairwise = _is_pairwise(table, reading)
    parts = {"": table}
    if "criterion" in table.columns:
        named = table.with_columns(pl.col("criterion").fill_null("?"))
        parts = {
            str(key): part for (key,), part in named.group_by("criterion", maintain_order=True)
        }
        parts = {key: part for key, part in parts.items() if reading.question in (None, key)}
        if not parts:
            listed = ", ".join(f'"{each}"' for each in named["criterion"].unique())
            raise InputError(f'there is no criterion "{reading.question}" among {listed}', name)
    logs = {}
    for criterion, part in parts.items():
        make = _pairwise_log if is_pairwise else _pointwise_log
        log = replace(make(part, f"{name} {criterion}".strip(), reading), criterion=criterion)
        log = replace(log, notes=[*log.notes, *notes], about=_about(log, part, roles, frame))
        log = _with_people(log, part, reading, roles, frame)
        if is_pairwise:
            log.notes.extend(_repeats_or_refused(log, "repeat" in part.columns, name))
        log.notes.extend(_notes_on(log, part, roles, reading))
        logs[criterion] = replace(log, reading=_interpretation(log, part, roles, frame))
    return logs


def _by_row(frame: pl.DataFrame, reading: LogReading) -> tuple[pl.DataFrame, LogReading]:
    """Return a log with a column per judge, such as gpt_score and claude_score, with a row per
    verdict.
    """
    if reading.judge or reading.verdict or candidates(frame.columns, JUDGE):
        return frame, reading
    groups: dict[str, list[str]] = {}
    for column in frame.columns:
        own = OF_ONE_JUDGE.fullmatch(column.strip())
        if own is not None and not bare_name(column).startswith((*GOLD_STARTS, "judge", "llm")):
            groups.setdefault((own["what"] or "").lower(), []).append(column)
    columns = max(groups.values(), key=len, default=[])
    if len(columns) < 2 or not all(_holds_verdicts(frame[each], 2) for each in columns):
        return frame, reading
    names = {each: re.sub(OF_ONE_JUDGE, lambda own: own["who"] or own[0], each) for each in columns}
    rest = [each for each in frame.columns if each not in columns]
    who, what = COLUMN, ", ".join(columns)
    rows = frame.unpivot(columns, index=rest, variable_name=who, value_name=what)
    rows = rows.with_columns(pl.col(who).replace(names)).drop_nulls(what)
    return rows, replace(reading, judge=who, verdict=what)


def _lose(role: str, frame: pl.DataFrame, roles: Roles, name: str) -> None:
    """Refuse a log without a column of verdicts or items."""
    taken = {column for columns in roles.values() for column in columns}
    free = [column for column in frame.columns if column not in taken]
    guess: Any = free[0] if len(free) == 1 else Placeholder("COLUMN")
    problem = f"found no column of {role}s. The columns are:\n{listing(frame, roles)}\n"
    raise InputError(problem, name, [use(text="if that is the column", **{role: guess})])


# The columns of a table of calls, besides the price.
TEXTS = ("item", "judge", "verdict", "order", "repeat", "error", "gold", "system_a", "system_b")


def _calls(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> pl.DataFrame:
    """Return the columns under the names of their roles, and note what is left out."""
    series: dict[str, Any] = {"row": pl.int_range(frame.height, dtype=pl.UInt32)}
    for role in (*TEXTS, "criterion"):
        if columns := roles.get(role):
            separator = " / " if role == "judge" else ", "
            cells = [pl.col(column) for column in columns]
            if len(columns) > 1:
                cells = [cell.fill_null("?") for cell in cells]
            series[role] = pl.concat_str(cells, separator=separator)
    if "judge" not in roles:
        is_file = PurePath(name).suffix.lower() in READABLE and ", " not in name
        series["judge"] = pl.lit(_stem(Source(name, b"")) if is_file else "judge")
    if "item" not in roles:
        series["item"] = (pl.int_range(frame.height) + 1).cast(pl.String)
        notes.append("no column names the items, so every row is an item")
    table = frame.select(**series)
    for role in ("item", "judge"):
        if table[role].null_count():
            row = int(table[role].is_null().arg_max() or 0) + 1
            raise InputError(f"{name}: verdict {row:,} has no {role}; fill it in or remove the row")
    # not whether it is swapped
    if bare_name(roles.get("order", [""])[0]).endswith("afirst"):
        orders = {"true": "AB", "1": "AB", "false": "BA", "0": "BA"}
        table = table.with_columns(pl.col("order").str.to_lowercase().replace(orders))
    if columns := roles.get("cost"):
        text = frame[columns[0]].str.strip_chars(" $€£")
        cost = text.cast(pl.Float64, strict=False).fill_nan(None)
        table = table.with_columns(cost.alias("cost"))
        if (n := cost.null_count() - frame[columns[0]].null_count()) > 0:
            notes.append(
                f'{n:,} values in the column "{columns[0]}" are not numbers and are left out'
            )
    # several rows for the same repeat are a call that was made again
    if "repeat" in table.columns:
        keys = ("item", "judge", "criterion", "order", "system_a", "system_b", "repeat")
        key = [each for each in keys if each in table.columns]
        table = table.unique(subset=key, keep="last", maintain_order=True)
    if "system_a" in table.columns:
        pair = tuple(bare_name(roles[end][0]) for end in ("system_a", "system_b"))
        if pair == UNPLACED or pair[1] in OPPONENTS:
            table = table.with_columns(is_unplaced=True)
        n_before = table.height
        table = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
        if n := n_before - table.height:
            notes.append(f"{n:,} verdicts compare a system with itself and are left out")
    return table


def _is_ordered_or_refused(
    table: pl.DataFrame, roles: Roles, reading: LogReading, name: str, notes: list[str]
) -> None:
    """Refuse an order that cannot be understood: without it, verdicts would be read the wrong way."""
    if "order" not in table.columns or _orders(table) is not None:
        return
    column, values = roles["order"][0], table["order"].drop_nulls().unique(maintain_order=True)
    shown = ", ".join(repr(value) for value in values[:4])
    verdicts = table["verdict"].drop_nulls().unique() if "verdict" in table.columns else values
    are_sides = len(verdicts) <= 3 and all(meaning_of(text) < Meaning.ERROR for text in verdicts)
    if reading.order is not None or (
        1 <= len(values) <= 2 and (are_sides or _is_pairwise(table, reading))
    ):
        problem = f'the column "{column}" has other values than AB and BA: {shown}'
        remedies = [
            Remedy(text="write AB and BA there"),
            leave_out("order") if reading.order else use(order=Placeholder("COLUMN")),
        ]
        raise InputError(problem, name, remedies)
    notes.append(f'the column "{column}" is not used: its values are not AB and BA, but {shown}')


def _is_pairwise(table: pl.DataFrame, reading: LogReading) -> bool:
    """Return whether verdicts, or truths beside them, compare two answers."""
    if reading.kind is not None:
        return reading.kind == "pairwise"
    columns = [table.get_column(role) for role in ("verdict", "gold") if role in table.columns]
    texts, *golds = (
        each.drop_nulls().unique(maintain_order=True).head(LOOKED_AT).to_list() for each in columns
    )
    verdicts = [part for text in texts if (part := reading.said(text)) is not None]
    if "system_a" in table.columns:
        return True
    if "order" in table.columns and _orders(table) is not None:
        if {"ab", "ba"} & set(table["order"].drop_nulls().str.to_lowercase().unique()):
            return True
        n_sides = sum(meaning_of(text) < Meaning.ERROR for text in verdicts)
        n_failed = sum(isinstance(class_of(text), Meaning) for text in verdicts)
        if n_sides >= MOSTLY * (len(verdicts) - n_failed):
            return True
    said = (class_of(text) for text in verdicts)
    classes = {each.casefold() for each in said if isinstance(each, str)}
    is_pair = any(map(is_clearly_pairwise, (verdicts, *golds)))
    is_pair |= {"a", "b"} <= classes <= {"a", "b", "c"}
    return is_pair or ("text_a" in table.columns and bool(classes) and classes <= set("abc0123"))


def _repeats_or_refused(log: JudgeLog, has_repeats: bool, name: str) -> list[str]:
    """Refuse two verdicts per judge and item that contradict each other more than chance, if no
    order is known; otherwise note that they are repeats.
    """
    calls = pl.DataFrame({each: getattr(log, each) for each in ("item", "judge", "answer")})
    calls = calls.filter(pl.col("answer").is_between(0, TIED - 1))
    pairs = calls.group_by("item", "judge").agg(pl.len(), apart=pl.n_unique("answer") == 2)
    twice = pairs.filter(pl.col("len") == 2)
    is_known = has_repeats or len(set(log.first.tolist())) > 1
    if is_known or 2 * twice.height < MOST_NUMBERS * max(calls.height, 1):
        return []
    problem = (
        "there are two verdicts per judge and item, and no column says in which order the answers"
        " were shown"
    )
    n, apart = (
        twice.group_by("judge").agg(pl.len(), pl.sum("apart"))[each] for each in ("len", "apart")
    )
    if (2 * apart > n + SIGNIFICANT * n.sqrt()).any():
        share = float(twice["apart"].sum()) / twice.height
        reason = "contradict each other, as they do if answers are swapped in the second"
        column = Placeholder("COLUMN")
        remedies = [use(order=column), use("if they are repeats", repeat=column)]
        raise InputError(f"{problem}; {share:.0%} of them {reason}", name, remedies)
    return [f"{problem}: they count as repeats"]


# of the verdicts that cannot be read: how many are shown, and their characters
UNREAD_SHOWN, SHOWN = 5, 60


def _notes_on(log: JudgeLog, table: pl.DataFrame, roles: Roles, reading: LogReading) -> list[str]:
    """Return what cannot be read, as notes."""
    notes = []
    known = table["gold"].drop_nulls() if "gold" in table.columns else pl.Series([])
    if len(known) and (log.gold == MISSING).all():
        problem = f'no truth in the column "{roles["gold"][0]}" can be read'
        if reading.gold is not None:
            raise InputError(f"{problem}, such as {known[0][:40]!r}")
        notes.append(f"{problem}, such as {known[0][:40]!r}: it is not used")
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
    said = dict(roles)
    if "gold" in said and (log.gold == MISSING).all():
        del said["gold"]
    if "order" in said and _orders(table) is None:
        del said["order"]
    sizes = [str(frame[column].n_unique()) for column in roles.get("judge", ())]
    classes = [str(name) for name in log.class_names]
    values = ", ".join(classes[:4]) + (", ..." if len(classes) > 4 else "")
    if log.is_ordered:
        values = f"{classes[0]} to {classes[-1]}" if classes else ""
    orders = {side for side in np.unique(log.first).tolist() if side >= 0}
    about = {
        "judge": " x ".join(sizes) if sizes else "one",
        "verdict": values,
        "order": "both" if _has_both(log) else "one per item" if len(orders) > 1 else "one",
        "gold": f"{int((log.gold != MISSING).sum()):,} of {log.n_items:,}",
        "criterion": log.criterion,
        "people": str(len(log.people.names)) if log.people else "",
    }
    names = {"gold": "truth", "system_a": "first system", "system_b": "second system"}
    order = ("item", "judge", "criterion", "verdict", "order", "system_a", "system_b", "gold")
    shown = [role for role in order if role in said]
    shown += [role for role in said if role not in (*order, "text_a", "text_b")]
    read = {
        names.get(role, role): RoleReading(tuple(said[role]), about.get(role, "")) for role in shown
    }
    if "judge" not in said:
        only = RoleReading((log.judge_names[0],), "one judge") if log.judge_names else None
        read |= {"judge": only} if only else {}
    taken = {column for columns in said.values() for column in columns}
    internal = (FILE, FILE_ORDER)
    unused = [each for each in frame.columns if each not in taken and each not in internal]
    return Interpretation(read, tuple(each for each in unused if not each.startswith(FOLDER)))


def _has_both(log: JudgeLog) -> bool:
    """Return whether a judge saw an item in both orders."""
    key = log.judge.astype(np.int64) * log.n_items + log.item
    return bool(np.intersect1d(key[log.first == A_FIRST], key[log.first == B_FIRST]).size)


def _about(log: JudgeLog, table: pl.DataFrame, roles: Roles, frame: pl.DataFrame) -> pl.DataFrame:
    """Return what the log says of each item, and the same in all of its rows."""
    of_calls = ("judge", "verdict", "order", "repeat", "cost", "error", "gold", "criterion")
    taken = {column for role in of_calls for column in roles.get(role, ())}
    columns = [each for each in frame.columns if each not in taken and each != FILE_ORDER]
    if not columns:
        return pl.DataFrame({"item": [str(name) for name in log.item_names]})
    rows = table["row"].to_numpy()
    item = pl.Series("finegold item", log.item)
    part = frame.select(columns)[rows].with_columns(item)
    groups = part.group_by("finegold item", maintain_order=True)
    first = groups.agg(pl.all().first()).sort("finegold item").drop("finegold item")
    same = groups.agg(pl.all().n_unique()).drop("finegold item").max().row(0)
    return first.select([name for name, n in zip(first.columns, same, strict=True) if n == 1])


# From a table of calls to a log.

# without blanks, commas and signs
ORDERS = dict.fromkeys(
    words_in("ab original normal afirst forward false no unswapped notswapped 12 first a default"),
    0,
) | dict.fromkeys(
    words_in("ba swapped swap reversed bfirst true yes flipped reverse 21 second b backward"), 1
)
# below, in so many pairs, verdicts may name answers and not positions
LOWEST_CONSISTENCY, FEWEST_PAIRS = 0.4, 20
# standard deviations from which a log is not read as it seems
SIGNIFICANT = 3.0
# with a larger share, the column is not one of verdicts
MOST_UNREADABLE = 0.5
# share of numbers from which verdicts are scores
MOST_NUMBERS = 0.8
# share of the verdicts of two judges from which what sounds like a failure is a class
LEAST_CLASS = 0.1


def _pairwise_log(table: pl.DataFrame, source: str, reading: LogReading) -> JudgeLog:
    """Make the log of calls that compare two answers. Without an order, system_a is shown first,
    unless the log has undone the order.
    """
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
        by_sides = table.group_by("item", "system_a", "system_b").agg(n=pl.col("order").n_unique())
        is_exchanged = bool((arrangements > 1).any() and (by_sides["n"] == 1).all())
    if orders is None or is_exchanged:
        is_placed = has_systems and "is_unplaced" not in table.columns
        orders = np.full(table.height, A_FIRST if is_placed else -1, np.int8)
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
    return replace(log, notes=[*log.notes, *_doubts(log)]) if by_position else log


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
    both, by_judge_ = (
        pl.concat_str("answer", "answer_right"),
        first.join(second, on=("item", "judge")).group_by("judge"),
    )
    pairs = by_judge_.agg(pl.len(), ff=(both == "01").sum(), ss=(both == "10").sum())
    n, ff, ss = (pairs[name].cast(pl.Float64).to_numpy() for name in ("len", "ff", "ss"))
    share = (ff + ss).sum() / max(n.sum(), 1)
    is_odd = (2 * np.sqrt(ff * ss) - (n - ff - ss) > SIGNIFICANT * np.sqrt(n)).any()
    if not is_odd and (share <= 1 - LOWEST_CONSISTENCY or n.sum() < FEWEST_PAIRS):
        return []
    return [
        f"in {share:.0%} of the swapped pairs a judge contradicts itself: if A and B name the"
        ' answers and not their positions, set the option verdicts to "answer"'
    ]


def _pointwise_log(table: pl.DataFrame, source: str, reading: LogReading) -> JudgeLog:
    """Make the log of calls that judge one answer each, by a class or a score."""
    by_map = LogReading(verdict_map=reading.verdict_map)
    verdicts = table.get_column("verdict")
    truths = table.get_column("gold") if "gold" in table.columns else pl.Series([], dtype=pl.String)
    counts = dict(verdicts.drop_nulls().value_counts().rows())
    parts = {text: reading.said(text) for text in counts}
    known = {text: by_map.said(text) or text for text in truths.drop_nulls().unique()}
    classes, notes = _odd_classes(table, parts, known.values(), reading)
    meaning = {
        text: Meaning.UNREADABLE if part is None else class_of(part, classes)
        for text, part in parts.items()
    }
    truth_of = {text: class_of(part, classes) for text, part in known.items()}
    said = {text: each for text, each in meaning.items() if isinstance(each, str)}
    n_numbers = sum(counts[text] for text, each in said.items() if number_of(each) is not None)
    is_scores = bool(said) and n_numbers >= MOST_NUMBERS * sum(counts[text] for text in said)
    for said_of in (meaning, truth_of):
        for text, each in said_of.items():
            if is_scores and isinstance(each, str):
                # 4 for 4.0 and 4/5
                score = number_of(each)
                is_none = score == -1 and not classes & NO_SCORES
                no_score = Meaning.UNREADABLE if score is None else Meaning.EMPTY
                said_of[text] = no_score if score is None or is_none else f"{score:g}"
    # the most frequent spelling of each class
    spelling: dict[str, tuple[int, str]] = {}
    for text, each in meaning.items():
        if isinstance(each, str):
            spelling[fold(each)] = max(spelling.get(fold(each), (0, "")), (counts[text], each))
    names = {key: each for key, (_, each) in spelling.items()}
    true = {fold(each): each for each in truth_of.values() if isinstance(each, str)}
    if true.keys() & names.keys() and (is_scores or len(true | names) <= MOST_CLASSES):
        names = true | names
    class_names = sorted(names.values(), key=float if is_scores else None)
    code_of = {fold(name): code for code, name in enumerate(class_names)}
    answer, gold = (
        _replace(
            column,
            {
                text: code_of.get(fold(each), MISSING) if isinstance(each, str) else MISSING
                for text, each in said_of.items()
            },
            MISSING,
        )
        for column, said_of in ((verdicts, meaning), (truths, truth_of))
    )
    failures = {text: 0 if isinstance(each, str) else int(each) for text, each in meaning.items()}
    failure = _with_errors(table, _replace(verdicts, failures, int(Meaning.EMPTY), pl.Int8))
    answer = np.where(failure > 0, MISSING, answer).astype(np.int32)
    about = {"kind": "pointwise", "class_names": class_names, "is_ordered": is_scores}
    of_items, first = {"gold": gold} if len(gold) else {}, np.full(table.height, -1, np.int8)
    log = _make_log(
        table, table["item"], source, failure, of_items, answer=answer, first=first, **about
    )
    return replace(log, notes=[*log.notes, *notes])


def _odd_classes(
    table: pl.DataFrame,
    parts: Mapping[str, str | None],
    truths: Iterable[str],
    reading: LogReading,
) -> tuple[frozenset[str], list[str]]:
    """Return the classes that sound like failed calls, such as error beside no_error, and notes.

    What sounds so is a class if it is one of the truths, if the user says so, if it is a tenth of
    the verdicts of two judges, or if a judge that is alone also says its opposite.
    """
    texts = {fold(part): text for text, part in parts.items() if part and sounds_like_failure(part)}
    if not texts:
        return frozenset(), []
    assert not isinstance(reading.verdict_map, str)
    known = {fold(truth) for truth in truths} | {
        fold(each) for each in (reading.verdict_map or {}).values()
    }
    said = pl.col("verdict").replace_strict(
        {text: fold(part or "") for text, part in parts.items()}, default="", return_dtype=pl.String
    )
    called = table.select("judge", said=said).filter(pl.col("said") != "")
    n_calls = called.group_by("judge").agg(n=pl.len())
    shares = (
        called.filter(pl.col("said").is_in(list(texts)))
        .group_by("judge", "said")
        .agg(k=pl.len())
        .join(n_calls, on="judge")
        .filter(pl.col("k") >= LEAST_CLASS * pl.col("n"))
    )
    n_judges = dict(shares.group_by("said").agg(pl.len()).rows())
    words = {fold(part) for part in parts.values() if part}
    numbers = {number_of(word) for word in words}
    found, notes = set(), []
    for word in texts:
        opposites = {f"no_{word}", f"no {word}", f"no-{word}", f"non-{word}", f"not {word}"}
        is_paired = bool(words & opposites) or any("compli" in each for each in words)
        is_paired |= word in NO_SCORES and {0, 1} <= numbers and len(numbers) <= 3
        is_usual = n_judges.get(word, 0) > 1 or (n_judges.get(word, 0) == 1 and is_paired)
        if word in known:
            found.add(word)
        elif is_usual and ":" not in word:
            found.add(word)
            notes.append(
                f"{texts[word]!r} is read as a class, because judges say it often; if it is a"
                " failed call, leave such rows empty"
            )
        elif word in n_judges:
            notes.append(
                f"{texts[word]!r} is read as a failed call; if it is a class, say so with"
                f" verdict_map: {word}={word}"
            )
    return frozenset(found), notes


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
    (item, item_names), (judge, judge_names) = (
        (coded.codes, to_list(coded.names))
        for coded in (encode_ids(Names(each), is_text=True) for each in (items, table["judge"]))
    )
    by_item: dict[str, Any] = {
        name: np.zeros(len(item_names), values.dtype)
        for name, values in of_items.items()
        if name != "gold"
    }
    for name in by_item:
        by_item[name][item] = of_items[name]
    gold = of_items.get("gold", np.full(len(item), MISSING, np.int32))
    truth, n_torn = majority(item, gold, len(item_names))
    notes = (
        [f"the truths of {n_torn:,} items differ from row to row; what most rows say counts"]
        if n_torn
        else []
    )
    counts = (
        unread.str.slice(0, SHOWN).value_counts().sort("count", "verdict", descending=[True, False])
    )
    return JudgeLog(
        item=item,
        judge=judge,
        failure=failure,
        item_names=item_names,
        judge_names=[str(name) for name in judge_names],
        cost=(
            table["cost"].fill_null(np.nan).to_numpy()
            if "cost" in table.columns
            else np.full(table.height, np.nan)
        ),
        unread=dict(counts.rows()),
        gold=truth,
        notes=notes,
        **by_item,
        **more,
    )


def majority(item: Codes, answer: Codes, n_items: int) -> tuple[Codes, int]:
    """Return the class that most votes on each item name, -1 where several do or nobody voted, and
    on how many items votes differ.
    """
    said = answer >= 0
    K = int(answer.max(initial=0)) + 1
    keys, n = np.unique(item[said].astype(np.int64) * K + answer[said], return_counts=True)
    best: Codes = np.full(n_items, MISSING, np.int32)
    most, second = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    for at in np.argsort(n, kind="stable").tolist():
        i = int(keys[at] // K)
        second[i], most[i], best[i] = most[i], n[at], keys[at] % K
    best[(second == most) & (most > 0)] = MISSING
    return best, int((second > 0).sum())


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
    words = {value: bare_name(value).replace(",", "") for value in column.drop_nulls().unique()}
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


# Truths, and votes of people.


def with_gold(log: JudgeLog, gold: Any, reading: LogReading | None = None) -> JudgeLog:
    """Add known truths to a log: item -> truth, or a table of items and truths, in which several
    people may have voted on an item.
    """
    name, votes = _truths(log, gold)
    known = votes.filter(pl.col("item").is_in([str(each) for each in log.item_names]))
    if not known.height:
        examples = f"the gold has {votes['item'][:1].to_list()}, the log has {log.item_names[:1]}"
        problem = f"none of the {votes.height:,} gold truths belongs to an item of the log"
        raise InputError(f"{problem}: {examples}; write items alike", name)
    n = votes.height - known.height
    left_out = [f"{n:,} gold truths belong to no item of the log and are left out"] if n else []
    log = _with_votes(log, known, name, reading or LogReading())
    about = f"{int((log.gold != MISSING).sum()):,} of {log.n_items:,}"
    roles = log.reading.roles | {"truth": RoleReading((PurePath(name).name,), about)}
    read = replace(log.reading, roles=roles)
    return replace(log, notes=[*log.notes, *left_out], reading=read)


def _truths(log: JudgeLog, gold: Any) -> tuple[str, pl.DataFrame]:
    """Return a table of item, judge (the person) and gold (what the person says)."""
    if hasattr(gold, "items") and not hasattr(gold, "columns"):
        cells = dict(gold.items())
        if not all(isinstance(cell, Mapping) for cell in cells.values()):
            several = (list, tuple, np.ndarray)
            known = [
                (text_of(item), str(number), text_of(said))
                for item, cell in cells.items()
                for number, said in enumerate(cell if isinstance(cell, several) else [cell], 1)
                if not is_missing(said)
            ]
            return "the gold", pl.DataFrame(known, ["item", "judge", "gold"], orient="row")
    source = gold.name if isinstance(gold, Source) else gold if isinstance(gold, str) else ""
    if isinstance(gold, str | PathLike | Source):
        of_people = majority_of_people(sources_of(gold)[0])
        gold = gold if of_people is None else of_people
    records = load_records(gold, [])
    name, frame = source or records.name, records.frame
    taken: set[str] = set()
    if log.criterion and (found := candidates(frame.columns, CRITERION)):
        frame = frame.filter(pl.col(found[0]).str.to_lowercase() == log.criterion.casefold())
        taken |= {found[0]}
    own = [each for each in frame.columns if log.criterion and fold(each) == fold(log.criterion)]
    roles: Roles = {}
    if pair := _pairs(frame).get("system"):
        roles |= {"system_a": [pair[0]], "system_b": [pair[1]]}
    people = [each for each in frame.columns if PERSON.fullmatch(bare_name(each))]
    taken |= {*(pair or ()), *(people if len(people) > 1 else ()), *own}
    for role in (ITEM, GOLD, VERDICT, JUDGE):
        if found := candidates([each for each in frame.columns if each not in taken], role):
            roles[role.name] = found[:1]
            taken.add(found[0])
    free = [each for each in frame.columns if each not in taken]
    if "item" not in roles and free:
        roles["item"] = [free.pop(0)]
    starts = [each for each in free if bare_name(each).startswith(GOLD_STARTS)]
    truth = own or roles.get("gold") or starts or roles.get("verdict") or free
    if "item" in roles and "item" not in log.reading.roles:
        # items are numbered by rows, which names of items may look like
        column = roles["item"][0]
        problem = f"no column of the log is read as its items, so truths by {column} match nothing"
        like = column if column in log.reading.unused else Placeholder("COLUMN")
        raise InputError(problem, name, [use(item=like)])
    if "item" not in roles or not (truth or len(people) > 1):
        problem = f"found no columns of items and truths. The columns are:\n{listing(frame, roles)}"
        raise InputError(f"{problem}\n", name, [Remedy(text="name them item and truth")])
    sides = {end: pl.col(roles[end][0]) for end in ("system_a", "system_b") if end in roles}
    item = pl.col(roles["item"][0]).alias("item")
    if len(people) > 1:
        votes = frame.select(item, *people, **sides).unpivot(
            people, index=["item", *sides], variable_name="judge", value_name="gold"
        )
    else:
        votes = frame.select(item, gold=pl.col(truth[0]), **sides)
        # without names, the votes on an item are numbered
        who: Any = pl.int_range(1, pl.len() + 1).over("item", *sides).cast(pl.String)
        votes = votes.with_columns(judge=frame[roles["judge"][0]] if "judge" in roles else who)
    if sides and log.system_names:
        a, b = pl.min_horizontal(*sides), pl.max_horizontal(*sides)
        both = pl.concat_str("item", pl.lit(", "), a, pl.lit(" vs "), b)
        is_pair = both.is_in([str(each) for each in log.item_names])
        votes = votes.with_columns(item=pl.when(is_pair).then(both).otherwise("item"))
    return name, votes.filter(pl.col("gold").str.strip_chars() != "", ~pl.col("item").is_null())


def _with_votes(log: JudgeLog, votes: pl.DataFrame, name: str, reading: LogReading) -> JudgeLog:
    """Take what most people say as the truth, and keep their votes if several voted."""
    code_of = {str(each): code for code, each in enumerate(log.item_names)}
    item = _replace(votes["item"], code_of, MISSING)
    if log.kind == "pairwise":
        flip = np.zeros(votes.height, bool)
        if log.system_names and "system_a" not in votes.columns:
            a, b = (
                [log.system_names[s] for s in side[item]] for side in (log.system_a, log.system_b)
            )
            votes = votes.with_columns(system_a=pl.Series(a), system_b=pl.Series(b))
        elif log.system_names:
            flip = (votes["system_a"] > votes["system_b"]).to_numpy()
        by_map = LogReading(verdict_map=reading.verdict_map)
        answer = _sides(_meanings(votes, "gold", by_map), np.zeros(votes.height, np.int8), flip)
    else:
        log, answer = _classes_of(log, votes["gold"].to_list(), reading)
    if (odd := np.flatnonzero(answer == MISSING)).size:
        i, expected = item[odd[0]], log.class_names
        if log.system_names:
            expected = [log.system_names[log.system_a[i]], log.system_names[log.system_b[i]], TIE]
        problem = f"the gold of item {log.item_names[i]!r} is {votes['gold'][int(odd[0])]!r}"
        listed = ", ".join(map(str, expected[:MOST_CLASSES]))
        raise InputError(f"{problem}; expected one of {listed}", name)
    gold, _ = majority(item, answer, log.n_items)
    names, person = np.unique(votes["judge"].to_numpy(), return_inverse=True)
    people = People(item, person.astype(np.int32), answer, list(map(str, names)))
    is_shared = len(names) > 1 and np.bincount(item).max() > 1
    return replace(log, gold=gold, people=people if is_shared else log.people)


def _classes_of(
    log: JudgeLog, truths: Sequence[str], reading: LogReading
) -> tuple[JudgeLog, Codes]:
    """Return the class of each truth, and the log with the classes that no judge used."""
    known, words = {fold(name): str(name) for name in log.class_names}, []
    by_map = LogReading(verdict_map=reading.verdict_map)
    for truth in truths:
        said = class_of(by_map.said(truth) or truth, frozenset(known))
        number = number_of(said) if log.is_ordered and isinstance(said, str) else None
        words.append(f"{number:g}" if number is not None else said)
    new = {fold(word): word for word in words if isinstance(word, str)}
    new = {key: word for key, word in new.items() if key not in known}
    if log.is_ordered:
        new = {key: word for key, word in new.items() if number_of(word) is not None}
    is_right = any(isinstance(word, str) and fold(word) in known for word in words)
    if new and is_right and (log.is_ordered or len(new | known) <= MOST_CLASSES):
        names = sorted([*log.class_names, *new.values()], key=float if log.is_ordered else None)
        code = np.array([*(names.index(name) for name in log.class_names), MISSING], np.int32)
        listed = ", ".join(sorted(new.values()))
        notes = [] if log.is_ordered else [f"no judge used the class {listed}, which truths have"]
        parts: dict[str, Any] = {"answer": code[log.answer], "gold": code[log.gold]}
        log = replace(log, class_names=names, notes=log.notes + notes, **parts)
    code_of = {fold(name): code for code, name in enumerate(log.class_names)}
    codes = [
        code_of.get(fold(word), MISSING) if isinstance(word, str) else MISSING for word in words
    ]
    return log, np.array(codes, np.int32)


def _with_people(
    log: JudgeLog, table: pl.DataFrame, reading: LogReading, roles: Roles, frame: pl.DataFrame
) -> JudgeLog:
    """Take the votes of people from their columns, or from those judges who are people."""
    if columns := roles.get("people"):
        first = np.unique(log.item, return_index=True)[1]
        items = [str(log.item_names[i]) for i in log.item[first]]
        cells = frame.select(columns)[table["row"].to_numpy()[first]]
        votes = cells.with_columns(item=pl.Series(items)).unpivot(
            index="item", variable_name="judge", value_name="gold"
        )
        return _with_votes(log, votes.drop_nulls("gold"), ", ".join(columns), reading)
    if reading.people is None:
        return log
    patterns = [part.strip() for part in reading.people.split(",")]
    who = [name for name in log.judge_names if any(fnmatchcase(name, each) for each in patterns)]
    if not who or len(who) == log.n_judges:
        problem = f"{reading.people} names {'all judges' if who else 'no judge'}"
        listed = ", ".join(log.judge_names[:MOST_CLASSES])
        raise InputError(f"{problem}; the judges are {listed}")
    own = merge_calls(only_judges(log, who))
    said = own.answer >= 0
    item, person, answer = (
        part[said].astype(np.int32) for part in (own.item, own.judge, own.answer)
    )
    rest = only_judges(log, [name for name in log.judge_names if name not in who])
    names = [name for name in log.judge_names if name in who]
    gold, _ = majority(item, answer, log.n_items)
    return replace(rest, gold=gold, people=People(item, person, answer, names))


# For commands that read votes.


def find_judge_logs(
    votes: Any, gold: str | None = None, item: Any = None
) -> dict[str, JudgeLog] | None:
    """Read what commands take for votes as a log of judges, by criterion; None if it is not one."""
    sources = sources_of(votes) if is_files(votes) else []
    if not sources and not isinstance(votes, Table) and not hasattr(type(votes), "columns"):
        return None
    opened = None if sources else votes if isinstance(votes, Table) else open_table(votes)
    columns = {str(name) for name in opened.columns} if opened else set()
    for source in sources[:1]:
        columns = {*source.columns, *source.record}
    is_tool = is_tool_file(sources[0]) if sources else tool_of(columns) is not None
    names = [bare_name(column) for column in columns]
    words = VERDICT.words | VERDICT.others[0]
    has_verdict = any(name in words or name.endswith(("verdict", "winner")) for name in names)
    has_judge = any(name in JUDGE.words for name in names)
    has_order = any(name in ORDER.words or name.endswith(ORDER_ENDS) for name in names)
    sides = "system" in _pairs(pl.DataFrame(schema=dict.fromkeys(columns, pl.String)))
    if not is_tool and not (has_verdict and (has_judge or has_order or sides)):
        return None
    known = {role: name for role, name in (("item", item), ("gold", gold)) if isinstance(name, str)}
    try:
        logs = read_judge_logs(sources or opened, **known)
    except InputError:
        # a table of votes may well have a column that is called so
        if is_tool or has_judge or sides:
            raise
        return None
    are_pairs = all(log.kind == "pairwise" for log in logs.values())
    return logs if is_tool or has_judge or are_pairs else None
