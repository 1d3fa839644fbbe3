"""Files of labels and annotators: the user's names of columns, natural order, gold marks and workbooks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.cli_helpers import json_of, read_table, run, succeed, write

VOTES = "item,rater,answer\n" + "".join(
    f"t{n},r{r},{'xy'[n % 2]}\n" for n in (1, 2, 10) for r in (1, 2, 10)
)
COLUMNS = ["item", "label", "confidence", "n_votes", "tied", "is_gold"]


def aggregate(folder: Path, *arguments: object, votes: str = VOTES) -> None:
    succeed("aggregate", write(folder / "v.csv", votes), "--method", "mv", *arguments)


@pytest.mark.parametrize("name", ["l.csv", "l.tsv", "l.jsonl", "l.parquet", "l.xlsx"])
def test_a_file_of_labels_keeps_the_name_of_the_task_and_the_natural_order(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path / "gold.csv", "task,truth\nt2,x\n")
    aggregate(
        tmp_path,
        "-o",
        tmp_path / name,
        "--annotators",
        tmp_path / f"a{name}",
        "--gold",
        tmp_path / "gold.csv",
    )
    labels, annotators = read_table(tmp_path / name), read_table(tmp_path / f"a{name}")
    assert labels.columns == COLUMNS
    assert labels["item"].to_list() == ["t1", "t2", "t10"]
    assert [str(is_gold).lower() for is_gold in labels["is_gold"]] == ["false", "true", "false"]
    assert annotators.columns[:2] == ["rater", "n_votes"]
    assert annotators["rater"].to_list() == ["r1", "r2", "r10"]


def test_printed_labels_have_the_same_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", VOTES)
    assert run("aggregate", path, "--method", "mv").stdout.splitlines()[0] == ",".join(COLUMNS)
    assert list(json_of("aggregate", path, "--method", "mv")["labels"][0]) == COLUMNS


@pytest.mark.parametrize("task", ["item", "thing"])
def test_labels_of_finegold_are_read_as_truths(tmp_path: Path, task: str) -> None:
    aggregate(tmp_path, "-o", tmp_path / "l.csv", "--task", task, votes=VOTES.replace("item", task))
    done = succeed(
        "evaluate",
        tmp_path / "v.csv",
        "--task",
        task,
        "--truth",
        tmp_path / "l.csv",
        "--method",
        "mv",
    )
    assert "1.0000" in done.stdout


@pytest.mark.parametrize("task", ["label", "tied", "is_gold"])
def test_a_name_that_another_column_has_is_not_taken(tmp_path: Path, task: str) -> None:
    aggregate(tmp_path, "-o", tmp_path / "l.csv", "--task", task, votes=VOTES.replace("item", task))
    assert read_table(tmp_path / "l.csv").columns[:2] == ["task", "label"]


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["t10", "t2", "t1"], ["t1", "t2", "t10"]),
        (["10", "9", "b"], ["9", "10", "b"]),
        (["d10_s1", "d2_s10", "d2_s9"], ["d2_s9", "d2_s10", "d10_s1"]),
        (["b", "a", "ab"], ["a", "ab", "b"]),
    ],
)
def test_ids_are_in_their_natural_order(
    tmp_path: Path, names: list[str], ordered: list[str]
) -> None:
    votes = "task,worker,label\n" + "".join(f"{name},w{n},x\n" for name in names for n in range(2))
    aggregate(tmp_path, "-o", tmp_path / "l.csv", votes=votes)
    assert pl.read_csv(tmp_path / "l.csv", infer_schema=False)["task"].to_list() == ordered
