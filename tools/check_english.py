"""Find phrases that a native speaker would not write: python tools/check_english.py

It reads the pages, the help texts, messages and docstrings of src/ (string literals), and the words of the studio and
the report. Code in pages and names between backquotes are left out. CONTRIBUTING.md has the style that it checks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = {  # what came back again and again -> what to write
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|more|less|fewer|better|worse|different)\w+": "is not a ...",
    r"\bthat (?:is|are|was|were) none\b": "that is not one",
    r"\bno whole \w+": "not a complete ...",
    r"\b(?:is|are|was|were) said(?! to\b)(?!\?)": "Finegold reports ..., ... is reported",
    r"\btell(?:s)? (?:nothing|the opposite) of\b": "do not depend on ..., contradict ...",
    r"\bunder (?:the )?majority vote\b|\bunder the vote\b": "worse than majority vote",
    r"\bJudged by (?:\d|\{|$)": "On 80 real data sets, ...",
    r"\b(?:of|with) such confidence\b": "with this confidence",
    r"\b(?:says?|said) else\b": "unless ... is given",
    r"\bbelongs? into\b": "belong in",
    r"\bof which none\b": "none of which",
    r"\bin the place of\b": "instead of",
    r"\bsome (?:hundred|thousand|million)\b": "several hundred",
    r"\bbrings? (?:along|\d+ packages)\b": "comes with, installs",
    r"\bknown of (?:a|an|one|the|each)\b|\bneeds? to know of\b": "known about",
    r"\bsays of (?!how\b)": "says about",
    r"\b(?:must|may) lie in\b|\bif they lie in\b": "must be in",
    r"\bone (?:can|may|must|has to|wants to)\b(?! be\b)": "you can",
    r"\bgive(?:s)? (?:you )?informations?\b|\binformations\b|\badvices\b|\bevidences\b": "these words have no plural",
    r"\ballows? to \w+": "allows you to ..., lets you ...",
    r"\b[Hh]ow right\b": "how accurate",
    r"\bunseen\b(?! class)": "unchecked, without a check",
    r"\bhangs? on\b": "depends on",
    r"\bhardly more\b": "barely more",
    r"\b(?:more|most) probably right\b": "more likely right",
    r"\bin silence\b(?! *\()": "without a word, silently",
    r"\bby lot\b": "at random",
    r"\bhow far (?:annotators|judges|they) agree\b": "how much ... agree",
    r"\bmade anew\b|\banew\b": "again",
    r"\bwritten otherwise\b": "written differently",
    r"\bas good as possible\b": "as well as possible",
}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RULES = [(re.compile(pattern), advice) for pattern, advice in PATTERNS.items()]


def main() -> int:
    """Print a line per phrase."""
    found = [
        f"{place}: {words!r}: {advice}"
        for place, text in texts()
        for words, advice in phrases(text)
    ]
    print("\n".join(found) or f"none of {len(RULES)} phrases was found")
    return int(bool(found))


def phrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield the phrases of a text with what to write instead."""
    plain = re.sub(r"`[^`\n]*`", "`x`", text)
    for pattern, advice in RULES:
        yield from ((match[0], advice) for match in pattern.finditer(plain))


def texts() -> Iterator[tuple[str, str]]:
    """Yield the texts that people read, with their places."""
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]:
        prose = FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text("utf-8"))
        yield from lines(page, prose)
    for source in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{source.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.split())
    for folder, ending in (
        ("studio/static", "*.js"),
        ("studio/static", "*.html"),
        ("report/page", "*.html"),
    ):
        for source in sorted((ROOT / "src" / "finegold" / folder).rglob(ending)):
            yield from lines(source, source.read_text("utf-8"))


def lines(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        yield f"{path.relative_to(ROOT)}:{number}", line


if __name__ == "__main__":
    sys.exit(main())
