"""Spoils real vote files in many ways and prints what happens: said, repaired by an option, refused or silent.

    python -m bench.reading.dirt [--data ../shared] [--files 30] > bench/reading/dirt.md

*said*: a warning or a message names the dirt; *repaired*: the same votes as of the clean file come out, without or with
the option that the warning proposes; *refused*: an error; *silent*: other votes come out, and nothing is said.
"""

from __future__ import annotations

import argparse
import gzip
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import finegold
from finegold.errors import FinegoldWarning, InputError

Rows = list[list[str]]
HEADER = ["task", "worker", "label"]
WORDS = (
    "negative",
    "positive",
    "neutral",
    "mixed",
    "other",
    "sarcastic",
    "angry",
    "happy",
    "sad",
    "afraid",
)
SHARE = 0.05  # of the rows are spoiled
FEWEST = 3  # rows


def load(path: Path, words: bool) -> Rows:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    rows = [line.split(",")[:3] for line in text.splitlines()[1:3001]]
    return (
        [[task, worker, WORDS[int(label) % len(WORDS)]] for task, worker, label in rows]
        if words
        else rows
    )


def cells(column: int, change: Callable[[str], str]) -> Callable[[Rows, random.Random], bytes]:
    """Change a column in some of the rows."""

    def spoil(rows: Rows, rng: random.Random) -> bytes:
        chosen = set(rng.sample(range(len(rows)), max(FEWEST, int(SHARE * len(rows)))))
        return table(
            [
                [change(c) if k == column and n in chosen else c for k, c in enumerate(row)]
                for n, row in enumerate(rows)
            ]
        )

    return spoil


def table(rows: Rows, header: list[str] | None = HEADER, mark: str = ",", end: str = "") -> bytes:
    lines = [*([header] if header else []), *rows]
    return "".join(mark.join(row) + end + "\n" for row in lines).encode()


def inserted(line: str) -> Callable[[Rows, random.Random], bytes]:
    def spoil(rows: Rows, rng: random.Random) -> bytes:
        lines = table(rows).decode().splitlines(keepends=True)
        place = len(lines) // 2
        return "".join([*lines[:place], line + "\n", *lines[place:]]).encode()

    return spoil


def words_only(
    change: Callable[[Rows, random.Random], bytes],
) -> Callable[[Rows, random.Random], bytes]:
    change.words = True  # type: ignore[attr-defined]
    return change


def prefix(
    column: int, letter: str, change: Callable[[str], str]
) -> Callable[[Rows, random.Random], bytes]:
    """Change ids that are words."""
    return lambda rows, rng: cells(column, change)(
        [[f"{letter}{c}" if k == column else c for k, c in enumerate(row)] for row in rows], rng
    )


KINDS: dict[str, Callable[[Rows, random.Random], bytes]] = {
    "spaces around task ids": cells(0, lambda text: f"{text} "),
    "spaces around worker ids": cells(1, lambda text: f" {text}"),
    "spaces around labels": words_only(cells(2, lambda text: f"{text} ")),
    "case of task ids": prefix(0, "img", str.upper),
    "case of worker ids": prefix(1, "w", str.upper),
    "case of labels": words_only(cells(2, str.title)),
    "task ids 7 beside 7.0": cells(0, lambda text: f"{text}.0"),
    "worker ids 7 beside 7.0": cells(1, lambda text: f"{text}.0"),
    "labels 1 beside 1.0": cells(2, lambda text: f"{text}.0"),
    "task ids with leading zeros": cells(0, lambda text: f"00{text}"),
    "a header in the middle": inserted(",".join(HEADER)),
    "-1 in a long table": cells(2, lambda text: "-1"),
    "labels that Excel made dates": words_only(cells(2, lambda text: "2-Jan")),
    "labels as full dates": words_only(cells(2, lambda text: "2020-01-02 00:00:00")),
    "the word missing": words_only(cells(2, lambda text: "missing")),
    "the word unknown": words_only(cells(2, lambda text: "unknown")),
    "a dot": words_only(cells(2, lambda text: ".")),
    "the word skip": words_only(cells(2, lambda text: "skip")),
    "the number 99": cells(2, lambda text: "99"),
    "NA": words_only(cells(2, lambda text: "NA")),
    "single quotes around labels": words_only(cells(2, lambda text: f"'{text}'")),
    "double quotes around labels": words_only(cells(2, lambda text: f'"""{text}"""')),
    "a blank line": inserted(""),
    "a comma at the end of lines": lambda rows, rng: table(rows, end=","),
    "two commas at the end of lines": lambda rows, rng: table(rows, end=",,"),
    "a title above the header": lambda rows, rng: b"Results of the second round\n" + table(rows),
    "no header": lambda rows, rng: table(rows, None),
    "a last line that is cut": lambda rows, rng: table(rows)[:-1].rpartition(b",")[0],
    "semicolons": lambda rows, rng: table(rows, mark=";"),
    "UTF-16": lambda rows, rng: table(rows).decode().encode("utf-16"),
    "repeated rows that disagree": words_only(
        lambda rows, rng: table([*rows, *([t, w, "other" if c != "other" else "sad"] for t, w, c in rng.sample(rows, len(rows) // 10))])  # noqa: E501
    ),
    **{
        f"labels with {name}": words_only(cells(2, change))
        for name, change in {
            "a semicolon": "{};".format,
            "an underscore": "{}_".format,
            "an exclamation mark": "{}!".format,
            "a final dot": "{}.".format,
            "typographic quotes": "\u201c{}\u201d".format,
            "brackets and quotes of Python": "['{}']".format,
            "a zero-width space": "{}\u200b".format,
            "a byte-order mark": "\ufeff{}".format,
            "a Cyrillic letter": lambda text: text.replace("a", "\u0430").replace("e", "\u0435").replace("i", "\u0456"),
            "an accent in another encoding": lambda text: text.replace("e", "\u00c3\u00a9", 1),
            "a letter less": lambda text: text[:2] + text[3:],
            "a plural": "{}s".format,
            "a count behind them": "{} (3)".format,
        }.items()
    },
    **{
        f"the label {word}": words_only(cells(2, lambda text, word=word: word))  # type: ignore[misc]
        for word in ("--", "(blank)", "#REF!", "error", "timeout", "unsure", "don't know", "cannot tell", "[]", "test")
    },
    "tabs around task ids": cells(0, "{}\t".format),
    "a zero-width space in worker ids": cells(1, "{}\u200b".format),
    "quotes around worker ids": cells(1, "'{}'".format),
    "task ids that a spreadsheet cut short": cells(0, lambda text: f"{int(text) + 1e6:.2E}"),
    "a header in the middle in capitals": inserted(",".join(HEADER).upper()),
    "yes and no beside 1 and 0": cells(2, lambda text: {"0": "no", "1": "yes"}.get(text, text)),
    "task and worker swapped in some rows": lambda rows, rng: table([
        [f"w{w}", f"t{t}", c] if rng.random() < SHARE else [f"t{t}", f"w{w}", c] for t, w, c in rows
    ]),
    "a line of totals at the end": lambda rows, rng: table(rows) + b"Total,,%d\n" % len(rows),
    "a line about the source at the end": lambda rows, rng: table(rows) + b"Source: our survey\n",
    "a line of comment": inserted("# second batch"),
    **{
        f"labels: {name}": words_only(cells(2, change))
        for name, change in {
            "HTML around them": "<b>{}</b>".format,
            "a non-breaking space": "{}\u00a0".format,
            "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) for c in text),
            "a line break": '"{}\n"'.format,
            "a unit": "{} pts".format,
            "a null byte": "{}\0".format,
            "a comment in brackets": "{} [sic]".format,
            "an entity": "{}&nbsp;".format,
        }.items()
    },
    "labels: an en dash for a hyphen": words_only(
        lambda rows, rng: table([[t, w, rng.choice(["so-so", "so\u2013so"]) if c == "neutral" else c] for t, w, c in rows])
    ),
    "-1 beside words": words_only(cells(2, lambda text: "-1")),
    "0 beside words": words_only(cells(2, lambda text: "0")),
    "labels as 4 - agree beside 4": cells(2, lambda text: f"{text} - agree"),
    "labels as 1,0 beside 1": cells(2, lambda text: f'"{text},0"'),
    "labels in scientific notation": cells(2, lambda text: f"{int(text):.2E}"),
    "labels with a percent sign": cells(2, "{}%".format),
    "labels of another language": words_only(
        cells(2, lambda text: {"positive": "positiv", "negative": "negativ"}.get(text, text))
    ),
    "labels of two words spelled in three ways": words_only(
        lambda rows, rng: table([[t, w, rng.choice([f"very {c}", f"very_{c}", f"Very-{c}"])] for t, w, c in rows])
    ),
    "a space after each comma": lambda rows, rng: table(rows, mark=", "),
    "thousands separators in task ids": lambda rows, rng: cells(0, lambda text: f'"{int(text):,}"')(
        [[str(int(t) + 1000), w, c] for t, w, c in rows], rng
    ),
    "dates among task ids": lambda rows, rng: cells(0, lambda text: "2020-01-02")(rows, rng),
    "mojibake in worker ids": prefix(1, "J\u00fcrgen", lambda text: text.replace("\u00fc", "\u00c3\u00bc")),
    "a Cyrillic letter in worker ids": prefix(1, "anna", lambda text: text.replace("a", "\u0430")),
    "full width in worker ids": prefix(1, "w", lambda text: "".join(chr(ord(c) + 0xFEE0) for c in text)),
    "lost leading zeros of task ids": lambda rows, rng: cells(0, lambda text: text.lstrip("0") or "0")(
        [[t.zfill(9), w, c] for t, w, c in rows], rng
    ),
    "a second header row": lambda rows, rng: table([["Task ID", "Worker ID", "Your answer"], *rows]),
    "filled subtotal rows": lambda rows, rng: table([*rows, ["Total", "all", str(len(rows))], ["Subtotal", "all", "9"]]),
    "rows shifted by a column": lambda rows, rng: table(
        [[w, c, t] if rng.random() < SHARE else [t, w, c] for t, w, c in [[f"t{t}", f"w{w}", c] for t, w, c in rows]]
    ),
    "the export twice": lambda rows, rng: table([*rows, *rows]),
    "rows quoted whole": lambda rows, rng: b"".join(
        b'"' + line + b'"\n' for line in table(rows).splitlines()
    ),
    "some rows quoted whole": lambda rows, rng: b"".join(
        (b'"' + line + b'"' if n % 20 == 7 else line) + b"\n" for n, line in enumerate(table(rows).splitlines())
    ),
    "test rows": words_only(lambda rows, rng: table([*rows, ["test", "test", "test"], ["asdf", "test", "positive"]])),
    "lines that end in CR": lambda rows, rng: table(rows).replace(b"\n", b"\r"),
    "a merged task cell, filled in the first row only": lambda rows, rng: table(
        [[t if n == 0 or rows[n - 1][0] != t else "", w, c] for n, (t, w, c) in enumerate(rows)]
    ),
    "mixed booleans": lambda rows, rng: table(
        [[t, w, rng.choice({"0": ["false", "0", "FALSE"]}.get(c, ["true", "1", "TRUE"]))] for t, w, c in rows]
    ),
    "yes, y and 1": lambda rows, rng: table(
        [[t, w, rng.choice({"0": ["no", "n"]}.get(c, ["yes", "y"]))] for t, w, c in rows]
    ),
    "Excel's errors": cells(2, lambda text: "#N/A"),
    "a note in the label": words_only(cells(2, lambda text: "see comment")),
    "lines that end in CR and LF in turn": lambda rows, rng: b"".join(
        line + (b"\r\n" if n % 2 else b"\n") for n, line in enumerate(table(rows).splitlines())
    ),
}  # fmt: skip


def read(path: Path, **options: Any) -> tuple[Any, list[Any]]:
    """Return the votes in a form that can be compared, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        votes = finegold.read(path, **options)
    found = (votes.n_votes, votes.n_tasks, votes.n_annotators, sorted(map(str, votes.class_names)))
    return found, [each.message for each in said if issubclass(each.category, FinegoldWarning)]


def outcome(path: Path, clean: Any, lost: int) -> str:
    """Return the outcome of one spoiled file; cells that are lost for good are `lost` votes less."""

    def is_clean(found: Any) -> bool:
        # The names of ids may differ (7 and img7), and votes that were overwritten are gone.
        return (
            found[0] in (clean[0], clean[0] - lost)
            and found[1] in range(clean[1] - lost, clean[1] + 1)
            and (
                found[2] in range(clean[2] - lost, clean[2] + 1) and len(found[3]) <= len(clean[3])
            )
        )

    try:
        found, said = read(path)
    except InputError as error:
        for remedy in error.remedies:
            if remedy.can_be_pasted and is_clean(read(path, **remedy.options)[0]):
                return "refused, repaired by the option"
        return "refused"
    if not said:
        return "repaired silently" if is_clean(found) else "silent"
    for message in said:
        for remedy in message.remedies:
            if remedy.options and not any(
                isinstance(value, finegold.errors.Placeholder) for value in remedy.options.values()
            ):
                try:
                    if is_clean(read(path, **remedy.options)[0]):
                        return "said, repaired by the option"
                except InputError:
                    pass
    return "said, repaired" if is_clean(found) else "said"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"))
    parser.add_argument("--files", type=int, default=30)
    options = parser.parse_args()
    files = sorted(
        [*options.data.glob("real/*/label.csv.gz"), *options.data.glob("datasets/*/label.csv")]
    )
    step = max(len(files) // options.files, 1)
    chosen = files[::step][: options.files]
    path = Path(tempfile.mkdtemp()) / "votes.csv"
    results: dict[str, Counter[str]] = {}
    for kind, spoil in KINDS.items():
        results[kind] = Counter()
        for number, file in enumerate(chosen):
            rows = load(file, getattr(spoil, "words", False))
            path.write_bytes(table(rows))
            clean, _ = read(path)
            path.write_bytes(spoil(rows, random.Random(number)))
            results[kind][outcome(path, clean, max(FEWEST, int(SHARE * len(rows))))] += 1
    outcomes = sorted({each for counts in results.values() for each in counts})
    print(f"| dirt ({len(chosen)} files) | " + " | ".join(outcomes) + " |")
    print("|---|" + "---:|" * len(outcomes))
    for kind, counts in results.items():
        print(f"| {kind} | " + " | ".join(str(counts[each] or "") for each in outcomes) + " |")
    total = sum(results.values(), Counter())
    print("| **all** | " + " | ".join(str(total[each]) for each in outcomes) + " |")


if __name__ == "__main__":
    main()
