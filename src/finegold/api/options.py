"""What every fit takes. This is the only place that declares it; see `finegold.options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from finegold.engines import ENGINES
from finegold.io.options import EXPORTS, Reading
from finegold.methods.registry import DEFAULT_METHOD, REGISTRY
from finegold.options import Constant, option

if TYPE_CHECKING:
    from pathlib import Path

    from finegold.engines.base import Engine
    from finegold.methods.base import Method
    from finegold.results.data import ResultData, Step

FIT = "Fit"
# not in the studio
IN_CODE = frozenset({"python", "cli"})


def fit_option(
    default: Any, kind: str, metavar: str, help: str, doc: str = "", **about: Any
) -> Any:
    """Declare an option of the fit."""
    return option(default, help, group=FIT, kind=kind, metavar=metavar, doc=doc, **about)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Which method is fitted, with what, and where."""

    method: str | Method | None = option(
        None,
        f"One of {', '.join(REGISTRY)}; by default {DEFAULT_METHOD}.",
        metavar="M",
        choices=tuple(REGISTRY),
        doc=(
            "A name from `finegold methods`, or a method with its settings, such as"
            " `finegold.PTBCC(n_prototypes=3)`."
        ),
    )
    settings: Mapping[str, Any] | None = fit_option(
        None,
        "pairs",
        "NAME=VALUE",
        "A setting of the method, e.g. max_iterations=100. Can be repeated.",
        "Settings of a method that is given by name.",
        flag="--set",
        example="max_iterations=100",
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
        doc=(
            "Known truths of some tasks. They become the labels of these tasks, and the method"
            " learns from them."
        ),
    )
    predictions: Any = fit_option(
        None,
        "paths",
        "FILE",
        "Class probabilities of a model: a table with a task column and a column per class. Can be"
        " repeated.",
        "Class probabilities of one or more models, which are combined with the votes (see"
        " `finegold.aggregate`).",
    )
    prior: ResultData | str | Path | None = fit_option(
        None,
        "path",
        "MODEL",
        "A saved model; what it learned about annotators is the prior for those who vote again.",
        "An earlier result, or the file of one. What it learned about annotators is the prior for"
        " those who vote again.",
    )
    engine: str | Engine = fit_option(
        "local",
        "choice",
        "",
        "Where the fit runs.",
        'Where the fit runs: "local" (the threads of this machine), "dask" (a cluster), or'
        " an engine object, which stays open.",
        choices=tuple(ENGINES),
    )
    scheduler: str | None = fit_option(
        None,
        "text",
        "ADDRESS",
        "The cluster for the engine dask, e.g. tcp://10.0.0.1:8786; by default a local cluster is"
        " started.",
        surfaces=IN_CODE,
    )
    threads: int | None = fit_option(
        None,
        "number",
        "N",
        "The number of threads; by default FINEGOLD_THREADS, otherwise one per core.",
        low=1,
    )

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        return [
            each.name
            for each in fields(FitOptions)
            if (value := getattr(self, each.name)) is not None and value is not each.default
        ]


class Fitting(Reading, total=False):
    """What every fit takes, as typed keywords of functions that fit to votes; a test compares it
    with `FitOptions`.
    """

    gold: Any
    predictions: Any
    prior: ResultData | str | Path | None
    engine: str | Engine
    scheduler: str | None
    threads: int | None
    on_step: Callable[[Step], None] | None
