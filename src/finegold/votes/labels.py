"""What is a vote, which cells hold several labels, which spellings are one class, and which classes
there are.
"""

from __future__ import annotations

import ast
import html
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, use
from finegold.kernels.cells import count
from finegold.votes import encoding
from finegold.votes.encoding import MISSING, Coded, Codes, Names, listed, match, text_of, to_list
from finegold.votes.hygiene import Finding, Groups

# Which labels are votes?

# beside null and blank; case-blind
MISSING_LABELS = ("NA", "N/A", "#N/A", "NaN", "null", "{}", "None", "-", "?")


def missing_words(missing: Sequence[Any] | None, labels: Iterable[Any]) -> Sequence[Any] | None:
    """Return the words that mean "no vote", or None for the usual ones. A label that the user names
    is none of them.
    """
    named = fold_words(labels)
    if missing is not None or named.isdisjoint(fold_words(None)):
        return missing
    return [word for word in MISSING_LABELS if word.casefold() not in named]


def fold_words(missing: Iterable[Any] | None) -> frozenset[str]:
    """Return words that mean "no vote" as `is_missing` compares them; None stands for the usual
    ones.
    """
    return frozenset(
        text_of(word).strip().casefold()
        for word in (MISSING_LABELS if missing is None else missing)
    )


def is_missing(label: Any, words: frozenset[str] = frozenset()) -> bool:
    """Null, NaN, blank, or one of the words that mean "no vote"."""
    # pandas' nulls, NaN
    if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
        return True
    text = text_of(label).strip().casefold()
    return not text or text in words


def drop_missing(labels: Coded, missing: Iterable[Any] | None) -> Coded:
    """Labels that say "no vote" become MISSING."""
    words = fold_words(missing)
    is_vote = np.array([not is_missing(name, words) for name in labels.names], dtype=bool)
    return labels if is_vote.all() else labels.without(~is_vote)


def count_no_votes(cells: Coded, votes: Coded) -> dict[str, int]:
    """Return how often each word occurs among the cells that is not among the votes; blank is not a
    word.
    """
    kept = set(map(text_of, votes.names))
    words = {
        code: text_of(name) for code, name in enumerate(cells.names) if not encoding.is_blank(name)
    }
    return {
        word: int(np.count_nonzero(cells.codes == code))
        for code, word in words.items()
        if word not in kept
    }


# Which cells hold sets of labels, and which options do they hold?

# the annotator saw the task and chose no option
NOTHING = "[]"
# the first one that occurs separates the options of a column
SEPARATORS = (";", "|", ",")
# the share of the votes that may be lists by mistake
FEW_LISTS = 0.02
# commas occur in ordinary labels, such as Paris, Texas
CLEAR_SEPARATORS = (";", "|")


def as_cell(options: Iterable[Any]) -> str:
    """Write a list or set of options as text that `options_of` reads."""
    return json.dumps([text_of(option) for option in options], ensure_ascii=False)


def separator_of(cells: Sequence[str]) -> str:
    """Return the character between the options of these cells."""
    plain = [cell for cell in cells if _listed(cell) is None]
    return next((mark for mark in SEPARATORS if any(mark in cell for cell in plain)), SEPARATORS[0])


def options_of(cell: str, separator: str) -> list[str]:
    """Return the options of a cell: a list in JSON or Python, or options with a separator between."""
    listed = _listed(cell)
    parts = cell.split(separator) if listed is None else listed
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def known_options(cell: str, known: set[str]) -> list[str]:
    """Return the options of a cell that was written apart from the votes, whose options are known."""
    if cell.strip() in known:
        return [cell.strip()]
    splits = [options_of(cell, mark) for mark in SEPARATORS]
    return next(
        (options for options in splits if known.issuperset(options)),
        options_of(cell, separator_of([cell])),
    )


def hold_sets(cells: Sequence[str], counts: NDArray[np.int64], *, of_export: bool = False) -> bool:
    """Return whether distinct cells, which occur so often, are sets: lists, or options with ; or |
    in most votes.
    """
    # An export writes | between the labels of one answer, so one such answer is enough if any of
    # its labels occurs again.
    if not any(mark in cell for cell in cells for mark in (*CLEAR_SEPARATORS, "[", "{")):
        return False
    separator = separator_of(cells)
    parts = [options_of(cell, separator) for cell in cells]
    several = np.array([len(some) > 1 for some in parts], dtype=bool)
    listed = np.array([_listed(cell) is not None for cell in cells], dtype=bool)
    plain = several & ~listed if separator in CLEAR_SEPARATORS else np.zeros(len(cells), dtype=bool)
    total = counts.sum()
    if 2 * counts[listed].sum() > total or counts[listed & several].sum() > FEW_LISTS * total:
        return True
    if 2 * counts[plain].sum() > total:
        return bool(2 * counts[plain & (_recurring(parts) == 1)].sum() > total)
    return of_export and bool((plain & (_recurring(parts) > 0)).any())


def _recurring(parts: list[list[str]]) -> NDArray[np.float64]:
    """Return the share of each cell's options that occur in another cell, too."""
    occurs = Counter(option for some in parts for option in some)
    return np.array(
        [sum(occurs[option] > 1 for option in some) / max(len(some), 1) for some in parts]
    )


def _listed(cell: str) -> list[str] | None:
    """Return the items of a list or set such as ["a", "b"] or {'a', 'b'}, or None for any other
    text.
    """
    text = cell.strip()
    if not text.startswith(("[", "{")) or not text.endswith(("]", "}")):
        return None
    # JSON, or a Python literal, which runs nothing
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            items = parse(text)
            is_plain = isinstance(items, list | set) and all(
                isinstance(item, str | int | float) for item in items
            )
            return [text_of(item) for item in items] if is_plain else None
    return None


# Which spellings are one class?

# characters that nobody sees
HIDDEN = re.compile(r"[\x00-\x08\x0e-\x1f\u00ad\u200b-\u200f\u2060\ufeff]")
# marks that change no label
AROUND = " _.,;:!%()[]{}\"'`´‘’“”„«»"
# letters; a and ä are two labels, cafe and café one
SHORTEST_ACCENTED = 3
ACCENT = re.compile(r"([a-z])[\u0300-\u036f]+")
# of two words: very_good, very-good
BETWEEN = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
# Cyrillic letters that look like Latin ones, and dashes that look like hyphens
ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u2010\u2011\u2012\u2013\u2014\u2212",
    "aeopcyxi------",
)
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,40}>")
THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")
# 1.00E+02, which is 100
EXPONENT = re.compile(r"[+-]?[0-9](\.[0-9]{1,6})?[eE][+-]?[0-9]{1,2}")
SHOWN_GROUPS, SHOWN_SPELLINGS = 5, 6
# with the votes, for reports and the studio
KEPT_GROUPS, KEPT_SPELLINGS = 100, 50


class Spellings(NamedTuple):
    """Labels and gold truths as they are written."""

    labels: Coded
    truths: list[Any]
    # of votes of each code of the labels; by default 1
    counts: NDArray[np.int64] | None = None

    def known(self) -> dict[str, Any]:
        """Every label and truth by its text."""
        return {text_of(name): name for name in [*self.truths, *self.labels.names]}

    def frequency(self) -> dict[str, int]:
        codes, names = self.labels.codes, self.labels.names
        if self.counts is None:
            counts = count(codes, len(names))
        else:
            counts = np.bincount(codes[codes != MISSING], self.counts, minlength=len(names))
        return {text_of(name): int(n) for name, n in zip(names, counts, strict=True)}

    def renamed(self, new: dict[str, Any]) -> Spellings:
        """Replace labels and truths by their text."""
        names = [new.get(text_of(name), name) for name in self.labels.names]
        truths = [new.get(text_of(truth), truth) for truth in self.truths]
        return Spellings(self.labels.renamed(self.labels.names.of(names)), truths, self.counts)


def replace_aliases(
    spellings: Spellings, class_of: Mapping[str, Any]
) -> tuple[Spellings, list[Finding]]:
    """Replace labels and truths by the classes that the user says they mean."""
    known = spellings.known()
    new = {text: known.get(text_of(name), name) for text, name in class_of.items() if text in known}
    if new or not known or not class_of:
        return spellings.renamed(new), _merged_findings(new, spellings.frequency())
    text = "none of the spellings of the alias occurs among the labels"
    sides = f"the alias has {next(iter(class_of))}, the labels have {min(known)}"
    return spellings, [Finding("alias", f"{text}: {sides}; check that they are written alike")]


def unify(
    spellings: Spellings,
    classes: Sequence[Any] | None,
    normalise: bool = False,
    is_wide: bool = False,
) -> tuple[Spellings, list[Finding]]:
    """Merge numbers that differ in format only, and all spellings of one class if `normalise`."""
    # Otherwise a finding shows the other spellings.
    findings: list[Finding] = []
    labels = spellings.labels.names
    if labels.values.dtype.is_integer() and not spellings.truths and classes is None:
        return spellings, findings
    # a truth that matches a label becomes that label: False for "False"
    if spellings.truths:
        codes = match(spellings.truths, labels).tolist()
        truths = zip(spellings.truths, codes, strict=True)
        spellings = spellings._replace(
            truths=[truth if code == MISSING else labels[code] for truth, code in truths]
        )
    given = [] if classes is None else list(map(text_of, listed_classes(classes)))
    known = spellings.known()
    numbers = {text: shortest_number(text.strip()) for text in dict.fromkeys([*given, *known])}
    is_merged = None not in numbers.values() and _group_by(numbers, lambda text: str(numbers[text]))
    # 1, 01 and 1.0 are one if everything is a number
    if is_merged and len(set(map(_key, given))) == len(given):
        written = {_key(text): text for text in given}
        forms = {text: written.get(_key(text), str(numbers[text])) for text in known}
        counts = spellings.frequency()
        changed, merged = _merged_into(forms, counts)
        shown = [f"{name} = {_list_groups([group], counts)}" for name, group in changed.items()]
        text = (
            f"labels that differ only in number format were merged: {listed(shown, SHOWN_GROUPS)}"
        )
        # pandas writes 1.0 where a column has gaps
        is_usual = all(
            form.removesuffix(".0") == name for name, group in changed.items() for form in group
        )
        is_usual = is_usual and is_wide
        findings.append(Finding("merged", text, groups=merged, is_silent=is_usual))
        spellings = spellings.renamed(
            {text: known.get(number, number) for text, number in forms.items()}
        )
        known = spellings.known()
    groups = _group_by([*known, *given], _key)
    if not groups or (given and not normalise):
        return spellings, findings
    counts = spellings.frequency()
    if not normalise:
        return spellings, [*findings, _look_alike_finding(groups, counts, len(known))]
    # spellings become a class that the user names, or the most frequent one
    new: dict[str, Any] = {}
    for group in groups:
        best = max(group, key=lambda text: (text in given, counts.get(text, 0)))
        new |= {text: known.get(best, best) for text in group}
    return spellings.renamed(new), [*findings, *_merged_findings(new, counts)]


def as_classes(
    truths: list[Any], classes: Any, normalise: bool, alias: Mapping[str, Any]
) -> list[Any]:
    """Write truths as the classes are written: 1 for 1.0 if every class is a number, and Cat as cat
    if `normalise`.
    """
    truths = [alias.get(text_of(truth), truth) for truth in truths]
    written = {shortest_number(text_of(name)): name for name in to_list(classes)}
    if None not in written:
        return [written.get(shortest_number(text_of(truth).strip()), truth) for truth in truths]
    known = {text_of(name) for name in to_list(classes)}
    by_key = {_key(text_of(name)): name for name in to_list(classes)} if normalise else {}
    return [
        truth if text_of(truth) in known else by_key.get(_key(text_of(truth)), truth)
        for truth in truths
    ]


def spelled_alike(labels: Iterable[Any], classes: Iterable[Any]) -> dict[str, Any]:
    """Return the class of each label by its text: one of the classes, or the first label that looks
    like it.
    """
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


def find_look_alikes(class_names: Any, votes: Any) -> list[Finding]:
    """Report classes that look like one; `votes` has the number of votes of each class."""
    counts = {text_of(name): int(n) for name, n in zip(to_list(class_names), votes, strict=True)}
    groups = _group_by(list(counts), _key)
    return [_look_alike_finding(groups, counts, len(counts))] if groups else []


def _group_by(texts: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Return the texts that share a key with others, sorted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text in sorted(set(texts)):
        alike[key(text)].append(text)
    return [group for group in alike.values() if len(group) > 1]


def _plain(text: str) -> str:
    """Return the text without what programs write in several ways."""
    plain = TAG.sub("", html.unescape(text))
    # UTF-8 that was read as Western text: cafÃ©
    with suppress(UnicodeError):
        plain = plain.encode("cp1252").decode("utf-8")
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", plain)).casefold()
    return " ".join(plain.translate(ALIKE).split())


def _key(text: str) -> str:
    """Return a label without what people and programs write in several ways."""
    plain = _plain(text)
    plain = unicodedata.normalize("NFKD", plain)
    plain = ACCENT.sub(r"\1", plain) if len(plain) > SHORTEST_ACCENTED else plain
    plain = unicodedata.normalize("NFC", plain)
    # the sign and the dot of a number stay
    bare = BETWEEN.sub(" ", plain.strip(AROUND)) or plain
    return shortest_number(plain) or shortest_number(bare) or bare


def shortest_number(text: str) -> str | None:
    """Return a number in its shortest form: 1 for 01, +1, 1.0 and 1.00E+00."""
    if "E+" in text.upper() and EXPONENT.fullmatch(text):
        text = f"{Decimal(text):f}"
    is_signed = text.startswith(("+", "-"))
    whole, _, fraction = text[is_signed:].partition(".")
    digits = whole + fraction
    # a regular expression would try every way to divide a row of zeros
    if not (digits.isascii() and digits.isdigit()):
        return None
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    shortest = f"{whole}.{fraction}" if fraction else whole
    return f"-{shortest}" if text[0] == "-" and shortest != "0" else shortest


def _look_alike_finding(groups: list[list[str]], counts: dict[str, int], n_classes: int) -> Finding:
    n_alike = n_classes - sum(len(group) - 1 for group in groups)
    ordered = [sorted(group, key=lambda text: -counts.get(text, 0)) for group in groups]
    text = f"{n_classes:,} classes look like {n_alike:,}: {_list_groups(ordered, counts)}"
    return Finding(
        "spellings", text, (use(normalise=True, text="to merge them"),), _count(ordered, counts)
    )


def _merged_findings(new: dict[str, Any], counts: dict[str, int]) -> list[Finding]:
    """Report, without a warning, what the user asked for: the spellings that became each class."""
    changed, groups = _merged_into({text: text_of(name) for text, name in new.items()}, counts)
    text = f"{sum(map(len, changed.values())):,} spellings were read as {len(changed):,} classes"
    return [Finding("merged", text, groups=groups, is_silent=True)] if changed else []


def _merged_into(
    new: dict[str, str], counts: dict[str, int]
) -> tuple[dict[str, list[str]], Groups]:
    """Return the spellings that became each class, for classes that have others than their own, and
    their counts.
    """
    groups = defaultdict(list)
    for text, name in sorted(new.items()):
        groups[name].append(text)
    changed = {name: group for name, group in groups.items() if group != [name]}
    merged = [[name, *(text for text in group if text != name)] for name, group in changed.items()]
    return changed, _count(merged, counts)


def _count(groups: list[list[str]], counts: dict[str, int]) -> Groups:
    return [
        [(text, counts.get(text)) for text in group[:KEPT_SPELLINGS]]
        for group in groups[:KEPT_GROUPS]
    ]


def _list_groups(groups: list[list[str]], counts: dict[str, int]) -> str:
    """Write cat (2) = Cat (1), dog (3) = Dog (gold)."""

    def times(text: str) -> str:
        return f"{visible(text)} ({f'{counts[text]:,}' if text in counts else 'gold'})"

    return listed(
        [listed(map(times, group), SHOWN_SPELLINGS, " = ") for group in groups], SHOWN_GROUPS
    )


def visible(text: str) -> str:
    """Put quotation marks around a text whose spaces would not be seen."""
    return text if text == " ".join(text.split()) else f'"{text}"'


# Which ids are one?

# no other ids look alike
ODD_ID = r"[^a-z0-9_.:/@-]|^-?0[0-9]|^[0-9]+\.0*$"
# of the votes; there are more where people judge each other
MOST_SWAPPED = 0.2
# of the votes on ids that look alike; if merging repeats more, they are different ids
MOST_REPEATED = 0.05


def unify_ids(
    tasks: Coded, annotators: Coded, normalise: bool, is_text: bool
) -> tuple[Coded, Coded, list[Finding]]:
    """Merge ids that differ only in spaces, case or number form if `normalise` is true; otherwise
    report them.
    """
    # Ids that differ in more than spaces are left as they are if merging them would repeat votes.
    findings: list[Finding] = []
    unified = {"task": tasks, "annotator": annotators}
    for role, other in (("task", "annotator"), ("annotator", "task")):
        coded = unified[role]
        texts = coded.names.values
        if texts.dtype not in encoding.TEXT:
            continue
        texts = texts.cast(pl.String)
        odd = texts.filter(texts.str.contains(ODD_ID))
        if odd.is_empty():
            continue
        shortened = odd.filter(odd.str.contains(r"^[0-9](\.[0-9]+)?E\+[0-9]{2,}$"))
        if 0 < len(shortened) < len(texts):
            text = (
                f"{len(shortened):,} {role} ids look like long numbers that a spreadsheet cut short,"
                f" such as {shortened[0]}: ids that differed may be one now; export them again as"
                " text"
            )
            findings.append(Finding("ids", text))
        if not (groups := _alike_ids(texts, coded, unified[other])):
            continue
        n_alike = len(texts) - sum(map(len, groups)) + len(groups)
        if normalise:
            best = {code: group[0] for group in groups for code in group}
            names = [texts[best.get(n, n)].strip() for n in range(len(texts))]
            coded = coded.renamed(coded.names.of(names))
            unified[role] = encoding.integer_names(coded) if is_text else coded
        if pairs := [group for group in groups if len(group) > 1]:
            shown = [
                listed([f'"{texts[n]}"' for n in group[:SHOWN_SPELLINGS]], between=" = ")
                for group in pairs
            ]
            verb = "were merged into" if normalise else "look like"
            text = f"{len(texts):,} {role} ids {verb} {n_alike:,}: {listed(shown, SHOWN_GROUPS)}"
            remedies = (use(normalise=True, text="to merge them"),)
            findings.append(Finding("ids", text, remedies, is_silent=normalise))
    findings += _find_swapped_ids(tasks, annotators)
    return unified["task"], unified["annotator"], findings


def _find_swapped_ids(tasks: Coded, annotators: Coded) -> list[Finding]:
    """Report ids that are those of tasks in some rows and those of annotators in a few others."""
    items, people = tasks.names.values, annotators.names.values
    if items.dtype != pl.String or people.dtype != pl.String:
        return []
    shared = items.filter(items.is_in(people.implode()))
    if not len(shared):
        return []
    times = [
        np.bincount(coded.codes[coded.codes != MISSING], minlength=len(coded.names))[
            match(shared, coded.names)
        ]
        for coded in (tasks, annotators)
    ]
    n = int(np.minimum(*times).sum())
    if not 0 < n < MOST_SWAPPED * len(tasks.codes):
        return []
    text = (
        f"{len(shared):,} ids are those of tasks and of annotators, such as {shared[0]}; perhaps the"
        f" columns are swapped in some of {n:,} rows"
    )
    return [Finding("swapped", text)]


def match_ids(values: Sequence[Any], names: Names, normalise: bool) -> Codes:
    """Return the code of each id, as `match` does; under `normalise`, ids that look like one name
    match it, too.
    """
    codes = match(values, names)
    if normalise and (codes == MISSING).any():
        by_key = {_id_key(text_of(name)): code for code, name in enumerate(to_list(names))}
        lost = np.flatnonzero(codes == MISSING)
        codes[lost] = [
            by_key.get(_id_key(text_of(values[place])), MISSING) for place in lost.tolist()
        ]
    return codes


def _id_key(text: str) -> str:
    plain = _plain(text).strip("'\"")
    plain = plain.replace(",", "") if THOUSANDS.fullmatch(plain) else plain
    return shortest_number(plain) or plain


def _alike_ids(texts: pl.Series, coded: Coded, other: Coded) -> list[list[int]]:
    """Return the codes of ids that look alike, the best form first; and those of ids with spaces
    around them.
    """
    rough = texts.str.replace_all(rf"{HIDDEN.pattern}|^\s*['\"]|['\"]\s*$", "").str.strip_chars()
    rough = rough.str.replace_all(r"\s+", " ").str.to_lowercase()
    # what the key does, for all at once
    rough = rough.str.replace_all(r"^(\d{1,3}),(\d{3})$", "$1$2")
    rough = rough.str.replace(r"^\+?0*(\d+?)(\.0*)?$", "$1")
    has_spaces = (texts.str.len_bytes() != texts.str.strip_chars().str.len_bytes()).to_numpy()
    is_plain = not texts.str.contains(r"[^\x00-\x7f]|<").any()
    if is_plain and rough.n_unique() == len(rough) and not has_spaces.any():
        return []
    alike: dict[str, list[int]] = defaultdict(list)
    for code, text in enumerate(texts.to_list()):
        alike[_id_key(text)].append(code)
    group_of = np.full(len(texts), MISSING)
    counts = np.bincount(coded.codes[coded.codes != MISSING], minlength=len(texts))
    groups = {key: codes for key, codes in alike.items() if len(codes) > 1 or has_spaces[codes[0]]}
    for number, codes in enumerate(groups.values()):
        group_of[codes] = number
    voted = (coded.codes != MISSING) & (other.codes != MISSING)
    voted[voted] &= group_of[coded.codes[voted]] != MISSING
    code, who = coded.codes[voted].astype(np.int64), other.codes[voted]
    n_pairs = len(np.unique(code * len(other.names) + who))
    repeated = n_pairs - len(np.unique(group_of[code] * len(other.names) + who))
    # only spaces never tell ids apart
    if repeated > MOST_REPEATED * n_pairs:
        by_spaces: dict[str, list[int]] = defaultdict(list)
        for codes in groups.values():
            for each in codes:
                by_spaces[" ".join(texts[each].split())].append(each)
        groups = {
            key: codes for key, codes in by_spaces.items() if len(codes) > 1 or has_spaces[codes[0]]
        }

    def rank(code: int) -> tuple[bool, bool, int]:
        return (
            bool(has_spaces[code]),
            shortest_number(texts[code]) not in (None, texts[code]),
            -int(counts[code]),
        )

    return [sorted(codes, key=rank) for codes in groups.values()]


# Which classes are there?


def encode_classes(
    labels: Coded,
    truths: list[Any],
    classes: Sequence[Any] | None,
    is_text: bool,
    where: Callable[[int], str],
) -> tuple[Codes, Codes, Names]:
    """Return labels and truths as codes of classes, and these: those given, else all labels and
    truths, sorted.
    """
    known = labels.names.to_list()
    if classes is None:
        unseen = match(truths, labels.names) == MISSING if truths else []
        new = list(
            {
                text_of(truth): truth
                for truth, is_new in zip(truths, unseen, strict=True)
                if is_new
            }.values()
        )
        if new:
            both = known + [_same_type(value, known) for value in new]
            if len({isinstance(value, str) for value in both}) > 1:
                problem = (
                    f"the gold truth {new[0]!r} and the labels (such as {known[0]!r}) have"
                    " different types"
                )
                raise InputError(f"{problem}; write both in the same way")
            coded = encoding.encode(labels.names.of(both))
            labels = Coded(encoding.renumber(labels.codes, coded.codes[: len(known)]), coded.names)
        if is_text:
            labels = encoding.integer_names(labels)
        return (
            labels.codes,
            match(truths, labels.names) if truths else np.empty(0, np.int32),
            labels.names,
        )
    listing = listed_classes(classes)
    if not listing or len({text_of(name) for name in listing}) < len(listing):
        raise InputError(f"classes must be one or more different labels, but are {listed(listing)}")

    def refuse(what: str, label: Any, place: str = "") -> None:
        remedies = [
            use(text="correct it"),
            use(classes=Placeholder("A,B,C"), text="with this label, too"),
        ]
        raise InputError(
            f"{what} {label!r} is not among the classes {listed(listing)}", place, remedies
        )

    given = Names(listing)
    class_of = match(known, given)
    outside = np.flatnonzero(class_of == MISSING)
    if outside.size:
        row = int(np.flatnonzero(np.isin(labels.codes, outside))[0])
        refuse("label", known[labels.codes[row]], where(row))
    truth_codes = match(truths, given)
    if (truth_codes == MISSING).any():
        refuse("gold truth", truths[int(np.argmax(truth_codes == MISSING))])
    seen = {int(code): name for code, name in zip(class_of, known, strict=True)}
    values = [seen.get(code, _same_type(value, known)) for code, value in enumerate(listing)]
    if is_text and all(map(encoding.is_integer_text, values)):
        values = [int(value) for value in values]
    return encoding.renumber(labels.codes, class_of), truth_codes, labels.names.of(values)


def _same_type(value: Any, known: list[Any]) -> Any:
    """Convert the value to the type of the known names if possible: "7" becomes 7 if these are 5
    and 6.
    """
    if all(isinstance(name, str) for name in known):
        return text_of(value)
    are_integers = all(isinstance(name, int) and not isinstance(name, bool) for name in known)
    return int(text_of(value)) if are_integers and encoding.is_integer_text(value) else value


def listed_classes(classes: Sequence[Any]) -> list[Any]:
    """Return the classes that the user names, which may be a single text or an array."""
    return [classes] if isinstance(classes, str) else list(classes)
