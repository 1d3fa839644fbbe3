"""Makes docs/reference/reading.md by running every case of dirt: python tools/make_reading.py"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from finegold.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.io.corpus import Case, dirt, faults  # noqa: E402

SECTIONS = {
    "Spellings and number formats": dirt.SPELLINGS_CASES,
    "What counts as no vote": dirt.NO_VOTES_CASES,
    "Votes that look wrong": dirt.ALARMS_CASES,
    "What spreadsheets and programs do": faults.DIRT_CASES,
    "Shapes of tables": faults.FAULTS_CASES,
    "Gold": dirt.GOLD_CASES,
    "Truths of an evaluation": dirt.TRUTHS_CASES,
    "JSON, and one file per annotator": dirt.NESTED_CASES,
}
SHOWN = ("warning: ", "error: ", "left out: ")
MOST_CLASSES = 5
UNLIKE = re.compile(
    r"(?:look like \d+|merged): .*?(?=;|`)|such as .*?(?=, which|;|`)|reads .*|\"[^\"]*\"|[\d.]+"
)
HEAD = """# What Finegold says about dirty files

"Finegold says" is what `finegold aggregate` (for truths: `finegold evaluate`) prints on standard
error apart from its summary. Python warns in the same words (`FinegoldWarning`), and the studio and the report show the
same findings under "What was read". Nothing is left out silently.

The options that repair dirt are `--normalise`, `--alias`, `--missing` and `--repeated`. In Python
they are arguments of the same names. In the studio, the page of votes has a table of spellings and a button that merges
all look-alikes. [What Finegold reads](formats.md) describes the formats.

![The studio shows what was read, with a table of spellings, before a method is fitted](../images/studio-reading.png)

![The report shows the same: votes of each class, what was left out, spellings](../images/report-reading.png)
"""
SPOILED = """
## Real files, spoiled

`python -m bench.reading.dirt` spoils real vote files in {kinds} ways (5 % of the rows get the dirt). Of {cases:,}
spoiled files Finegold reports {said:,} and names the option that repairs {by_option:,} of them; it repairs {silently}
without a word, refuses {refused}, and reads {silent} without noticing, because the file cannot tell: a class may well
be called test. On clean files it reports nothing. The table is `bench/reading/dirt.md`.
"""
FOOT = """
This page is made by `python tools/make_reading.py`, which runs every case; the files are in
`tests/io/corpus`.
"""


def page() -> str:
    return (
        HEAD
        + "".join(_section(title, cases) for title, cases in SECTIONS.items())
        + _spoiled()
        + FOOT
    )


def _spoiled() -> str:
    """Return the sums of what `bench/reading/dirt.py` printed for real files that it spoiled."""
    lines = (ROOT / "bench" / "reading" / "dirt.md").read_text("utf-8").strip().splitlines()
    total = [int(cell) for cell in lines[-1].split("|")[2:-1]]
    refused, refused_option, silently, said, said_repaired, said_option, silent = total
    return SPOILED.format(
        kinds=len(lines) - 3,  # without the head, the line below it and the sums
        cases=sum(total),
        said=refused_option + said + said_repaired + said_option,
        by_option=refused_option + said_option,
        silently=silently,
        refused=refused,
        silent=silent,
    )


def _section(title: str, cases: tuple[Case, ...]) -> str:
    rows = [_cells(case) for case in cases]
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for cells in rows:  # what differs only in the spelling is one row
        groups.setdefault((cells[1], *(UNLIKE.sub("", cell) for cell in cells[2:])), []).append(
            cells
        )
    rows = [("; ".join(cells[0] for cells in group), *group[0][1:]) for group in groups.values()]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    return f"\n## {title}\n\n| dirt | options | Finegold says | Finegold does |\n|---|---|---|---|\n{table}"


def _cells(case: Case) -> tuple[str, ...]:
    command = "evaluate" if "--truth" in case.arguments else "aggregate"
    says, does = _outcome(case, command)
    options = " ".join(argument.replace("_", "") for argument in case.arguments)
    return (
        case.name,
        f"`{options}`" if options else "",
        "<br>".join(map(_code, says)) or "nothing",
        does,
    )


def _outcome(case: Case, command: str) -> tuple[list[str], str]:
    """Run a case in a folder of its own, and return what it says and does."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        votes = case.write(Path())
        done = CliRunner().invoke(
            app, [command, *votes, *case.arguments, "--method", "mv", "--json"]
        )
    said = [
        line
        for line in done.stderr.splitlines()
        if line.startswith(SHOWN) and "tasks are tied" not in line
    ]
    return said, _read(json.loads(done.stdout)) if done.exit_code == 0 else "refuses it"


def _read(summary: dict[str, Any]) -> str:
    if "accuracy" in summary:
        return f"compares {summary['n_truths']} truths: accuracy {summary['accuracy']:.2f}"
    names = [str(name) for name in summary["classes"]]
    more = f", ... ({len(names)} classes)" if len(names) > MOST_CLASSES else ""
    return f"reads {summary['n_votes']} votes: {_code(', '.join(names[:MOST_CLASSES]))}{more}"


def _code(text: str) -> str:
    """Write text as code in a cell of a table."""
    return f"`{text.replace('|', '/').replace('_gold', 'gold').replace('_truth', 'truth').replace('_alias', 'alias')}`"


if __name__ == "__main__":
    os.environ["COLUMNS"] = "1000"
    (ROOT / "docs" / "reference" / "reading.md").write_text(page(), "utf-8")
