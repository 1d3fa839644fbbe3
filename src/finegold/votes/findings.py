"""What a reader noticed in votes. It is said in warnings and kept with the votes, for reports and the studio."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from finegold.errors import FinegoldWarning

if TYPE_CHECKING:
    pass

__all__ = [
    "Finding",
    "Groups",
    "Hygiene",
    "collecting",
    "count_no_votes",
    "hygiene_of",
    "note",
    "taken",
    "warn",
]


Groups = list[list[tuple[str, int | None]]]  # spellings of one class and how often each occurs; None for a truth


@dataclass(frozen=True)
class Finding:
    """Something about the votes that the user should know."""

    kind: str  # such as "spellings"; the studio gives advice by kind
    text: str  # what was found, and the likely cause
    remedy: str = ""  # what to do on the command line and in Python, with the punctuation before it
    groups: Groups = field(default_factory=list)  # spellings that look like one class, or were merged into one


@dataclass(frozen=True)
class Hygiene:
    """How labels became classes, and what looked wrong."""

    findings: list[Finding] = field(default_factory=list)
    no_vote: dict[str, int] = field(default_factory=dict)  # words that mean "no vote" and how often each occurs
    label: str = ""  # the column of the labels, if there is one
    normalise: bool = False
    alias: dict[str, Any] = field(default_factory=dict)  # spelling -> class

    def joined(self, other: Hygiene) -> Hygiene:
        """Return what is known of the votes of both."""
        new = [finding for finding in other.findings if finding not in self.findings]
        words = dict(Counter(self.no_vote) + Counter(other.no_vote))
        alias = {**self.alias, **other.alias}
        return Hygiene([*self.findings, *new], words, self.label, self.normalise or other.normalise, alias)

    def as_json(self) -> dict[str, Any]:
        """Return plain dicts and lists; classes of the alias that JSON does not have become text."""
        plain = {text: name if isinstance(name, str | int | float) else str(name) for text, name in self.alias.items()}
        return {**asdict(self), "alias": plain}


def hygiene_of(values: Mapping[str, Any]) -> Hygiene:
    """Return what `as_json` has made, and check it, because it may come from a file of somebody else."""
    findings = [
        Finding(_text(one["kind"]), _text(one["text"]), _text(one["remedy"]), _groups(one["groups"]))
        for one in values["findings"]
    ]
    words = {_text(word): int(count) for word, count in values["no_vote"].items()}
    alias = {_text(text): name for text, name in values["alias"].items() if isinstance(name, str | int | float)}
    return Hygiene(findings, words, _text(values["label"]), bool(values["normalise"]), alias)


_collected: ContextVar[Hygiene | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[None]:
    """Collect what is noticed while votes are read; `taken` returns it."""
    token = _collected.set(Hygiene())
    try:
        yield
    finally:
        _collected.reset(token)


def warn(finding: Finding) -> None:
    """Warn of a finding, and keep it."""
    note(finding)
    warnings.warn(finding.text + finding.remedy, FinegoldWarning, stacklevel=7)


def note(finding: Finding) -> None:
    """Keep a finding that needs no warning."""
    if (collected := _collected.get()) is not None:
        collected.findings.append(finding)


def count_no_votes(words: Mapping[str, int]) -> None:
    """Keep how often each word that means "no vote" occurs."""
    if (collected := _collected.get()) is not None:
        collected.no_vote.update(Counter(collected.no_vote) + Counter(words))


def taken(**more: Any) -> Hygiene:
    """Return what was noticed since `collecting` began or since the last call."""
    collected = _collected.get()
    if collected is not None:
        _collected.set(Hygiene())
    return replace(collected or Hygiene(), **more)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _groups(values: Any) -> Groups:
    return [[(_text(text), None if count is None else int(count)) for text, count in group] for group in values]
