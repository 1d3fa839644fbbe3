"""Logs whose rows hold several verdicts -> one verdict per row: MT-bench, JudgeBench and Arena-Hard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

__all__ = ["columns_of_shape", "flatten"]

MT_BENCH = {"g1_winner", "g2_winner", "model_1", "model_2"}
JUDGE_BENCH = {"pair_id", "judgments"}
ARENA_HARD = {"judge", "games", "model"}


def columns_of_shape(columns: Sequence[Any]) -> list[str]:
    """Return the columns to read of a log with several verdicts per row; none if it is a plain table."""
    names = set(columns)
    if names >= MT_BENCH:
        wanted = ["question_id", "turn", "judge", *sorted(MT_BENCH)]
    elif names >= JUDGE_BENCH:
        wanted = ["pair_id", "judge_name", "judgments", "label"]
    elif names >= ARENA_HARD:
        wanted = ["question_id", "uid", "judge", "model", "baseline", "games"]
    else:
        return []
    return [name for name in wanted if name in names]


def flatten(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a row per verdict, with columns of usual names."""
    names = set(frame.columns)
    if names >= MT_BENCH:
        return _mt_bench(frame)
    return _judge_bench(frame) if names >= JUDGE_BENCH else _arena_hard(frame)


def _mt_bench(frame: pl.DataFrame) -> pl.DataFrame:
    """Two games; the winners are named by model, and the second game shows model_2 first."""
    frame = frame.rename({"model_1": "model_a", "model_2": "model_b"})
    games = [
        frame.with_columns(verdict=pl.col(name), order=pl.lit(order)).drop("g1_winner", "g2_winner")
        for name, order in (("g1_winner", "AB"), ("g2_winner", "BA"))
    ]
    return pl.concat(games)


def _judge_bench(frame: pl.DataFrame) -> pl.DataFrame:
    """Judgements alternate in order, and their decisions (A>B) are about positions; the label is the truth."""
    frame = _one_game_per_row(frame, "judgments")
    said = frame.get_column("judgments").struct
    found = frame.with_columns(verdict=said.field("decision").cast(pl.String), judge=_judge(frame))
    return found.drop("judgments", "judge_name", strict=False).rename({"label": "gold"}, strict=False)


def _judge(frame: pl.DataFrame) -> pl.Series:
    """Return the prompt and the model of the judge."""
    parts = [frame.get_column("judge_name")] if "judge_name" in frame.columns else []
    about = frame.get_column("judgments").struct
    if "judgment" in about.fields and "judge_model" in about.field("judgment").struct.fields:
        parts.append(about.field("judgment").struct.field("judge_model").alias("model").fill_null(strategy="forward"))
    if not parts:
        parts = [pl.repeat("judge", frame.height, eager=True).alias("name")]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()


def _arena_hard(frame: pl.DataFrame) -> pl.DataFrame:
    """The baseline is the first answer of the first game, and the second answer of the second game."""
    frame = _one_game_per_row(frame, "games")
    baseline = pl.col("baseline") if "baseline" in frame.columns else pl.lit("baseline")
    score = pl.col("games").struct.field("score").cast(pl.String)
    return frame.with_columns(verdict=score, model_a=baseline, model_b=pl.col("model")).drop(
        "games", "model", "baseline", strict=False
    )


def _one_game_per_row(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    numbered = frame.with_columns(game=pl.int_ranges(pl.col(column).list.len()))
    single = numbered.explode(column, "game")
    return single.with_columns(order=pl.when(pl.col("game") % 2 == 0).then(pl.lit("AB")).otherwise(pl.lit("BA"))).drop(
        "game"
    )
