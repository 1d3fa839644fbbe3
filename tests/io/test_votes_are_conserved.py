"""For every reader: the votes in a file are those that are counted and those that are reported as left out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold.io.exports import MARKS as EXPORTS
from finegold.votes.encoding import to_list
from tests.io.written_votes import FORMATS, Said, write_votes
from tests.support.readers_votes import votes_of, write

SOME = [
    Said("t0", "w0", "cat"),
    Said("t0", "w1", "dog"),
    Said("t1", "w0", "dog"),
    Said("t1", "w1", "cat"),
]
SAID = st.builds(
    Said,
    st.sampled_from(["t0", "t1", "t2", "t3"]),
    st.sampled_from(["w0", "w1", "w2"]),
    st.sampled_from(["cat", "dog", ""]),
    st.booleans(),
)


@pytest.mark.parametrize("name", FORMATS)
@given(more=st.lists(SAID, max_size=12))
def test_votes_in_a_file_are_counted_or_reported(name: str, more: list[Said]) -> None:
    written = write_votes(name, [*SOME, *more])
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", finegold.FinegoldWarning)
        paths = [Path(folder) / file for file in written.files]
        for path, content in zip(paths, written.files.values(), strict=True):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        found = finegold.read(paths, **written.options)
    counts = found.counts
    assert (
        found.n_votes + counts.repeated + counts.missing + sum(counts.left_out.values())
        == written.votes
    )


def test_every_export_is_written() -> None:
    assert set(EXPORTS) <= {name.split()[0] for name in FORMATS}


@pytest.mark.parametrize("empty", [[], None])
def test_argilla_responses_without_an_answer_are_counted(tmp_path: Path, empty: Any) -> None:
    def record(task: str, *values: Any) -> dict[str, Any]:
        responses = [
            {"value": value, "user_id": f"u{n}", "status": "submitted"}
            for n, value in enumerate(values)
        ]
        return {
            "id": task,
            "fields": {"text": "x"},
            "responses": {"q": responses},
            "suggestions": {},
        }

    records = [record("r1", "a", empty), record("r2", empty, "b"), record("r3", empty, empty)]
    found = finegold.read(write(tmp_path / "v.json", json.dumps(records)))
    assert votes_of(found) == {("r1", "u0", "a"), ("r2", "u1", "b")}
    assert found.counts.left_out == {"responses without an answer": 4}
    assert to_list(found.unlabelled) == ["r3"]
