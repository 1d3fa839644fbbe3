"""Lists that are written once: what the library accepts, the studio and the commands accept."""

from typing import get_args

import pytest

import finegold
from finegold.io.options import ReadOptions
from finegold.io.source import COMPRESSIONS, READABLE, TABLES, TEXT
from finegold.io.workbooks import SUFFIXES
from finegold.io.writers import WRITABLE, write_votes
from finegold.options import options_of
from finegold.studio.files import Files
from finegold.studio.reading import OPTIONS
from finegold.studio.store import Store
from finegold.votes.annotations import Repeated
from tests.support.cli_helpers import CSV, write

CHOICES = get_args(Repeated)


@pytest.mark.parametrize(
    "suffix", sorted({*TABLES, *SUFFIXES, *COMPRESSIONS, *READABLE, *WRITABLE})
)
def test_the_studio_lists_every_file_that_the_library_reads(tmp_path, suffix):
    path = write(tmp_path / f"votes{suffix.upper()}", CSV)
    store = Store(tmp_path / "x.studio")
    studio = Files(tmp_path, store)
    assert [file["name"] for file in studio.listed()] == [path.name]
    assert studio.resolve(path.name) == path
    store.close()


@pytest.mark.parametrize(
    "suffix", [*WRITABLE, *(f"{suffix}.gz" for suffix, kind in WRITABLE.items() if kind in TEXT)]
)
def test_what_is_written_is_read_by_its_suffix(tmp_path, suffix):
    votes = finegold.read(write(tmp_path / "votes.csv", CSV))
    path = tmp_path / f"again{suffix}"
    write_votes(votes, path)
    again = finegold.read(path)
    assert (again.n_votes, again.n_tasks) == (votes.n_votes, votes.n_tasks)


def test_the_studio_and_the_commands_offer_every_choice_of_repeated_votes():
    assert OPTIONS["repeated"].choices == CHOICES
    assert options_of(ReadOptions)["repeated"].choices == CHOICES
