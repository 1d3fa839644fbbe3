"""The two lines that most users need: `aggregate` and `load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from karat.api.fit import fit
from karat.api.result import Result
from karat.engines import opened
from karat.fitting.checkpoint import Checkpoint
from karat.fitting.progress import in_notebook
from karat.methods import Method, make_method
from karat.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from karat.api.settings import Settings
    from karat.engines import Engine
    from karat.results.data import Step
    from karat.votes.annotations import Repeated

__all__ = ["aggregate"]


def aggregate(
    votes: Any,
    method: str | Method = DEFAULT_METHOD,
    *,
    gold: Any = None,
    prior: Result | str | Path | None = None,
    threads: int | None = None,
    engine: str | Engine = "local",
    watch: Callable[[Step], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    task: str | None = None,
    annotator: str | list[str] | None = None,
    label: str | None = None,
    wide: bool = False,
    classes: list[Any] | None = None,
    repeated: Repeated = "first",
    missing: list[Any] | None = None,
    query: str | None = None,
    table: str | None = None,
    params: Mapping[str, Any] | None = None,
    format: str | None = None,
    question: str | None = None,
    include: str | Sequence[str] = (),
    **settings: Unpack[Settings],
) -> Result:
    """Votes -> labels one can trust.

    votes: a path, several paths or a glob, a data frame of any library, the address of a database, or Annotations.
    method: a name from `karat methods`, or a method with its settings, e.g. `PTBCC(n_prototypes=3)`.
    gold: known truths of some tasks (a path, a data frame or a mapping); they are kept, and teach the method.
    prior: an earlier result (or the file of one): what it knows of annotators who vote again counts here, too.
    engine: where the work is done: "local" (the threads of this machine), "dask" (a cluster), or an engine that you
        made yourself, such as `DaskEngine("tcp://scheduler:8786")` of karat.engines.dask.
    watch: is called after each sweep, with what it did; without it a notebook shows one line of progress.
    checkpoint: a file that Ctrl-C leaves behind, and that `resume` goes on from, to the same bits; `overwrite` gives up
        the unfinished work that an earlier run left there.
    task, annotator, label, wide, classes, repeated, missing, query, table, params, format, question, include: how to
        read the votes, as in `karat.read`.
    Further keywords are settings of the method.
    """
    from karat.io.readers import read

    chosen = make_method(method, dict(settings))
    kept = Checkpoint(checkpoint, resume=resume, overwrite=overwrite) if checkpoint is not None else None
    if kept is not None:
        kept.inspect()
    with opened(engine, threads=threads, single=chosen.single) as where:
        annotations = read(
            votes,
            task=task,
            annotator=annotator,
            label=label,
            wide=wide,
            gold=gold,
            classes=classes,
            repeated=repeated,
            missing=missing,
            query=query,
            table=table,
            params=params,
            format=format,
            question=question,
            include=include,
        )
        with in_notebook(chosen.name) as line:
            return fit(chosen, annotations, prior=prior, engine=where, watch=watch or line, checkpoint=kept)
