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
    """Return the words that mean "no vote" but for labels that the user names; None: the usual."""
    named = fold_words(labels)
    if missing is not None or named.isdisjoint(fold_words(None)):
        return missing
    return [word for word in MISSING_LABELS if word.casefold() not in named]


def fold_words(missing: Iterable[Any] | None) -> frozenset[str]:
    """Return words as `is_missing` compares them; None stands for the usual ones."""
    words = MISSING_LABELS if missing is None else missing
    return frozenset(text_of(word).strip().casefold() for word in words)


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
    """Return how often each word occurs among the cells but not among the votes."""
    kept, counts = set(map(text_of, votes.names)), count(cells.codes, len(cells.names))
    words = zip(map(text_of, cells.names), counts.tolist(), strict=True)
    return {word: n for word, n in words if word.strip() and word not in kept}


# Which cells hold sets of labels, and which options do they hold?

# the annotator saw the task and chose no option
NOTHING = "[]"
# the first one that occurs separates the options of a column
SEPARATORS = (";", "|", ",")
# commas occur in ordinary labels, such as Paris, Texas
CLEAR_SEPARATORS = (";", "|")
# the share of the votes that may be lists by mistake
FEW_LISTS = 0.02


def as_cell(options: Iterable[Any]) -> str:
    """Write a list or set of options as text that `split_cells` reads."""
    return json.dumps([text_of(option) for option in options], ensure_ascii=False)


def split_cells(cells: Sequence[str]) -> list[list[str]]:
    """Return the options of each cell: a list, or text with the same separator for all cells."""
    plain = [cell for cell in cells if _items_of(cell) is None]
    marks = (mark for mark in SEPARATORS if any(mark in cell for cell in plain))
    separator = next(marks, SEPARATORS[0])
    return [_split(cell, separator) for cell in cells]


def _split(cell: str, separator: str) -> list[str]:
    items = _items_of(cell)
    parts = cell.split(separator) if items is None else items
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def known_options(cell: str, known: set[str]) -> list[str]:
    """Return the options of a cell that was written apart from the votes, whose options are known."""
    if cell.strip() in known:
        return [cell.strip()]
    splits = [_split(cell, mark) for mark in SEPARATORS]
    return next((options for options in splits if known.issuperset(options)), *split_cells([cell]))


def hold_sets(cells: Sequence[str], counts: NDArray[np.int64], *, of_export: bool = False) -> bool:
    """Return whether distinct cells are sets: lists, or options with ; or | in most votes."""
    if not any(mark in cell for cell in cells for mark in (*CLEAR_SEPARATORS, "[", "{")):
        return False
    parts = split_cells(cells)
    several = np.array([len(some) > 1 for some in parts], dtype=bool)
    are_lists = np.array([_items_of(cell) is not None for cell in cells], dtype=bool)
    total, n_lists = counts.sum(), counts[are_lists].sum()
    if 2 * n_lists > total or counts[are_lists & several].sum() > FEW_LISTS * total:
        return True
    plain = [cell for cell in cells if _items_of(cell) is None]
    if not any(mark in cell for cell in plain for mark in CLEAR_SEPARATORS):
        return False
    # An export writes | between the labels of one answer, so one such answer is enough if any of
    # its labels occurs again.
    occurs = Counter(option for some in parts for option in some)
    enough = any if of_export else all
    recur = np.array([enough(occurs[option] > 1 for option in some) for some in parts], dtype=bool)
    n_sets = counts[several & ~are_lists & recur].sum()
    return bool(n_sets > 0 if of_export else 2 * n_sets > total)


def _items_of(cell: str) -> list[str] | None:
    """Return the items of a list or set such as ["a", "b"] or {'a', 'b'}, else None."""
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

    def known(self) -> dict[str, Any]:
        """Every label and truth by its text."""
        return {text_of(name): name for name in [*self.truths, *self.labels.names]}

    def frequency(self) -> dict[str, int]:
        """The number of votes for each label, by its text."""
        counts = count(self.labels.codes, len(self.labels.names)).tolist()
        return dict(zip(map(text_of, self.labels.names), counts, strict=True))

    def renamed(self, new: dict[str, Any]) -> Spellings:
        """Replace labels and truths by their text."""
        names = [new.get(text_of(name), name) for name in self.labels.names]
        truths = [new.get(text_of(truth), truth) for truth in self.truths]
        return Spellings(self.labels.renamed(self.labels.names.of(names)), truths)


def unify(
    spellings: Spellings,
    classes: Sequence[Any] | None,
    normalise: bool,
    alias: Mapping[str, Any],
    is_wide: bool,
) -> tuple[Spellings, list[Finding]]:
    """Replace labels and truths by the classes that they mean: by an alias, numbers that differ in
    format only, and all spellings of a class if `normalise`.
    """
    known, findings = spellings.known(), list[Finding]()
    new = {text: known.get(text_of(name), name) for text, name in alias.items() if text in known}
    if new:
        findings = _report_merged(new, spellings.frequency())
        spellings = spellings.renamed(new)
    elif alias and known:
        text = "none of the spellings of the alias occurs among the labels"
        sides = f"the alias has {next(iter(alias))}, the labels have {min(known)}"
        findings = [Finding("alias", f"{text}: {sides}; check that they are written alike")]
    names = spellings.labels.names
    if names.values.dtype.is_integer() and not spellings.truths and classes is None:
        return spellings, findings
    # a truth that matches a label becomes that label: False for "False"
    codes = match(spellings.truths, names).tolist() if spellings.truths else []
    pairs = zip(spellings.truths, codes, strict=True)
    truths = [truth if code == MISSING else names[code] for truth, code in pairs]
    spellings = spellings._replace(truths=truths)
    given = [] if classes is None else list(map(text_of, listed_classes(classes)))
    known = spellings.known()
    groups = _group_by([*known, *given], _key)
    # 1, 01 and 1.0 are one if everything is a number
    are_numbers = all(shortest_number(text.strip()) for text in [*known, *given])
    are_numbers = are_numbers and len(set(map(_key, given))) == len(given)
    if not groups or (given and not normalise and not are_numbers):
        return spellings, findings
    counts = spellings.frequency()
    if not normalise and not are_numbers:
        return spellings, [*findings, _look_alike_finding(groups, counts, len(known))]
    new = {}
    if are_numbers:
        written = {_key(text): text for text in given}
        forms = {text: written.get(_key(text), _key(text)) for text in known}
        new = {text: known.get(form, form) for text, form in forms.items()}
        return spellings.renamed(new), findings + _report_merged(new, counts, True, is_wide)
    # spellings become a class that the user names, or the most frequent one
    for group in groups:
        best = max(group, key=lambda text: (text in given, counts.get(text, 0)))
        new |= {text: known.get(best, best) for text in group}
    return spellings.renamed(new), findings + _report_merged(new, counts)


def _report_merged(
    new: dict[str, Any], counts: dict[str, int], are_numbers: bool = False, is_wide: bool = False
) -> list[Finding]:
    """Report the spellings that became each class, without a warning if the user asked for it."""
    groups = defaultdict(list)
    for text, name in sorted(new.items()):
        groups[text_of(name)].append(text)
    changed = {name: group for name, group in groups.items() if group != [name]}
    kept = [[name, *(text for text in group if text != name)] for name, group in changed.items()]
    text = f"{sum(map(len, changed.values())):,} spellings were read as {len(changed):,} classes"
    is_silent = True
    if are_numbers:
        shown = [f"{name} = {_list_groups([group], counts)}" for name, group in changed.items()]
        text = "labels that differ only in number format were merged: "
        text += listed(shown, SHOWN_GROUPS)
        pairs = [(name, form) for name, group in changed.items() for form in group]
        # as pandas writes integers where a column has gaps
        is_silent = is_wide and all(form.removesuffix(".0") == name for name, form in pairs)
    found = Finding("merged", text, groups=_count(kept, counts), is_silent=is_silent)
    return [found] if changed else []


def as_classes(
    truths: list[Any], classes: Any, normalise: bool, alias: Mapping[str, Any]
) -> list[Any]:
    """Write truths as the classes are written: as numbers, and also Cat as cat if `normalise`."""
    truths = [alias.get(text_of(truth), truth) for truth in truths]
    names = to_list(classes)
    if not normalise and None in map(shortest_number, map(text_of, names)):
        return truths
    alike = spelled_alike(truths, names)
    return [alike[text_of(truth)] for truth in truths]


def spelled_alike(labels: Iterable[Any], classes: Iterable[Any]) -> dict[str, Any]:
    """Return by text one of the classes, or the first label that looks like it."""
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
    groups = _group_by(counts, _key)
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
    whole, _, fraction = text.removeprefix("+").removeprefix("-").partition(".")
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
    remedy = use(normalise=True, text="to merge them")
    return Finding("spellings", text, (remedy,), _count(ordered, counts))


def _count(groups: list[list[str]], counts: dict[str, int]) -> Groups:
    some = [group[:KEPT_SPELLINGS] for group in groups[:KEPT_GROUPS]]
    return [[(text, counts.get(text)) for text in group] for group in some]


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
# of the votes on ids that look alike; if merging repeats more, they are different ids
MOST_REPEATED = 0.05
# share of the rows in which ids of tasks and annotators may be swapped; with more, they are alike
MOST_SWAPPED = 0.2


def unify_ids(
    tasks: Coded, annotators: Coded, normalise: bool, is_text: bool
) -> tuple[Coded, Coded, list[Finding]]:
    """Merge ids that differ only in spelling if `normalise` is true; otherwise report them."""
    findings: list[Finding] = []
    unified = {"task": tasks, "annotator": annotators}
    for role, other in (("task", "annotator"), ("annotator", "task")):
        coded = unified[role]
        texts = coded.names.values
        if texts.dtype not in encoding.TEXT:
            continue
        texts = texts.cast(pl.String)
        odd = texts.filter(texts.str.contains(ODD_ID))
        short = odd.filter(odd.str.contains(r"^[0-9](\.[0-9]+)?E\+[0-9]{2,}$"))
        if 0 < len(short) < len(texts):
            text = f"{len(short):,} {role} ids look like long numbers that a spreadsheet cut short,"
            text += f" such as {short[0]}: ids that differed may be one now; export them as text"
            findings.append(Finding("ids", text))
        groups = _alike_ids(texts, coded, unified[other]) if len(odd) else []
        if normalise and len(odd):
            best = {code: group[0] for group in groups for code in group}
            names = [texts[best.get(n, n)].strip() for n in range(len(texts))]
            coded = coded.renamed(coded.names.of(names))
            unified[role] = encoding.integer_names(coded) if is_text else coded
        if groups:
            n_alike = len(texts) - sum(len(group) - 1 for group in groups)
            some = [[f'"{texts[n]}"' for n in group[:SHOWN_SPELLINGS]] for group in groups]
            shown = listed([" = ".join(group) for group in some], SHOWN_GROUPS)
            verb = "were merged into" if normalise else "look like"
            text = f"{len(texts):,} {role} ids {verb} {n_alike:,}: {shown}"
            remedy = use(normalise=True, text="to merge them")
            findings.append(Finding("ids", text, (remedy,), is_silent=normalise))
    findings += _swapped_ids(tasks, annotators)
    return unified["task"], unified["annotator"], findings


def _swapped_ids(tasks: Coded, annotators: Coded) -> list[Finding]:
    """Report ids that are those of tasks in some rows and those of annotators in a few others."""
    items, people = tasks.names.values, annotators.names.values
    if items.dtype != pl.String or people.dtype != pl.String:
        return []
    # numbers that a single word made text are ids of both
    shared = items.filter(items.is_in(people.implode()) & ~items.str.contains(r"^[0-9]+$"))
    # in how many rows each is a task, and an annotator
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
    """Return the code of each id, under `normalise` also of one that looks like it."""
    codes = match(values, names)
    if normalise and (codes == MISSING).any():
        by_key = {_id_key(text_of(name)): code for code, name in enumerate(to_list(names))}
        lost = np.flatnonzero(codes == MISSING)
        codes[lost] = [by_key.get(_id_key(text_of(values[n])), MISSING) for n in lost.tolist()]
    return codes


def _id_key(text: str) -> str:
    plain = _plain(text).strip("'\"")
    plain = plain.replace(",", "") if THOUSANDS.fullmatch(plain) else plain
    return shortest_number(plain) or plain


def _alike_ids(texts: pl.Series, coded: Coded, other: Coded) -> list[list[int]]:
    """Return the codes of ids that look alike, the best form first."""
    # Ids that differ in more than spaces are left as they are if merging them would repeat votes.
    # rougher than the key, but for all ids at once
    rough = texts.str.to_lowercase().str.replace_all(r"[^a-z0-9_.:/@-]", "")
    rough = rough.str.replace(r"^0+", "").str.replace(r"\.0*$", "")
    is_plain = not texts.str.contains(r"[^\x00-\x7f]|[<&]").any()
    if is_plain and rough.n_unique() == len(rough):
        return []
    voted = (coded.codes != MISSING) & (other.codes != MISSING)
    code, who = coded.codes[voted].astype(np.int64), other.codes[voted]
    counts = np.bincount(code, minlength=len(texts))
    for key in (_id_key, lambda text: " ".join(text.split())):
        key_of = encoding.encode(pl.Series(map(key, texts.to_list()), dtype=pl.String)).codes
        alike = np.bincount(key_of)[key_of] > 1
        mine = alike[code]
        n_before, n_after = (
            len(np.unique(ids[mine] * len(other.names) + who[mine]))
            for ids in (code, key_of[code].astype(np.int64))
        )
        if n_before - n_after <= MOST_REPEATED * n_before:
            break
    groups: dict[int, list[int]] = defaultdict(list)
    for n in np.flatnonzero(alike).tolist():
        groups[int(key_of[n])].append(n)

    def rank(n: int) -> tuple[bool, bool, int]:
        text = texts[n]
        is_long = shortest_number(text) not in (None, text)
        return text != text.strip(), is_long, -int(counts[n])

    return [sorted(some, key=rank) for some in groups.values()]


# Which classes are there?


def encode_classes(
    labels: Coded,
    truths: list[Any],
    classes: Sequence[Any] | None,
    is_text: bool,
    where: Callable[[int], str],
) -> tuple[Codes, Codes, Names]:
    """Return labels and truths as codes of classes, and these: those given, else all, sorted."""
    known = labels.names.to_list()
    if classes is None:
        codes = match(truths, labels.names) if truths else np.empty(0, np.int32)
        pairs = zip(truths, codes.tolist(), strict=True)
        new = list({text_of(truth): truth for truth, code in pairs if code == MISSING}.values())
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
        codes = match(truths, labels.names) if truths else codes
        return labels.codes, codes, labels.names
    listing = listed_classes(classes)
    if not listing or len({text_of(name) for name in listing}) < len(listing):
        raise InputError(f"classes must be one or more different labels, but are {listed(listing)}")
    given = Names(listing)
    class_of, truth_codes = match(known, given), match(truths, given)
    outside, unknown = np.flatnonzero(class_of == MISSING), np.flatnonzero(truth_codes == MISSING)
    if outside.size or unknown.size:
        row = int(np.flatnonzero(np.isin(labels.codes, outside))[0]) if outside.size else MISSING
        what, place = ("gold truth", "") if row == MISSING else ("label", where(row))
        label = truths[int(unknown[0])] if row == MISSING else known[labels.codes[row]]
        problem = f"{what} {label!r} is not among the classes {listed(listing)}"
        add = use(classes=Placeholder("A,B,C"), text="with this label, too")
        raise InputError(problem, place, [use(text="correct it"), add])
    seen = {int(code): name for code, name in zip(class_of, known, strict=True)}
    values = [seen.get(code, _same_type(value, known)) for code, value in enumerate(listing)]
    if is_text and all(map(encoding.is_integer_text, values)):
        values = [int(value) for value in values]
    return encoding.renumber(labels.codes, class_of), truth_codes, labels.names.of(values)


def _same_type(value: Any, known: list[Any]) -> Any:
    """Convert the value to the type of the names if possible: "7" is 7 beside 5 and 6."""
    if all(isinstance(name, str) for name in known):
        return text_of(value)
    are_integers = all(isinstance(name, int) and not isinstance(name, bool) for name in known)
    return int(text_of(value)) if are_integers and encoding.is_integer_text(value) else value


def listed_classes(classes: Sequence[Any]) -> list[Any]:
    """Return the classes that the user names, which may be a single text or an array."""
    return [classes] if isinstance(classes, str) else list(classes)
