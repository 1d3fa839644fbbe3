"""What every fit takes. This is the only place that declares it; see `finegold.options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finegold.engines.registry import ENGINES
from finegold.io.options import EXPORTS, Reading
from finegold.methods.registry import DEFAULT_METHOD, REGISTRY
from finegold.options import Constant, option

if TYPE_CHECKING:
    from pathlib import Path

    from finegold.engines.base import Engine
    from finegold.methods.base import Method
    from finegold.results.data import ResultData, Step

FIT = "Fit"


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Which method is fitted, with what, and where."""

    method: str | Method = option(
        DEFAULT_METHOD,
        f"One of {', '.join(REGISTRY)}; by default {DEFAULT_METHOD}.",
        metavar="M",
        choices=tuple(REGISTRY),
        doc="A name from `finegold methods`, or a method with its settings, such as `finegold.PTBCC(n_prototypes=3)`.",
    )
    settings: Mapping[str, Any] | None = option(
        None,
        "A setting of the method, e.g. max_iterations=100. Can be repeated.",
        group=FIT,
        kind="pairs",
        metavar="NAME=VALUE",
        flag="--set",
        example="max_iterations=100",
        doc="Settings of a method that is given by name.",
    )
    gold: Any = option(
        None,
        "Known truths of some tasks: a file, or the name of a column of FILE.",
        metavar="FILE",
        constants={
            "--gold-from-export": Constant(
                True, "Use the annotations that FILE marks as gold as known truths.", EXPORTS
            )
        },
        doc="Known truths of some tasks. They become the labels of these tasks, and the method learns from them.",
    )
    predictions: Any = option(
        None,
        "Class probabilities of a model: a table with a task column and a column per class. Can be repeated.",
        group=FIT,
        kind="paths",
        metavar="FILE",
        doc="Class probabilities of one or more models, which are combined with the votes (see `finegold.aggregate`).",
    )
    prior: ResultData | str | Path | None = option(
        None,
        "A saved model; what it learned about annotators is the prior for those who vote again.",
        group=FIT,
        kind="path",
        metavar="MODEL",
        doc="An earlier result, or the file of one. What it learned about annotators is the prior for those who vote "
        "again.",
    )
    engine: str | Engine = option(
        "local",
        "Where the fit runs.",
        group=FIT,
        kind="choice",
        choices=tuple(ENGINES),
        doc='Where the fit runs: "local" (the threads of this machine), "dask" (a cluster), "gpu", or an engine '
        "object, which stays open.",
    )
    scheduler: str | None = option(
        None,
        "The cluster for the engine dask, e.g. tcp://10.0.0.1:8786; by default a local cluster is started.",
        group=FIT,
        metavar="ADDRESS",
        surfaces=frozenset({"python", "cli"}),
    )
    threads: int | None = option(
        None,
        "The number of threads; by default FINEGOLD_THREADS, otherwise one per core.",
        group=FIT,
        kind="number",
        metavar="N",
        low=1,
    )
    checkpoint: str | Path | None = option(
        None,
        "Save unfinished work to this file, every minute and on Ctrl-C.",
        group=FIT,
        kind="path",
        metavar="FILE",
        doc="A file for unfinished work. If several methods run, each has its own file, with its name at the end.",
        surfaces=frozenset({"python", "cli"}),
    )
    resume: bool = option(
        False,
        "Continue from the checkpoint, if the file exists.",
        group=FIT,
        kind="flag",
        surfaces=frozenset({"python", "cli"}),
    )
    overwrite: bool = option(
        False,
        "Discard the work of an earlier run in the checkpoint.",
        group=FIT,
        kind="flag",
        surfaces=frozenset({"python", "cli"}),
    )


class Fitting(Reading, total=False):
    """What every fit takes, as typed keywords of functions that fit to votes; a test compares it with `FitOptions`."""

    gold: Any
    predictions: Any
    prior: ResultData | str | Path | None
    engine: str | Engine
    scheduler: str | None
    threads: int | None
    checkpoint: str | Path | None
    resume: bool
    overwrite: bool
    on_step: Callable[[Step], None] | None
