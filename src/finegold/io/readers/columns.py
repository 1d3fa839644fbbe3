"""Which column is which: the names that other tools use are listed here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from finegold.errors import InputError

__all__ = [
    "ANNOTATOR",
    "INDEX",
    "LABEL",
    "RESPONDENT",
    "TASK",
    "TRUTH",
    "WIDE_TASK",
    "LostColumnsError",
    "Role",
    "bare_name",
    "candidates",
    "columns_of",
    "find_column",
    "find_columns",
    "listed",
    "truth_columns",
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
