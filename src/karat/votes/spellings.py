"""Spellings of one class, such as Cat and cat, or 1 and 1.0: find them, show them, merge them."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.errors import KaratWarning
from karat.votes.encoding import MISSING
from karat.votes.frames import series_like, to_list
from karat.votes.labels import listed_classes
from karat.votes.names import Coded, encode_series, match, renumber, text_of

__all__ = ["Alias", "Spellings", "in_format_of", "unify"]

NUMBER = re.compile(r"(?=.*[0-9])([+-]?)0*([0-9]*)(?:\.([0-9]*?)0*)?")
SHOWN_GROUPS, SHOWN_SPELLINGS = 5, 6

Groups = list[list[str]]


class Alias(NamedTuple):
    """The class that each spelling means."""

    class_of: dict[str, Any]
    header: tuple[str, Any] | None = None  # of a table: an alias, too, if such a label occurs


class Spellings(NamedTuple):
    """Labels and gold truths as they are written."""

    labels: Coded
    truths: list[Any]
    counts: NDArray[np.int64] | None = None  # of votes of each code of the labels; by default 1

    def known(self) -> dict[str, Any]:
        """Every label and truth by its text."""
        return {text_of(name): name for name in [*self.truths, *to_list(self.labels.names)]}

    def frequency(self) -> dict[str, int]:
        codes, names = self.labels.codes, to_list(self.labels.names)
        counts = np.bincount(codes[codes != MISSING], self.counts, minlength=len(names))
        return {text_of(name): int(count) for name, count in zip(names, counts, strict=True)}

    def renamed(self, new: dict[str, Any]) -> Spellings:
        """Replace labels and truths by their text."""
        names = [new.get(text_of(name), name) for name in to_list(self.labels.names)]
        truths = [new.get(text_of(truth), truth) for truth in self.truths]
        coded = encode_series(series_like(names, self.labels.names))  # type: ignore[arg-type]
        return Spellings(Coded(renumber(self.labels.codes, coded.codes), coded.names), truths, self.counts)


def unify(
    found: Spellings, classes: Sequence[Any] | None, normalise: bool = False, alias: Alias | None = None
) -> Spellings:
    """Replace labels by the alias, and merge numbers that differ in format only.

    Other spellings of one class are merged if `normalise` is true; otherwise a warning shows them.
    """
    if alias is not None:
        found = _with_alias(found, alias)
    if found.labels.names.dtype.is_integer() and not found.truths and classes is None:
        return found
    found = found._replace(truths=_as_labels(found.truths, found.labels.names))
    given = list(map(text_of, listed_classes(classes)))
    found = _merge_numbers(found, given)
    groups = _groups([*found.known(), *given], _key)
    if not groups or (given and not normalise):
        return found
    if not normalise:
        _warn_of_groups(groups, found)
        return found
    return found.renamed(_most_frequent(groups, found, given))


def in_format_of(truths: list[Any], classes: Any) -> list[Any]:
    """Write truths as the classes are written, if every class is a number: 1 for 1.0."""
    written = {_number(text_of(name)): name for name in to_list(classes)}
    if None in written:
        return truths
    return [written.get(_number(text_of(truth).strip()), truth) for truth in truths]


def _as_labels(truths: list[Any], names: Any) -> list[Any]:
    """Return truths that match a label as that label: False for "False"."""
    values = to_list(names)
    matches = match(truths, names).tolist()
    return [truth if code == MISSING else values[code] for truth, code in zip(truths, matches, strict=True)]


def _with_alias(found: Spellings, alias: Alias) -> Spellings:
    known, class_of = found.known(), dict(alias.class_of)
    if alias.header is not None:
        class_of.setdefault(*alias.header)
    if known and class_of and not known.keys() & class_of.keys():
        _warn(
            f"none of the {len(alias.class_of):,} spellings of the alias occurs among the labels: the alias has "
            f"{next(iter(class_of))}, the labels have {min(known)}; check that they are written alike"
        )
    return found.renamed({text: known.get(text_of(name), name) for text, name in class_of.items()})


def _merge_numbers(found: Spellings, given: list[str]) -> Spellings:
    known = found.known()
    texts = list(dict.fromkeys([*given, *known]))
    if any(_number(text.strip()) is None for text in texts):
        return found
    groups = _groups(texts, lambda text: str(_number(text.strip())))
    if not groups or len(set(map(_key, given))) < len(given):
        return found
    written = {_key(text): text for text in given}
    new = {text: written.get(_key(text), str(_number(text.strip()))) for text in known}
    _warn_of_numbers(new, found.frequency())
    return found.renamed({text: known.get(number, number) for text, number in new.items()})


def _most_frequent(groups: Groups, found: Spellings, given: list[str]) -> dict[str, Any]:
    """Return the spelling that each one is merged into: a class that the user names, or the most frequent one."""
    known, counts = found.known(), found.frequency()
    new: dict[str, Any] = {}
    for group in groups:
        best = max(group, key=lambda text: (text in given, counts.get(text, 0)))
        new |= {text: known.get(best, best) for text in group}
    return new


def _groups(texts: Sequence[str], key: Callable[[str], str]) -> Groups:
    """Return the texts that share a key with others, sorted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text in sorted(set(texts)):
        alike[key(text)].append(text)
    return [group for group in alike.values() if len(group) > 1]


def _key(text: str) -> str:
    """Return the text without what people write in several ways."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).removesuffix(".").rstrip()
    return _number(plain) or plain


def _number(text: str) -> str | None:
    """Return a number in its shortest form: 1 for 01, +1 and 1.0."""
    parts = NUMBER.fullmatch(text)
    if parts is None:
        return None
    shortest = (parts[2] or "0") + (f".{parts[3]}" if parts[3] else "")
    return f"-{shortest}" if parts[1] == "-" and shortest != "0" else shortest


def _warn_of_groups(groups: Groups, found: Spellings) -> None:
    counts, n_classes = found.frequency(), len(found.known())
    n_alike = n_classes - sum(len(group) - 1 for group in groups)
    ordered = [sorted(group, key=lambda text: -counts.get(text, 0)) for group in groups]
    remedy = "--normalise (normalise=True in Python) merges them"
    _warn(f"{n_classes:,} classes look like {n_alike:,}: {_listed(ordered, counts)}; {remedy}")


def _warn_of_numbers(new: dict[str, str], counts: dict[str, int]) -> None:
    groups = defaultdict(list)
    for text, number in sorted(new.items()):
        groups[number].append(text)
    changed = {number: group for number, group in groups.items() if group != [number]}
    shown = [f"{number} = {_listed([group], counts)}" for number, group in list(changed.items())[:SHOWN_GROUPS]]
    more = ", ..." if len(changed) > SHOWN_GROUPS else ""
    _warn(f"labels that differ only in number format were merged: {', '.join(shown)}{more}")


def _listed(groups: Groups, counts: dict[str, int]) -> str:
    """Write cat (2) = Cat (1), dog (3) = Dog (gold)."""
    shown = [
        " = ".join(f"{_visible(text)} ({_times(counts.get(text))})" for text in group[:SHOWN_SPELLINGS])
        + (" = ..." if len(group) > SHOWN_SPELLINGS else "")
        for group in groups[:SHOWN_GROUPS]
    ]
    return ", ".join(shown) + (", ..." if len(groups) > SHOWN_GROUPS else "")


def _times(count: int | None) -> str:
    return "gold" if count is None else f"{count:,}"


def _visible(text: str) -> str:
    """Put quotation marks around a text whose spaces would not be seen."""
    return text if text == " ".join(text.split()) else f'"{text}"'


def _warn(text: str) -> None:
    warnings.warn(text, KaratWarning, stacklevel=6)
