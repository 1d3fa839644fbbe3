"""Make the terminal pictures of the documentation from what the commands really print: python tools/make_pictures.py"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.text import Text

from finegold.votes.sample import VOTES

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PYTHON = """\
import finegold
result = finegold.aggregate("votes.csv")
print(result.labels().head(4))
print(result.annotators().drop("accuracy"))"""


def main() -> None:
    """Write the pictures."""
    for name, (title, shown) in contents().items():
        (IMAGES / name).write_text(picture_of(title, shown), encoding="utf-8")


def contents() -> dict[str, tuple[str, str]]:
    """Return what each picture shows today: its title and its text."""
    demo = run("-m", "finegold", "demo").rstrip()
    prompted = "\n".join(
        f"{'... ' if line.startswith(' ') else '>>> '}{line}".rstrip()
        for line in PYTHON.splitlines()
    )
    return {
        "demo.svg": ("finegold demo", demo),
        "python.svg": ("Python", f"{prompted}\n{run('-c', PYTHON).rstrip()}"),
    }


def run(*words: str) -> str:
    """Return what Python prints in a folder with the sample."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "votes.csv").write_bytes(VOTES.read_bytes())
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=True, cwd=folder
        )
    return done.stdout


def picture_of(title: str, shown: str) -> str:
    """Return a terminal with this text in SVG."""
    width = min(
        max(map(len, shown.splitlines())) + 1, 84
    )  # the narrower, the larger are the letters on a phone
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(Text(shown))
    svg = console.export_svg(title=title, unique_id="finegold")
    # Rich names a font on the web; a picture must not load anything.
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code,", "")


def text_of(svg: str) -> str:
    """Return the words of a picture."""
    return " ".join(unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).split())


if __name__ == "__main__":
    main()
