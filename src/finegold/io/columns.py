"""Which column is which: the names that other tools use are listed here."""

from __future__ import annotations

import csv
import difflib
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import FinegoldWarning, InputError
from finegold.io.source import BOM, READABLE, Source, text_start
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.labels import drop_missing
from finegold.votes.names import Coded, text_of

if TYPE_CHECKING:
    from finegold.io.tables import Opened, Table

__all__ = [
    "ANNOTATOR",
    "INDEX",
    "LABEL",
    "RESPONDENT",
    "TASK",
    "TRUTH",
    "WIDE_TASK",
    "Columns",
    "Guess",
    "LostColumnsError",
    "Role",
    "Shape",
    "alike",
    "bare_name",
    "by_file",
    "candidates",
    "columns_of",
    "doubt_names",
    "doubt_values",
    "explained",
    "file_names",
    "find_column",
    "find_columns",
    "guess_shape",
    "is_derived",
    "listed",
    "names_people",
    "names_tasks",
    "plain_columns",
    "propose",
    "refuse_other_files",
    "say_aside",
    "shape_of",
    "truth_columns",
    "wrong_header",
]


@dataclass(frozen=True)
class Role:
    """A role of a column, the option that names it, and the names that other tools use.

    A column with one of the other names has the role only if no column has one of `words`; those of the first set of
    other names come before those of the second.
    """

    name: str
    option: str  # of the command line; empty if no option names such columns
    words: frozenset[str]
    others: tuple[frozenset[str], ...] = ()
    shown: str = ""  # the names that an error lists

    @property
    def argument(self) -> str:
        return self.option.replace("-", "_")


def _words(names: str) -> frozenset[str]:
    """Return each name alone and followed by id: worker, worker_id, WorkerId."""
    return _plain(names) | {name + "id" for name in names.split()}


def _plain(names: str) -> frozenset[str]:
    return frozenset(names.split())


TASKS = "task item question unit hit example instance"
CONTENTS = "image text"  # beside an id they hold what was shown
ANNOTATORS = "annotator worker user rater judge evaluator performer labeler labeller coder reviewer participant"
LABELS = "label answer response rating choice class verdict vote judgment judgement annotation"
CATEGORIES = "category sentiment winner"  # beside a label they describe the task
INDEX = frozenset({"", "unnamed0"})  # pandas writes its row numbers without a name

# A column "prompt" or "sample" may hold the text beside an id; one with "id" behind it names the tasks of LLM judges.
TASK = Role(
    "task",
    "task",
    _words(TASKS) | _plain("promptid sampleid docid"),
    (_words(CONTENTS),),
    f"{TASKS} prompt_id sample_id doc_id {CONTENTS}",
)
ANNOTATOR = Role("annotator", "annotator", _words(ANNOTATORS), (_words("model"),), f"{ANNOTATORS} model")
LABEL = Role("label", "label", _plain(LABELS), (_plain(CATEGORIES),), f"{LABELS} {CATEGORIES}")
TRUTH = Role("truth", "label", _plain("truth gold groundtruth goldlabel truelabel"))
# In a wide table, row ids would otherwise be taken for an annotator.
WIDE_TASK = Role("task", "task", TASK.words | {"id", "index"}, (INDEX, *TASK.others), f"{TASK.shown} id index")
# In a transposed table a row is a respondent, whom surveys know by many names.
RESPONDENT = Role(
    "annotator",
    "annotator",
    ANNOTATOR.words | _words("respondent prolific") | _plain("responseid prolificpid email emailaddress name id index"),
    (INDEX,),
    f"{ANNOTATORS} respondent email name id",
)


class LostColumnsError(InputError):
    """No column has a name that is known for a role. `lost` are the roles, and `found` the columns of the others."""

    def __init__(self, message: str = "", options: Mapping[str, str | None] | None = None) -> None:
        super().__init__(message, options)
        self.lost: list[Role] = []
        self.found: list[Any] = []


@contextmanager
def columns_of(name: str) -> Iterator[None]:
    """Add the name of the table to errors about its columns."""
    try:
        yield
    except InputError as error:
        error.problem = f"{name}: {error.problem}"
        raise


def find_columns(columns: Sequence[Any], chosen: dict[Role, str | None]) -> list[Any]:
    """Return the column of each role: the one that the user names, or the only one with a usual name."""
    named = {role: named_column(columns, name, role) for role, name in chosen.items() if name is not None}
    free = [column for column in columns if column not in named.values()]
    found = {role: candidates(free, role) for role in chosen if role not in named}
    lost = [role for role, matches in found.items() if not matches]
    if lost:
        error = LostColumnsError(_nothing_found(columns, lost))
        error.lost, error.found = lost, [*named.values(), *(one[0] for one in found.values() if one)]
        raise error
    return [named[role] if role in named else the_only(found[role], role) for role in chosen]


def find_column(columns: Sequence[Any], role: Role, name: str | None) -> Any:
    """Return the column of one role, or None if no name fits."""
    if name is not None:
        return named_column(columns, name, role)
    matches = candidates(columns, role)
    return the_only(matches, role) if matches else None


def truth_columns(columns: Iterable[Any]) -> list[Any]:
    return candidates(columns, TRUTH)


def candidates(columns: Iterable[Any], role: Role) -> list[Any]:
    """Return the columns with a name of the role: those with a usual one, or else those with another."""
    names = [(column, bare_name(column)) for column in columns]
    for words in (role.words, *role.others):
        if found := [column for column, name in names if name in words]:
            return found
    return []


def named_column(columns: Sequence[Any], name: str, role: Role) -> Any:
    """Return the column that the user names, by its exact name or ignoring case."""
    if name in columns:
        return name
    matches = [column for column in columns if str(column).strip().casefold() == str(name).strip().casefold()]
    if matches:
        return the_only(matches, role)
    near = difflib.get_close_matches(str(name), [str(column) for column in columns], n=1)
    meant = f'; did you mean "{near[0]}"?' if near else ""
    options = {f"--{role.option}": near[0]} if near and role.option else {}
    text = f'there is no column "{name}" for the {role.name}; the columns are {listed(columns)}{meant}'
    raise InputError(text, options)


def the_only(matches: list[Any], role: Role) -> Any:
    """Return the only match. Refuse to guess between two, because the guess would often be wrong."""
    if len(matches) > 1:
        options = {f"--{role.option}": str(matches[0])} if role.option else {}
        text = f"the columns {listed(matches)} could each be the {role.name}; {_remedy([role], 'say which')}"
        raise InputError(text, options)
    return matches[0]


def _remedy(roles: list[Role], what: str) -> str:
    if not all(role.option for role in roles):
        return f"name the column {' and '.join(role.name for role in roles)} in the file"
    options = " and ".join(f"--{role.option} NAME" for role in roles)
    return f"{what} with {options} ({', '.join(f'{role.argument}=' for role in roles)} in Python)"


def _nothing_found(columns: Sequence[Any], lost: list[Role]) -> str:
    if not columns:
        return "there are no columns; expected a table with a header and at least one vote"
    roles = " and no ".join(role.name for role in lost)
    known = " and ".join(f"{', '.join(role.shown.split())} ({role.name})" for role in lost if role.shown)
    names = f"; the names that Finegold knows are {known}" if known else ""
    return f"there is no {roles} column among {listed(columns)}; {_remedy(lost, 'name it')}{names}"


def bare_name(column: Any) -> str:
    """Ignore case, underscores, blanks and points: _unit_id, Unit ID and unitId are one name."""
    return re.sub(r"[\s_.:-]+", "", str(column).casefold())


def listed(columns: Iterable[Any], most: int = 20) -> str:
    names = [f'"{column}"' for column in columns]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + more)


class Columns(NamedTuple):
    """The columns of a plain table that the user names."""

    task: str | None = None
    annotator: str | Sequence[str] | None = None
    label: str | None = None
    wide: bool = False

    @property
    def names(self) -> list[Any]:
        """The columns of tasks, annotators and labels that the user names."""
        return [name for name in (self.task, self.annotator, self.label) if isinstance(name, str)]

    @property
    def say_table(self) -> bool:
        """Whether the user names columns that only a plain table has."""
        return self.wide or self.annotator is not None or self.label is not None


Matrix = NDArray[np.int32]  # [rows, columns] codes of the labels, MISSING where there is none

MODELS = (
    "gpt chatgpt claude llama gemini gemma mistral mixtral qwen deepseek palm bard bert roberta deberta vicuna falcon "
    "grok command sonnet opus haiku phi"
)
PEOPLE = re.compile(
    rf"({'|'.join(ANNOTATORS.split())}|ann|anno|annot|expert|crowd|llm|human|person|lf|{'|'.join(MODELS.split())})"
    r"([\W_\d]|$)|[abdeghj-pruw]{1,2}[\W_]?\d{0,4}$|\d+$",
    re.IGNORECASE,
)
DERIVED_WORDS = (
    "majority consensus final aggregated aggregate adjudicated adjudication gold truth truelabel agreed agreement mode "
    "expected target reference correct resolved mv ds"
)
FEATURE_WORDS = (
    "count counts num number total sum mean avg average median min max std score scores prob probability percent pct "
    "ratio rate length len size width height weight age year month day date time duration hour price cost amount "
    "distance lat lon latitude longitude input output option opt choice matching feature feat var variable col column "
    "field flag is has type version group gender sex country city state region x y z id url path code rank position "
    "before after pre post top pred prediction predicted diagnosis symptom test"
)
DERIVED, FEATURES = frozenset(DERIVED_WORDS.split()), frozenset(FEATURE_WORDS.split())
FEATURE = re.compile(
    r"(input|output|answer|model|option|choice|response)[\W_]+\w+|model[ab]|[xyzfvc]\d+|pc\d+|n[\W_].*"
)
TASKS_EVIDENCE = re.compile(
    r"(q|question|item|task|prompt|image|img|sentence|text|doc|stimulus|case|example|t|s)[\W_]*\d+$", re.IGNORECASE
)
YES_NO = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f"})

MOST_CLASSES = 30
FEW_CLASSES = 5  # are a small set, however few the votes
MOST_NUMBERS = 11  # 0 to 10; more different numbers are measurements
FEW_ROWS = 5  # say nothing about agreement
SOME_ROWS = 10  # are needed where only agreement speaks for votes
CHANCE, CLEAR = 0.05, 0.2  # kappa


def is_derived(name: Any) -> bool:
    """Return whether the name says that a column was made of votes: majority, final_label, consensus."""
    return not DERIVED.isdisjoint(_parts(name))


def names_people(name: Any) -> bool:
    return PEOPLE.match(str(name).strip()) is not None and not _names_feature(name)


def names_tasks(name: Any) -> bool:
    text = str(name).strip()
    return not names_people(name) and (TASKS_EVIDENCE.match(text) is not None or "?" in text or len(text.split()) > 2)


def doubt_names(columns: Sequence[Any], is_transposed: bool) -> str:
    """Return why the names may not be those of annotators (or of tasks, if the table is transposed)."""
    features = [str(column) for column in columns if _names_feature(column)]
    if features:
        return f"{_some(features)} may be features of the tasks"
    tasks = [str(column) for column in columns if names_tasks(column)]
    if is_transposed:
        return "" if len(tasks) * 2 >= len(columns) else f"{_some(columns)} may be features of people"
    return f"{_some(tasks)} may be tasks and not annotators" if tasks else ""


def doubt_values(codes: Matrix, classes: Sequence[str], people: int, is_transposed: bool) -> str:
    """Return why the values may be no votes. `people` is the number of columns whose names are those of annotators."""
    votes = codes.T if is_transposed else codes
    filled = int((codes != MISSING).sum())
    numbers = _numbers(classes)
    if _are_measurements(numbers):
        return "the numbers look like measurements"
    if len(classes) > MOST_CLASSES or (len(classes) > FEW_CLASSES and len(classes) * 3 > filled):
        return f"{len(classes):,} different values are no small set of classes"
    if _shared(codes, len(classes)) * 2 < filled:
        return "the columns have too few values in common"
    if not is_transposed and numbers is not None and _same_sums(codes, numbers):
        return "every row has the same sum, so the columns may be counts or shares"
    if is_transposed or people == codes.shape[1]:
        return ""
    return _doubt_filling(codes) or _doubt_agreement(votes, classes, people)


def _doubt_filling(codes: Matrix) -> str:
    fill = (codes != MISSING).mean(axis=0)
    usual = np.median(fill)
    alike = (fill >= usual / 2) & (fill <= usual * 2)
    return "" if alike.mean() > 0.5 else "some columns are full and others nearly empty"


def _doubt_agreement(votes: Matrix, classes: Sequence[str], people: int) -> str:
    """Columns with plain names need no agreement; with other names they have to agree more than by chance."""
    rows, kappa = _kappa(votes, len(classes))
    if rows >= FEW_ROWS and kappa < (CHANCE if rows >= SOME_ROWS else -0.1):
        return "the columns agree no more than by chance"
    plain = people * 2 >= votes.shape[1]
    if not plain and (rows < SOME_ROWS or kappa < CLEAR or YES_NO.issuperset(map(str.casefold, classes))):
        return "the names of the columns do not say that they are annotators"
    return ""


def _kappa(votes: Matrix, n_classes: int) -> tuple[int, float]:
    """Return the number of rows with two or more votes, and Fleiss' kappa of these rows."""
    counts = np.stack([(votes == code).sum(axis=1) for code in range(n_classes)], axis=1).astype(float)
    total = counts.sum(axis=1)
    counts, total = counts[total > 1], total[total > 1]
    if not len(total):
        return 0, 0.0
    observed = ((counts * (counts - 1)).sum(axis=1) / (total * (total - 1))).mean()
    expected = ((counts.sum(axis=0) / total.sum()) ** 2).sum()
    return len(total), 1.0 if expected == 1 else float((observed - expected) / (1 - expected))


def _shared(codes: Matrix, n_classes: int) -> int:
    """Return the number of cells with a class that two or more columns have."""
    per_class = np.array([(codes == code).sum(axis=0) for code in range(n_classes)])
    return int(per_class[(per_class > 0).sum(axis=1) > 1].sum())


def _same_sums(codes: Matrix, numbers: NDArray[np.float64]) -> bool:
    whole = codes[(codes != MISSING).all(axis=1)]
    if len(whole) < 3 or len(np.unique(whole, axis=0)) < 2:
        return False
    sums = numbers[whole].sum(axis=1)
    return bool(np.ptp(sums) < 1e-6 * max(1.0, abs(sums[0])))


def _numbers(classes: Sequence[str]) -> NDArray[np.float64] | None:
    try:
        return np.array([float(name) for name in classes])
    except ValueError:
        return None


def _are_measurements(numbers: NDArray[np.float64] | None) -> bool:
    if numbers is None:
        return False
    return len(np.unique(numbers)) > MOST_NUMBERS or bool((numbers * 2 % 1 != 0).any())


def _names_feature(name: Any) -> bool:
    text = str(name).strip().casefold()
    return FEATURE.fullmatch(text) is not None or not FEATURES.isdisjoint(_parts(name))


def _parts(name: Any) -> list[str]:
    """Split a name into words: final_label, finalLabel -> final, label."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return [*re.split(r"[\W_\d]+", words.casefold()), bare_name(name)]


def _some(names: Sequence[Any], most: int = 6) -> str:
    return ", ".join(map(str, names[:most])) + (", ..." if len(names) > most else "")


MOST_COLUMNS = 1_000  # that are compared with each other
MOST_LABELS = 200  # of one column; a column with more holds ids, texts or measurements
TEXT_LENGTH = 50  # of labels on average; longer ones are texts
MANY_ROWS = 5  # in which a column of votes repeats itself


class Shape(NamedTuple):
    is_transposed: bool
    ids: Any  # the column that names the rows
    votes: list[Any]  # the columns that hold votes


class Guess(NamedTuple):
    """What a table may be, and why that is not plain; no shape if nothing speaks for one."""

    shape: Shape | None = None
    doubt: str = ""
    aside: Sequence[Any] = ()  # columns without votes


def shape_of(opened: Opened, task: str | None) -> Shape | None:
    """Return the shape, or None if the table may be long or it is not plain."""
    found = guess_shape(opened, task)
    return None if found.doubt else found.shape


def guess_shape(opened: Opened, task: str | None) -> Guess:
    if any(bare_name(column) in LABEL.words for column in opened.columns):
        return Guess()
    found = _ids(opened.columns, task) if len(opened.columns) <= MOST_COLUMNS else None
    if found is None:
        return Guess()
    ids, is_transposed = found
    others = _others(opened.columns, ids)
    table = opened.load(opened.columns)
    labels = {name: drop_missing(table.values(name), None) for name in others}
    groups = _groups(labels)
    if not groups or not _names_each_once(table, ids):
        return Guess()
    votes = max(groups, key=len)
    if (people := [name for name in votes if names_people(name)]) and not is_transposed:
        votes = _without_features(votes, people)
    doubt = _doubt({name: labels[name] for name in votes}, is_transposed)
    doubt = "other columns share other labels" if len(groups) > 1 else doubt
    voting = {ids, *votes}
    aside = [name for name in opened.columns if name not in voting and name not in truth_columns(opened.columns)]
    return Guess(Shape(is_transposed, ids, votes), doubt, aside)


def _others(columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns that may hold votes: neither ids, truths, row numbers nor labels made of votes."""
    known = {ids, *truth_columns(columns)}
    return [name for name in columns if name not in known and bare_name(name) not in INDEX and not is_derived(name)]


def _ids(columns: list[Any], task: str | None) -> tuple[Any, bool] | None:
    """Return the column of tasks, or of people, and whether it is that of people."""
    try:
        tasks = find_column(columns, WIDE_TASK, task)
        if tasks is not None and bare_name(tasks) not in INDEX:
            return tasks, False
        people = find_column(columns, RESPONDENT, None)
    except InputError:  # several could be it
        return None
    if people is None or people == tasks:
        return None if tasks is None else (tasks, False)
    return people, True


def _names_each_once(table: Table, column: Any) -> bool:
    ids = table.ids(column)
    return bool((ids.codes != MISSING).all()) and len(ids.names) == len(ids.codes)


def _groups(labels: dict[Any, Coded]) -> list[list[Any]]:
    """Return the groups of two or more columns that share labels; none if there are too many columns to compare."""
    if len(labels) > MOST_COLUMNS:
        return []
    few = {name: coded for name, coded in labels.items() if len(coded.names) <= MOST_LABELS}
    groups = alike({name: set(map(text_of, to_list(coded.names))) for name, coded in few.items()})
    return [names for names in groups if len(names) > 1]


def _without_features(votes: list[Any], people: list[Any]) -> list[Any]:
    """Leave out columns that look like features, if two or more others are named like people."""
    features = {name for name in votes if doubt_names([name], is_transposed=False)}
    return [name for name in votes if name not in features] if len(people) > 1 else votes


def _doubt(labels: dict[Any, Coded], is_transposed: bool) -> str:
    if reason := doubt_names(list(labels), is_transposed):
        return reason
    names = sorted({text_of(name) for coded in labels.values() for name in to_list(coded.names)})
    if sum(map(len, names)) > TEXT_LENGTH * len(names):
        return "the values look like texts"
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.stack([_renumbered(coded, code_of) for coded in labels.values()], axis=1)
    people = sum(map(names_people, labels))
    return doubt_values(codes, names, people, is_transposed)


def _renumbered(coded: Coded, code_of: dict[str, int]) -> Any:
    codes = np.array([code_of[text_of(name)] for name in to_list(coded.names)] + [MISSING], np.int32)
    return codes[coded.codes]


def alike(answers: dict[Any, set[str]]) -> list[list[Any]]:
    """Group columns that share labels, directly or through others."""
    groups: dict[int, tuple[list[Any], set[str]]] = {}
    groups_with: dict[str, set[int]] = defaultdict(
        set
    )  # by label, for most columns of a large table have none in common
    for number, (column, said) in enumerate(answers.items()):
        near = sorted(set().union(*(groups_with[label] for label in said)))
        joined = [groups.pop(group) for group in near if _share(groups[group][1], said)]
        names = [name for group in joined for name in group[0]]
        groups[number] = ([*names, column], said.union(*(group[1] for group in joined)))
        for label in groups[number][1]:
            groups_with[label] = {group for group in groups_with[label] if group in groups} | {number}
    return [names for names, _ in groups.values()]


def _share(some: set[str], others: set[str]) -> bool:
    """Return whether half of the smaller set is shared: one common number would not be enough."""
    return len(some & others) * 2 >= min(len(some), len(others)) > 0


def say_aside(name: str, is_transposed: bool, votes: Sequence[Any], aside: Sequence[Any]) -> None:
    """Warn of the columns that are left aside."""
    if aside:
        kind = "transposed table, whose tasks" if is_transposed else "wide table, whose annotators"
        text = f"{name} is taken for a {kind} are {', '.join(map(str, votes))}; {', '.join(map(str, aside))} left aside"
        warnings.warn(text, FinegoldWarning, stacklevel=5)


def plain_columns(table: Table, columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns of a table that the user calls wide, without row numbers, ids, texts and derived labels."""
    others = _others(columns, ids)
    labels = {name: drop_missing(table.values(name), None) for name in others}
    groups = _groups(labels)
    largest: list[Any] = max(groups, key=len, default=[])
    votes = set(largest)
    return [name for name in others if name in votes or not _may_be_left(name, labels[name], bool(votes))]


def _may_be_left(name: Any, labels: Coded, has_votes: bool) -> bool:
    """Return whether a column that shares no labels with others holds ids, texts, or another kind of values."""
    voted = int((labels.codes != MISSING).sum())
    if bare_name(name) in WIDE_TASK.words | ANNOTATOR.words:
        return True
    names = [text_of(value) for value in to_list(labels.names)]
    if names and sum(map(len, names)) > TEXT_LENGTH * len(names):
        return True
    return has_votes and voted >= MANY_ROWS and (len(names) * 2 > voted or voted * 2 > len(labels.codes))


MOST_COLUMNS_PROPOSAL = 100  # of which a proposal is more than a guess


def propose(
    columns: Sequence[Any], values: Sequence[Sequence[Any]], lost: Sequence[Role], found: Sequence[Any]
) -> dict[str, str | None]:
    """Return options that name a column for each lost role, or none if there are too few or too many columns.

    A label has the fewest different values, a task the most, and an annotator few of them.
    """
    if len(columns) > MOST_COLUMNS_PROPOSAL:
        return {}
    distinct = {
        str(name): len({text_of(value) for value in column if value is not None})
        for name, column in zip(columns, values, strict=True)
        if name not in found and str(name).strip()
    }
    chosen: dict[str, str | None] = {}
    for role in (LABEL, ANNOTATOR, TASK):
        wanted = next((one for one in lost if one.option.endswith(role.option)), None)
        if wanted is None or not wanted.option:
            continue
        free = [name for name in distinct if name not in chosen.values()]
        if not free:
            return {}
        chosen[f"--{wanted.option}"] = _best(role, free, distinct)
    return dict(reversed(chosen.items()))


def _best(role: Role, names: list[str], distinct: dict[str, int]) -> str:
    if role.name == TASK.name:
        return max(names, key=lambda name: distinct[name])
    return min(reversed(names), key=lambda name: (distinct[name] < 2, distinct[name]))


REMEDY = "so they are not one file per annotator; add a column of annotators, or name it with --annotator NAME"
NAMED = 5  # annotators that the warning names


def by_file(opened: Opened, task: str | None, label: str | None) -> Opened:
    """Add the annotators as a column, if there are several files with tasks and labels and without annotators."""
    columns = opened.columns
    has_votes = (task or candidates(columns, TASK)) and (label or candidates(columns, LABEL))
    names = file_names(opened.sources)
    if len(names) < 2 or not has_votes or candidates(columns, ANNOTATOR):
        return opened
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    text = f"{opened.name}: there is no column of annotators, so each file is taken for one annotator: {listed}"
    warnings.warn(text, FinegoldWarning, stacklevel=2)
    return opened.with_annotators(names)


def refuse_other_files(opened: Opened, annotations: Annotations) -> None:
    """Refuse files that turn out to be parts of one table."""
    if not any(source.annotator for source in opened.sources):
        return
    if annotations.counts.repeated:
        raise InputError(f"{opened.name}: a file has a task more than once, {REMEDY}")
    if annotations.n_votes == annotations.n_tasks:
        raise InputError(f"{opened.name}: the files share no task, {REMEDY}")


def file_names(sources: Sequence[Source]) -> list[str]:
    """Return the names of the files without endings, or of their folders if the files are called alike."""
    paths = [PurePath(source.name) for source in sources]
    for names in ([_bare(path) for path in paths], [path.parent.name for path in paths]):
        if all(names) and len(set(names)) == len(names):
            return names
    return []


def _bare(path: PurePath) -> str:
    while path.suffix.lower() in READABLE:
        path = path.with_suffix("")
    return path.name


MOST_LINES = 30
KNOWN = frozenset().union(*(role.words for role in (TASK, ANNOTATOR, LABEL, WIDE_TASK))) - {""}


class Found(NamedTuple):
    what: str
    remedy: str  # with options
    repair: str  # of the file itself
    options: dict[str, str | None]


def wrong_header(source: Source) -> Found | None:
    """Return what is wrong with the first line and the options that repair it, or None."""
    if not source.is_delimited or source.header != 1 or source.compression == "zstd":
        return None
    rows = _rows(source)
    return (_title(rows) or _data(rows)) if len(rows) > 1 else None


def _rows(source: Source) -> list[list[str]]:
    """Split the first lines by the mark that is most frequent in them. A line may be blank."""
    lines = text_start(source).removeprefix(BOM).decode(errors="replace").splitlines()[:MOST_LINES]
    mark = source.separator or max(",;\t|", key="".join(lines).count)
    mark = mark if any(mark in line for line in lines) else " "
    return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]


def _title(rows: list[list[str]]) -> Found | None:
    filled = [sum(map(bool, row)) for row in rows]
    width = max(filled)
    first = filled.index(width)
    header = [cell for cell in rows[first] if cell]
    above = filled[:first]
    if not first or width < 2 or max(above) > max(1, width // 2) or not _are_names(header):
        return None
    blank = not any(above)
    what = "line 1 holds a title" if first == 1 else f"lines 1 to {first} hold a title"
    what = "the first line is blank" if blank else what
    remedy = f"say --header-line {first + 1} (header={first + 1} in Python)"
    found = f"{what}, and line {first + 1} the names of the columns"
    return Found(found, remedy, "remove the lines above", {"--header-line": str(first + 1)})


def _are_names(header: Sequence[str]) -> bool:
    known = any(bare_name(name) in KNOWN for name in header)
    plain = len(set(header)) == len(header) and not any(map(_is_number, header))
    return known or (plain and len(header) > 2)


def _data(rows: list[list[str]]) -> Found | None:
    """Say that the first line looks like the others: its values are numbers, or occur below in the same column."""
    header, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not below or any(bare_name(name) in KNOWN for name in header):
        return None
    columns = list(zip(*below, strict=True))
    like = [_is_number(name) or name in column for name, column in zip(header, columns, strict=True)]
    if sum(like) * 2 < len(like) or len(header) < 2:
        return None
    shown = ", ".join(header[:6])
    found = f"the first line ({shown}) looks like data and not like the names of columns"
    remedy = "if there is no header, say --no-header (header=False in Python) and name the columns by number"
    names = [str(number) for number in range(1, len(header) + 1)]
    chosen = propose(names, [[*column] for column in zip(header, *below, strict=True)], [TASK, ANNOTATOR, LABEL], [])
    return Found(found, remedy, "if there is no header, add a line with the names", {"--no-header": "", **chosen})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


ROWS = 200  # that show what a column may hold
NO_GUESS = Guess()
TRANSPOSED = "use --format transposed (format= in Python)"
WIDE = "If every annotator has a column of their own, use --wide (wide=True in Python)"


@contextmanager
def explained(opened: Opened, guess: Guess = NO_GUESS) -> Iterator[None]:
    """Add to the error about columns what the table looks like."""
    try:
        yield
    except LostColumnsError as error:
        raise _explained(opened, guess, error) from None


def _explained(opened: Opened, guess: Guess, error: LostColumnsError) -> InputError:
    found = wrong_header(opened.sources[0]) if opened.sources else None
    if found is not None and not {TASK, ANNOTATOR, LABEL}.issuperset(error.lost):  # a file of truths, without options
        return InputError(f"{opened.name}: {found.what}; {found.repair}")
    if found is not None:
        return InputError(f"{opened.name}: {found.what}; {found.remedy}", found.options)
    if len(opened.columns) == 1 and opened.sources and opened.sources[0].separator:
        return InputError(f"{error}. The separator leaves one column; leave --separator out", {"--separator": None})
    if guess.shape is not None:
        return InputError(f"{error}. {_doubtful(guess.shape, guess.doubt)}", _as_shape(guess.shape))
    hint = f". {WIDE}" if {ANNOTATOR, LABEL} <= set(error.lost) and len(opened.columns) > 2 else ""
    return InputError(f"{error}{hint}", propose(opened.columns, opened.head(ROWS), error.lost, error.found))


def _doubtful(shape: Shape, doubt: str) -> str:
    if shape.is_transposed:
        return f"It may be a table with a row per annotator and a column per task, but {doubt}; if it is, {TRANSPOSED}"
    if all(map(names_tasks, shape.votes)):
        return f"{doubt}; if every row is an annotator, {TRANSPOSED}"
    return f"It may be a table with a column per annotator, but {doubt}; if it is, use --wide (wide=True in Python)"


def _as_shape(shape: Shape) -> dict[str, str | None]:
    votes = _listed(shape.votes)
    if shape.is_transposed or all(map(names_tasks, shape.votes)):
        return {"--format": "transposed", "--annotator": str(shape.ids), **({"--task": votes} if votes else {})}
    named = {} if not str(shape.ids) else {"--task": str(shape.ids)}
    return {"--wide": "", **named, **({"--annotator": votes} if votes else {})}


def _listed(columns: Sequence[Any]) -> str:
    """Return the columns with commas between, or nothing if a name has a comma or there are too many."""
    names = list(map(str, columns))
    return "" if any("," in name or name != name.strip() for name in names) or len(names) > 50 else ",".join(names)
