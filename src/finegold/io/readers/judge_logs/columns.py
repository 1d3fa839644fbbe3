"""Which column of a judge log is which. The usual names are listed here, the most specific first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finegold.errors import InputError
from finegold.io.readers.columns import Role, bare_name, named_column
from finegold.io.readers.judge_logs.names import file_of

__all__ = ["ROLES", "Chosen", "choose_columns"]


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
