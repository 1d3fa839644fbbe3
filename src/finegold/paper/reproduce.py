"""Reproduce the tables and figures of the paper with one call."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from finegold.errors import InputError, OutputError
from finegold.paper.datasets import PAPER, cache_folder, find, load_dataset
from finegold.paper.document import Block, Heading, Picture, Table, csv_cell, to_html, to_markdown
from finegold.paper.fits import (
    FIGURES,
    Results,
    Watch,
    check_methods,
    check_parts,
    collect,
    plan_fits,
    run_fits,
)
from finegold.paper.tables import TABLES, accuracy_table, matches, mismatches, times_table
from finegold.system.files import check_writable, prepared, replacing

PAGE = "reproduction"
TITLE = "The PTBCC paper, reproduced by Finegold"
CAPTIONS = {
    "figure2": (
        "Figure 2. Accuracy of each method on each data set; the dashed line is the mean of the"
        " bars. The axes do not begin at zero."
    ),
    "figure3": (
        "Figure 3. Prototype confusion matrices and the annotators' distribution over them, learned"
        " from Val5."
    ),
    "figure4": (
        "Figure 4. Prototype confusion matrices and the annotators' distribution over them, learned"
        " from MS."
    ),
    "figure5": "Figure 5. Time of one fit, data sets in the order of their number of labels.",
}


def reproduce(
    data: str | Path | None = None,
    out: str | Path = "finegold-paper",
    *,
    only: Iterable[str] = (),
    methods: Iterable[str] | None = None,
    workers: int | None = None,
    verified: bool = True,
    watch: Watch | None = None,
) -> tuple[Results, list[Path]]:
    """Return the results and the paths of the files that were written, the page first.

    `data` is a folder of data sets; by default the cache. `only` names parts of the paper, e.g.
    ["table4", "figure2"]. `verified=False` accepts data files with other checksums than the
    registry's, and marks them in every output.
    """
    began, parts, chosen = time.perf_counter(), check_parts(only), check_methods(methods)
    if set(parts) & set(FIGURES):
        from finegold.paper.figures import require_matplotlib

        # before the long computation
        require_matplotlib()
    target, folder, workers = (
        Path(out).expanduser(),
        Path(data or cache_folder()),
        workers or _cores(),
    )
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} is a file; name a folder for the results")
    with prepared(target):
        check_writable(target / f"{PAGE}.html")
        there = [name for name in PAPER if find(name, folder)]
        if not there:
            problem = f"none of the paper's data sets is in {folder}"
            raise InputError(f"{problem}; run `finegold datasets fetch`, or use --data")
        try:
            votes = {name: load_dataset(name, folder, verified=verified) for name in there}
        except InputError as error:
            remedy = "to use it as it is, marked everywhere as not verified: --allow-unverified"
            raise InputError(f"{error}; {remedy}") from error
        results = Results(votes, [name for name in PAPER if name not in there], parts, chosen)
        sizes = {name: loaded.annotations.n_votes for name, loaded in votes.items()}
        fits = plan_fits(parts, chosen, there)
        collect(
            results,
            run_fits(
                fits, str(folder), verified=verified, workers=workers, sizes=sizes, watch=watch
            ),
        )
        results.machine.update(_describe_machine(workers, time.perf_counter() - began))
        words = ["finegold reproduce --data DIR --out DIR", *(f"--only {part}" for part in only)]
        words += [
            *(f"--method {method}" for method in methods or ()),
            *([] if verified else ["--allow-unverified"]),
        ]
        return results, _write_files(contents(results, " ".join(words)), target)


def _describe_machine(workers: int, seconds: float) -> dict[str, Any]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "finegold": version("finegold"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
        "system": platform.system(),
        "processor": models[0] if models else platform.processor(),
        "cores": _cores(),
        "fits at a time": workers,
        "seconds in all": round(seconds, 1),
    }


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(results: Results, drawn: set[str], command: str) -> list[Block]:
    """Return the page: what was computed, what matches the paper, tables, figures, and the machine."""
    page: list[Block] = [
        (
            "Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator"
            " Prototype Learning for Multi-Class Annotation Aggregation. AAAI 2026. Everything"
            " below was computed from the votes by this command:"
        ),
        [command],
        f"Data sets present: {', '.join(votes.info.title for votes in results.data.values())}.",
    ]
    if results.remarks:
        page.append([remark[0].upper() + remark[1:] + "." for remark in results.remarks])

    page.append(Heading("What matches and what does not"))
    if good := matches(results):
        page.append(good)
    if bad := mismatches(results):
        page += [bad] if results.unverified else ["Differences beyond rounding:", bad]
    elif results.means or results.ablation:
        page.append("Every number that can be compared agrees with the paper up to rounding.")
    page.append(
        "The paper prints no numbers in its figures, so Figures 2 to 5 can only be compared by eye."
        " Times depend on the machine: the paper's had two virtual processors and programs in"
        " several languages."
    )

    makers = {name: make for name, make in TABLES.items() if name in results.parts}
    if "val5" not in results.data:
        makers.pop("table2", None)
    if makers:
        page += [Heading("Tables"), *(make(results) for make in makers.values())]

    figures: list[Block] = []
    for part in FIGURES:
        if part in drawn:
            figures.append(Picture(part, CAPTIONS[part]))
        if results.means and part in ("figure2", "figure5"):
            figures.append(accuracy_table(results) if part == "figure2" else times_table(results))
    if figures:
        page += [Heading("Figures and the numbers behind them"), *figures]
    return [
        *page,
        Heading("Machine"),
        [f"{name}: {value}" for name, value in results.machine.items()],
    ]


def contents(results: Results, command: str) -> dict[str, bytes]:
    """Return the content of every file by its name, the page first."""
    drawn: dict[str, dict[str, bytes]] = {}
    if set(results.parts) & set(FIGURES):
        from finegold.paper.figures import draw

        drawn = draw(results)
    page = blocks(results, set(drawn), command)
    pngs = {name: files["png"] for name, files in drawn.items()}
    files = {
        f"{PAGE}.html": to_html(TITLE, page, pngs).encode(),
        f"{PAGE}.md": to_markdown(TITLE, page, PAGE).encode(),
        "results.json": json.dumps(as_json(results), indent=2).encode(),
    }
    for table in (block for block in page if isinstance(block, Table)):
        lines = [",".join(map(csv_cell, row)) for row in [table.header, *table.rows]]
        files[f"{table.name}.csv"] = ("\n".join(lines) + "\n").encode()
    # The files lie in a folder with the name of the Markdown page, so that both can be copied into
    # documentation.
    return files | {
        f"{PAGE}/{name}.{kind}": data
        for name, kinds in drawn.items()
        for kind, data in kinds.items()
    }


def as_json(results: Results) -> dict[str, Any]:
    return {
        "data_sets": {
            name: {
                "counts": votes.counts,
                "paper_counts": votes.info.counts,
                "verified": votes.verified,
            }
            for name, votes in results.data.items()
        },
        "absent": results.absent,
        "unverified": results.unverified,
        "accuracy": {
            m: {name: s.accuracy for name, s in row.items()} for m, row in results.scores.items()
        },
        "runs": {
            m: {name: s._asdict() for name, s in row.items()} for m, row in results.scores.items()
        },
        "means": {
            m: {"present": mean.present, "eleven": mean.eleven, "senti": mean.senti or None}
            for m, mean in results.means.items()
        },
        "wilcoxon": {
            m: {**mean.test._asdict(), "stars": mean.test.stars, "data_sets": mean.tested}
            for m, mean in results.means.items()
            if mean.test
        },
        "ablation": {
            w: {v: a._asdict() for v, a in row.items()} for w, row in results.ablation.items()
        },
        "prototypes": {
            name: {"confusion": prototypes.tolist(), "annotators": weights.tolist()}
            for name, (prototypes, weights) in results.cases.items()
        },
        "times": {
            m: {name: s.seconds for name, s in row.items()} for m, row in results.scores.items()
        },
        "machine": results.machine,
    }


def _write_files(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write all files under temporary names first, so that a failure leaves the existing files
    unchanged.
    """
    paths = [out / name for name in files]
    with ExitStack() as folders:
        for folder in {path.parent: None for path in paths}:
            folders.enter_context(prepared(folder))
        with replacing(*paths) as temporary_paths:
            for temporary, data in zip(temporary_paths, files.values(), strict=True):
                temporary.write_bytes(data)
    return paths
