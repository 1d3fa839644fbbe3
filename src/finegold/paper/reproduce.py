"""Reproduce the tables and figures of the paper with one call."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from finegold.errors import InputError, OutputError
from finegold.paper import tables
from finegold.paper.datasets import Votes, cache_folder, data_sets, find, load_dataset
from finegold.paper.document import Block, Heading, Items, Picture, Table, Text, csv_cell, to_html, to_markdown
from finegold.paper.fits import FIGURES, PARTS, Watch, check_methods, check_parts, plan_fits, run_fits
from finegold.paper.results import Results, collect
from finegold.paper.tables import matches, mismatches
from finegold.system.files import check_writable, prepared, replacing_all

PAGE = "reproduction"
TITLE = "The PTBCC paper, reproduced by Finegold"
CAPTIONS = {
    "figure2": "Figure 2. Accuracy of each method on each data set; the dashed line is the mean of the bars. "
    "The axes do not begin at zero.",
    "figure3": "Figure 3. Prototype confusion matrices and the annotators' distribution over them, learned from Val5.",
    "figure4": "Figure 4. Prototype confusion matrices and the annotators' distribution over them, learned from MS.",
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

    `data` is a folder of data sets; by default the cache. `only` names parts of the paper, e.g. ["table4", "figure2"].
    `verified=False` accepts data files with other checksums than the registry's, and marks them in every output.
    """
    began, parts = time.perf_counter(), check_parts(only)
    if set(parts) & set(FIGURES):
        from finegold.paper.figures import require_matplotlib

        require_matplotlib()  # before the long computation
    target, folder, workers = Path(out).expanduser(), Path(data or cache_folder()), workers or _cores()
    with _prepare_folder(target):
        there, lacking = check_methods(methods)
        votes, absent = _load(folder, verified)
        results = Results(votes, absent, parts, there, lacking)
        sizes = {name: loaded.annotations.n_votes for name, loaded in votes.items()}
        fits = plan_fits(parts, there, list(votes))
        collect(results, run_fits(fits, str(folder), verified=verified, workers=workers, sizes=sizes, watch=watch))
        results.machine.update(_describe_machine(workers, time.perf_counter() - began))
        return results, _write_files(contents(results, _command(only, methods, verified)), target)


def _load(folder: Path, verified: bool) -> tuple[dict[str, Votes], list[str]]:
    """Load the paper's data sets that are in the folder, and return the names of the others."""
    names = [name for name, entry in data_sets().items() if entry.is_papers]
    there = [name for name in names if find(name, folder)]
    if not there:
        raise InputError(f"none of the paper's data sets is in {folder}; run `finegold datasets fetch`, or use --data")
    try:
        loaded = {name: load_dataset(name, folder, verified=verified) for name in there}
    except InputError as error:
        raise InputError(
            f"{error}; to use it as it is, marked everywhere as not verified: --allow-unverified"
        ) from error
    return loaded, [name for name in names if name not in loaded]


def _command(only: Iterable[str], methods: Iterable[str] | None, verified: bool) -> str:
    words = ["finegold reproduce --data DIR --out DIR", *(f"--only {part}" for part in only)]
    words += [f"--method {method}" for method in methods or ()]
    return " ".join(words if verified else [*words, "--allow-unverified"])


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


# ---- The page


def blocks(results: Results, drawn: set[str], command: str) -> list[Block]:
    """Return the page: what was computed, what matches the paper, tables, figures, and the machine."""
    what = (
        "Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator Prototype Learning for "
        "Multi-Class Annotation Aggregation. AAAI 2026. Everything below was computed from the votes by this command:"
    )
    present = ", ".join(votes.info.title for votes in results.data.values())
    head: list[Block] = [Text(what), Items([command]), Text(f"Data sets present: {present}.")]
    if results.remarks:
        head.append(Items([remark[0].upper() + remark[1:] + "." for remark in results.remarks]))
    machine = Items([f"{name}: {value}" for name, value in results.machine.items()])
    body = [*_comparison(results), *_tables(results), *_figures(results, drawn)]
    return [*head, *body, Heading("Machine"), machine]


def _comparison(results: Results) -> list[Block]:
    """Return the section about what matches the paper, which comes first."""
    good, bad = matches(results), mismatches(results)
    found: list[Block] = [Heading("What matches and what does not")]
    if good:
        found += [Items(good)]
    if bad:
        found += [Items(bad)] if results.unverified else [Text("Differences beyond rounding:"), Items(bad)]
    elif results.means or results.ablation:
        found += [Text("Every number that can be compared agrees with the paper up to rounding.")]
    found += [
        Text(
            "The paper prints no numbers in its figures, so Figures 2 to 5 can only be compared by eye. "
            "Times depend on the machine: the paper's had two virtual processors and programs in several languages."
        )
    ]
    return found


def _tables(results: Results) -> list[Block]:
    makers = {name: getattr(tables, name.replace("table", "table_")) for name in PARTS if name.startswith("table")}
    if "val5" not in results.data:
        del makers["table2"]
    wanted = [make(results) for name, make in makers.items() if name in results.parts]
    return [Heading("Tables"), *wanted] if wanted else []


def _figures(results: Results, drawn: set[str]) -> list[Block]:
    found: list[Block] = []
    if results.means:
        found += _with("figure2", drawn, tables.accuracy_table(results))
    found += [block for part in ("figure3", "figure4") for block in _with(part, drawn)]
    if results.means:
        found += _with("figure5", drawn, tables.times_table(results))
    return [Heading("Figures and the numbers behind them"), *found] if found else []


def _with(part: str, drawn: set[str], *more: Table) -> list[Block]:
    return [*([Picture(part, CAPTIONS[part])] if part in drawn else []), *more]


# ---- The files: all of them or none


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
    # The files lie in a folder with the name of the Markdown page, so that both can be copied into documentation.
    return files | {f"{PAGE}/{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()}


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
def _prepare_folder(out: Path) -> Iterator[None]:
    """Check before the long computation that the results can be written."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; name a folder for the results")
    with prepared(out):
        check_writable(out / f"{PAGE}.html")
        yield


def _write_files(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write all files under temporary names first, so that a failure leaves the existing files unchanged."""
    paths = [out / name for name in files]
    with ExitStack() as folders:
        for folder in {path.parent: None for path in paths}:
            folders.enter_context(prepared(folder))
        with replacing_all(paths) as temporary_paths:
            for temporary, data in zip(temporary_paths, files.values(), strict=True):
                temporary.write_bytes(data)
    return paths
