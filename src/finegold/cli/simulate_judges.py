"""`finegold simulate --judges`: write a raw log of LLM judges with known biases."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.votes.simulation import JudgeSimulation

__all__ = ["write_judge_log"]

GOLD_EVERY = 4  # gold.csv has the truth of every fourth item


def write_judge_log(n_judges: int, n_items: int, out: str, kind: str, seed: int) -> None:
    """Write the log, the truths, and what judges and systems are like, into a folder."""
    from finegold.cli.messages import count, say
    from finegold.cli.outputs import check_outputs, frame_writer, write_all
    from finegold.system.files import prepared
    from finegold.votes.simulation import draw_judges, simulate_log

    folder = Path(out)
    if folder.suffix and not folder.is_dir():
        raise InputError(f"--judges writes several files, so {out} must be a folder; leave out the extension")
    drawn = simulate_log(draw_judges(n_judges, seed=seed), n_items, seed)
    paths = {name: str(folder / f"{name}.{kind}") for name in ("log", "truth", "gold", "judges", "systems")}
    frames = _frames(drawn)
    with prepared(folder):
        check_outputs(paths.values(), [], [])
        write_all({path: frame_writer(partial(frames.__getitem__, name)) for name, path in paths.items()})
    n_verdicts = len(drawn.columns["item"])
    say(f"wrote {paths['log']} ({count(n_verdicts, 'verdict')}), with truth, gold, judges and systems beside it")


def _frames(drawn: JudgeSimulation) -> dict[str, Any]:
    import polars as pl

    process = drawn.process
    judges = {
        "judge": process.judge_names,
        "accuracy": process.accuracy.round(4),
        "position_bias": process.position_bias.round(4),
        "failure_rate": process.failure_rate.round(4),
        "cost": process.cost,
    }
    systems = {"system": process.system_names, "strength": process.strength}
    tables = {"log": drawn.columns, "truth": drawn.truth, "judges": judges, "systems": systems}
    frames = {name: pl.DataFrame(columns) for name, columns in tables.items()}
    return frames | {"gold": frames["truth"].gather_every(GOLD_EVERY)}
