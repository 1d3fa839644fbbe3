"""What a reader noticed in votes: labels that look wrong, and how spellings became classes.

Readers return findings with the votes (`Annotations.hygiene`), for reports and the studio, and warn
of them at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from finegold.errors import Placeholder, Remedy, use, warn_user
from finegold.votes.encoding import listed, text_of

if TYPE_CHECKING:
    from finegold.votes.annotations import Annotations, Repeated

# spellings of one class and how often each occurs; None for a truth
Groups = list[list[tuple[str, int | None]]]
NAME = Placeholder("NAME")
# names and words in a list of what was left out
NAMES_SHOWN = 10


@dataclass(frozen=True)
class Finding:
    """Something about the votes that the user should know."""

    # such as "spellings"; the studio gives advice by kind
    kind: str
    # what was found, and the likely cause
    text: str
    # they are not saved
    remedies: tuple[Remedy, ...] = field(default=(), compare=False)
    # spellings that look like one class, or were merged into one
    groups: Groups = field(default_factory=list)
    # needs no warning
    is_silent: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Hygiene:
    """How labels became classes, and what looked wrong."""

    findings: list[Finding] = field(default_factory=list)
    # words that mean "no vote" and how often each occurs
    no_vote: dict[str, int] = field(default_factory=dict)
    # the column of the labels, if there is one
    label: str = ""
    normalise: bool = False
    # spelling -> class
    alias: dict[str, Any] = field(default_factory=dict)

    def join(self, other: Hygiene) -> Hygiene:
        """Return what is known about the votes of both."""
        return Hygiene(
            [*self.findings, *(each for each in other.findings if each not in self.findings)],
            dict(Counter(self.no_vote) + Counter(other.no_vote)),
            self.label or other.label,
            self.normalise or other.normalise,
            {**self.alias, **other.alias},
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain dicts and lists."""
        kept = ("kind", "text", "groups", "is_silent")
        findings = [{name: getattr(each, name) for name in kept} for each in self.findings]
        return {**asdict(self), "findings": findings}


def hygiene_of(saved: Mapping[str, Any]) -> Hygiene:
    """Return what `as_json` has made."""
    findings = [
        Finding(**each | {"groups": [[(text, n) for text, n in group] for group in each["groups"]]})
        for each in saved["findings"]
    ]
    return Hygiene(**{**saved, "findings": findings})


def left_out_words(votes: Annotations) -> str:
    """Return what was read but left out, in words."""
    counts, never_voted = votes.counts, votes.never_voted.to_list()
    no_votes = [f'{n:,} "{word}"' for word, n in votes.hygiene.no_vote.items()]
    words = f" ({listed(no_votes, NAMES_SHOWN)})" if no_votes else ""
    pairs = counts.disagreeing
    clash = f" ({pairs:,} {'pair' if pairs == 1 else 'pairs'} of task and annotator"
    clash += f" {'has' if pairs == 1 else 'have'} votes that disagree)"
    parts = [
        (counts.missing, "row", f" without a label{words}"),
        (counts.repeated, "repeated vote", clash if pairs else ""),
        (len(votes.unlabelled), "task", " without any vote (listed without a label)"),
        (len(never_voted), "annotator", f" without any vote: {listed(never_voted, NAMES_SHOWN)}"),
    ]
    said = [f"{n:,} {noun}{'s' * (n != 1)}{more}" for n, noun, more in parts if n]
    return ", ".join([*said, *(f"{what} ({n:,})" for what, n in counts.left_out.items() if n)])


def warn_of_lost_votes(votes: Annotations) -> None:
    """Warn if rows without a label, or repeated votes that disagree, were left out."""
    if votes.counts.disagreeing or (votes.hygiene.label and votes.counts.missing):
        warn_user(f"left out: {votes.left_out}")


def warn_of(findings: Iterable[Finding]) -> None:
    """Warn of the findings, but for those that are silent."""
    for finding in findings:
        if not finding.is_silent:
            warn_user(finding.text, finding.remedies)


# Labels

# mean "no vote" by default, but may be a class
DOUBTFUL = frozenset(["none", "-", "?"])
NO_ANSWER = re.compile(
    r"missing|unknown|\.+|--+|skip(ped)?|nil|void|\(?blank\)?|empty|undefined|n\.a\.|refused|todo|tbd|\[\]|''|\"\""
    r"|#(value!|ref!|name\?|div/0!|num!|null!)|error|failed|time-?out|no"
    r" (answer|response|label|data|vote)"
    r"|not (available|answered|annotated|given|applicable|sure)|unsure|do(n['\u2019]?| no)t know"
    r"|(can['\u2019]?|canno)t (tell|say|decide)|see (comments?|notes?)|test|asdf|dummy",
    re.I,
)
INTEGER = re.compile(r"-?[0-9]{1,9}")
SENTINELS = frozenset({-9, -99, -999, -9999, 99, 999, 9999})
# ways of writing one class
ONE_CLASS = tuple(map(frozenset, (("yes", "y"), ("no", "n"), ("true", "t"), ("false", "f"))))
# of the votes; a class with more of them is one
RARE = 0.2
# classes; 99 may be one of many numbers
MOST_NUMBERS = 50
# of the votes for the right spelling
MISSPELT_SHARE = 0.1
SHORTEST_WORD, MOST_WORDS = 5, 200
# behind a label
ADDITION = re.compile(
    r"\s*[(\[].{1,20}[)\]]|\s*[-\u2013:=] .{2,}|\s(pts?|points?|stars?|units?)\.?", re.I
)
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
# Excel makes them of 1-2
SHORT_DATE = re.compile(rf"\d{{1,2}}[-. ]{MONTH}|{MONTH}[-. ]\d{{2}}", re.I)
DATE = re.compile(
    rf"{SHORT_DATE.pattern}|\d{{4}}-\d\d-\d\d([ T]00:00(:00)?)?|\d{{1,2}}/\d{{1,2}}/\d{{4}}", re.I
)
SAY = use(alias=Placeholder("FILE"), text="to say what they mean")


def find_doubtful_labels(
    labels: Mapping[str, int], no_vote: Mapping[str, int], is_wide: bool = False
) -> list[Finding]:
    """Report rare classes that may mean "no vote", labels that look like others, and dates."""
    findings = []

    def report(kind: str, text: str, found: Sequence[str], remedy: Remedy = SAY) -> None:
        if found:
            findings.append(Finding(kind, text.format(listed(found, 5)), (remedy,)))

    words = _no_answers(labels, is_wide)
    are, mean = (
        ("label {} is read as a class", "it means")
        if len(words) == 1
        else ("labels {} are read as classes", "they mean")
    )
    missing = [*words, *filter(str.strip, no_vote)]
    shown = listed([f"{word} ({labels[word]:,})" for word in words], len(words))
    report(
        "no answer",
        f"the {are}",
        [shown] * bool(words),
        use(f'if {mean} "no vote"', missing=missing),
    )
    texts = {label.strip().casefold() for label in labels}
    twice = set().union(*(pair for pair in ONE_CLASS if pair <= texts))
    beside = "each other"
    if {"0", "1"} < texts and texts <= {"0", "1"}.union(*ONE_CLASS, ("zero", "one")):
        twice, beside = texts - {"0", "1"}, "0 and 1"
    text = f"the labels {{}} stand beside {beside}, so that a class seems to be written in two ways"
    report("spellings", text, sorted(twice))
    if len(labels) <= MOST_WORDS:
        rare = [(a, b) for a, b in product(labels, labels) if 0 < labels[a] <= RARE * labels[b]]
        longer = [
            f"{a} ({labels[a]:,}) beside {b} ({labels[b]:,})"
            for a, b in rare
            if a.startswith(b) and ADDITION.fullmatch(a[len(b) :])
        ]
        report("spellings", "some labels hold others: {}", longer)
        misspelt = [
            f"{a} ({labels[a]:,}) like {b} ({labels[b]:,})"
            for a, b in rare
            if labels[a] <= MISSPELT_SHARE * labels[b]
            and min(len(a), len(b)) >= SHORTEST_WORD
            and (a + b).isalpha()
            and _is_one_letter_away(a, b)
        ]
        remedy = use("if they are misspelt", SAY.text, **SAY.options)
        report("misspelt", "some rare labels look like others: {}", misspelt, remedy)
    dates = [label for label in labels if DATE.fullmatch(label.strip())]
    if len(dates) < len(labels) or all(SHORT_DATE.fullmatch(label.strip()) for label in dates):
        text = "labels look like dates: {}; a spreadsheet may have made them of labels such as 1-2"
        report("dates", f"{text} or 3/4", [f"{label} ({labels[label]:,})" for label in dates])
    return findings


def find_doubtful_words(counts: Mapping[str, int]) -> list[Finding]:
    """Report words that are taken as "no vote" by default but may be classes."""
    words = [f'"{name}" ({n:,})' for name, n in counts.items() if name.casefold() in DOUBTFUL]
    text = f'the labels {", ".join(words)} are taken as "no vote"'
    remedy = use(missing=[], text="to keep them as classes")
    return [Finding("no vote", text, (remedy,))] if words else []


def _no_answers(labels: Mapping[str, int], is_wide: bool) -> list[str]:
    """Return rare classes that may mean "no vote": words, numbers such as 99, numbers beside words,
    and -1, even if it is frequent in a wide table, as in label matrices of Snorkel.
    """
    total = max(sum(labels.values()), 1)
    rare = [label for label, n in labels.items() if 0 < n <= RARE * total]
    words = [label for label in rare if NO_ANSWER.fullmatch(label.strip())]
    integers = {label: int(label) for label in labels if INTEGER.fullmatch(label.strip())}
    others = [label for label in labels if label not in words]
    numbers = [
        integers[label] for label in others if integers.get(label, -1) not in (-1, *SENTINELS)
    ]
    if len(numbers) + 2 >= len(others) and 1 < len(numbers) <= MOST_NUMBERS and min(numbers) >= 0:
        suspects = {-1, *(number for number in SENTINELS if abs(number) > 3 * max(numbers))}
        words += [label for label in rare if integers.get(label) in suspects]
    texts = [label for label in others if label not in integers]
    if len(texts) > 1 and not any(map(str.isdigit, "".join(texts))):
        words += [label for label in rare if label in integers]
    return list(dict.fromkeys([*words, "-1"] if is_wide and "-1" in labels else words))


def _is_one_letter_away(a: str, b: str) -> bool:
    """Whether a letter behind the first is another one, too many, missing, or swapped with the next."""
    pairs = enumerate(zip(a, b, strict=False))
    n = next((n for n, (one, other) in pairs if one != other), min(len(a), len(b)))
    is_swapped = a[n : n + 2] == b[n : n + 2][::-1] and a[n + 2 :] == b[n + 2 :]
    return n > 0 and (
        is_swapped or a[n + 1 :] == b[n:] or a[n:] == b[n + 1 :] or a[n + 1 :] == b[n + 1 :]
    )


# Votes

LIST = re.compile(r"[\[{].*[,;].*[\]}]", re.DOTALL)
# of labels in a cell
BETWEEN = re.compile(r"[;|,]")
# tasks that all agree on, or annotators with one vote each
MANY_AGREED = 15
# fewer are usual, even in few votes
MANY_CLASSES = 20
# that one annotator may cast to try things out
FEW_VOTES = 20
MANY_DISAGREEING, SHARE_DISAGREEING = 10, 0.01
# fewer ids may well be called anything
FEW_IDS = 4
ODD_IDS = ("total", "totals", "subtotal", "grand total", "sum", "test", "tester", "asdf", "dummy")
DATE_ID = rf"(?i)^(\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{4}}|\d{{1,2}}-{MONTH})"


def examine_votes(votes: Annotations, repeated: Repeated = "first") -> list[Finding]:
    """Report what looks wrong in votes that could be read, with the likely cause."""
    findings = []

    def report(kind: str, text: str, *remedies: Remedy) -> None:
        findings.append(Finding(kind, text, remedies))

    n_classes, n_votes, n_annotators = votes.n_classes, votes.n_votes, votes.n_annotators
    has_one_each = n_annotators == n_votes >= MANY_AGREED
    if n_classes * 2 > n_votes and (n_classes > MANY_CLASSES or has_one_each):
        text = (
            f"there are {n_classes:,} classes in {n_votes:,} votes; the labels look like free text"
        )
        text += " or measurements, or another column holds the labels"
        report("many classes", text, use(label=NAME, text="to name it"))
    # cat;dog, if both cat and dog occur elsewhere
    names = list(map(text_of, votes.class_names))
    parts = [{part.strip() for part in BETWEEN.split(name)} for name in names]
    occurs = Counter(part for labels in parts for part in labels)
    several = [
        code
        for code, (name, labels) in enumerate(zip(names, parts, strict=True))
        if LIST.fullmatch(name)
        or (len(labels) > 1 and all(label and occurs[label] > 1 for label in labels))
    ]
    if n := int(votes.votes_per_class[several].sum()):
        text = f"{n:,} {'vote holds' if n == 1 else 'votes hold'} several labels, such as"
        text += f" {names[several[0]]}, which is read as a class of its own"
        report("several labels", text, use("if annotators may choose several labels", multi=True))
    for what, ids in (
        ("task", votes.task_names.values),
        ("annotator", votes.annotator_names.values),
    ):
        if ids.dtype != pl.String or len(ids) < FEW_IDS:
            continue
        odd = ids.filter(ids.str.strip_chars().str.to_lowercase().is_in(ODD_IDS)).to_list()
        if odd:
            text = f"the {what} {', '.join(odd)} may stand for a sum or for a test and not for a {what}"
            report("ids", text, use(text="remove such rows"))
        dates = ids.filter(ids.str.contains(DATE_ID))
        if 0 < 2 * len(dates) < len(ids):
            text = (
                f"{len(dates):,} {what} ids look like dates, such as {dates[0]}; a spreadsheet may"
            )
            report("ids", f"{text} have made them of ids such as 1-2")
    if n_annotators == 1 and n_votes >= FEW_VOTES:
        text = f"all {n_votes:,} votes are those of one annotator, {votes.annotator_names[0]}, so"
        remedy = use("if another column names the annotators", annotator=NAME)
        report("one annotator", f"{text} nothing can be compared", remedy)
    n_compared = int((votes.votes_per_task > 1).sum())
    if n_compared >= MANY_AGREED and len(votes.cell_class) == votes.n_tasks and n_classes > 1:
        labels = votes.hygiene.label or "the labels"
        text = (
            f"all annotators agree on all of {n_compared:,} tasks; perhaps {labels} are the truth"
        )
        report("unanimous", f"{text} or the result and not the votes")
    # whoever chooses a rule for repeated votes knows of them
    n = votes.counts.disagreeing
    if repeated == "first" and n >= max(MANY_DISAGREEING, SHARE_DISAGREEING * n_votes):
        text = (
            f"{n:,} pairs of task and annotator have votes that disagree; perhaps ids of tasks or"
        )
        text += " annotators are not unique, or several questions are in one table"
        remedy = use(repeated=Placeholder("RULE"), text="to say which votes count")
        report("disagreeing", text, remedy)
    return findings
