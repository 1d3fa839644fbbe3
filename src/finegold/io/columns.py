"""Which column is what: the column of each role, and whether a table is long, wide or transposed.

A long table has a row per vote, a wide one a row per task and a column per annotator, and a
transposed one a row per annotator and a column per task. Names decide first, then values; where
both leave a doubt, the table is taken for a long one, and the error names the options.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.votes.encoding import (
    MISSING,
    Codes,
    Names,
    as_text,
    encode,
    encode_ids,
    listed,
    renumber,
    text_of,
)
from finegold.votes.hygiene import Finding
from finegold.votes.labels import drop_missing, shortest_number

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
    # Words in a name, in some languages, and values: evidence for a proposal, but not enough to
    # read a file without one.
    hints: frozenset[str] = frozenset()
    values: re.Pattern[str] | None = None


def words_in(names: str, end: str = "") -> frozenset[str]:
    """Return each name alone and followed by `end`: worker, worker_id, WorkerId."""
    return frozenset([*names.split(), *(name + end for name in names.split())])


ANNOTATORS = (
    "annotator worker user rater judge evaluator performer labeler labeller coder reviewer"
    " participant"
)
# pandas writes its row numbers without a name
INDEX = frozenset({"", "unnamed0"})

# beside the answers of a form
TIMES = words_in(
    "timestamp starttime completiontime lastmodifiedtime submittedat submitdate startdate datestamp"
    " lastpage startlanguage seed ipaddr refurl"
)
# A column "prompt" or "sample" may hold the text beside an id; one with "id" behind it names the
# tasks of LLM judges. An image or a text beside an id is what was shown.
TASK = Role(
    "task",
    "task",
    words_in("task item question unit hit example instance", "id")
    | words_in("promptid sampleid docid"),
    (words_in("image text", "id"),),
    words_in(
        "id orig original document doc sentence tweet comment post url video audio file filename"
        " pair sample prompt query passage snippet claim headline article statement clip picture"
        " photo object subject stimulus case review thing aufgabe frage satz tarea pregunta tâche"
        " domanda tarefa vraag 任务 задание"
    ),
    re.compile(
        r"(task|item|image|img|document|doc|question|text|sentence|tweet|[tiq])[-_ ]?[0-9]+"
        r"|.+\.(jpe?g|png|gif|wav|mp3|mp4|txt|pdf)|https?://.+|\S+( \S+){4,}",
        re.I,
    ),
)
ANNOTATOR = Role(
    "annotator",
    "annotator",
    words_in(ANNOTATORS, "id"),
    (words_in("model", "id"),),
    words_in(
        "work wid uid turker crowdworker assessor grader scorer expert respondent volunteer"
        " contributor who person name login email author nutzer bearbeiter teilnehmer usuario"
        " anotador participante utilisateur annotateur utente usuário gebruiker 标注者 用户"
        " аннотатор"
    ),
    re.compile(
        r"(annotator|worker|rater|judge|user|coder|ann|[awu])[-_ ]?[0-9]+|\S+@\S+|A[0-9A-Z]{10,}",
        re.I,
    ),
)
# a category beside a label describes the task
LABEL = Role(
    "label",
    "label",
    words_in(
        "label answer response rating choice class verdict vote judgment judgement annotation"
    ),
    (words_in("category sentiment winner"),),
    words_in(
        "category sentiment winner grade relevance stance emotion tag decision said selected chosen"
        " option code assessment opinion bewertung antwort klasse respuesta etiqueta clase réponse"
        " étiquette classe risposta resposta rótulo antwoord 标签 答案 метка ответ"
    ),
)
TRUTH = Role("truth", "label", words_in("truth gold groundtruth goldlabel truelabel"))
# Tells several questions apart that each annotator answers about a task.
QUESTION = Role(
    "question", "question", words_in("criterion criteria aspect dimension attribute metric rubric")
)
# In a wide table, row ids would otherwise be taken for an annotator.
WIDE_TASK = Role("task", "task", TASK.words | {"id", "index"}, (INDEX, *TASK.others))
# In a transposed table a row is a respondent, whom surveys know by many names.
RESPONDENT = Role(
    "annotator",
    "annotator",
    ANNOTATOR.words
    | words_in("respondent prolific", "id")
    | words_in("responseid prolificpid email emailaddress name id index"),
    (INDEX,),
)
KNOWN = frozenset().union(*(role.words for role in (TASK, ANNOTATOR, LABEL, WIDE_TASK)))


def bare_name(column: Any) -> str:
    """Ignore case, underscores, blanks and points: _unit_id, Unit ID and unitId are one name."""
    return re.sub(r"[\s_.:-]+", "", str(column).casefold())


def list_names(columns: Iterable[Any]) -> str:
    return listed(f'"{column}"' for column in columns)


# The column of a role


class LostColumnsError(InputError):
    """No column, or more than one, has a name that is known for a role."""

    # the roles without a column
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
    """Return the column of each role: the one that is named, or the only one with a usual name."""
    given = {role: name for role, name in name_of.items() if name is not None}
    found = {role: [named_column(columns, name, role)] for role, name in given.items()}
    free = [column for column in columns if [column] not in found.values()]
    found |= {role: candidates(free, role) for role in name_of if role not in found}
    known = {role.name: each[0] for role, each in found.items() if len(each) == 1}
    lost = [role for role in name_of if not found[role]]
    if not lost:
        for role, fitting in found.items():
            if len(fitting) > 1:
                raise _several(fitting, role, known)
        return [found[role][0] for role in name_of]
    if not columns:
        raise InputError(
            "there are no columns; expected a table with a header and at least one vote"
        )
    problem = f"there is no {' and no '.join(role.name for role in lost)} column"
    text = "to name it" if len(lost) == 1 else "to name them"
    error = LostColumnsError(problem, remedies=[_naming(dict.fromkeys(lost, NAME), text)])
    error.lost, error.known = lost, known
    raise error


def find_column(columns: Sequence[Any], role: Role, name: Any) -> Any:
    """Return the column of one role, or None if no name fits."""
    if name is not None:
        return named_column(columns, name, role)
    matches = candidates(columns, role)
    return the_only(matches, role) if matches else None


def candidates(columns: Iterable[Any], role: Role) -> list[Any]:
    """Return the columns with a usual name of the role, or else those with another name."""
    names = [(column, bare_name(column)) for column in columns]
    for words in (role.words, *role.others):
        if matches := [column for column, name in names if name in words]:
            return matches
    return []


def named_column(columns: Sequence[Any], name: Any, role: Role) -> Any:
    """Return the column that the user names, by its exact name or ignoring case."""
    if name in columns:
        return name
    wanted = str(name).strip().casefold()
    if matches := [column for column in columns if str(column).strip().casefold() == wanted]:
        return the_only(matches, role)
    listing = list_names(columns)
    problem = f'there is no column "{name}" for the {role.name}; the columns are {listing}'
    near = difflib.get_close_matches(str(name), map(str, columns), n=1)
    if not near:
        raise InputError(problem)
    remedies = [_naming({role: near[0]})] if role.option else []
    raise InputError(f'{problem}; did you mean "{near[0]}"?', remedies=remedies)


def the_only(matches: list[Any], role: Role) -> Any:
    """Return the only match. Refuse to guess between two, because the guess would often be wrong."""
    if len(matches) > 1:
        raise _several(matches, role, {})
    return matches[0]


def _several(matches: list[Any], role: Role, known: Mapping[str, Any]) -> LostColumnsError:
    problem = f"the columns {list_names(matches)} could each be the {role.name}"
    error = LostColumnsError(problem, remedies=[_naming({role: NAME}, "to say which")])
    error.lost, error.known, error.among = [role], known, matches
    return error


def _naming(columns: dict[Role, str], text: str = "") -> Remedy:
    if not all(role.option for role in columns):
        names = " and ".join(role.name for role in columns)
        return use(text=f"name the column {names} in the file")
    named = {role.option.replace("-", "_"): column for role, column in columns.items()}
    return use(text=text, **named)


# What the values of a column look like

# of labels on average; longer ones are texts
TEXT_LENGTH = 50


class Column(NamedTuple):
    """The values of a column as text, without those that mean "no vote"."""

    name: Any
    codes: Codes
    # that occur, in the order of the codes
    values: list[str]

    @classmethod
    def of(cls, name: Any, rows: pl.Series) -> Column:
        """Return what a column holds; 1.0 and 1 are one value."""
        votes = drop_missing(encode(as_text(rows) if rows.dtype.is_nested() else rows), None)
        texts = [text_of(value) for value in votes.names]
        plain = [shortest_number(text.strip()) or text for text in texts]
        coded = votes.renamed(Names(pl.Series(plain, dtype=pl.String)))
        return cls(name, coded.codes, coded.names.to_list())

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def filled(self) -> int:
        return int((self.codes != MISSING).sum())

    @property
    def are_texts(self) -> bool:
        return sum(map(len, self.values)) > TEXT_LENGTH * self.n


def count_pairs(label: Column, by: Column) -> NDArray[np.int64]:
    """Return how often each value of one column occurs with each value of the other."""
    both = (label.codes != MISSING) & (by.codes != MISSING)
    pairs = by.codes[both].astype(np.int64) * label.n + label.codes[both]
    return np.bincount(pairs, minlength=by.n * label.n).reshape(by.n, label.n)


def kappa_of(counts: NDArray[Any]) -> tuple[int, float]:
    """Return how many rows of votes per class have several votes, and Fleiss' kappa of these."""
    total = counts.sum(axis=1).astype(float)
    counts, total = counts[total > 1], total[total > 1]
    if not len(total):
        return 0, 0.0
    observed = ((counts * (counts - 1.0)).sum(axis=1) / (total * (total - 1))).mean()
    expected = ((counts.sum(axis=0) / total.sum()) ** 2).sum()
    return len(total), 1.0 if expected == 1 else float((observed - expected) / (1 - expected))


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
    "majority maj mehrheit consensus final aggregated aggregate adjudicated adjudication adjudicator"
    " curator curated harmonized harmonised gold truth truelabel agreed agreement mode expected"
    " target reference correct resolved mv ds"
)
# Columns with such words are neither annotators nor labels, whatever they hold.
OTHERS = DERIVED | words_in(
    "true ground time times date datetime start started end ended submit submitted accept accepted"
    " duration seconds timestamp age gender sex education country city state region location"
    " language race ethnicity ethnic income occupation job native nationality religion political"
    " politics confidence certainty difficulty reward price lifetime approval approved status"
    " comment comments feedback row rownum year month day browser ip os device platform lat lon mean"
    " avg average median std count counts num total prob probability pred prediction predicted model"
    " split fold batch alter geschlecht edad sexo género sexe zeit datum hora fecha date"
)
# In a table with several votes per row, these are features of the tasks besides.
FEATURES = OTHERS | words_in(
    "number sum min max score scores percent pct ratio rate length len size width height weight hour"
    " cost amount distance latitude longitude input output opt choice matching feature feat var"
    " variable col column field flag is has type version group x y z id url path code option rank"
    " position before after pre post top diagnosis symptom test"
)
FEATURE = re.compile(
    r"(input|output|answer|model|option|choice|response)[\W_]+\w+|model[ab]|[xyzfvc]\d+|pc\d+|n[\W_].*"
)
YES_NO = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f"})

# columns that are compared with each other
MOST_COLUMNS = 1_000
# a column with more values holds ids, texts or measurements
MOST_LABELS = 200
# rows in which a column of votes repeats itself
MANY_ROWS = 5
# classes; a few are a small set, however few the votes
MOST_CLASSES, FEW_CLASSES = 30, 5
# 0 to 10; more different numbers are measurements
MOST_NUMBERS = 11
# share of the rows whose sums are the same in a table of counts
SAME_SUM = 0.9
# rows and their kappa, where only agreement speaks for votes
SOME_ROWS, CLEAR = 10, 0.2


class Shape(NamedTuple):
    """A table with several votes per row."""

    is_transposed: bool
    # the column that names the rows
    ids: Any
    # the columns that hold votes
    votes: list[Any]
    # columns without votes
    aside: Sequence[Any]


def guess_shape(opened: Table, task: Any) -> Shape | None:
    """Return the shape of a wide or transposed table, or None if names or values leave a doubt."""
    columns = opened.columns
    has_label = any(bare_name(column) in LABEL.words for column in columns)
    if has_label or len(columns) > MOST_COLUMNS:
        return None
    times = [survey_name(column) for column in columns if survey_name(column) in TIMES]
    if len(times) > 1 or (times and survey_name(columns[0]) == "timestamp"):
        return _shape_of_form(opened, columns)
    # which column names the rows, and does it name people?
    people = None
    try:
        ids = find_column(columns, WIDE_TASK, task)
        if ids is None or bare_name(ids) in INDEX:
            people = find_column(columns, RESPONDENT, None)
    except InputError:
        # several could be it
        return None
    is_transposed = people is not None and people != ids
    ids = people if is_transposed else ids
    if ids is None:
        return None
    table = opened.read(columns)
    labels, groups = _groups_of_votes(table, columns, ids)
    rows = encode_ids(table[str(ids)], opened.is_text).codes
    named = rows[rows != MISSING]
    # a row is named once
    if len(groups) != 1 or len(np.unique(named)) != len(named):
        return None
    [votes] = groups
    if not is_transposed and sum(map(names_person, votes)) > 1:
        votes = [name for name in votes if not (names_feature(name) or names_item(name))]
    n_items = sum(map(names_item, votes))
    are_named = n_items * 2 >= len(votes) if is_transposed else not n_items
    if not are_named or any(map(names_feature, votes)):
        return None
    return _shape_of(labels, columns, votes, ids, is_transposed)


def _shape_of_form(opened: Table, columns: Sequence[Any]) -> Shape | None:
    """Return the shape of a form of Google, Microsoft or LimeSurvey: a row per person."""
    table = opened.read(columns)
    named = [column for column in columns if survey_name(column) in RESPONDENT.words]
    people = [column for column in named if table[str(column)].n_unique() == len(table)]
    others = [each for each in columns if each not in named and survey_name(each) not in TIMES]
    labels, groups = _groups_of_votes(table, others, None)
    votes: list[Any] = max(groups, key=len, default=[])
    if not votes or len(votes) * 2 < len(others):
        return None
    ids = people[0] if people else None
    return _shape_of(labels, columns, votes, ids, True) if len(groups) == 1 else None


def _shape_of(
    labels: Mapping[Any, Column],
    columns: Sequence[Any],
    votes: list[Any],
    ids: Any,
    is_transposed: bool,
) -> Shape | None:
    known = {ids, *votes} if is_transposed else {ids, *votes, *candidates(columns, TRUTH)}
    aside = [column for column in columns if column not in known]
    are_votes = _are_votes([labels[name] for name in votes], is_transposed)
    return Shape(is_transposed, ids, votes, aside) if are_votes else None


def survey_name(column: Any) -> str:
    """Return the name of a column of a form; LimeSurvey puts codes in front: "seed. Seed"."""
    return bare_name(str(column).partition(". ")[0])


def voting_columns(table: pl.DataFrame, columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns of a wide table without row numbers, ids, texts and derived labels."""
    labels, groups = _groups_of_votes(table, columns, ids)
    votes = {*max(groups, key=len, default=[])}
    found = []
    for name, column in labels.items():
        is_sparse = column.n * 2 > column.filled or column.filled * 2 > len(column.codes)
        is_other = bare_name(name) in WIDE_TASK.words | ANNOTATOR.words
        is_other |= is_sparse and bool(votes) and column.filled >= MANY_ROWS
        if name in votes or not (is_other or (column.n > 0 and column.are_texts)):
            found.append(name)
    return found


def _groups_of_votes(
    table: pl.DataFrame, columns: Sequence[Any], ids: Any
) -> tuple[dict[Any, Column], list[list[Any]]]:
    """Return the columns that may hold votes, and the groups of two or more that share labels."""
    # neither ids, truths, row numbers nor labels made of votes
    known = {ids, *candidates(columns, TRUTH)}
    labels = {
        name: Column.of(name, table[str(name)])
        for name in columns
        if name not in known and bare_name(name) not in INDEX and DERIVED.isdisjoint(parts_of(name))
    }
    if len(labels) > MOST_COLUMNS:
        return labels, []
    few = {name: set(column.values) for name, column in labels.items() if column.n <= MOST_LABELS}
    return labels, [names for names in group_by_labels(few) if len(names) > 1]


def group_by_labels(labels: dict[Any, set[str]]) -> list[list[Any]]:
    """Group columns that share half of the labels of the smaller set, also through others."""
    groups: list[tuple[list[Any], set[str]]] = []
    for column, own in labels.items():
        near = [
            group for group in groups if len(own & group[1]) * 2 >= min(len(own), len(group[1])) > 0
        ]
        groups = [group for group in groups if not any(group is each for each in near)]
        names = [name for group in near for name in group[0]]
        groups.append(([*names, column], own.union(*(group[1] for group in near))))
    return [names for names, _ in groups]


def parts_of(name: Any) -> list[str]:
    """Split a name into words: final_label, finalLabel -> final, label."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return [*re.split(r"[\W_\d]+", words.casefold()), bare_name(name)]


def names_feature(name: Any) -> bool:
    text = str(name).strip().casefold()
    return FEATURE.fullmatch(text) is not None or not FEATURES.isdisjoint(parts_of(name))


def names_person(name: Any) -> bool:
    return PEOPLE.match(str(name).strip()) is not None and not names_feature(name)


def names_item(name: Any) -> bool:
    text = str(name).strip()
    is_item = ITEMS.match(text) is not None or "?" in text or len(text.split()) > 2
    return is_item and not names_person(name)


def _are_votes(columns: Sequence[Column], is_transposed: bool) -> bool:
    """Return whether the values of these columns look like votes."""
    names = sorted({value for column in columns for value in column.values})
    numbers = np.array([shortest_number(name) or "nan" for name in names], float)
    are_numbers = not np.isnan(numbers).any()
    # measurements
    if are_numbers and (len(numbers) > MOST_NUMBERS or (numbers * 2 % 1 != 0).any()):
        return False
    n_votes = sum(column.filled for column in columns)
    are_few = len(names) <= FEW_CLASSES or len(names) * 3 <= n_votes
    are_texts = Column("", np.empty(0, np.int32), names).are_texts
    if are_texts or len(names) > MOST_CLASSES or not are_few:
        return False
    if is_transposed:
        return True
    # [row, column]
    own = [np.searchsorted(names, column.values) for column in columns]
    codes = np.stack([renumber(c.codes, new) for c, new in zip(columns, own, strict=True)], axis=1)
    whole = codes[(codes != MISSING).all(axis=1)]
    if are_numbers and len(whole) > 2 and len(np.unique(whole, axis=0)) > 1:
        _, times = np.unique(numbers[whole].sum(axis=1).round(6), return_counts=True)
        # counts or shares
        if times.max() >= SAME_SUM * len(whole):
            return False
    # Columns with the names of people need no agreement; others have to agree clearly.
    if sum(names_person(column.name) for column in columns) * 2 >= len(columns):
        return True
    per_class = [(codes == code).sum(axis=1) for code in range(len(names))]
    rows, kappa = kappa_of(np.stack(per_class, axis=1))
    return rows >= SOME_ROWS and kappa >= CLEAR and not YES_NO.issuperset(map(str.casefold, names))


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
