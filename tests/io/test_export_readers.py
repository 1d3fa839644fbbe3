"""What readers of exports share: which are loaded, and how JSON is read in parts."""

import io
import json
import subprocess
import sys

import pytest

from finegold.io.exports import base
from tests.support.readers_votes import CSV, write


def test_a_plain_table_loads_no_reader(tmp_path):
    program = (
        "import sys, finegold.io.exports as e; from finegold.io.source import sources_of\n"
        f"assert e.find_export(sources_of({str(write(tmp_path / 'votes.csv', CSV))!r})) is None\n"
        "assert 'finegold.io.exports.base' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


DAMAGED = [b"[1, 2", b'[1, "a', b'{"a" 1}', b"[1] x", b"\xff", b"tru"]
VALUES = [12, -3.5e10, "\u00e9\U0001f642, \\", True, None, {"a": [1, {"b": []}]}, [], "x" * 30]


def test_json_is_the_same_however_large_the_parts_are_that_are_read_at_once(monkeypatch):
    for size in range(1, 60):
        monkeypatch.setattr(base, "CHUNK", size)
        text = json.dumps(VALUES, ensure_ascii=size % 2 == 0)
        listed = io.BytesIO(b"\xef\xbb\xbf " + text.encode())
        lines = io.BytesIO("\n\n".join(map(json.dumps, VALUES)).encode())
        assert list(base.json_records(listed)) == list(base.json_records(lines)) == VALUES
        for damaged in DAMAGED:
            with pytest.raises(base.DamagedExport, match=r"cut short|not valid JSON"):
                list(base.json_records(io.BytesIO(damaged)))
