"""Texts in the cache folder: made once, made again if damaged, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from finegold.report import images as render
from finegold.system.memory import cached_text, system_cache_folder


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
        return "Grüße\r\n\n"


def test_a_text_is_made_once(folder: Path) -> None:
    make = Maker()
    assert [cached_text("a.js", make) for _ in range(3)] == ["Grüße\r\n\n"] * 3
    assert make.calls == 1
    assert [path.name for path in folder.iterdir()] == ["a.js"]


@pytest.mark.parametrize("change", [lambda data: b"", lambda data: data[:-1], lambda data: data[:70] + b"\xff"])
def test_a_damaged_text_is_made_again(folder: Path, change: object) -> None:
    make = Maker()
    cached_text("a.js", make)
    path = folder / "a.js"
    whole = path.read_bytes()
    path.write_bytes(change(whole))  # type: ignore[operator]
    assert cached_text("a.js", make) == "Grüße\r\n\n"
    assert path.read_bytes() == whole
    assert make.calls == 2


def test_a_place_that_is_no_folder_only_costs_time(folder: Path) -> None:
    folder.parent.write_text("a file")
    make = Maker()
    assert [cached_text("a.js", make) for _ in range(2)] == ["Grüße\r\n\n"] * 2
    assert make.calls == 2


def test_the_script_of_the_charts_has_no_end_of_a_script_element(folder: Path) -> None:
    render.bundle.cache_clear()
    made = render.bundle()
    render.bundle.cache_clear()
    assert render.bundle() == made
    assert "vegaEmbed" in made
    assert "</script" not in made
    assert len(list(folder.glob("vega-*.js"))) == 1
