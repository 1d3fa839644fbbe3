"""Which column is what: the column of each role, and whether a table is long, wide or transposed.

A long table has a row per vote, a wide one a row per task and a column per annotator, and a
transposed one a row per annotator and a column per task. Names decide first, then values; where
both leave a doubt, the error says what the table looks like and which options would read it.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.votes.encoding import MISSING, Coded, encode, encode_ids, text_of, to_list
from finegold.votes.hygiene import Finding
from finegold.votes.labels import drop_missing

if TYPE_CHECKING:
    from finegold.io.tables import Table

NAME = Placeholder("NAME")


@dataclass(frozen=True)
class Role:
    """A role of a column, the option that names it, and the names that other tools use."""

    # A column with one of the other names has the role only if no column has one of `words`; those
    # of the first set of other names come before those of the second.

    name: str
    # empty if no option names such columns
    option: str
    words: frozenset[str]
    others: tuple[frozenset[str], ...] = ()
    # the names that an error lists
    shown: str = ""


def words_in(names: str, end: str = "") -> frozenset[str]:
    """Return each name alone and followed by `end`: worker, worker_id, WorkerId."""
    return frozenset([*names.split(), *(name + end for name in names.split())])


TASKS = "task item question unit hit example instance"
# beside an id they hold what was shown
CONTENTS = "image text"
ANNOTATORS = (
    "annotator worker user rater judge evaluator performer labeler labeller coder reviewer"
    " participant"
)
LABELS = "label answer response rating choice class verdict vote judgment judgement annotation"
# beside a label they describe the task
CATEGORIES = "category sentiment winner"
# pandas writes its row numbers without a name
INDEX = frozenset({"", "unnamed0"})

# A column "prompt" or "sample" may hold the text beside an id; one with "id" behind it names the
# tasks of LLM judges.
TASK = Role(
    "task",
    "task",
    words_in(TASKS, "id") | words_in("promptid sampleid docid"),
    (words_in(CONTENTS, "id"),),
    f"{TASKS} prompt_id sample_id doc_id {CONTENTS}",
)
ANNOTATOR = Role(
    "annotator",
    "annotator",
    words_in(ANNOTATORS, "id"),
    (words_in("model", "id"),),
    f"{ANNOTATORS} model",
)
LABEL = Role("label", "label", words_in(LABELS), (words_in(CATEGORIES),), f"{LABELS} {CATEGORIES}")
TRUTH = Role("truth", "label", words_in("truth gold groundtruth goldlabel truelabel"))
# In a wide table, row ids would otherwise be taken for an annotator.
WIDE_TASK = Role(
    "task", "task", TASK.words | {"id", "index"}, (INDEX, *TASK.others), f"{TASK.shown} id index"
)
# In a transposed table a row is a respondent, whom surveys know by many names.
RESPONDENT = Role(
    "annotator",
    "annotator",
    ANNOTATOR.words
    | words_in("respondent prolific", "id")
    | words_in("responseid prolificpid email emailaddress name id index"),
    (INDEX,),
    f"{ANNOTATORS} respondent email name id",
)
KNOWN = frozenset().union(*(role.words for role in (TASK, ANNOTATOR, LABEL, WIDE_TASK)))


def bare_name(column: Any) -> str:
    """Ignore case, underscores, blanks and points: _unit_id, Unit ID and unitId are one name."""
    return re.sub(r"[\s_.:-]+", "", str(column).casefold())


def list_names(columns: Iterable[Any], most: int = 20) -> str:
    names = [f'"{column}"' for column in columns]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + more)


# The column of a role


class LostColumnsError(InputError):
    """No column has a name that is known for a role."""

    # the problem without lists of columns and of known names
    brief = ""
    lost: Sequence[Role] = ()
    # the columns of the other roles, by the role's name
    known: Mapping[str, Any] = {}
    # the columns that could each have the role, where there are several
    among: Sequence[Any] = ()


@contextmanager
def columns_of(table: Table) -> Iterator[None]:
    """Add the name of the table to errors about its columns."""
    try:
        yield
    except InputError as error:
        error.where = error.where or table.name
        raise


def find_columns(columns: Sequence[Any], name_of: dict[Role, Any]) -> list[Any]:
    """Return the column of each role: the one that the user names, or the only one with a usual
    name.
    """
    named = {
        role: named_column(columns, name, role)
        for role, name in name_of.items()
        if name is not None
    }
    free = [column for column in columns if column not in named.values()]
    matches = {role: candidates(free, role) for role in name_of if role not in named}
    if all(len(fitting) == 1 for fitting in matches.values()):
        return [named[role] if role in named else matches[role][0] for role in name_of]
    others = {role.name: column for role, column in named.items()}
    others |= {role.name: fitting[0] for role, fitting in matches.items() if len(fitting) == 1}
    lost = [role for role, fitting in matches.items() if not fitting]
    if not lost:
        raise next(
            _several(fitting, role, others) for role, fitting in matches.items() if len(fitting) > 1
        )
    if not columns:
        raise InputError(
            "there are no columns; expected a table with a header and at least one vote"
        )
    brief = f"there is no {' and no '.join(role.name for role in lost)} column"
    problem = f"{brief} among {list_names(columns)}"
    if known := " and ".join(
        f"{', '.join(role.shown.split())} ({role.name})" for role in lost if role.shown
    ):
        problem = f"{problem}; the names that Finegold knows are {known}"
    text = "to name it" if len(lost) == 1 else "to name them"
    error = LostColumnsError(problem, remedies=[_naming(dict.fromkeys(lost, NAME), text)])
    error.lost, error.known, error.brief = lost, others, brief
    raise error


def find_column(columns: Sequence[Any], role: Role, name: Any) -> Any:
    """Return the column of one role, or None if no name fits."""
    if name is not None:
        return named_column(columns, name, role)
    matches = candidates(columns, role)
    return the_only(matches, role) if matches else None


def candidates(columns: Iterable[Any], role: Role) -> list[Any]:
    """Return the columns with a name of the role: those with a usual one, or else those with
    another.
    """
    names = [(column, bare_name(column)) for column in columns]
    for words in (role.words, *role.others):
        if matches := [column for column, name in names if name in words]:
            return matches
    return []


def named_column(columns: Sequence[Any], name: Any, role: Role) -> Any:
    """Return the column that the user names, by its exact name or ignoring case."""
    if name in columns:
        return name
    matches = [
        column
        for column in columns
        if str(column).strip().casefold() == str(name).strip().casefold()
    ]
    if matches:
        return the_only(matches, role)
    problem = (
        f'there is no column "{name}" for the {role.name}; the columns are {list_names(columns)}'
    )
    near = difflib.get_close_matches(str(name), map(str, columns), n=1)
    remedies = [_naming({role: near[0]})] if near and role.option else []
    raise InputError(
        f'{problem}; did you mean "{near[0]}"?' if near else problem, remedies=remedies
    )


def the_only(matches: list[Any], role: Role) -> Any:
    """Return the only match. Refuse to guess between two, because the guess would often be wrong."""
    if len(matches) > 1:
        raise _several(matches, role, {})
    return matches[0]


def _several(matches: list[Any], role: Role, others: Mapping[str, Any]) -> LostColumnsError:
    problem = f"the columns {list_names(matches)} could each be the {role.name}"
    error = LostColumnsError(problem, remedies=[_naming({role: NAME}, "to say which")])
    error.lost, error.among, error.brief = [role], matches, problem
    error.known = {name: column for name, column in others.items() if name != role.name}
    return error


def _naming(columns: dict[Role, str], text: str = "") -> Remedy:
    if not all(role.option for role in columns):
        return use(
            text=f"name the column {' and '.join(role.name for role in columns)} in the file"
        )
    return use(
        text=text, **{role.option.replace("-", "_"): column for role, column in columns.items()}
    )


# The shape of a table

MODELS = (
    "gpt chatgpt claude llama gemini gemma mistral mixtral qwen deepseek palm bard bert roberta"
    " deberta vicuna falcon grok command sonnet opus haiku phi"
)
PEOPLE = re.compile(
    rf"({'|'.join(ANNOTATORS.split())}|ann|anno|annot|expert|crowd|llm|human|person|lf|{'|'.join(MODELS.split())})"
    r"([\W_\d]|$)|[abdeghj-pruw]{1,2}[\W_]?\d{0,4}$|\d+$",
    re.IGNORECASE,
)
ITEMS = re.compile(
    r"(q|question|item|task|prompt|image|img|sentence|text|doc|stimulus|case|example|t|s)[\W_]*\d+$",
    re.IGNORECASE,
)
# made of votes
DERIVED = words_in(
    "majority consensus final aggregated aggregate adjudicated adjudication gold truth truelabel"
    " agreed agreement mode expected target reference correct resolved mv ds"
)
FEATURES = words_in(
    "count counts num number total sum mean avg average median min max std score scores prob"
    " probability percent pct ratio rate length len size width height weight age year month day"
    " date time duration hour price cost amount distance lat lon latitude longitude input output"
    " option opt choice matching feature feat var variable col column field flag is has type"
    " version group gender sex country city state region x y z id url path code rank position"
    " before after pre post top pred prediction predicted diagnosis symptom test"
)
FEATURE = re.compile(
    r"(input|output|answer|model|option|choice|response)[\W_]+\w+|model[ab]|[xyzfvc]\d+|pc\d+|n[\W_].*"
)
YES_NO = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f"})

# that are compared with each other
MOST_COLUMNS = 1_000
# of one column; a column with more holds ids, texts or measurements
MOST_LABELS = 200
# of labels on average; longer ones are texts
TEXT_LENGTH = 50
# in which a column of votes repeats itself
MANY_ROWS = 5
MOST_CLASSES = 30
# are a small set, however few the votes
FEW_CLASSES = 5
# 0 to 10; more different numbers are measurements
MOST_NUMBERS = 11
# say nothing about agreement
FEW_ROWS = 5
# are needed where only agreement speaks for votes
SOME_ROWS = 10
# kappa
CHANCE, CLEAR = 0.05, 0.2


class Shape(NamedTuple):
    """What a table with several votes per row looks like."""

    is_transposed: bool
    # the column that names the rows
    ids: Any
    # the columns that hold votes
    votes: list[Any]
    # why it may be something else
    doubt: str = ""
    # columns without votes
    aside: Sequence[Any] = ()


def guess_shape(opened: Table, task: Any) -> Shape | None:
    """Return the shape of a wide or transposed table, or None if nothing speaks for one."""
    columns = opened.columns
    if len(columns) > MOST_COLUMNS or any(bare_name(column) in LABEL.words for column in columns):
        return None
    # which column names the rows, and does it name people?
    try:
        ids = find_column(columns, WIDE_TASK, task)
        people = (
            find_column(columns, RESPONDENT, None)
            if ids is None or bare_name(ids) in INDEX
            else None
        )
    except InputError:
        # several could be it
        return None
    is_transposed = people is not None and people != ids
    ids = people if is_transposed else ids
    if ids is None:
        return None
    table = opened.read(columns)
    labels, groups = _groups_of_votes(table, columns, ids)
    rows = encode_ids(table[str(ids)], opened.is_text)
    is_blank = np.logical_and.reduce(
        [rows.codes == MISSING, *(coded.codes == MISSING for coded in labels.values())]
    )
    named = rows.codes[~is_blank]
    # a row is named once
    if not groups or (named == MISSING).any() or len(rows.names) != len(named):
        return None
    votes = max(groups, key=len)
    if not is_transposed and sum(map(names_person, votes)) > 1:
        votes = [name for name in votes if not _doubt_names([name], is_transposed=False)]
    doubt = "other columns share other labels"
    if len(groups) == 1:
        doubt = _doubt_names(votes, is_transposed)
        doubt = doubt or doubt_values([labels[name] for name in votes], votes, is_transposed)
    known = {ids, *votes, *candidates(columns, TRUTH)}
    return Shape(is_transposed, ids, votes, doubt, [name for name in columns if name not in known])


def _groups_of_votes(
    table: pl.DataFrame, columns: Sequence[Any], ids: Any
) -> tuple[dict[Any, Coded], list[list[Any]]]:
    """Return the labels of the columns that may hold votes, and the groups of two or more columns
    that share labels.
    """
    # neither ids, truths, row numbers nor labels made of votes
    known = {ids, *candidates(columns, TRUTH)}
    free = [name for name in columns if name not in known and bare_name(name) not in INDEX]
    may_vote = [name for name in free if DERIVED.isdisjoint(parts_of(name))]
    labels = {name: drop_missing(encode(table[str(name)]), None) for name in may_vote}
    if len(labels) > MOST_COLUMNS:
        return labels, []
    few = {name: coded for name, coded in labels.items() if len(coded.names) <= MOST_LABELS}
    groups = group_by_labels(
        {name: set(map(text_of, to_list(coded.names))) for name, coded in few.items()}
    )
    return labels, [names for names in groups if len(names) > 1]


def group_by_labels(labels: dict[Any, set[str]]) -> list[list[Any]]:
    """Group columns that share labels, directly or through others: half of the labels of the
    smaller set.
    """
    groups: dict[int, tuple[list[Any], set[str]]] = {}
    # most columns of a large table have no label in common
    groups_with: dict[str, set[int]] = defaultdict(set)
    for number, (column, own) in enumerate(labels.items()):
        names, shared = [], own
        for group in sorted(set().union(*(groups_with[label] for label in own))):
            others = groups[group][1]
            if len(own & others) * 2 >= min(len(own), len(others)) > 0:
                names += groups.pop(group)[0]
                shared = shared | others
        groups[number] = ([*names, column], shared)
        for label in shared:
            groups_with[label] = {group for group in groups_with[label] if group in groups} | {
                number
            }
    return [names for names, _ in groups.values()]


def parts_of(name: Any) -> list[str]:
    """Split a name into words: final_label, finalLabel -> final, label."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return [*re.split(r"[\W_\d]+", words.casefold()), bare_name(name)]


def names_feature(name: Any) -> bool:
    return FEATURE.fullmatch(str(name).strip().casefold()) is not None or not FEATURES.isdisjoint(
        parts_of(name)
    )


def names_person(name: Any) -> bool:
    return PEOPLE.match(str(name).strip()) is not None and not names_feature(name)


def names_item(name: Any) -> bool:
    text = str(name).strip()
    return not names_person(name) and (
        ITEMS.match(text) is not None or "?" in text or len(text.split()) > 2
    )


def _doubt_names(columns: Sequence[Any], is_transposed: bool) -> str:
    """Return why the names may not be those of annotators (or of tasks, if the table is
    transposed).
    """

    def some(names: Sequence[Any]) -> str:
        return ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")

    if features := [column for column in columns if names_feature(column)]:
        return f"{some(features)} may be features of the tasks"
    items = [column for column in columns if names_item(column)]
    if is_transposed:
        return (
            "" if len(items) * 2 >= len(columns) else f"{some(columns)} may be features of people"
        )
    return f"{some(items)} may be tasks and not annotators" if items else ""


def doubt_values(labels: Sequence[Coded], columns: Sequence[Any], is_transposed: bool) -> str:
    """Return why the values of these columns may not be votes."""
    names = sorted({text_of(name) for coded in labels for name in to_list(coded.names)})
    if are_texts(names):
        return "the values look like texts"
    code_of = {name: code for code, name in enumerate(names)}
    new_codes = [
        np.array([*(code_of[text_of(n)] for n in to_list(c.names)), MISSING], np.int32)
        for c in labels
    ]
    # [row, column]
    codes = np.stack(
        [new[coded.codes] for new, coded in zip(new_codes, labels, strict=True)], axis=1
    )
    has_vote = codes != MISSING
    try:
        numbers = np.array([float(name) for name in names])
    except ValueError:
        numbers = None
    if numbers is not None and (
        len(np.unique(numbers)) > MOST_NUMBERS or (numbers * 2 % 1 != 0).any()
    ):
        return "the numbers look like measurements"
    if len(names) > MOST_CLASSES or (len(names) > FEW_CLASSES and len(names) * 3 > has_vote.sum()):
        return f"{len(names):,} different values are not a small set of classes"
    per_class = np.array([(codes == code).sum(axis=0) for code in range(len(names))])
    # cells with a class that two or more columns have
    shared = per_class[(per_class > 0).sum(axis=1) > 1].sum()
    if shared * 2 < has_vote.sum():
        return "the columns have too few values in common"
    whole = codes[has_vote.all(axis=1)]
    if (
        not is_transposed
        and numbers is not None
        and len(whole) > 2
        and len(np.unique(whole, axis=0)) > 1
    ):
        sums = numbers[whole].sum(axis=1)
        if np.ptp(sums) < 1e-6 * max(1.0, abs(sums[0])):
            return "every row has the same sum, so the columns may be counts or shares"
    people = sum(map(names_person, columns))
    if is_transposed or people == len(columns):
        return ""
    fill = has_vote.mean(axis=0)
    if ((fill >= np.median(fill) / 2) & (fill <= np.median(fill) * 2)).mean() <= 0.5:
        return "some columns are full and others nearly empty"
    counts = np.stack([(codes == code).sum(axis=1) for code in range(len(names))], axis=1)
    rows, kappa = kappa_of(counts)
    if rows >= FEW_ROWS and kappa < (CHANCE if rows >= SOME_ROWS else -0.1):
        return "the columns agree no more than by chance"
    # Columns with the names of people need no agreement; others have to agree clearly.
    if people * 2 < len(columns) and (
        rows < SOME_ROWS or kappa < CLEAR or YES_NO.issuperset(map(str.casefold, names))
    ):
        return "the names of the columns do not say that they are annotators"
    return ""


def are_texts(labels: Sequence[str]) -> bool:
    return sum(map(len, labels)) > TEXT_LENGTH * len(labels)


def kappa_of(counts: NDArray[Any]) -> tuple[int, float]:
    """Return how many rows of votes per class have two or more votes, and Fleiss' kappa of these
    rows.
    """
    total = counts.sum(axis=1).astype(float)
    counts, total = counts[total > 1], total[total > 1]
    if not len(total):
        return 0, 0.0
    observed = ((counts * (counts - 1.0)).sum(axis=1) / (total * (total - 1))).mean()
    expected = ((counts.sum(axis=0) / total.sum()) ** 2).sum()
    return len(total), 1.0 if expected == 1 else float((observed - expected) / (1 - expected))


def voting_columns(table: pl.DataFrame, columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns of a table that the user calls wide, without row numbers, ids, texts and
    derived labels.
    """
    labels, groups = _groups_of_votes(table, columns, ids)
    largest: list[Any] = max(groups, key=len, default=[])
    votes = set(largest)

    def holds_something_else(name: Any) -> bool:
        texts, codes = [text_of(value) for value in to_list(labels[name].names)], labels[name].codes
        if bare_name(name) in WIDE_TASK.words | ANNOTATOR.words or (texts and are_texts(texts)):
            return True
        voted = int((codes != MISSING).sum())
        return (
            bool(votes)
            and voted >= MANY_ROWS
            and (len(texts) * 2 > voted or voted * 2 > len(codes))
        )

    return [name for name in labels if name in votes or not holds_something_else(name)]


def report_columns_aside(
    table: str, is_transposed: bool, votes: Sequence[Any], aside: Sequence[Any]
) -> list[Finding]:
    """Report the columns of a wide or transposed table that hold no votes."""
    kind = "transposed table, whose tasks" if is_transposed else "wide table, whose annotators"
    text = (
        f"{table} is taken for a {kind} are {', '.join(map(str, votes))};"
        f" {', '.join(map(str, aside))} left aside"
    )
    return [Finding("columns", text)] if aside else []
