"""Encode labels and gold truths as classes, and decide which labels mean "no vote"."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.votes.encoding import MISSING, Codes, Names, as_column
from finegold.votes.findings import Finding, note, warn
from finegold.votes.findings import Groups as Counted
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
    "Alias",
    "ClassCodes",
    "Spellings",
    "as_classes",
    "drop_missing",
    "encode_classes",
    "is_missing",
    "listed",
    "listed_classes",
    "look_alikes",
    "missing_words",
    "spelled_alike",
    "unify",
    "visible",
    "warn_of_look_alikes",
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


NUMBER = re.compile(r"(?=.*[0-9])([+-]?)0*([0-9]*)(?:\.([0-9]*?)0*)?")
SHOWN_GROUPS, SHOWN_SPELLINGS = 5, 6
KEPT_GROUPS, KEPT_SPELLINGS = 100, 50  # with the votes, for reports and the studio

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
        _warn_of_groups(groups, found.frequency(), len(found.known()))
        return found
    new = _most_frequent(groups, found, given)
    _note_merged(new, found.frequency())
    return found.renamed(new)


def as_classes(truths: list[Any], classes: Any, normalise: bool, alias: Mapping[str, Any]) -> list[Any]:
    """Write truths as the classes are written: 1 for 1.0 if every class is a number, and Cat as cat if `normalise`."""
    truths = [alias.get(text_of(truth), truth) for truth in truths]
    written = {_number(text_of(name)): name for name in to_list(classes)}
    if None not in written:
        return [written.get(_number(text_of(truth).strip()), truth) for truth in truths]
    known = {text_of(name) for name in to_list(classes)}
    by_key = {_key(text_of(name)): name for name in to_list(classes)} if normalise else {}
    return [truth if text_of(truth) in known else by_key.get(_key(text_of(truth)), truth) for truth in truths]


def spelled_alike(labels: Iterable[Any], classes: Iterable[Any]) -> dict[str, Any]:
    """Return the class of each label by its text: one of the classes, or the first label that looks like it."""
    exact = {text_of(name): name for name in classes}
    by_key = {_key(text): name for text, name in reversed(exact.items())}
    return {
        text: exact[text] if text in exact else by_key.setdefault(_key(text), label)
        for text, label in ((text_of(label), label) for label in labels)
    }


def look_alikes(truths: Iterable[Any], classes: Any) -> dict[str, str]:
    """Return truths that differ from a class only in spelling, and that class: {"Cat": "cat"}."""
    by_key = {_key(text_of(name)): text_of(name) for name in to_list(classes)}
    texts = set(map(text_of, truths)) - set(by_key.values())
    return {text: by_key[_key(text)] for text in sorted(texts) if _key(text) in by_key}


def warn_of_look_alikes(class_names: Any, votes: Any) -> None:
    """Warn of classes that look like one; `votes` has the number of votes of each class."""
    counts = {text_of(name): int(n) for name, n in zip(to_list(class_names), votes, strict=True)}
    if groups := _groups(list(counts), _key):
        _warn_of_groups(groups, counts, len(counts))


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
        text = f"none of the {len(alias.class_of):,} spellings of the alias occurs among the labels"
        sides = f"the alias has {next(iter(class_of))}, the labels have {min(known)}"
        warn(Finding("alias", f"{text}: {sides}; check that they are written alike"))
    new = {text: known.get(text_of(name), name) for text, name in class_of.items() if text in known}
    _note_merged(new, found.frequency())
    return found.renamed(new)


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


def _warn_of_groups(groups: Groups, counts: dict[str, int], n_classes: int) -> None:
    n_alike = n_classes - sum(len(group) - 1 for group in groups)
    ordered = [sorted(group, key=lambda text: -counts.get(text, 0)) for group in groups]
    text = f"{n_classes:,} classes look like {n_alike:,}: {_listed(ordered, counts)}"
    remedy = "; --normalise (normalise=True in Python) merges them"
    warn(Finding("spellings", text, remedy, _counted(ordered, counts)))


def _warn_of_numbers(new: dict[str, str], counts: dict[str, int]) -> None:
    changed = _changed(new)
    shown = [f"{number} = {_listed([group], counts)}" for number, group in list(changed.items())[:SHOWN_GROUPS]]
    more = ", ..." if len(changed) > SHOWN_GROUPS else ""
    text = f"labels that differ only in number format were merged: {', '.join(shown)}{more}"
    warn(Finding("merged", text, groups=_into(changed, counts)))


def _note_merged(new: dict[str, Any], counts: dict[str, int]) -> None:
    changed = _changed({text: text_of(name) for text, name in new.items()})
    if changed:
        text = f"{sum(map(len, changed.values())):,} spellings were read as {len(changed):,} classes"
        note(Finding("merged", text, groups=_into(changed, counts)))


def _changed(new: dict[str, str]) -> dict[str, list[str]]:
    """Return the spellings that became each class, for classes that have others than their own."""
    groups = defaultdict(list)
    for text, name in sorted(new.items()):
        groups[name].append(text)
    return {name: group for name, group in groups.items() if group != [name]}


def _into(changed: dict[str, list[str]], counts: dict[str, int]) -> Counted:
    """Return groups that begin with the class that the spellings were merged into."""
    return _counted([[name, *(text for text in group if text != name)] for name, group in changed.items()], counts)


def _counted(groups: Groups, counts: dict[str, int]) -> Counted:
    return [[(text, counts.get(text)) for text in group[:KEPT_SPELLINGS]] for group in groups[:KEPT_GROUPS]]


def _listed(groups: Groups, counts: dict[str, int]) -> str:
    """Write cat (2) = Cat (1), dog (3) = Dog (gold)."""
    shown = [
        " = ".join(f"{visible(text)} ({_times(counts.get(text))})" for text in group[:SHOWN_SPELLINGS])
        + (" = ..." if len(group) > SHOWN_SPELLINGS else "")
        for group in groups[:SHOWN_GROUPS]
    ]
    return ", ".join(shown) + (", ..." if len(groups) > SHOWN_GROUPS else "")


def _times(count: int | None) -> str:
    return "gold" if count is None else f"{count:,}"


def visible(text: str) -> str:
    """Put quotation marks around a text whose spaces would not be seen."""
    return text if text == " ".join(text.split()) else f'"{text}"'
