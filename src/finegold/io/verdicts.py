"""What a judge said, as one of a few meanings: the first answer, the second, a tie, a class, or a
failed call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial
from typing import Any

from finegold.errors import InputError, Placeholder, use
from finegold.options import option, options_of


class Meaning(IntEnum):
    """The meaning of a pairwise verdict. FIRST and SECOND are positions, SIDE_A and SIDE_B the
    systems of the row.
    """

    FIRST = 0
    SECOND = 1
    TIE = 2
    SIDE_A = 3
    SIDE_B = 4
    ERROR = 10
    REFUSAL = 11
    UNREADABLE = 12
    EMPTY = 13


FAILURES = {meaning: meaning.name.lower() for meaning in Meaning if meaning >= Meaning.ERROR}
THING = r"(?:answer|response|assistant|option|output|candidate|text|completion|summary|choice|position|item)"
GREATER, LESS = r"a ?>+ ?b|b ?<+ ?a|1 ?>+ ?2", r"b ?>+ ?a|a ?<+ ?b|2 ?>+ ?1"
WORDS = {
    Meaning.FIRST: (
        rf"a|1|1\.0|first|left|{THING} ?\(?(?:a|1|one)|(?:the )?first {THING}|{GREATER}|"
        rf"(?:{THING} ?)?\(?a\)? (?:wins|won)"
    ),
    Meaning.SECOND: (
        rf"b|2|2\.0|second|right|{THING} ?\(?(?:b|2|two)|(?:the )?second {THING}|{LESS}|"
        rf"(?:{THING} ?)?\(?b\)? (?:wins|won)"
    ),
    Meaning.TIE: (
        r"tie|ties|tied|draw|equal|equally good|same|both|neither|even|c|0|0\.0|1\.5|0\.5|"
        r"[ab12] ?=+ ?[ab12]|tie ?\(.*|both[ _]?bad|no preference|toss ?up|(?:it'?s |it is )?a"
        r" (?:tie|draw)"
    ),
    Meaning.SIDE_A: (
        r"(?:model|system|generator|player|contestant)[ _]?(?:a|1)|win|wins|won|model|candidate"
    ),
    Meaning.SIDE_B: (
        r"(?:model|system|generator|player|contestant)["
        r" _]?(?:b|2)|lose|loses|lost|loss|baseline|reference"
    ),
}
PATTERNS = {meaning: re.compile(pattern) for meaning, pattern in WORDS.items()}
# words that no class of a pointwise question would be
CLEAR = re.compile(
    rf"first|second|tie|tied|draw|{THING} ?\(?[ab]|(?:the )?(?:first|second) {THING}|[ab12] ?[<>=]+"
    r" ?[ab12]|"
    r"(?:model|system)[ _]?[ab12]|win|wins|lose|loses|loss|tie ?\(.*"
)
# The verdict inside a longer text. The last match counts, because judges reason first.
MARKED = (
    re.compile(r"\[\[\s*([^\[\]]{1,40}?)\s*\]\]"),
    re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*([^{}]{1,40}?)\s*\}"),
    re.compile(r"<(?:verdict|answer|decision|score)>\s*([^<]{1,40}?)\s*</", re.IGNORECASE),
    re.compile(
        r"(?:(?:verdict|winner|decision|preference|choice|score|rating|grade|judge?ment)\s*(?:is|:|=)|\banswer\s*:)\s*"
        r"\**\s*([^\n.,;]{1,40})",
        re.IGNORECASE,
    ),
)
# The fields of JSON that may hold the verdict: the first kind that a text has.
FIELDS = tuple(
    re.compile(rf'"(?:{names})"\s*:\s*"?([^",}}\n]{{1,40}})', re.IGNORECASE)
    for names in (
        r"\w*(?:verdict|winner|decision|prefer|better|best|choice|chosen)\w*",
        "answer|label|result|judge?ment",
        "score|rating|grade",
    )
)
# Sentences that say which answer is better. The last one counts here, too. A small "a" alone is an
# article.
BETTER = re.compile(
    rf"(?<!nor )\b{THING}s?\s*\(?([ab12])\)?\s*(?:is|was|seems|appears)\s+(?:to be\s+)?(?:the\s+)?"
    r"(?:(?!not\b|no\b|never\b|hardly\b)\w+\s+){0,2}?(?:better|best|superior|preferred|preferable|winner)\b|"
    rf"\b(?:prefer|choose|select|pick|be(?:tter|st) (?:one )?is|better {THING} is)\s+(?:the\s+)?"
    rf"(?:{THING}\s*\(?([ab12])\b|\(?((?-i:[AB])|[12b]\b|(?<=\()a)\b(?!\s+(?:or|and)\b))|"
    r"^\W*([ab12])\s+is\s+(?:(?!not\b|no\b)\w+\s+)?better\b|\bi\s+(?:prefer|choose|select|pick)\s+the\s+(first|second)\b",
    re.IGNORECASE,
)
REFUSAL = re.compile(
    r"\bi(?:'m| am)? ?(?:cannot|can't|can not|won't|will not|am unable|unable|not able|must"
    r" decline|decline)\b|"
    r"\brefus(?:e|ed|al)\b|\bas an ai\b|\b(?:i'm|i am) sorry\b|^sorry\b|\bcontent["
    r" _]?(?:filter|policy)\b",
    re.IGNORECASE,
)
ERROR = re.compile(
    r"^\W*(?:api[ _]?)?(?:error|exception|failed to|failure:|timeout|time-?out|traceback|http"
    r" ?[45]\d\d)\b|"
    r"\btimed out\b|\brate[ _]?limit|\b(?:timeout|api|connection|server)"
    r" ?error\b|\b(?:call|request) failed\b|"
    r"\boverloaded\b|^\$error\$$",
    re.IGNORECASE,
)
NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*\d+|\s*%)?")
# a class that a sentence begins with
BEGINS = re.compile(
    r"\W*(yes|no|pass|passed|fail|failed|true|false|correct|incorrect)\W*[,.:;–-]", re.I
)
NO_ERROR = re.compile("(?:none|null|nan|false|0|ok|success|succeeded|completed|done|no|200)?", re.I)
# how MT-bench writes that no score was found
NO_SCORES = {"-1", "-1.0"}
NOTHING = {"", "none", "null", "nan", "n/a", "na", "#n/a", "-", "?"}
# what numbers mean beside each other: which answer wins, or points of the first one
SCALES: tuple[dict[float, Meaning], ...] = (
    {1: Meaning.FIRST, 2: Meaning.SECOND, 3: Meaning.TIE},
    {-1: Meaning.SECOND, 0: Meaning.TIE, 1: Meaning.FIRST},
    {0: Meaning.SECOND, 0.5: Meaning.TIE, 1: Meaning.FIRST},
)
# share of other numbers from which 1 and 2 do not mean the first and the second answer
MOST_ODD = 0.1
# longer pointwise verdicts are text that hides its verdict
LONGEST_CLASS, MOST_WORDS = 40, 5


def meaning_of(text: str | None) -> Meaning:
    """Return what a pairwise verdict means."""
    if text is None or text.strip().casefold() in NOTHING:
        return Meaning.EMPTY
    for said in map(str.casefold, _candidates(text)):
        for meaning, pattern in PATTERNS.items():
            if pattern.fullmatch(said):
                return meaning
        # AlpacaEval: 1 is the first, 2 the second
        if (number := number_of(said)) is not None and 1 < number < 2:
            return Meaning.FIRST if number < 1.5 else Meaning.SECOND
    return _failure_of(text)


def class_of(text: str | None, classes: frozenset[str] = frozenset()) -> str | Meaning:
    """Return the class that a pointwise verdict names, in the letters of the text, or how the call
    failed. What is one of `classes`, given in small letters, is a class whatever it sounds like.
    """
    if text is None or not text.strip():
        return Meaning.EMPTY
    if fold(text) in classes:
        return bare_text(text)
    if text.strip().casefold() in NOTHING:
        return Meaning.EMPTY
    said, failed = next(iter(_candidates(text)), ""), _failure_of(text)
    is_failed = failed != Meaning.UNREADABLE and said == bare_text(text)
    is_class = said and len(said) <= LONGEST_CLASS and len(said.split()) <= MOST_WORDS
    return said if is_class and not is_failed else failed


def sounds_like_failure(text: str) -> bool:
    """Return whether a short text would be read as a failed call, though it may be a class."""
    said = bare_text(text)
    is_short = 0 < len(said) <= LONGEST_CLASS and len(said.split()) <= MOST_WORDS
    return is_short and (fold(text) in NO_SCORES or isinstance(class_of(text), Meaning))


_option = partial(option, group="Columns of the log")
_column = partial(_option, None, metavar="NAME")


@dataclass(frozen=True)
class LogReading:
    """How to read a log of judges. This is the only place that declares these options; see
    `finegold.options`.
    """

    item: str | None = _column("The column with the items, or several: question,pair.")
    judge: str | None = _column("The column with the judges, or several: model,prompt.")
    verdict: str | None = _column("The column with the verdicts.")
    order: str | None = _column("The column with the order of the answers: AB or BA.")
    system_a: str | None = _column("The column with the first system.")
    system_b: str | None = _column("The column with the second system.")
    criterion: str | None = _column("The column with the criterion that a row judges.")
    question: str | None = _column("The criterion to read, if the log has several.")
    people: str | None = _option(
        None,
        "Who of the judges is a person, or the columns with the votes of people: ann,bob or"
        " 'human*'. Their majority is the truth.",
        metavar="NAMES",
    )
    repeat: str | None = _column("The column with the number of the repeat.")
    cost: str | None = _column("The column with the price of the call.")
    error: str | None = _column("The column with the error or the status of the call.")
    kind: str | None = _option(
        None,
        "Whether verdicts compare two answers or judge one.",
        kind="choice",
        choices=("pairwise", "pointwise"),
    )
    verdicts: str = _option(
        "position",
        "What A and B mean in a log with orders: positions, or the answers.",
        kind="choice",
        choices=("position", "answer"),
    )
    verdict_pattern: str | None = _option(
        None,
        "A regular expression that finds the verdict in a text: its first group. The last match"
        " counts.",
        metavar="REGEX",
    )
    verdict_map: Mapping[str, str] | str | None = _option(
        None,
        "What verdicts and truths mean: A, B or tie, or the name of a class. Several are separated"
        " by commas.",
        metavar="X=A,Y=B",
    )
    # the column with known truths; the readers have it as a keyword of their own
    gold: str | None = None

    def __post_init__(self) -> None:
        for name, about in options_of(self).items():
            if about.choices and (value := getattr(self, name)) not in (None, *about.choices):
                one, other = about.choices
                raise InputError(f'{name} must be "{one}" or "{other}", not {value!r}')
        try:
            re.compile(self.verdict_pattern or "")
        except re.error as error:
            problem = f"verdict_pattern {self.verdict_pattern!r} is not a regular expression"
            raise InputError(f"{problem}: {error}") from None
        if isinstance(self.verdict_map, str):
            pairs = [part.rpartition("=") for part in self.verdict_map.split(",")]
            if not all(sign and word.strip() and meant.strip() for word, sign, meant in pairs):
                problem = "the map of verdicts needs pairs such as 1=A,2=B,3=tie, not"
                raise InputError(f"{problem} {self.verdict_map!r}")
            meant_by = {word: meant.strip() for word, _, meant in pairs}
            object.__setattr__(self, "verdict_map", meant_by)

    @cached_property
    def meaning_of_words(self) -> dict[str, str]:
        """What words mean, in small letters, by the map of the user."""
        assert not isinstance(self.verdict_map, str)
        return {fold(word): meant for word, meant in (self.verdict_map or {}).items()}

    def meant(self, text: str) -> str:
        """Return what a text means by the map of the user, or the text itself."""
        return self.meaning_of_words.get(fold(text), text)

    def said(self, text: str) -> str | None:
        """Return the verdict in the text, in the words of the user; None if the pattern is not in
        it.
        """
        if self.verdict_pattern is not None:
            matches = list(re.finditer(self.verdict_pattern, text))
            if not matches:
                return None
            text = next((part for part in matches[-1].groups() if part is not None), matches[-1][0])
        return self.meant(text)

    def meanings(self, texts: Iterable[str], what: str = "verdicts") -> dict[str, Meaning]:
        """Return what each pairwise verdict means, or each truth. What 0 and 3 mean depends on the
        numbers beside them.
        """
        counts = Counter(texts)
        read = self.said if what == "verdicts" else self.meant
        parts = {text: part for text in counts if (part := read(text)) is not None}
        meanings = dict.fromkeys(counts, Meaning.UNREADABLE)
        meanings |= {text: meaning_of(part) for text, part in parts.items()}
        numbers = {
            text: number
            for text, part in parts.items()
            if (number := number_of(fold(part))) is not None
        }
        odd = [t for t, x in numbers.items() if x not in (-1, 0, 0.5, 3) and not 1 <= x <= 2]
        n_numbers = sum(counts[text] for text in numbers)
        # a scale of preferences, such as 1 to 7
        if sum(counts[text] for text in odd) > MOST_ODD * n_numbers:
            return meanings | dict.fromkeys(numbers, Meaning.UNREADABLE)
        values = set(numbers.values())
        if values == {0, 1}:
            remedy = use("if 1 means the first answer", verdict_map=Placeholder("1=A,0=B"))
            problem = f"the {what} are 0 and 1, which may mean several things"
            raise InputError(problem, remedies=[remedy])
        scale = next((each for each in SCALES if values <= each.keys()), {})
        return meanings | {
            text: scale[number] for text, number in numbers.items() if number in scale
        }


def number_of(text: str) -> float | None:
    """Return the number that a pointwise verdict is, as in 4, 4.0 and 4/5."""
    number = NUMBER.fullmatch(text)
    return float(number[1]) if number else None


def is_pairwise(text: str, clearly: bool = False) -> bool:
    """Return whether a verdict may name an answer or a tie, or does so as no class would."""
    if clearly:
        return any(CLEAR.fullmatch(said.casefold()) for said in _candidates(text))
    return meaning_of(text) < Meaning.ERROR


def _candidates(text: str) -> Iterable[str]:
    """Yield what may be the verdict: the marked part of the text, then the whole text."""
    if len(text) <= 2:
        yield text
        return
    for patterns in (MARKED[:3], FIELDS, MARKED[3:]):
        matches = (pattern.findall(text) for pattern in patterns)
        candidates = [bare_text(each[-1]) for each in matches if each]
        yield from candidates[:1] if patterns is FIELDS else candidates
    if found := [side for sides in BETTER.findall(text) for side in sides if side]:
        yield found[-1] if len(found[-1]) > 1 else f"answer {found[-1]}"
    if begins := BEGINS.match(text):
        yield begins[1]
    yield bare_text(text)


def bare_text(text: Any) -> str:
    """Remove quotes, brackets, asterisks and final points."""
    return " ".join(str(text).strip(" \t\r\n\"'`*[](){}<>.,:;!").split())


def fold(text: Any) -> str:
    """Remove them and the case."""
    return bare_text(text).casefold()


def _failure_of(text: str) -> Meaning:
    if ERROR.search(text[:300]):
        return Meaning.ERROR
    return Meaning.REFUSAL if REFUSAL.search(text) else Meaning.UNREADABLE
