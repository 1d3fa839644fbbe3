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
from finegold.votes.encoding import Names, listed, text_of

if TYPE_CHECKING:
    from finegold.votes.annotations import Annotations, Counts, Repeated

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
        findings = [
            *self.findings,
            *(finding for finding in other.findings if finding not in self.findings),
        ]
        words = dict(Counter(self.no_vote) + Counter(other.no_vote))
        normalise = self.normalise or other.normalise
        return Hygiene(
            findings, words, self.label or other.label, normalise, {**self.alias, **other.alias}
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain dicts and lists; classes of the alias that JSON does not have become text."""
        findings = [
            {"kind": each.kind, "text": each.text, "groups": each.groups} for each in self.findings
        ]
        plain = {
            text: name if isinstance(name, str | int | float) else str(name)
            for text, name in self.alias.items()
        }
        return {**asdict(self), "findings": findings, "alias": plain}


def hygiene_of(values: Mapping[str, Any]) -> Hygiene:
    """Return what `as_json` has made, and check it, because it may come from a file of somebody
    else.
    """

    def text(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not text")
        return value

    def group_of(spellings: Any) -> list[tuple[str, int | None]]:
        return [
            (text(spelling), None if count is None else int(count)) for spelling, count in spellings
        ]

    findings = [
        Finding(
            text(saved["kind"]),
            text(saved["text"]),
            groups=[group_of(group) for group in saved["groups"]],
        )
        for saved in values["findings"]
    ]
    words = {text(word): int(count) for word, count in values["no_vote"].items()}
    alias = {
        text(spelling): name
        for spelling, name in values["alias"].items()
        if isinstance(name, str | int | float)
    }
    return Hygiene(findings, words, text(values["label"]), bool(values["normalise"]), alias)


def left_out_words(
    counts: Counts, hygiene: Hygiene, n_unlabelled: int, never_voted: Sequence[Any]
) -> str:
    """Return what was read but left out, in words."""
    words = _list_first(
        [f'{number:,} "{word}"' for word, number in hygiene.no_vote.items()], " more words"
    )
    pairs, absent = counts.disagreeing, len(never_voted)
    clash = (
        f" ({pairs:,} pair{'s' * (pairs != 1)} of task and annotator"
        f" {'has' if pairs == 1 else 'have'} votes that disagree)"
    )
    parts = [
        (counts.missing, "row", f" without a label{f' ({words})' if words else ''}"),
        (counts.repeated, "repeated vote", clash if pairs else ""),
        (n_unlabelled, "task", " without any vote (listed without a label)"),
        (absent, "annotator", f" without any vote: {_list_first(never_voted, ' more')}"),
    ]
    said = [f"{n:,} {noun}{'s' * (n != 1)}{more}" for n, noun, more in parts if n]
    return ", ".join([*said, *(f"{what} ({n:,})" for what, n in counts.left_out.items() if n)])


def _list_first(names: Sequence[Any], more: str) -> str:
    """List the first names, and the number of the others."""
    others = f" and {len(names) - NAMES_SHOWN:,}{more}" if len(names) > NAMES_SHOWN else ""
    return ", ".join(map(str, names[:NAMES_SHOWN])) + others


def warn_of_lost_votes(votes: Annotations) -> None:
    """Warn if rows without a label, or repeated votes that disagree, were left out."""
    if votes.counts.disagreeing or (votes.hygiene.label and votes.counts.missing):
        warn_user(f"left out: {votes.left_out}")


def warn_of(findings: Iterable[Finding]) -> None:
    """Warn of the findings, but for those that are silent."""
    for finding in findings:
        if not finding.is_silent:
            warn_user(finding.text, finding.remedies)


# mean "no vote" by default, but may be a class
DOUBTFUL = frozenset(["none", "-", "?"])


def find_doubtful_words(counts: Mapping[str, int]) -> list[Finding]:
    """Report words that are taken as "no vote" by default but may be classes."""
    words = ", ".join(
        f'"{name}" ({count:,})' for name, count in counts.items() if name.casefold() in DOUBTFUL
    )
    remedy = use(missing=[], text="to keep them as classes")
    return (
        [Finding("no vote", f'the labels {words} are taken as "no vote"', (remedy,))]
        if words
        else []
    )


NO_ANSWER = re.compile(
    r"missing|unknown|\.+|--+|skip(ped)?|nil|void|\(?blank\)?|empty|undefined|n\.a\.|refused|todo|tbd|\[\]|''|\"\""
    r"|#(value!|ref!|name\?|div/0!|num!|null!)|error|failed|time-?out|no"
    r" (answer|response|label|data|vote)"
    r"|not (available|answered|annotated|given|applicable|sure)|unsure|do(n['\u2019]?| no)t know"
    r"|(can['\u2019]?|canno)t (tell|say|decide)|see (comments?|notes?)|test|asdf|dummy",
    re.I,
)
INTEGER = re.compile(r"-?[0-9]{1,9}")
# ways of writing one class
ONE_CLASS = tuple(map(frozenset, (("yes", "y"), ("no", "n"), ("true", "t"), ("false", "f"))))
MOST_ANSWERS = 6
# behind a label
ADDITION = re.compile(
    r"\s*[(\[].{1,20}[)\]]|\s*[-\u2013:=] .{2,}|\s(pts?|points?|stars?|units?)\.?", re.I
)
SAY = use(alias=Placeholder("FILE"), text="to say what they mean")
SENTINELS = frozenset({-9, -99, -999, -9999, 99, 999, 9999})
# of the votes; a class with more of them is one
RARE = 0.2
# classes; 99 may be one of many numbers
MOST_NUMBERS = 50
# of the votes for the right spelling
MISSPELT_SHARE = 0.1
SHORTEST_WORD, MOST_WORDS = 5, 200
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
# Excel makes them of 1-2
SHORT_DATE = re.compile(rf"\d{{1,2}}[-. ]{MONTH}|{MONTH}[-. ]\d{{2}}", re.I)
DATE = re.compile(
    rf"{SHORT_DATE.pattern}|\d{{4}}-\d\d-\d\d([ T]00:00(:00)?)?|\d{{1,2}}/\d{{1,2}}/\d{{4}}", re.I
)


def find_doubtful_labels(
    labels: Mapping[str, int], no_vote: Mapping[str, int], is_wide: bool = False
) -> list[Finding]:
    """Report rare classes that may mean "no vote", labels that hold others or look like them, and
    dates; `no_vote` has the words that do mean it.
    """
    findings = _find_no_answers(labels, no_vote, is_wide)
    texts = {label.strip().casefold() for label in labels}
    twice = set().union(*(pair for pair in ONE_CLASS if pair <= texts))
    is_of_answers = {"0", "1"} < texts and texts <= {"0", "1"}.union(*ONE_CLASS, ("zero", "one"))
    if is_of_answers or (twice and len(texts) <= MOST_ANSWERS):
        shown = listed(sorted(texts - {"0", "1"} if is_of_answers else twice))
        beside = "0 and 1" if is_of_answers else "each other"
        text = f"the labels {shown} stand beside {beside}, so that a class seems to be written in two ways"
        findings.append(Finding("spellings", text, (SAY,)))
    if len(labels) <= MOST_WORDS:
        findings += _find_like_others(labels)
    if is_wide and "-1" in labels:
        remedy = use('if it means "no vote", as in label matrices of Snorkel', missing=[-1])
        text = f"the label -1 ({labels['-1']:,}) is read as a class"
        findings.append(Finding("minus one", text, (remedy,)))
    dates = [label for label in labels if DATE.fullmatch(label.strip())]
    are_short = all(SHORT_DATE.fullmatch(label.strip()) for label in dates)
    if dates and (len(dates) < len(labels) or are_short):
        shown = listed([f"{label} ({labels[label]:,})" for label in dates], 5)
        text = f"labels look like dates: {shown}; a spreadsheet may have made them of labels such as 1-2 or 3/4"
        findings.append(Finding("dates", text, (SAY,)))
    return findings


def _find_no_answers(
    labels: Mapping[str, int], no_vote: Mapping[str, int], is_wide: bool
) -> list[Finding]:
    total = max(sum(labels.values()), 1)
    rare = [label for label, count in labels.items() if 0 < count <= RARE * total]
    words = [label for label in rare if NO_ANSWER.fullmatch(label.strip())]
    integers = {label: int(label) for label in labels if INTEGER.fullmatch(label.strip())}
    others = [label for label in labels if label not in words]
    numbers = [
        integers[label] for label in others if integers.get(label, -1) not in (-1, *SENTINELS)
    ]
    if len(numbers) + 2 >= len(others) and 1 < len(numbers) <= MOST_NUMBERS and min(numbers) >= 0:
        suspects = {number for number in SENTINELS if abs(number) > 3 * max(numbers)}
        suspects |= set() if is_wide else {-1}
        words += [label for label in rare if integers.get(label) in suspects]
    # numbers beside words
    texts = [label for label in others if label not in integers]
    if len(texts) > 1 and not any(map(str.isdigit, "".join(texts))):
        words += [label for label in rare if label in integers and label not in words]
    if not words:
        return []
    shown = listed([f"{word} ({labels[word]:,})" for word in words], len(words))
    missing = [*words, *(word for word in no_vote if word.strip())]
    if len(words) > 1:
        remedy = use('if they mean "no vote"', missing=missing)
        return [Finding("no answer", f"the labels {shown} are read as classes", (remedy,))]
    remedy = use('if it means "no vote"', missing=missing)
    return [Finding("no answer", f"the label {shown} is read as a class", (remedy,))]


def _find_like_others(labels: Mapping[str, int]) -> list[Finding]:
    """Report labels that hold another one (4 - agree beside 4), and rare words that are one letter,
    behind the first, away from a frequent one.
    """
    findings = []
    rare = [(a, b) for a, b in product(labels, labels) if 0 < labels[a] <= RARE * labels[b]]
    longer = [
        f"{label} ({labels[label]:,}) beside {short} ({labels[short]:,})"
        for label, short in rare
        if label.startswith(short) and ADDITION.fullmatch(label[len(short) :])
    ]
    if longer:
        text = f"some labels hold others: {listed(longer, 5)}"
        findings.append(Finding("spellings", text, (SAY,)))
    misspelt = [
        f"{wrong} ({labels[wrong]:,}) like {right} ({labels[right]:,})"
        for wrong, right in rare
        if labels[wrong] <= MISSPELT_SHARE * labels[right]
        and min(len(wrong), len(right)) >= SHORTEST_WORD
        and wrong.isalpha()
        and right.isalpha()
        and _is_one_letter_away(wrong, right)
    ]
    if misspelt:
        text = f"some rare labels look like others: {listed(misspelt, 5)}"
        remedy = use(
            "if they are misspelt", alias=Placeholder("FILE"), text="to say what they mean"
        )
        findings.append(Finding("misspelt", text, (remedy,)))
    return findings


def _is_one_letter_away(a: str, b: str) -> bool:
    pairs = enumerate(zip(a, b, strict=False))
    n = next((n for n, (one, other) in pairs if one != other), min(len(a), len(b)))
    is_swapped = a[n : n + 2] == b[n : n + 2][::-1] and a[n + 2 :] == b[n + 2 :]
    return n > 0 and (
        is_swapped or a[n + 1 :] == b[n:] or a[n:] == b[n + 1 :] or a[n + 1 :] == b[n + 1 :]
    )


SEPARATOR = re.compile(r"[;|,]")
LIST = re.compile(r"[\[{].*[,;].*[\]}]", re.DOTALL)
# tasks that all agree on, or annotators with one vote each
MANY_AGREED = 15
# fewer are usual, even in few votes
MANY_CLASSES = 20
# that one annotator may cast to try things out
FEW_VOTES = 20
MANY_DISAGREEING, SHARE_DISAGREEING = 10, 0.01
# than tasks
TIMES_MORE_ANNOTATORS = 3
# fewer ids may well be called anything
FEW_IDS = 4
ODD_IDS = ("total", "totals", "subtotal", "grand total", "sum", "test", "tester", "asdf", "dummy")
DATE_ID = r"^(\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
# of tasks and annotators
NAMES_EXAMINED = 200
PERSON = re.compile(
    r"(annotator|worker|rater|judge|user|coder|expert|ann|[arwu])[-_"
    r" ]?[0-9]+|\S+@\S+|A[0-9A-Z]{10,}",
    re.I,
)
ITEM = re.compile(
    r"(task|item|image|img|document|doc|question|text|sentence|sample|example|row|[tiq])[-_"
    r" ]?[0-9]+"
    r"|.+\.(jpe?g|png|gif|wav|mp3|mp4|txt|pdf)|https?://.+|\S+( \S+){4,}",
    re.I,
)


def _find_odd_ids(what: str, ids: Names) -> list[Finding]:
    """Report ids of rows that are sums or were made to try things out, and dates among other ids."""
    texts, findings = ids.values, []
    if texts.dtype != pl.String or len(texts) < FEW_IDS:
        return []
    odd = texts.filter(texts.str.strip_chars().str.to_lowercase().is_in(ODD_IDS)).to_list()
    if odd:
        text = f"the {what} {', '.join(odd)} may stand for a sum or for a test and not for a {what}"
        findings.append(Finding("ids", text, (use(text="remove such rows"),)))
    dates = texts.filter(texts.str.contains(DATE_ID))
    if 0 < 2 * len(dates) < len(texts):
        text = (
            f"{len(dates):,} {what} ids look like dates, such as {dates[0]}; a spreadsheet may have"
            " made them of ids such as 1-2"
        )
        findings.append(Finding("ids", text))
    return findings


def examine_votes(votes: Annotations, repeated: Repeated = "first") -> list[Finding]:
    """Report what looks wrong in votes that could be read, with the likely cause."""
    findings = []
    n_classes, n_votes, n_annotators = len(votes.class_names), votes.n_votes, votes.n_annotators
    if n_classes > MANY_CLASSES and n_classes * 2 > n_votes:
        text = (
            f"there are {n_classes:,} classes in {n_votes:,} votes; the labels look like free text"
            " or measurements"
        )
        text += ", or another column holds the labels"
        findings.append(Finding("many classes", text, (use(label=NAME, text="to name it"),)))
    # cat;dog, if both cat and dog occur elsewhere
    names = list(map(text_of, votes.class_names))
    parts = [[part.strip() for part in SEPARATOR.split(name)] for name in names]
    if lists := [code for code, name in enumerate(names) if LIST.fullmatch(name)]:
        count = int(votes.votes_per_class[lists].sum())
        text = f"{count:,} {'vote is a list' if count == 1 else 'votes are lists'}, such as {names[lists[0]]}"
        remedy = use("if annotators may choose several labels", multi=True)
        findings.append(
            Finding("several labels", f"{text}, which is read as a class of its own", (remedy,))
        )
    if any(len(labels) > 1 for labels in parts):
        occurs = Counter(part for labels in parts for part in set(labels))
        are_known = [
            len(labels) > 1 and all(label and occurs[label] > 1 for label in labels)
            for labels in parts
        ]
        several = [code for code, is_several in enumerate(are_known) if is_several]
        if count := int(votes.votes_per_class[several].sum()):
            text = (
                f"{count:,} {'vote holds' if count == 1 else 'votes hold'} several labels, such as "
            )
            text += f"{names[several[0]]}, which is read as a class of its own"
            remedy = use("if annotators may choose several labels", multi=True)
            findings.append(Finding("several labels", text, (remedy,)))
    for what, ids in (("task", votes.task_names), ("annotator", votes.annotator_names)):
        findings += _find_odd_ids(what, ids)
    if n_annotators == 1 and n_votes >= FEW_VOTES:
        text = (
            f"all {n_votes:,} votes are those of one annotator, {votes.annotator_names[0]}, so"
            " nothing can be compared"
        )
        remedy = use("if another column names the annotators", annotator=NAME)
        findings.append(Finding("one annotator", text, (remedy,)))
    seem_swapped = any(
        2 * sum(pattern.fullmatch(text_of(name)) is not None for name in names) > len(names)
        for names, pattern in (
            (votes.task_names[:NAMES_EXAMINED], PERSON),
            (votes.annotator_names[:NAMES_EXAMINED], ITEM),
        )
    )
    if n_annotators >= TIMES_MORE_ANNOTATORS * votes.n_tasks and seem_swapped:
        text = (
            f"there are {n_annotators:,} annotators, such as {votes.annotator_names[0]}, for"
            f" {votes.n_tasks:,} tasks"
        )
        text = (
            f"{text}, such as {votes.task_names[0]}; perhaps the columns of tasks and annotators"
            " are swapped"
        )
        findings.append(
            Finding("swapped", text, (use(task=NAME, annotator=NAME, text="to name them"),))
        )
    per_task = votes.votes_per_task
    n_compared = int((per_task > 1).sum())
    if n_compared >= MANY_AGREED and len(votes.cell_class) == votes.n_tasks and n_classes > 1:
        text = f"all annotators agree on all of {n_compared:,} tasks; perhaps {votes.hygiene.label or 'the labels'}"
        findings.append(
            Finding("unanimous", f"{text} are the truth or the result and not the votes")
        )
    if n_annotators == n_votes >= MANY_AGREED and n_classes * 2 > n_votes:
        text = f"each of {n_annotators:,} annotators has one vote, and the labels are of {n_classes:,} kinds"
        text = f"{text}; perhaps the table has figures about annotators and no votes"
        findings.append(
            Finding("one vote each", text, (use(label=NAME, text="to name the labels"),))
        )
    # whoever chooses a rule for repeated votes knows of them
    disagreeing = votes.counts.disagreeing
    if repeated == "first" and disagreeing >= max(MANY_DISAGREEING, SHARE_DISAGREEING * n_votes):
        text = (
            f"{disagreeing:,} pairs of task and annotator have votes that disagree; perhaps ids of"
            " tasks or "
        )
        text = f"{text}annotators are not unique, or several questions are in one table"
        remedy = use(repeated=Placeholder("RULE"), text="to say which votes count")
        findings.append(Finding("disagreeing", text, (remedy,)))
    return findings
