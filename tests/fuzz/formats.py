"""Files of every format that Finegold reads, and seeded mutations of their bytes and of their structure."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from tests.fuzz.case import OUTPUT, Case
from tests.support.exports_made import (
    ARGILLA,
    DOCCANO,
    INSPECT,
    LABEL_STUDIO,
    PRODIGY,
    lines,
    zipped,
)
from tests.support.exports_sheets import (
    ALPACA_EVAL,
    ARENA_HARD,
    JUDGE_BENCH,
    MT_BENCH,
    SAGEMAKER,
    SHEETS,
)
from tests.support.workbooks import ods, xls, xlsx

HEADER = ("task", "worker", "label")
ROWS = [(f"t{n // 3}", f"w{n % 3}", "xyz"[n * n % 3]) for n in range(12)]
COMMAND = ("--method", "mv", "--threads", "1", "-o", OUTPUT, "--json")
RECORDS: dict[str, tuple[str, Any]] = {
    "label-studio": ("export.json", LABEL_STUDIO),
    "prodigy": ("answers.jsonl", PRODIGY),
    "argilla": ("records.json", ARGILLA),
    "inspect": ("log.json", INSPECT),
    "sagemaker": ("requests.json", SAGEMAKER),
    "mt-bench": ("judgments.jsonl", MT_BENCH),
    "alpaca-eval": ("annotations.json", ALPACA_EVAL),
    "judgebench": ("pairs.jsonl", JUDGE_BENCH),
    "arena": ("games.jsonl", ARENA_HARD),
    "doccano": ("ann.jsonl", DOCCANO["ann.jsonl"]),
    "table": ("votes.jsonl", [dict(zip(HEADER, row, strict=True)) for row in ROWS]),
    "list": ("votes.json", [dict(zip(HEADER, row, strict=True)) for row in ROWS]),
}


def aggregate(name: str, family: str, files: dict[str, bytes], path: str, **more: Any) -> Case:
    return Case(f"{family} {name}", files, ("aggregate", path, *COMMAND), **more)


@cache
def samples() -> dict[str, bytes]:
    """A small valid file of every format, by file name."""
    frame = pl.DataFrame(ROWS, schema=list(HEADER), orient="row")
    plain = ("votes.csv", "votes.csv.gz", "votes.parquet", "votes.arrow", "stream.arrow")
    found = {name: as_file(frame, name) for name in plain}
    found["votes.tsv"] = found["votes.csv"].replace(b",", b"\t")
    found["votes16.csv"] = found["votes.csv"].decode().encode("utf-16")
    found["wide.csv"] = b"task,ann,bob\n" + b"".join(
        b"t%d,%d,%d\n" % (n, n % 2, n % 3) for n in range(6)
    )
    found |= {name: _json_file(name, records) for name, records in RECORDS.values()}
    found |= {name: content.encode() for name, content in SHEETS.values()}
    found |= {"doccano.zip": zipped({name: lines(rows) for name, rows in DOCCANO.items()})}
    found |= {"log.eval": zipped(_eval_log())} | _workbooks()
    return {
        name: _packed(_unpacked(it)) if it.startswith(b"PK") else it for name, it in found.items()
    }


def _json_file(name: str, value: Any) -> bytes:
    return (
        lines(value) if name.endswith(".jsonl") and isinstance(value, list) else json.dumps(value)
    ).encode()


def _eval_log() -> dict[str, str]:
    parts = {f"samples/{n}.json": json.dumps(sample) for n, sample in enumerate(INSPECT["samples"])}
    return {
        "header.json": json.dumps({"version": 2, "status": "success", "eval": INSPECT["eval"]}),
        **parts,
    }


def as_file(frame: pl.DataFrame, name: str) -> bytes:
    """The table in the format of this file name."""
    buffer = io.BytesIO()
    forms = {
        "csv": "write_csv",
        "jsonl": "write_ndjson",
        "parquet": "write_parquet",
        "arrow": "write_ipc",
    }
    how = (
        "write_ipc_stream"
        if name == "stream.arrow"
        else forms[name.removesuffix(".gz").rpartition(".")[2]]
    )
    getattr(frame, how)(buffer)
    return gzip.compress(buffer.getvalue(), mtime=0) if name.endswith(".gz") else buffer.getvalue()


def _workbooks() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        sheets: Any = {"Votes": [list(HEADER), *map(list, ROWS)]}
        paths = [
            xlsx(Path(folder, "v.xlsx"), sheets),
            ods(Path(folder, "v.ods"), sheets),
            xls(Path(folder, "v.xls")),
        ]
        return {path.name: path.read_bytes() for path in paths}


def damaged_bytes(random: Random) -> Case:
    """A file of any format with some bytes flipped, cut, doubled, removed or overwritten."""
    name, content = random.choice(sorted(samples().items()))
    for _ in range(random.choice([1, 1, 2, 5])):
        content = random.choice(BYTE_MUTATORS)(content, random)
    return aggregate(name, "bytes", {name: content}, name)


def _flip(content: bytes, random: Random) -> bytes:
    if not content:
        return b"\0"
    place = random.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
    )


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _remove(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + content[place + random.randrange(20) :]


def _double(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + content[max(0, place - random.randrange(1, 40)) :]


def _overwrite(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    odd = random.choice(
        [b"\0", b"\xff" * 4, b"\xff\xfe", b'"', b"\n", b"\r", b"\xed\xa0\x80", b"\x7f\xff\xff\xff"]
    )
    return content[:place] + odd + content[place + len(odd) :]


BYTE_MUTATORS: list[Callable[[bytes, Random], bytes]] = [
    _flip,
    _flip,
    _cut,
    _remove,
    _double,
    _overwrite,
]


def damaged_archive(random: Random) -> Case:
    """An archive whose parts are damaged, but not the archive itself."""
    name = random.choice(["doccano.zip", "log.eval", "v.xlsx", "v.ods", "votes.csv.gz"])
    if name.endswith(".gz"):
        content = gzip.compress(
            random.choice(BYTE_MUTATORS)(gzip.decompress(samples()[name]), random), mtime=0
        )
        return aggregate(name, "archive", {name: content}, name)
    parts = _unpacked(samples()[name])
    part = random.choice(sorted(parts))
    parts[part] = random.choice(BYTE_MUTATORS)(parts[part], random)
    if random.random() < 0.1:
        del parts[part]
    return aggregate(name, "archive", {name: _packed(parts)}, name)


def _packed(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(
                zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED
            )  # without the time of now
    return buffer.getvalue()


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def odd_json(random: Random) -> Case:
    """An export or a table in JSON, of which some values are replaced, removed, doubled or renamed."""
    tool = random.choice(sorted(RECORDS))
    name, value = RECORDS[tool]
    for _ in range(random.choice([1, 1, 2, 4])):
        value = mutated(value, random)
    if random.random() < 0.2 and tool not in ("inspect", "table"):
        name = random.choice(["other.json", "other.jsonl"])
    return aggregate(tool, "json", {name: _json_file(name, _as_records(name, value))}, name)


def _as_records(name: str, value: Any) -> Any:
    return [value] if name.endswith(".jsonl") and not isinstance(value, list) else value


def mutated(value: Any, random: Random) -> Any:
    """The value with one part changed, found by a walk that may end anywhere."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        return (
            _changed_key(value, key, random) if random.random() < 0.2 else _with(value, key, random)
        )
    if isinstance(value, list) and value and random.random() < 0.85:
        place = random.randrange(len(value))
        if random.random() < 0.15:
            return random.choice(
                [value[:place], value + value[place:], [*value[:place], *value[place + 1 :]]]
            )
        return _with(value, place, random)
    return _odd_value(random)


def _with(value: Any, key: Any, random: Random) -> Any:
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = mutated(value[key], random)
    return copy


def _changed_key(value: dict[str, Any], key: str, random: Random) -> dict[str, Any]:
    rest = {name: part for name, part in value.items() if name != key}
    return (
        rest
        if random.random() < 0.6
        else {**rest, random.choice(["", "id", "label", "x" * 300, "\u0000"]): value[key]}
    )


def _odd_value(random: Random) -> Any:
    nested = _deep(random.choice([3, 60, 150, 600]))
    odd = [
        None,
        0,
        -1,
        5,
        2**53 + 1,
        2**64,
        10**400,
        0.5,
        -0.0,
        1e308,
        True,
        False,
        "",
        " ",
        "NA",
        "x",
        "\ud800",
        "\0",
    ]
    odd += [
        [],
        {},
        [[]],
        [None],
        [1, "a"],
        {"": None},
        {"value": []},
        {"taxonomy": 5},
        "[" * 200,
        "x" * 5000,
    ]
    return nested if random.random() < 0.1 else random.choice(odd)


def _deep(depth: int) -> Any:
    value: Any = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


def odd_table(random: Random) -> Case:
    """A delimited table with cells missing, quoted oddly, with NULs, in another encoding or with odd names."""
    name, mark = random.choice(
        [("votes.csv", ","), ("votes.tsv", "\t"), ("wide.csv", ","), ("survey.csv", ",")]
    )
    text = samples()[name].decode()
    for _ in range(random.choice([1, 2, 3])):
        text = random.choice(TEXT_MUTATORS)(text, mark, random)
    encoding = random.choice(
        ["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "utf-32"]
    )
    return aggregate(name, "table", {name: text.encode(encoding, errors="replace")}, name)


def _change_cell(text: str, mark: str, random: Random) -> str:
    rows = [line.split(mark) for line in text.split("\n")]
    row = random.choice(rows)
    odd = [
        "",
        " ",
        "NA",
        "NaN",
        '"',
        '""',
        '"a',
        'a"b',
        "\0",
        "\u2028",
        "é",
        "x" * 9999,
        "1e999",
        "007",
        "=1+1",
        "\r",
    ]
    row[random.randrange(len(row))] = random.choice(odd)
    return "\n".join(mark.join(row) for row in rows)


def _change_row(text: str, mark: str, random: Random) -> str:
    rows = text.split("\n")
    place = random.randrange(len(rows))
    cells = rows[place].split(mark)
    other = random.choice(
        [cells[:-1], [*cells, "more"], cells[::-1], [""], ["", "", ""], cells * 50]
    )
    return "\n".join([*rows[:place], mark.join(other), *rows[place + random.randrange(2) :]])


def _change_marks(text: str, mark: str, random: Random) -> str:
    old, new = random.choice(
        [("\n", "\r\n"), ("\n", "\r"), (mark, ";"), (mark, "|"), ("\n", "\n\n"), ("label", "task")]
    )
    return text.replace(old, new) if random.random() < 0.5 else text.replace(old, new, 1)


TEXT_MUTATORS: list[Callable[[str, str, Random], str]] = [
    _change_cell,
    _change_cell,
    _change_row,
    _change_marks,
]


def counted_table(random: Random) -> Case:
    """A valid table, of which the number of votes is known: every row must be counted or reported."""
    values = ["x", "y", "z", "", "NA", "null", " ", "a,b", 'a"b', "two\nlines", "-1", "0"]
    n = random.randrange(1, 30)
    rows = [
        (f"t{random.randrange(5)}", f"w{random.randrange(4)}", random.choice(values))
        for _ in range(n)
    ]
    frame = pl.DataFrame(rows, schema=list(HEADER), orient="row")
    name = random.choice(["votes.csv", "votes.jsonl", "votes.parquet", "votes.csv.gz"])
    return aggregate(name, "counted", {name: as_file(frame, name)}, name, votes=n)
