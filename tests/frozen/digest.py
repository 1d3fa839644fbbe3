"""Digests of what the readers return, to see that a change of the code changes no result.

    python -m tests.frozen.digest make        # with PYTHONPATH at the tree that is right
    python -m tests.frozen.digest compare     # with the tree that was changed

The inputs were recorded from the tests of reading; beside them are all sets of ../shared/real and the logs of
../shared/logs. README.md says more. This folder goes when the work on the readers is done.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
NET = Path(os.environ.get("FROZEN", HERE.parents[3] / "net"))
SHARED = next(
    (folder / "shared" for folder in HERE.parents if (folder / "shared" / "real").exists()), None
)
ARRAYS = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
NAMES = ("task_names", "annotator_names", "class_names", "unlabelled", "never_voted")
LAYOUTS = {"transposed": "transposed", "table": None}
GONE = ("limit", "keep_missing", "table", "params")


def digest(value: Any) -> str:
    return hashlib.sha1(repr(value).encode()).hexdigest()[:12]


def of_array(values: Any) -> str:
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        array = array.astype(np.int64)
    return f"{array.shape} {hashlib.sha1(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]}"


def of_names(names: Any) -> list[str] | str:
    values = [
        f"{type(name).__name__} {name!r}"
        for name in (names.to_list() if hasattr(names, "to_list") else names)
    ]
    return values if len(values) < 12 else f"{len(values)} {values[:3]} {digest(values)}"


def of_remedy(remedy: Any) -> str:
    options = {name: value for name, value in dict(remedy.options).items() if value is not None}
    if options.get("missing") == []:
        options = {"keep_missing": True}
    if options.pop("wide", None):
        options["layout"] = "wide"
    if options.get("format") in LAYOUTS:
        options["layout"] = LAYOUTS[options.pop("format")] or "long"
    return f"{remedy.text} {sorted((name, repr(value)) for name, value in options.items())}"


def of_annotations(votes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {name: of_array(getattr(votes, name)) for name in ARRAYS}
    found |= {name: of_names(getattr(votes, name)) for name in NAMES}
    counts = asdict(votes.counts)
    found |= {f"counts.{name}": value for name, value in counts.items()}
    found |= {
        "columns": list(votes.columns),
        "multi": votes.multi,
        "gold_sets": repr(votes.gold_sets),
    }
    found["findings"] = sorted(
        f"{finding.kind}: {finding.text}" for finding in votes.hygiene.findings
    )
    found["remedies"] = sorted(
        of_remedy(each) for finding in votes.hygiene.findings for each in finding.remedies
    )
    found["groups"] = digest([finding.groups for finding in votes.hygiene.findings])
    found["no_vote"] = repr(votes.hygiene.no_vote)
    return found


def of_log(log: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in fields(log):
        value = getattr(log, each.name)
        if isinstance(value, np.ndarray):
            found[each.name] = of_array(value)
        elif isinstance(value, list) and len(value) > 12:
            found[each.name] = f"{len(value)} {digest(value)}"
        else:
            found[each.name] = repr(
                asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            )
    return found


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    """Return what a call returns, field by field, or what it raises, and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = call()
            if isinstance(found, dict):
                result = {
                    f"{name}|{key}": value
                    for name, votes in found.items()
                    for key, value in of_annotations(votes).items()
                }
                result["questions"] = list(found)
            else:
                result = of_annotations(found) if hasattr(found, "task_ptr") else of_log(found)
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
    # The remedies are worded by the surface, so options are seen there once.
    texts = [str(each.message) for each in told if not str(each.message).startswith("left out")]
    said = [text.replace("missing=[] ", "keep_missing=True ") for text in texts]
    result["warnings"] = sorted(said)
    return json.loads(json.dumps(result, default=str))


def replay(name: str) -> tuple[str, dict[str, Any] | None]:
    """Read a recorded input again."""
    import finegold
    from finegold.io.judge_logs import read_judge_log
    from finegold.io.options import ReadOptions

    folder = NET / "inputs" / name
    kind, given, gold, reading = pickle.loads((folder / "_call.pkl").read_bytes())
    os.chdir(folder)
    if isinstance(given, tuple) and given and given[0] == "bytes":
        given = io.BytesIO(given[1])
    elif isinstance(given, tuple) and given and given[0] == "object":
        given = given[1]
    if kind == "log":
        return name, outcome(lambda: read_judge_log(given, **reading))
    known = {each.name for each in fields(ReadOptions)}
    reading = {key: value for key, value in reading.items() if key not in GONE}
    if "layout" in known:
        if reading.pop("wide", False):
            reading["layout"] = "wide"
        if reading.get("format") in ("transposed", "table"):
            reading["layout"] = LAYOUTS[reading.pop("format")] or reading.get("layout") or "long"
        is_flag = "bool" in {each.name: str(each.type) for each in fields(ReadOptions)}["ordered"]
        if is_flag and (ordered := reading.pop("ordered", None)) is not None:
            if reading.get("classes") is not None or isinstance(ordered, str) or len(ordered) < 2:
                return name, None
            reading |= {"classes": ordered, "ordered": True}
    if not set(reading) <= known and "layout" in known:
        return name, None
    read = finegold.read_each if reading.get("question") == "all" else finegold.read
    return name, outcome(lambda: read(given, gold=gold, **reading))


def real(name: str) -> tuple[str, dict[str, Any]]:
    import finegold

    assert SHARED is not None
    folder = SHARED / "real" / name
    os.chdir(folder)
    return f"real {name}", outcome(lambda: finegold.read("label.csv.gz", gold="truth.csv.gz"))


def logs(name: str) -> tuple[str, dict[str, Any]]:
    from finegold.io.judge_logs import read_judge_log

    assert SHARED is not None
    os.chdir(SHARED / "logs")
    files = name.split("|")
    return f"log {name}", outcome(lambda: read_judge_log(files if len(files) > 1 else files[0]))


# crafted files that may end the process which reads them, as SECURITY.md says
ENDS_PROCESS = ("of_parquet", "negative_number", "a_parquet_file", "damaged_arrow", "limits_")


def everything() -> dict[str, dict[str, Any]]:
    recorded = sorted(
        path.name
        for path in (NET / "inputs").iterdir()
        if (path / "_call.pkl").exists() and not any(part in path.name for part in ENDS_PROCESS)
    )
    sets = (
        sorted(path.parent.name for path in (SHARED / "real").glob("*/label.csv.gz"))
        if SHARED
        else []
    )
    raw: list[str] = []
    if SHARED:
        root = SHARED / "logs"
        raw = [str(path.relative_to(root)) for path in sorted(root.rglob("*.gz"))]
        raw += [
            "|".join(str(each.relative_to(root)) for each in sorted(path.glob("*.gz")))
            for path in sorted(root.glob("*/*"))
            if path.is_dir()
        ]
        raw += [
            "|".join(str(each.relative_to(root)) for each in sorted(path.glob("*.gz")))
            for path in sorted(root.glob("*"))
            if list(path.glob("*.gz"))
        ]
    found: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(2) as pool:
        for work, names in ((replay, recorded), (real, sets), (logs, raw)):
            found |= {
                name: result
                for name, result in pool.map(work, names, chunksize=4)
                if result is not None
            }
    return found


def settled(text: str) -> str:
    """Return a message without what changes from run to run, and with the old names of options."""
    for now, was in (
        ("layout='wide'", "wide=True"),
        ("layout='transposed'", "format='transposed'"),
        ("layout='long'", "format='table'"),
        ("leave out layout", "leave out wide"),
    ):
        text = text.replace(now, was)
    return re.sub(r"0x[0-9a-f]{6,}", "0x", text)


def main(command: str, *only: str) -> int:
    target = NET / "digests.json"
    if command == "show":
        name = only[0]
        print(json.dumps(replay(name)[1], indent=1))
        print(pickle.loads((NET / "inputs" / name / "_call.pkl").read_bytes()))
        return 0
    found = json.loads(settled(json.dumps(everything())))
    if command == "make":
        target.write_text(json.dumps(found, indent=0, sort_keys=True))
        print(f"{len(found):,} digests")
        return 0
    expected = json.loads(target.read_text())
    accepted = (
        json.loads(path.read_text()) if (path := HERE.with_name("accepted.json")).exists() else {}
    )
    n_differing = 0
    for name, result in sorted(found.items()):
        if name not in expected or result == expected[name]:
            continue
        lines = []
        for key in sorted({*result, *expected[name]}):
            was, now = expected[name].get(key), result.get(key)
            if was != now and not any(key.endswith(each) for each in accepted.get(name, [])):
                lines.append(f"  {key}:\n    was {was!s:.600}\n    now {now!s:.600}")
        if lines:
            n_differing += 1
            print(name, *lines, sep="\n")
    print(f"{n_differing:,} of {len(found):,} differ")
    return int(n_differing > 0)


if __name__ == "__main__":
    raise SystemExit(main(*(sys.argv[1:] or ["compare"])))
