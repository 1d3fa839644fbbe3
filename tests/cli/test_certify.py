"""`finegold sample` and `certify`: the walk, and what is said about each misuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.cli_helpers import json_of, refusal_of, run, succeed, write

N_TASKS = 300
TRUTH = {f"t{i}": ("cat", "dog")[i % 3 == 0] for i in range(N_TASKS)}


def vote_lines(seed: int = 0, n_tasks: int = N_TASKS) -> list[str]:
    generator = np.random.default_rng(seed)
    other = {"cat": "dog", "dog": "cat"}
    return [
        f"t{i},text of {i},w{j},{TRUTH[f't{i}'] if generator.random() < 0.8 else other[TRUTH[f't{i}']]},{i * 10 + j}"
        for i in range(n_tasks)
        for j in range(4)
    ]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(
        tmp_path / "votes.csv", "\n".join(["item,text,worker,label,time", *vote_lines()]) + "\n"
    )


def sampled(votes: Path, *options: object, name: str = "sheet.csv") -> Path:
    sheet = votes.parent / name
    succeed("sample", votes, "-o", sheet, *options)
    return sheet


def rows_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, name: str = "filled.csv", n: int = 10_000, truth: str = "truth") -> Path:
    rows = rows_of(sheet)
    for row in rows[:n]:
        row[truth] = TRUTH[row["item"]]
    target = sheet.parent / name
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return target


def certified(votes: Path, checks: Path) -> Any:
    return json_of("certify", votes, "--checks", checks)


def width(certificate: Any) -> float:
    return float(certificate["accuracy"]["high"] - certificate["accuracy"]["low"])


def refused(*arguments: object) -> str:
    message = refusal_of(*arguments)
    assert len(message.strip().splitlines()) == 1
    return message


def test_the_sheet_has_the_users_own_column_the_item_and_an_empty_truth(votes: Path) -> None:
    rows = rows_of(sampled(votes, "-n", 100, "--seed", 1))
    assert list(rows[0]) == [
        "item",
        "text",
        "truth",
        "sample",
    ]  # neither labels nor what differs from vote to vote
    assert len({row["item"] for row in rows}) == 100
    assert all(row["text"] == f"text of {row['item'][1:]}" and row["truth"] == "" for row in rows)
    assert len({row["sample"] for row in rows}) == 1
    again = rows_of(sampled(votes, "-n", 100, "--seed", 1, name="again.csv"))
    other = rows_of(sampled(votes, "-n", 100, "--seed", 2, name="other.csv"))
    assert (
        [row["item"] for row in again]
        == [row["item"] for row in rows]
        != [row["item"] for row in other]
    )


def test_what_is_shown_of_tasks_can_be_chosen(votes: Path, tmp_path: Path) -> None:
    items = write(
        tmp_path / "items.csv",
        "item,link\n" + "".join(f"t{i},http://x/{i}\n" for i in range(N_TASKS)),
    )
    sheet = sampled(votes, "-n", 20, "--items", items)
    rows = rows_of(sheet)
    assert list(rows[0]) == ["item", "link", "truth", "sample"]
    assert rows[0]["link"] == f"http://x/{rows[0]['item'][1:]}"


def test_a_column_that_gives_the_label_away_is_not_shown(tmp_path: Path) -> None:
    lines = [f"{line},cat" for line in vote_lines()]
    votes = write(
        tmp_path / "votes.csv", "\n".join(["item,text,worker,label,time,hint", *lines]) + "\n"
    )
    assert "hint" not in rows_of(sampled(votes, "-n", 20))[0]


def test_the_walk_from_votes_to_a_certificate(votes: Path, tmp_path: Path) -> None:
    sheet = sampled(votes, "-n", 100)
    checks, labels, page, data = (
        filled(sheet),
        tmp_path / "labels.csv",
        tmp_path / "c.html",
        tmp_path / "c.json",
    )
    found = succeed(
        "certify", votes, "--checks", checks, "--json", "-o", labels, "--certificate", page
    )
    content = json.loads(found.stdout)
    accuracy = content["accuracy"]
    right = np.mean([row["label"] == TRUTH[row["item"]] for row in rows_of(labels)])
    assert accuracy["low"] <= right <= accuracy["high"]
    assert accuracy["low"] < accuracy["estimate"] < accuracy["high"]
    assert accuracy["checked"] == 100
    assert content["accepted"]["risk"] == 0.05
    assert content["accepted"]["share"] == content["accepted"]["tasks"] / N_TASKS
    assert set(content["calibration"]) >= {"before", "after"}
    accepted = [row for row in rows_of(labels) if row["accepted"] == "true"]
    assert len(accepted) == content["accepted"]["tasks"]
    assert "<script" not in page.read_text(encoding="utf-8")
    succeed("certify", votes, "--checks", checks, "--certificate", data)
    assert json.loads(data.read_text(encoding="utf-8"))["accuracy"] == accuracy


def test_a_moved_sheet_finds_its_plan_by_its_id(votes: Path, tmp_path: Path) -> None:
    sheet = sampled(votes, "-n", 60)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = filled(sheet).rename(elsewhere / "from Ann.csv")
    assert "is not beside it" in refused("certify", votes, "--checks", moved)
    plan = tmp_path / "sheet.plan.json"
    succeed("certify", votes, "--checks", moved, "--plan", plan)
    plan.rename(elsewhere / "a.plan.json")
    write(elsewhere / "b.plan.json", "{}")
    succeed("certify", votes, "--checks", moved)


def test_a_sheet_comes_back_from_a_spreadsheet(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    lines = [
        f"{i:03},w{j},{int(generator.random() < 0.9) ^ i % 2}" for i in range(200) for j in range(3)
    ]
    votes = write(tmp_path / "votes.csv", "\n".join(["item,worker,label", *lines]) + "\n")
    sheet = sampled(votes, "-n", 40, name="sheet.xlsx")
    assert sheet.exists()
    drawn = json.loads((tmp_path / "sheet.plan.json").read_text(encoding="utf-8"))
    tasks = [row[0] for row in drawn["rows"]]
    assert tasks[0] == f"{int(tasks[0]):03}"
    back = pl.DataFrame(
        {
            "remark": ["fine"] * 39 + [None],
            "Truth": [float(1 - int(task) % 2) for task in tasks[:39]] + [None],
            "SAMPLE": [f"s{drawn['digest'][:7]}"] * 40,
            "Item": [float(task) for task in tasks],
        }
    )
    back.write_excel(tmp_path / "back.xlsx")
    back.write_csv(tmp_path / "back.csv")
    found = [certified(votes, tmp_path / f"back.{kind}") for kind in ("csv", "xlsx")]
    assert found[0]["accuracy"] == found[1]["accuracy"]
    assert found[0]["missing"] == 1
    assert found[0]["accuracy"]["checked"] == 39
    assert found[0]["accuracy"]["estimate"] > 0.8


def test_missing_answers_are_counted_and_widen_the_interval(votes: Path) -> None:
    sheet = sampled(votes, "-n", 100)
    whole, half = (certified(votes, filled(sheet, n=n)) for n in (100, 50))
    assert half["missing"] == 50
    assert width(half) > 0.4 > width(whole)
    said = run("certify", votes, "--checks", filled(sheet, n=50)).stdout
    assert "50 of the 100 tasks of the sheet have no answer" in said


def test_planned_looks_may_be_taken_before_the_sheet_is_full(votes: Path) -> None:
    sheet = votes.parent / "sheet.csv"
    said = run("sample", votes, "-n", 100, "--looks", 4, "-o", sheet).stderr
    assert "rows 1 to 24, 48, 72, 100 are filled in" in said  # 12 or 13 in each of eight strata
    found = [certified(votes, filled(sheet, n=n)) for n in (20, 48, 100)]
    assert [one["missing"] for one in found] == [4, 0, 0]
    assert found[1]["accuracy"]["checked"] == 48
    widths = [width(one) for one in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[2] > width(
        certified(votes, filled(sampled(votes, "-n", 100)))
    )  # looks have a price


def test_twenty_checks_say_what_they_cannot_show(votes: Path) -> None:
    found = run("sample", votes, "-n", 20, "-o", votes.parent / "sheet.csv")
    assert "Fewer than 59 checks cannot certify any label at a risk of 5%" in found.stderr
    said = run("certify", votes, "--checks", filled(votes.parent / "sheet.csv")).stdout
    assert "that takes 59 checks or more" in said


def test_each_misuse_is_refused_with_one_sentence(votes: Path, tmp_path: Path) -> None:
    sheet = sampled(votes, "-n", 60)
    checks = filled(sheet)
    lines = checks.read_text(encoding="utf-8").splitlines()
    other = write(
        tmp_path / "other.csv", "\n".join(["item,text,worker,label,time", *vote_lines(1)]) + "\n"
    )
    doubled = write(tmp_path / "doubled.csv", "\n".join([*lines, lines[1]]))
    stranger = next(
        task for task in TRUTH if not any(line.startswith(f"{task},") for line in lines)
    )
    unknown = write(tmp_path / "unknown.csv", "\n".join([*lines, f"{stranger},x,cat,"]))
    gold = write(
        tmp_path / "gold.csv",
        "item,truth\n" + "".join(f"{task},{truth}\n" for task, truth in TRUTH.items()),
    )
    wrong = write(
        tmp_path / "wrong.csv",
        "\n".join(
            [
                lines[0],
                *(line.replace(",cat,", ",bird,").replace(",dog,", ",bird,") for line in lines[1:]),
            ]
        ),
    )
    for name, words in {
        "other votes": ("labels of other votes", other, "--checks", checks),
        "other method": (
            "of another method than anchored",
            votes,
            "--checks",
            checks,
            "--method",
            "mv",
        ),
        "doubled": ("is in the sheet more than once", votes, "--checks", doubled),
        "unknown": ("is not one of this sample's", votes, "--checks", unknown),
        "gold": ("were not drawn by a plan", votes, "--checks", gold),
        "empty": ("no task of the sheet has a truth", votes, "--checks", sheet),
        "classes": ("are not classes of the votes", votes, "--checks", wrong),
        "no plan": ("is not a plan", votes, "--checks", checks, "--plan", votes),
        "absent": ("there is no file", votes, "--checks", tmp_path / "absent.csv"),
    }.items():
        assert words[0] in refused("certify", *words[1:]), name
    plan = tmp_path / "sheet.plan.json"
    plan.write_text(
        plan.read_text(encoding="utf-8").replace('"seed": 0', '"seed": 7'), encoding="utf-8"
    )
    assert "the plan was edited" in refused("certify", votes, "--checks", sheet)
    for words in (("--risk", "0.7"),):
        refused("sample", votes, "-o", tmp_path / "s.csv", *words)


def test_a_truth_that_nobody_voted_for_is_a_wrong_label(votes: Path) -> None:
    checks = filled(sampled(votes, "-n", 60))
    before = certified(votes, checks)["accuracy"]["estimate"]
    text = checks.read_text(encoding="utf-8").splitlines()
    text[1] = text[1].replace(",cat,", ",bird,").replace(",dog,", ",bird,")
    write(checks, "\n".join(text))
    found = run("certify", votes, "--checks", checks, "--json")
    assert "count as wrong" in found.stderr
    assert json.loads(found.stdout)["accuracy"]["estimate"] < before
