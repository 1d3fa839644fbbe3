"""The section on judges in the report: figures, charts, and names that attack."""

import json

import polars as pl
import pytest

import finegold
from tests.support.judge_log import simulate_log
from tests.support.report_helpers import EVIL, Page

CHARTS = {"judge-position", "judge-pairs", "judge-panels", "judge-ranking"}


@pytest.fixture(scope="module")
def assessed():
    log = simulate_log(6, 4, 200, seed=2)
    gold = dict(zip(log.truth["item"][:60].tolist(), log.truth["truth"][:60].tolist(), strict=True))
    return finegold.judges.assess(pl.DataFrame(log.columns), gold=gold)


@pytest.fixture(scope="module")
def path(assessed, tmp_path_factory):
    found = tmp_path_factory.mktemp("reports") / "judges.html"
    assessed.report(found)
    return found


def section(path):
    source = path.read_text(encoding="utf-8")
    return source[source.index('<section id="judges"') : source.index('<section id="tasks"')]


def test_the_section_has_a_row_per_judge_and_four_charts(path, assessed):
    page = Page(path)
    assert set(page.figures) >= CHARTS
    assert "#judges" in [link.get("href") for link in page.all("a")]
    shown = section(path)
    assert all(f'<bdi class="name">{name}</bdi>' in shown for name in assessed.log.judge_names)
    assert "are worth" in shown
    assert "of one family and err alike" in shown
    assert "system-1" in shown


def test_the_report_the_view_the_table_and_json_say_the_same_field_by_field(path, assessed):
    data, table, shown = assessed.to_dict(), assessed.table().rows(named=True), section(path)
    json.dumps(data, allow_nan=False)
    assert data["judges"]
    for one, line in zip(data["judges"], table, strict=True):
        for name in one.keys() - {"accuracy", "intervals", "ranks", "partners", "failures"}:
            assert line[name] == one[name]
        for name, ends in one["intervals"].items():
            assert ends == [line[f"{name}_low"], line[f"{name}_high"]]
        cells = shown[shown.index(f'<th scope="row" data-value="{one["judge"]}"') :]
        cells = cells[: cells.index("</tr>")]
        for name in (
            "undecided",
            "strict_accuracy",
            "pair_accuracy",
            "failed",
            "agreement",
            "position_bias",
        ):
            assert f'data-value="{one[name]}"' in cells
        assert f'data-value="{one["accuracy"]["value"]}"' in cells
    page = path.read_text(encoding="utf-8")
    assert page.count("independent ones;") == 1  # one number of independent judges on the page
    families = [note for note in data["notes"] if "of one family" in note]
    assert page.count("of one family") == len(families) > 0  # and one of each group
    assert "finegold judges LOG --report report.html" in page
    assert 'id="annotators"' not in page  # whose accuracies would be those that a posterior expects


def test_what_a_log_does_not_have_is_left_out_and_systems_that_were_never_compared_are_said(
    tmp_path, assessed
):
    path = tmp_path / "report.html"
    assessed.result.report(path)
    assert 'id="judges"' not in path.read_text(encoding="utf-8")
    rows = {
        "item": [1, 1, 2, 2] * 5,
        "judge": ["a", "b"] * 10,
        "verdict": ["pass", "pass", "fail", "pass"] * 5,
    }
    finegold.judges.assess(pl.DataFrame(rows)).report(path)
    assert CHARTS.isdisjoint(Page(path).figures)  # neither positions nor a ranking
    rows = {
        "item": [1, 2],
        "judge": ["j", "j"],
        "model_a": ["a", "c"],
        "model_b": ["b", "d"],
        "winner": ["a", "d"],
    }
    finegold.judges.assess(pl.DataFrame(rows)).report(path)
    assert "were never compared with each other" in section(path)


def test_names_of_judges_and_systems_are_text(tmp_path):
    columns = simulate_log(3, 3, 60, seed=2).columns
    table = pl.DataFrame(columns).with_columns(
        *(pl.col(name) + EVIL for name in ("judge", "system_a", "system_b"))
    )
    finegold.judges.assess(table).report(tmp_path / "evil.html")
    page = Page(tmp_path / "evil.html")
    assert page.all("img") == []
    assert len(page.all("script")) == 1
    assert f"system-1{EVIL}" in page.text
