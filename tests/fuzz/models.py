"""Cases of the fuzzer: damaged models for `finegold update`, and damaged checkpoints for `--resume`."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import finegold
from finegold.api.job import fit
from finegold.fitting.checkpoint import Checkpoint
from finegold.methods.lookup import method_class
from finegold.methods.registry import DEFAULT_METHOD
from tests.fuzz.archives import mutate
from tests.fuzz.case import OUTPUT, Case

METHODS = (DEFAULT_METHOD, "ptbcc", "ds", "hds", "ibcc", "mv")
VOTES = "task,worker,label\n" + "".join(
    f"{i},{j},{(i * j) % 3}\n" for i in range(12) for j in range(4)
)
NEW = "task,worker,label\n3,9,1\n40,1,2\n40,2,2\n"


class Stopped(Exception):
    """Ends a fit in its second sweep."""


def damaged_model(random: Random) -> Case:
    name = random.choice(METHODS)
    what, model = mutate(_model(name), random.randrange(2**32))
    arguments = ("update", "m.finegold", "new.csv", "-o", "m2.finegold", "--labels", OUTPUT)
    return Case(
        f"model of {name}: {what}", {"m.finegold": model, "new.csv": NEW.encode()}, arguments
    )


def damaged_checkpoint(random: Random) -> Case:
    name = random.choice(METHODS[:-1])
    what, checkpoint = mutate(_checkpoint(name), random.randrange(2**32))
    arguments = (
        "aggregate",
        "v.csv",
        "--method",
        name,
        "--checkpoint",
        "half",
        "--resume",
        "-o",
        OUTPUT,
    )
    return Case(
        f"checkpoint of {name}: {what}", {"half": checkpoint, "v.csv": VOTES.encode()}, arguments
    )


@cache
def _model(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.finegold"
        finegold.aggregate(_votes(folder), name).save(path)
        return path.read_bytes()


@cache
def _checkpoint(name: str) -> bytes:
    seen = []

    def watch(step: object) -> None:
        seen.append(step)
        if len(seen) == 2:
            raise Stopped

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "half")
        checkpoint.due = lambda: True  # type: ignore[method-assign]
        with suppress(Stopped):
            fit(
                method_class(name)(),
                finegold.read(_votes(folder)),
                on_step=watch,
                checkpoint=checkpoint,
            )
        return checkpoint.path.read_bytes()


def _votes(folder: str) -> Path:
    path = Path(folder) / "v.csv"
    path.write_text(VOTES)
    return path
