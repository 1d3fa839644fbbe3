"""Makes the pictures of the documentation from what the commands really print: python tools/make_pictures.py"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def picture_of(command: list[str], lines: slice, name: str) -> None:
    """The chosen lines of what `finegold ...` prints, as a terminal in SVG."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "finegold", *command], capture_output=True, text=True, check=True, cwd=folder
        )
    shown = "\n".join(done.stdout.splitlines()[lines])
    console = Console(record=True, width=84, file=io.StringIO())
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="finegold " + " ".join(command), unique_id="finegold")
    # Rich names a font on the web; a picture must not load anything.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code,", "")
    (IMAGES / name).write_text(svg)


if __name__ == "__main__":
    picture_of(["demo"], slice(0, 33), "demo.svg")
