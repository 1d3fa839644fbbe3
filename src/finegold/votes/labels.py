"""Encode labels and gold truths as classes, and decide which labels mean "no vote"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from finegold.errors import InputError
from finegold.votes.encoding import MISSING, Codes, Names, as_column
from finegold.votes.frames import series_like, to_list
from finegold.votes.names import (
    Coded,
    encode_series,
    integer_names,
    is_blank,
    is_integer_text,
    match,
    renumber,
    text_of,
    without,
)

__all__ = [
    "MISSING_LABELS",
    "ClassCodes",
    "drop_missing",
    "encode_classes",
    "is_missing",
    "listed",
    "listed_classes",
    "missing_words",
]

MISSING_LABELS = ("NA", "N/A", "#N/A", "NaN", "null", "{}", "None", "-", "?")  # beside null and blank; case-blind


class ClassCodes(NamedTuple):
    """Labels and gold truths as codes of the same classes."""

    labels: Codes
    truths: Codes
    names: Names


def missing_words(missing: Sequence[Any] | None, keep_missing: bool, labels: Iterable[Any]) -> Sequence[Any] | None:
    """Return the words that mean "no vote", or None for the usual ones. A label that the user names is none of them."""
    if keep_missing and missing is not None:
        raise InputError("--missing and --keep-missing contradict each other; leave one of them out")
    if keep_missing:
        return []
    named = set(map(_folded, labels))
    if missing is not None or named.isdisjoint(map(_folded, MISSING_LABELS)):
        return missing
    return [word for word in MISSING_LABELS if _folded(word) not in named]


def drop_missing(labels: Coded, missing: Iterable[Any] | None) -> Coded:
    """Labels that say "no vote" become MISSING."""
    words = frozenset(map(_folded, MISSING_LABELS if missing is None else missing))
    return without(labels, lambda name: _is_missing(name, words))


def is_missing(label: Any, missing: Iterable[Any] | None) -> bool:
    """Null, NaN, blank, or one of the words that mean "no vote"."""
    return _is_missing(label, frozenset(map(_folded, MISSING_LABELS if missing is None else missing)))


def _is_missing(label: Any, words: frozenset[str]) -> bool:
    if label is None or is_blank(label) or type(label).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return label != label or _folded(label) in words  # only NaN differs from itself


def _folded(label: Any) -> str:
    return text_of(label).strip().casefold()


def encode_classes(
    labels: Coded,
    truths: list[Any],
    classes: Sequence[Any] | None,
    is_text: bool,
    where: Callable[[int], str],
) -> ClassCodes:
    """Encode labels and truths. The classes are those given, otherwise all labels and truths, sorted."""
    if classes is not None:
        return _encode_given_classes(labels, truths, _checked(classes), is_text, where)
    unseen = match(truths, labels.names) == MISSING
    new = {text_of(truth): truth for truth, is_new in zip(truths, unseen, strict=True) if is_new}
    if new:
        labels = _extend(labels, list(new.values()))
    if is_text:
        labels = integer_names(labels)
    return ClassCodes(labels.codes, match(truths, labels.names), labels.names)


def _extend(labels: Coded, new: list[Any]) -> Coded:
    known = to_list(labels.names)
    both = known + [_same_type(value, known) for value in new]
    try:
        coded = encode_series(series_like(both, labels.names))  # type: ignore[arg-type]  # the names may be an array
    except Exception:  # each library raises its own exceptions
        coded = None
    if coded is None or len({isinstance(value, str) for value in both}) > 1:
        raise InputError(
            f"the gold truth {new[0]!r} and the labels (such as {known[0]!r}) have different types; "
            "write both in the same way"
        ) from None
    return Coded(renumber(labels.codes, coded.codes[: len(known)]), coded.names)


def _same_type(value: Any, known: list[Any]) -> Any:
    """Convert the value to the type of the known names if possible: "7" becomes 7 if these are 5 and 6."""
    if all(isinstance(name, str) for name in known):
        return text_of(value)
    are_integers = all(isinstance(name, int) and not isinstance(name, bool) for name in known)
    return int(text_of(value)) if are_integers and is_integer_text(value) else value


def _encode_given_classes(
    labels: Coded, truths: list[Any], classes: list[Any], is_text: bool, where: Callable[[int], str]
) -> ClassCodes:
    given, known = as_column(classes), to_list(labels.names)
    class_of = match(known, given)
    outside = np.flatnonzero(class_of == MISSING)
    if outside.size:
        row = int(np.flatnonzero(np.isin(labels.codes, outside))[0])
        _refuse(f"{where(row)}: label", known[labels.codes[row]], classes)
    truth_codes = match(truths, given)
    if (truth_codes == MISSING).any():
        _refuse("gold truth", truths[int(np.argmax(truth_codes == MISSING))], classes)
    return ClassCodes(renumber(labels.codes, class_of), truth_codes, _name(classes, labels, class_of, is_text))


def _name(classes: list[Any], labels: Coded, class_of: Codes, is_text: bool) -> Names:
    """Return the classes in the order given, with the type of the labels."""
    known = to_list(labels.names)
    seen = {int(code): name for code, name in zip(class_of, known, strict=True)}
    values = [seen.get(code, _same_type(value, known)) for code, value in enumerate(classes)]
    if is_text and all(map(is_integer_text, values)):
        return series_like([int(value) for value in values], nw.new_series("", [0], backend="polars"))
    return series_like(values, labels.names)


def listed_classes(classes: Sequence[Any] | None) -> list[Any]:
    """Return the classes that the user names, which may be a single text, an array or none."""
    if classes is None:
        return []
    return [classes] if isinstance(classes, str) else list(classes)


def _checked(classes: Sequence[Any]) -> list[Any]:
    given = listed_classes(classes)
    if not given or len({text_of(name) for name in given}) < len(given):
        raise InputError(f"classes must be one or more different labels, but are {listed(given)}")
    return given


def _refuse(what: str, found: Any, classes: list[Any]) -> None:
    raise InputError(f"{what} {found!r} is not among the classes {listed(classes)}; correct it, or add it to --classes")


def listed(classes: list[Any]) -> str:
    return ", ".join(map(str, classes[:20])) + (", ..." if len(classes) > 20 else "")
