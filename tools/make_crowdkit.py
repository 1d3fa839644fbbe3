"""Write the table of docs/guides/crowdkit.md: finegold.crowdkit compared with crowd-kit (tests/data/crowdkit.json).

python tools/make_crowdkit.py
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "docs" / "guides"
sys.path.insert(0, str(HERE.parent))

from tests.crowdkit.test_crowdkit import CASES, DIFFERS, GOLDEN, difference, values_of  # noqa: E402

BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def table() -> str:
    """Return the largest difference of each class and function."""
    worst: dict[str, list[float]] = {}
    for group, case in CASES:
        found = values_of(group, case)
        compared = {
            name: value
            for name, value in case["values"].items()
            if (case["name"], name) not in DIFFERS
        }
        gaps = [difference(expected, found[name]) for name, expected in compared.items()]
        worst.setdefault(case["name"], []).append(max(gaps))
    rows = [f"| `{name}` | {len(gaps)} | {max(gaps):.0e} |" for name, gaps in worst.items()]
    return "\n".join(
        ["| name | fits or calls compared | largest difference |", "|---|---|---|", *rows]
    )


def main() -> None:
    page = HERE / "crowdkit.md"
    head, rest = page.read_text("utf-8").split(BEGIN)
    versions = ", ".join(f"{name} {version}" for name, version in GOLDEN["versions"].items())
    text = f"{table()}\n\nVersions: {versions}."
    page.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
