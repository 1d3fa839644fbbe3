"""Write the results to files: all of them or none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from finegold.errors import OutputError
from finegold.paper.document import Block, Table, csv_cell, to_html, to_markdown
from finegold.paper.page import TITLE, blocks
from finegold.paper.results import Results
from finegold.system.files import check_writable, prepared, replacing_all

__all__ = ["as_json", "checked_place", "contents", "place"]

PAGE = "reproduction"


def contents(results: Results, command: str) -> dict[str, bytes]:
    """Return the content of every file by its name, the page first."""
    drawn = _drawn(results)
    page = blocks(results, set(drawn), command)
    pngs = {name: files["png"] for name, files in drawn.items()}
    files = {
        f"{PAGE}.html": to_html(TITLE, page, pngs).encode(),
        f"{PAGE}.md": to_markdown(TITLE, page, PAGE).encode(),
        "results.json": json.dumps(as_json(results), indent=2).encode(),
    }
    files |= {f"{table.name}.csv": _csv(table) for table in _tables(page)}
    # The files lie in a folder with the name of the Markdown page, so that both can be copied into documentation.
    return files | {f"{PAGE}/{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()}


def _drawn(results: Results) -> dict[str, dict[str, bytes]]:
    if not any(part.startswith("figure") for part in results.parts):
        return {}
    from finegold.paper.figures import draw

    return draw(results)


def _tables(page: Iterable[Block]) -> list[Table]:
    return [block for block in page if isinstance(block, Table)]


def _csv(table: Table) -> bytes:
    lines = [",".join(map(csv_cell, row)) for row in [table.header, *table.rows]]
    return ("\n".join(lines) + "\n").encode()


def as_json(results: Results) -> dict[str, Any]:
    return {
        "data_sets": {
            name: {"counts": votes.counts, "paper_counts": votes.info.counts, "verified": votes.verified}
            for name, votes in results.data.items()
        },
        "absent": results.absent,
        "unverified": results.unverified,
        "methods_lacking": results.lacking,
        "accuracy": {m: {name: s.accuracy for name, s in row.items()} for m, row in results.scores.items()},
        "runs": {m: {name: s._asdict() for name, s in row.items()} for m, row in results.scores.items()},
        "means": {
            m: {"present": mean.present, "eleven": mean.eleven, "senti": mean.senti or None}
            for m, mean in results.means.items()
        },
        "wilcoxon": {
            m: {**mean.test._asdict(), "stars": mean.test.stars, "data_sets": mean.tested}
            for m, mean in results.means.items()
            if mean.test
        },
        "ablation": {w: {v: a._asdict() for v, a in row.items()} for w, row in results.ablation.items()},
        "prototypes": {
            name: {"confusion": case.prototypes.tolist(), "annotators": case.weights.tolist()}
            for name, case in results.cases.items()
        },
        "times": {m: {name: s.seconds for name, s in row.items()} for m, row in results.scores.items()},
        "machine": results.machine,
    }


@contextmanager
def checked_place(out: Path) -> Iterator[None]:
    """Check before the long computation that the results can be written."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; name a folder for the results")
    with prepared(out):
        check_writable(out / f"{PAGE}.html")
        yield


def place(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write all files under temporary names first, so that a failure leaves the existing files unchanged."""
    paths = [out / name for name in files]
    with ExitStack() as folders:
        for folder in {path.parent: None for path in paths}:
            folders.enter_context(prepared(folder))
        with replacing_all(paths) as temporary_paths:
            for temporary, data in zip(temporary_paths, files.values(), strict=True):
                temporary.write_bytes(data)
    return paths
