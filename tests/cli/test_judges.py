"""finegold judges and finegold rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.cli_helpers import json_of, refusal_of, run, succeed, write
from tests.support.judge_log import write_log


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("judges") / "panel", 6, 300, seed=2)


def judge(panel: Path, *words: object) -> Any:
    """What `finegold judges` prints of the simulated log with its known truths, as JSON."""
    return json_of("judges", panel / "log.csv", "--gold", panel / "gold.csv", *words)


def test_people_get_tables(panel: Path) -> None:
    words = ["--gold", panel / "gold.csv", "--panels", "--compare", "acme-mini:cirrus-70b"]
    result = succeed("judges", panel / "log.csv", *words)
    assert "3,600 verdicts of 6 judges on 300 items" in result.stdout
    assert "Best panels for the money" in result.stdout
    assert "acme-mini against cirrus-70b: +0." in result.stdout
    assert "are of one family and err alike" in result.stderr


def test_json_has_everything(panel: Path) -> None:
    found = judge(panel, "--panels", "--compare", "acme-mini,acme-large:cirrus-70b")
    first = found["judges"][0]
    values = [one["accuracy"]["value"] for one in found["judges"]]
    assert values == sorted(values, reverse=True)
    assert set(first["accuracy"]) == {"value", "low", "high"}
    for name in ("strict_accuracy", "pair_accuracy", "undecided", "position_bias", "kappa"):
        assert first["intervals"][name][0] <= first[name]
    assert found["comparisons"][0]["first"] == ["acme-mini", "acme-large"]
    assert found["panels"][0]["judges"]
    assert first["repeat_consistency"] is None
    without = json_of("judges", panel / "log.csv")
    assert [one["accuracy"] for one in without["judges"]] == [None] * 6


def test_files_are_written(panel: Path, tmp_path: Path) -> None:
    table, labels, report = (tmp_path / name for name in ("t.csv", "l.csv", "r.html"))
    run("judges", panel / "log.csv", "-o", table, "--labels", labels, "--report", report)
    assert pl.read_csv(table)["judge"].to_list()[-1] == "cirrus-70b"
    found = pl.read_csv(labels)
    assert found.columns[:4] == ["item", "system_a", "system_b", "label"]
    truth = pl.read_csv(panel / "truth.csv").join(found, on="item")
    assert (truth["truth"] == truth["label"]).mean() > 0.75
    assert "What is each judge worth?" in report.read_text()


def test_prices_change_the_panels_and_labels_may_come_from_named_judges(
    panel: Path, tmp_path: Path
) -> None:
    out, words = tmp_path / "labels.csv", ["--panel", "acme-mini,cirrus-70b"]
    found = judge(panel, "--labels", out, *words, "--price", "acme-mini=2")
    assert pl.read_csv(out)["n_judges"].max() == 2
    costs = {tuple(one["judges"]): one["cost"] for one in found["panels"]}
    assert all((cost >= 2) == ("acme-mini" in names) for names, cost in costs.items())
    assert min(costs.values()) < 0.1  # others keep theirs


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--fail-under accuracy=.3 --fail-over undecided=.9", 0, ""),
        ("--fail-under accuracy=.99", 3, "gate: accuracy of acme-mini is 0."),
        ("--fail-over position_bias=.1", 3, "position_bias of cirrus-70b is 0."),
        ("--fail-under acme-mini:accuracy.low=.99", 3, "accuracy.low of acme-mini is"),
        ("--fail-under panel:accuracy.high=1.5", 3, "of panel is"),
        ("--fail-under accuracy=.1 unknown", 3, "is not known: it needs known truths (--gold)"),
        ("--fail-under accuracy", 2, "a gate needs FIGURE=NUMBER"),
        ("--fail-under beauty=1", 2, "there is no figure 'beauty'"),
        ("--fail-under nobody:accuracy=1", 2, "there is no judge 'nobody'"),
    ],
)
def test_a_gate_ends_with_three_and_says_why(
    panel: Path, words: str, code: int, message: str
) -> None:
    gold = [] if "unknown" in words else ["--gold", panel / "gold.csv"]
    own = words.removesuffix(" unknown").split()
    result = run("judges", panel / "log.csv", *gold, "--json", *own)
    assert (result.exit_code, message in result.stderr) == (code, True)
    if code != 2:
        assert (json.loads(result.stdout)["failed_gates"] == []) == (code == 0)


def test_a_ranking_is_shown_written_and_printed_as_json(panel: Path, tmp_path: Path) -> None:
    table = tmp_path / "ranking.csv"
    shown = succeed("rank", panel / "log.csv", "-o", table)
    assert "Ranking of 5 systems" in shown.stdout
    assert pl.read_csv(table)["system"].to_list()[0] == "system-1"
    found = json_of("rank", panel / "log.csv")
    assert [one["rank"] for one in found["systems"]] == [1, 2, 3, 4, 5]
    assert found["win_rates"][0][0] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compare", "acme-mini"], "--compare needs two judges or panels such as A:B"),
        (["--compare", "nobody:acme-mini"], "there is no judge 'nobody'; the judges are acme-"),
        (["--compare", "cirrus-70b:acme-mini"], "need 10 known truths or more"),
        (["--panel", "nobody", "--labels", "x.csv"], "there is no judge 'nobody'"),
        (["--compare", "acme-mini:cirrus-70b", "--gold", "cost"], "no truth in the column"),
        (["--price", "acme-mini"], "--price needs JUDGE=NUMBER"),
        (["--judge", "juge"], 'did you mean "judge"?'),
        (["--gold", "nothing"], 'there is no column "nothing"'),
        (["--verdicts", "x"], "'x' is not one of 'position', 'answer'"),
        (["--kind", "x"], "'x' is not one of 'pairwise', 'pointwise'"),
    ],
)
def test_wrong_options_are_named(panel: Path, words: list[str], message: str) -> None:
    assert message in refusal_of("judges", panel / "log.csv", *words)


def test_a_wrong_log_is_refused_with_a_command_to_paste(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "item,judge,said\n1,gpt,A\n1,claude,A\n")
    command = refusal_of("judges", log).split("try: finegold ")[1].split()
    succeed(*command)


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """Two systems, two judges, three people for each answer, and two criteria."""
    rows = [
        {
            "question": q,
            "model": model,
            "judge": judge,
            "criterion": criterion,
            "verdict": "pass" if (q * 7 + len(judge) + len(model)) % 5 else "fail",
            "response": f"an answer to {q}",
            **{f"human_{n}": "pass" if (q + n) % 6 else "fail" for n in (1, 2, 3)},
        }
        for q in range(40)
        for model in ("old", "new!")
        for judge in ("gpt", "claude")
        for criterion in ("polite", "right")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


def test_the_first_line_says_how_the_log_was_read(checked: Path) -> None:
    first = succeed("judges", checked, "--question", "polite").stdout.splitlines()[0]
    assert first.startswith("item = question + model · judge = judge (2) · criterion = criterion")
    assert "people = human_1 + human_2 + human_3 (3)" in first
    both = json_of("judges", checked)["criteria"]
    assert list(both) == ["polite", "right"]
    assert both["polite"]["reading"]["unused"] == ["response"]
    lines = succeed("judges", checked).stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("item =")) <= 100


def test_disagreements_panels_and_replacing_people(checked: Path, tmp_path: Path) -> None:
    wrong, panel = tmp_path / "wrong.csv", tmp_path / "panel.json"
    words = ["--question", "right", "--disagreements", wrong, "--save-panel", panel]
    found = succeed("judges", checked, *words, "--replace", "crowd").stdout
    assert "alternative annotator test" in found
    table = pl.read_csv(wrong)
    assert {"item", "judge", "verdict", "truth", "response"} <= set(table.columns)
    assert (table["verdict"] != table["truth"]).all()
    assert set(json.loads(panel.read_text())["judges"]) == {"gpt", "claude"}
    assert "name one of polite, right" in refusal_of("judges", checked, "--save-panel", panel)


def test_rates_by_group_and_their_difference(checked: Path, tmp_path: Path) -> None:
    words = ["--question", "right", "--by", "model", "--compare", "new!:old"]
    found = json_of("rate", checked, *words, "-o", tmp_path / "rates.csv")
    assert {one["group"] for one in found["rates"]} == {"old", "new!"}
    assert set(found["difference"]) == {"value", "low", "high"}
    assert "rate_low" in pl.read_csv(tmp_path / "rates.csv").columns
    assert "new! minus old, paired by item" in succeed("rate", checked, *words).stdout
    assert "--compare needs --by" in refusal_of("rate", checked, "--compare", "a:b")


def test_look_says_what_a_file_is_and_what_it_supports(
    checked: Path, panel: Path, tmp_path: Path
) -> None:
    found = json_of("look", checked)
    assert found["what"].startswith("a log of LLM judges (pointwise)")
    assert f"finegold rate {checked}" in found["commands"]
    assert any("cost" in line for line in found["unlocks"])
    assert f"finegold rank {panel / 'log.csv'}" in json_of("look", panel / "log.csv")["commands"]
    votes = write(tmp_path / "votes.csv", "task,worker,label\n1,a,x\n1,b,y\n")
    assert "votes: 2 votes of 2 annotators on 1 task" in succeed("look", votes).stdout
    truths = write(tmp_path / "truths.csv", "task,truth\n1,x\n2,y\n")
    assert "truths of 2 tasks" in succeed("look", truths).stdout
