"""Which column is which: the names that other tools use are listed here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from karat.errors import InputError

__all__ = [
    "ANNOTATOR",
    "LABEL",
    "RESPONDENT",
    "TASK",
    "TRUTH",
    "WIDE_TASK",
    "Role",
    "bare_name",
    "candidates",
    "columns_of",
    "find_column",
    "find_columns",
    "truth_columns",
]


@dataclass(frozen=True)
class Role:
    """A role of a column, the option that names it, and the names that other tools use."""

    name: str
    option: str
    words: frozenset[str]


def _words(names: str) -> frozenset[str]:
    """Return each name alone and followed by id: worker, worker_id, WorkerId."""
    return _plain(names) | {name + "id" for name in names.split()}


def _plain(names: str) -> frozenset[str]:
    return frozenset(names.split())


# A column "prompt" or "sample" may hold the text beside an id; one with "id" behind it names the tasks of LLM judges.
TASK = Role("task", "task", _words("task item question unit hit example instance") | _plain("promptid sampleid"))
ANNOTATOR = Role(
    "annotator",
    "annotator",
    _words("annotator worker user rater judge performer labeler labeller coder reviewer participant"),
)
LABEL = Role(
    "label",
    "label",
    _plain("label answer response rating choice class verdict vote judgment judgement annotation"),
)
TRUTH = Role("truth", "label", _plain("truth gold groundtruth goldlabel truelabel"))
# In a wide table, row ids would otherwise be taken for an annotator; pandas writes theirs without a name.
WIDE_TASK = Role("task", "task", TASK.words | {"id", "index", "", "unnamed0"})
# In a transposed table a row is a respondent, whom surveys know by many names.
RESPONDENT = Role(
    "annotator",
    "annotator",
    ANNOTATOR.words
    | _words("respondent prolific")
    | _plain("responseid prolificpid email emailaddress name id index unnamed0")
    | {""},
)


@contextmanager
def columns_of(name: str) -> Iterator[None]:
    """Add the name of the table to errors about its columns."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def find_columns(columns: Sequence[Any], chosen: dict[Role, str | None]) -> list[Any]:
    """Return the column of each role: the one that the user names, or the only one with a usual name."""
    named = {role: named_column(columns, name, role) for role, name in chosen.items() if name is not None}
    free = [column for column in columns if column not in named.values()]
    found = {role: candidates(free, role) for role in chosen if role not in named}
    lost = [role for role, matches in found.items() if not matches]
    if lost:
        raise InputError(_nothing_found(columns, lost))
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
    return [column for column in columns if bare_name(column) in role.words]


def named_column(columns: Sequence[Any], name: str, role: Role) -> Any:
    """Return the column that the user names, by its exact name or ignoring case."""
    if name in columns:
        return name
    matches = [column for column in columns if str(column).strip().casefold() == str(name).strip().casefold()]
    if matches:
        return the_only(matches, role)
    near = difflib.get_close_matches(str(name), [str(column) for column in columns], n=1)
    meant = f'; did you mean "{near[0]}"?' if near else ""
    raise InputError(f'there is no column "{name}" for the {role.name}; the columns are {_listed(columns)}{meant}')


def the_only(matches: list[Any], role: Role) -> Any:
    """Return the only match. Refuse to guess between two, because the guess would often be wrong."""
    if len(matches) > 1:
        raise InputError(
            f"the columns {_listed(matches)} could each be the {role.name}; "
            f"say which with --{role.option} NAME ({role.option}= in Python)"
        )
    return matches[0]


def _nothing_found(columns: Sequence[Any], lost: list[Role]) -> str:
    if not columns:
        return "there are no columns; expected a table with a header and at least one vote"
    roles = " and no ".join(role.name for role in lost)
    options = " and ".join(f"--{role.option} NAME" for role in lost)
    arguments = ", ".join(f"{role.option}=" for role in lost)
    message = f"there is no {roles} column among {_listed(columns)}; name it with {options} ({arguments} in Python)"
    return message + (_WIDE_HINT if _looks_wide(columns, lost) else "")


_WIDE_HINT = ". If every annotator has a column of their own, use --wide (wide=True in Python)"


def _looks_wide(columns: Sequence[Any], lost: list[Role]) -> bool:
    return ANNOTATOR in lost and LABEL in lost and len(columns) >= 3


def bare_name(column: Any) -> str:
    """Ignore case, underscores, blanks and points: _unit_id, Unit ID and unitId are one name."""
    return re.sub(r"[\s_.:-]+", "", str(column).casefold())


def _listed(columns: Iterable[Any], most: int = 20) -> str:
    names = [f'"{column}"' for column in columns]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + more)
