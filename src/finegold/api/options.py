"""What every fit takes. This is the only place that declares it; see `finegold.options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finegold.io.options import Reading
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY
from finegold.options import Options, option

if TYPE_CHECKING:
    from pathlib import Path

    from finegold.engines.base import Engine
    from finegold.methods.base import Method
    from finegold.results.data import ResultData, Step

FIT = "Fit"


@dataclass(frozen=True, kw_only=True)
class FitOptions(Options):
    """Which method is fitted, with what, and where."""

    method: str | Method | None = option(
        None,
        f"One of {', '.join(REGISTRY)}; by default {DEFAULT_METHOD}.",
        metavar="M",
        choices=tuple(REGISTRY),
    )
    gold: Any = option(
        None,
        "Known truths of some tasks: a file, the name of a column of FILE, or export for the"
        " annotations that FILE marks as gold. They become the labels of these tasks, and the"
        " method learns from them.",
        kind="path",
        metavar="FILE|export",
        words={"export": True},
    )
    settings: Mapping[str, Any] | None = option(
        None,
        "A setting of the method, e.g. max_iterations=100 or seed=1. Can be repeated.",
        group=FIT,
        kind="pairs",
        metavar="NAME=VALUE",
        flag="--set",
        example="max_iterations=100",
    )
    predictions: Any = option(
        None,
        "Class probabilities of a model: a table with a task column and a column per class. Can be"
        " repeated.",
        group=FIT,
        kind="paths",
        metavar="FILE",
    )
    prior: ResultData | str | Path | None = option(
        None,
        "A saved model; what it learned about annotators is the prior for those who vote again.",
        group=FIT,
        kind="path",
        metavar="MODEL",
    )
    engine: str | Engine = option(
        "local",
        "Where the fit runs: on this machine (local), on a Dask cluster that is started (dask), or"
        " on one at an address such as tcp://10.0.0.1:8786.",
        group=FIT,
        metavar="WHERE",
    )
    threads: int | None = option(
        None,
        "The number of threads; by default FINEGOLD_THREADS, otherwise one per core.",
        group=FIT,
        kind="number",
        metavar="N",
        low=1,
    )


class Fitting(Reading, total=False):
    """What every fit takes, as typed keywords of functions that fit to votes; a test compares it
    with `FitOptions`.
    """

    gold: Any
    predictions: Any
    prior: ResultData | str | Path | None
    engine: str | Engine
    threads: int | None
    on_step: Callable[[Step], None] | None
