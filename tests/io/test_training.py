"""Labels for training: soft labels, weights and the files of `finegold export`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import finegold
from finegold import InputError
from tests.support.cli_helpers import CSV, succeed, write

VOTES = {
    "task": list("aaabbbccc"),
    "worker": list("xyz") * 3,
    "label": ["p", "p", "p", "p", "p", "q", "p", "q", "r"],
}


@pytest.fixture
def result() -> finegold.Result:
    return finegold.aggregate(VOTES, "mv")


def test_soft_labels_are_the_posterior_also_of_a_class_called_task(result: finegold.Result) -> None:
    table = result.soft_labels()
    assert table.columns == ["task", "p", "q", "r"]
    assert table["task"].to_list() == ["a", "b", "c"]
    assert (table.select("p", "q", "r").to_numpy() == result.posterior).all()
    assert isinstance(finegold.aggregate(pd.DataFrame(VOTES), "mv").soft_labels(), pd.DataFrame)
    named = finegold.aggregate({**VOTES, "label": ["task"] * 9}, "mv").soft_labels()
    assert named.columns == ["task", "p(task)"]


def test_every_purpose_has_its_columns(result: finegold.Result, tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    common = ["weight", "agreement", "consensus", "split"]
    result.export(path, "huggingface")
    table = pl.read_parquet(path)
    assert table.columns == ["task", "label", "label_name", "probabilities", *common]
    assert table.schema["probabilities"] == pl.List(pl.Float32)
    assert table["label"].to_list() == result.label_codes.tolist()
    assert table["label_name"].to_list()[:2] == ["p", "p"]
    assert table["consensus"].to_list() == ["unanimous", "majority", "disputed"]
    assert table["agreement"].to_list() == pytest.approx([1, 2 / 3, 1 / 3])
    result.export(path, "torch")
    table = pl.read_parquet(path)
    assert table.schema["probabilities"] == pl.Array(pl.Float32, 3)
    assert table["probabilities"].to_numpy() == pytest.approx(result.posterior)
    result.export(path, "sklearn")
    table = pl.read_parquet(path)
    assert table.columns == ["task", "label", "p(p)", "p(q)", "p(r)", *common]
    assert table["weight"].to_numpy() == pytest.approx(result.sample_weights(), abs=1e-6)
    metadata = pq.read_metadata(path).metadata
    assert json.loads(metadata[b"finegold"]) == {"method": "mv", "classes": ["p", "q", "r"]}


def many(n: int) -> finegold.Result:
    return finegold.aggregate(
        finegold.Annotations.from_arrays(range(n), ["x"] * n, ["p", "q"] * (n // 2)), "mv"
    )


def split_of(result: finegold.Result, path: Path, **options: object) -> dict[int, str]:
    result.export(path, "torch", **options)
    return dict(pl.read_parquet(path).select("task", "split").iter_rows())


def test_the_split_has_the_share_and_stays_when_tasks_are_added(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    split = split_of(many(2000), path)
    assert 160 < list(split.values()).count("validation") < 240
    assert split_of(many(500), path).items() <= split.items()
    wider = split_of(many(2000), path, validation=0.5)
    assert 900 < list(wider.values()).count("validation") < 1100
    assert all(wider[task] == "validation" for task in split if split[task] == "validation")
    assert set(split_of(many(2000), path, validation=0).values()) == {"train"}


def test_a_group_has_one_split(tmp_path: Path) -> None:
    path, groups = tmp_path / "train.parquet", {str(task): f"d{task // 5}" for task in range(900)}
    with pytest.warns(
        finegold.FinegoldWarning, match="tasks without a group, each a group of its own: 100"
    ):
        split_of(many(1000), path, group=groups)
    table = pl.read_parquet(path)
    assert table["group"].to_list() == [groups.get(str(task)) for task in range(1000)]
    per_group = (
        table.drop_nulls()
        .group_by("group")
        .agg(pl.col("split").n_unique(), first=pl.col("split").first())
    )
    assert per_group["split"].max() == 1
    assert (
        set(per_group["first"])
        == set(table.filter(pl.col("group").is_null())["split"])
        == {"train", "validation"}
    )
    with pytest.raises(InputError, match="no task has a group; check that tasks are written alike"):
        many(10).export(path, "torch", group={"t1": "d1"})


def test_the_command_takes_votes_or_a_model(tmp_path: Path) -> None:
    votes, out = write(tmp_path / "votes.csv", CSV + "t9,ann,\n"), tmp_path / "train.parquet"
    done = succeed("export", votes, "--purpose", "sklearn", "--method", "mv", "-o", out)
    assert "wrote 4 tasks to" in done.stderr
    assert "classes, in the order of the probabilities: x, y, z" in done.stderr
    assert "left out: 1 task without any vote" in done.stderr
    first = pl.read_parquet(out)
    succeed(
        "aggregate",
        votes,
        "--method",
        "mv",
        "--save",
        tmp_path / "m.finegold",
        "-o",
        tmp_path / "labels.csv",
    )
    succeed("export", tmp_path / "m.finegold", "--purpose", "sklearn", "-o", out)
    assert pl.read_parquet(out).equals(first)
