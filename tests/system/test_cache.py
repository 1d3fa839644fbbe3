"""Texts in the cache folder: made once, made again if damaged, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from finegold.report import images as render
from finegold.system.memory import cached_text, system_cache_folder

TEXT = "Grüße\r\n\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return system_cache_folder()


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        return TEXT


def test_a_text_is_made_once_and_again_if_it_is_damaged(folder: Path) -> None:
    make = Maker()
    assert [cached_text("a.js", make) for _ in range(3)] == [TEXT] * 3
    assert make.calls == 1
    (path,) = folder.iterdir()
    assert path.name == "a.js"
    whole = path.read_bytes()
    for calls, damaged in enumerate((b"", whole[:-1], whole[:70] + b"\xff"), 2):
        path.write_bytes(damaged)
        assert cached_text("a.js", make) == TEXT
        assert (path.read_bytes(), make.calls) == (whole, calls)


def test_a_place_that_is_no_folder_only_costs_time(folder: Path) -> None:
    folder.parent.write_text("a file")
    make = Maker()
    assert [cached_text("a.js", make) for _ in range(2)] == [TEXT] * 2
    assert make.calls == 2


def test_the_script_of_the_charts_has_no_end_of_a_script_element(folder: Path) -> None:
    render.bundle.cache_clear()
    made = render.bundle()
    render.bundle.cache_clear()
    assert render.bundle() == made
    assert "vegaEmbed" in made
    assert "</script" not in made
    assert len(list(folder.glob("vega-*.js"))) == 1
