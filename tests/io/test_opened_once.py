"""How often an input file is opened, by Python or by Polars: the system counts."""

import ctypes
import gzip
import json
import os
import struct
import sys
from contextlib import contextmanager

import pytest

import finegold
from tests.support.cli_helpers import succeed, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is part of Linux")

OPEN, CLOSE = 0x20, 0x10  # IN_OPEN, IN_CLOSE_NOWRITE
EVENT = struct.Struct("iIII")
SMALL, LARGE = (
    20,
    20_000,
)  # tasks; the second makes files much longer than the bytes that are looked at


@contextmanager
def opens(path):
    """A list that holds the number of opens of a file when the block has ended."""
    libc, found = ctypes.CDLL(None), []
    handle = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(handle, os.fsencode(path), OPEN | CLOSE)
    try:
        yield found
        events = os.read(handle, 2**20)
        found.append(sum(bool(mask & OPEN) for _, mask, _, _ in EVENT.iter_unpack(events)))
    finally:
        os.close(handle)


def csv_text(n_tasks):
    return "task,annotator,label\n" + "".join(
        f"t{n},w{n % 3},a\nt{n},w{n % 5 + 3},b\n" for n in range(n_tasks)
    )


def label_studio(n_tasks):
    answer = {
        "from_name": "mood",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": ["good"]},
    }
    answers = [{"id": who, "completed_by": who, "result": [answer]} for who in (1, 2)]
    return json.dumps(
        [{"id": n, "data": {"text": "x"}, "annotations": answers} for n in range(n_tasks)]
    )


@pytest.mark.parametrize(
    ("name", "n_tasks", "expected"),
    [("votes.csv", SMALL, 2), ("votes.csv", LARGE, 2), ("votes.csv.gz", LARGE, 3)],
)
def test_a_csv_is_opened_to_see_what_it_is_to_read_it_and_to_see_how_much_it_unpacks_to(
    tmp_path, name, n_tasks, expected
):
    text = csv_text(n_tasks).encode()
    path = write(tmp_path / name, gzip.compress(text) if name.endswith("gz") else text)
    with opens(path) as found:
        succeed("aggregate", path, "-o", tmp_path / "labels.csv", "--method", "mv")
    assert found == [expected]


@pytest.mark.parametrize(
    ("n_tasks", "expected"), [(SMALL, 3), (2_000, 4)]
)  # nesting is checked to the end of the file
def test_an_export_is_opened_once_to_see_what_it_is_and_twice_to_read_and_write_back(
    tmp_path, n_tasks, expected
):
    path = write(tmp_path / "export.json", label_studio(n_tasks))
    back = tmp_path / "back.json"
    with opens(path) as found:
        succeed(
            "aggregate", path, "-o", tmp_path / "labels.csv", "--method", "mv", "--write-back", back
        )
    assert len(json.loads(back.read_text())) == n_tasks
    assert found == [expected]


HEADERS = {
    "quoted, with a line break": '"task","who is\nit","label"\n',
    "BOM and Windows line ends": "\ufefftask,annotator,label\r\n",
    "longer than what is looked at": "task,annotator,label,"
    + ",".join(f"column{n}" for n in range(10_000))
    + "\n",
    "in quotes, longer than what is looked at": f'task,annotator,label,"{"x" * 70_000}\ny"\n',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz"])
def test_headers_of_any_length_are_read(tmp_path, header, name):
    width = header.count(",") + 1
    text = header + "".join(f"t{n},w{n % 3},a{',' * (width - 3)}\n" for n in range(50))
    path = write(tmp_path / name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    annotator = "who is\nit" if "who" in header else None
    votes = finegold.read(path, annotator=annotator)
    assert (votes.n_tasks, votes.n_annotators, votes.n_votes) == (50, 3, 50)


def test_a_first_record_longer_than_what_is_looked_at_still_tells_the_tool(tmp_path):
    tasks = json.loads(label_studio(3))
    tasks[0]["data"]["text"] = "long " * 20_000
    votes = finegold.read(write(tmp_path / "export.json", json.dumps(tasks)))
    assert votes.n_tasks == 3
