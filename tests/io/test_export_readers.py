"""The registry of export readers: which modules are loaded, and readers of other packages."""

import io
import json
import subprocess
import sys

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from finegold.io import exports
from finegold.io.exports import base
from tests.support.readers_votes import CSV, votes_of, write

READER = """
import polars as pl
from finegold.io.exports.base import Export, Source, Vote

def fits(seen):
    return "tool_item" in seen.columns

def read(seen, options):
    table = pl.read_csv(seen.data)
    for row in table.rows():
        yield Vote(*row, question="")

EXPORT = Export(name="our-tool", title="Our tool", remedy="export it again", fits=fits, read=read)
BROKEN = "not an Export"
"""
FILE = "tool_item,who,said\n1,ann,x\n1,bob,y\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a distribution with readers, without pip."""

    def install(*lines):
        folder = tmp_path / "site"
        write(folder / "our_tool.py", READER)
        write(
            folder / "our_tool-1.0.dist-info" / "METADATA",
            "Metadata-Version: 2.1\nName: our-tool\nVersion: 1.0\n",
        )
        write(
            folder / "our_tool-1.0.dist-info" / "entry_points.txt",
            "\n".join([f"[{exports.GROUP}]", *lines]),
        )
        monkeypatch.syspath_prepend(folder)
        exports._outside.cache_clear()

    (tmp_path / "site" / "our_tool-1.0.dist-info").mkdir(parents=True)
    yield install
    exports._outside.cache_clear()
    sys.modules.pop("our_tool", None)


def test_a_reader_of_another_package_is_found_by_its_entry_point(tmp_path, package):
    package("our-tool = our_tool:EXPORT")
    path = write(tmp_path / "export.csv", FILE)
    assert votes_of(finegold.read(path)) == {(1, "ann", "x"), (1, "bob", "y")}
    assert votes_of(finegold.read(path, format="our-tool")) == {(1, "ann", "x"), (1, "bob", "y")}
    assert "our-tool" in exports.format_names()
    with pytest.raises(InputError, match=r"Our tool.*have ids of their own; leave out task"):
        finegold.read(path, task="who", format="our-tool")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("our-tool = our_tool:BROKEN", "it is no finegold.io.exports.base.Export"),
        ("our-tool = our_tool:NOTHING", "AttributeError"),
        ("prodigy = our_tool:EXPORT", "or its name is taken"),
    ],
)
def test_a_broken_reader_is_reported_and_others_work(tmp_path, package, line, words):
    package(line)
    path = write(tmp_path / "export.csv", FILE.replace("tool_item", "thing"))
    with (
        pytest.warns(FinegoldWarning, match=f"our_tool.* cannot be used: .*{words}"),
        pytest.raises(InputError),
    ):
        finegold.read(path)
    assert finegold.read(write(tmp_path / "votes.csv", CSV)).n_votes > 0


def test_a_plain_table_loads_no_reader_and_looks_for_no_packages(tmp_path):
    program = (
        "import sys, finegold.io.exports as e; from finegold.io.source import sources_of\n"
        f"assert e.find_export(sources_of({str(write(tmp_path / 'votes.csv', CSV))!r})) is None\n"
        "loaded = [m for m in sys.modules if m == 'finegold.io.exports.base']\n"
        "assert not loaded and not e._outside.cache_info().currsize, loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


DAMAGED = [b"[1, 2", b'[1, "a', b'{"a" 1}', b"[1] x", b"\xff", b"tru"]


def test_json_is_the_same_however_large_the_parts_are_that_are_read_at_once(monkeypatch):
    values = [
        12,
        -3.5e10,
        "\u00e9\U0001f642, \\",
        True,
        None,
        {"a": [1, {"b": []}], "": 12345},
        [],
        "x" * 30,
    ]
    for size in range(1, 60):
        monkeypatch.setattr(base, "CHUNK", size)
        listed = io.BytesIO(
            b"\xef\xbb\xbf " + json.dumps(values, ensure_ascii=size % 2 == 0).encode()
        )
        lines = io.BytesIO("\n\n".join(map(json.dumps, values)).encode())
        assert list(base.json_records(listed)) == list(base.json_records(lines)) == values
        for text in DAMAGED:
            with pytest.raises(base.DamagedExport, match=r"cut short|not valid JSON"):
                list(base.json_records(io.BytesIO(text)))
