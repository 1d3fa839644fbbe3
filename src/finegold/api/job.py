"""Run a method: read votes, open the engine, handle checkpoint and prior, and fit.

`finegold.aggregate`, the commands and the studio describe what they need as a `Run`, so an option that is added here is
available in all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import narwhals as nw

from finegold.api.result import Result
from finegold.engines.base import Engine, one_blas_thread, opened
from finegold.engines.dask import DaskEngine
from finegold.errors import InputError
from finegold.fitting.checkpoint import Checkpoint
from finegold.fitting.combining import combine
from finegold.fitting.multi_label import fit_each_option, fit_sets, vote_on_sets
from finegold.fitting.progress import in_notebook, on_terminal
from finegold.fitting.solve import check_memory, check_resumable, descend
from finegold.fitting.updating import check_takes_prior, fit_with_prior
from finegold.io.folders.folder import StagingFolder, check_folder, replacing_folder
from finegold.io.folders.ingest import ROWS_PER_RANGE, Remote, ingest
from finegold.io.folders.labels import Tally, class_totals, part_name, write_block, write_unlabelled
from finegold.io.folders.outcome import Outcome, outcome, template, without_learned
from finegold.io.options import ReadOptions
from finegold.io.read import read_alias
from finegold.kernels.labels import preference_of
from finegold.methods.lookup import Method, make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.archive import is_saved_result, load
from finegold.results.data import ResultData, Step
from finegold.results.multi import MultiResult, load_any
from finegold.votes.annotations import Annotations, Predictions, Repeated

if TYPE_CHECKING:
    from finegold.io.tables import WatchReading

__all__ = [
    "IN_PYTHON",
    "OnStep",
    "Outcome",
    "Progress",
    "Run",
    "aggregate_files",
    "check_folder",
    "classes_of",
    "fit",
    "fitter",
    "has_predictions",
    "label_sets",
    "names_given",
    "opened_engine",
    "read_questions",
    "read_votes",
    "refuse_for_model",
    "run",
    "run_any",
    "run_into_folder",
    "run_questions",
    "saved",
    "saved_any",
]


def fit(method: Method, annotations: Annotations, *, prior: Any = None, **keywords: Any) -> Result:
    """Fit the method, with an earlier result as the prior of the annotators if `prior` is given.

    Keywords are those of `solve.fit`.
    """
    if annotations.multi:
        raise InputError("sets of labels (--multi) are for aggregate, evaluate and report; leave it out here")
    return Result.of(fit_with_prior(method, annotations, prior, **keywords))


OnStep = Callable[[Step], None]
Fit = Callable[[Method, Annotations], Result]


class Progress(NamedTuple):
    """Context managers that show the progress of reading and fitting. The default shows nothing."""

    reading: Callable[[], AbstractContextManager[WatchReading | None]] = nullcontext
    fitting: Callable[[str], AbstractContextManager[OnStep | None]] = lambda name: nullcontext()


@contextmanager
def _in_python(name: str) -> Iterator[OnStep | None]:
    with in_notebook(name) as in_cell:
        if in_cell is not None:
            yield in_cell
            return
        with on_terminal(name) as on_line:
            yield on_line


IN_PYTHON = Progress(fitting=_in_python)  # shown in a notebook or on a terminal


@dataclass(frozen=True)
class Run:
    """Everything that a run depends on.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, or Annotations
        The votes.
    reading : mapping
        How to read them: keywords of `finegold.read`.
    method : str or Method
        A name from `finegold methods`, or a method with its settings.
    settings : mapping
        Settings of a method that is given by name.
    gold : path, data frame, mapping, str or bool, optional
        Known truths, from which the method learns.
    predictions : path, data frame, tuple, mapping or list, optional
        Class probabilities of one or more models, which are combined with the votes (see `finegold.aggregate`).
    prior : Result or path, optional
        An earlier result. What it learned about annotators is the prior for those who vote again.
    engine : str or Engine
        Where the fit runs. An engine that is given as an object stays open.
    scheduler : str, optional
        The address of the cluster, for the engine "dask".
    threads : int, optional
        The number of threads. The default is the environment variable FINEGOLD_THREADS, otherwise one per core.
    checkpoint : path, optional
        A file for unfinished work. If several methods run, each has its own file, with its name at the end.
    resume : bool
        Continue from the checkpoint, if it exists.
    overwrite : bool
        Discard the unfinished work of an earlier run.
    on_step : callable, optional
        Called with a `Step` after each sweep. It may raise an exception to stop the fit.
    on_read : callable, optional
        Called with the votes when they are read.
    progress : Progress
        Shows the progress of the run.
    """

    votes: Any
    reading: Mapping[str, Any] = field(default_factory=dict)
    method: str | Method = DEFAULT_METHOD
    settings: Mapping[str, Any] = field(default_factory=dict)
    gold: Any = None
    predictions: Any = None
    prior: ResultData | str | Path | None = None
    engine: str | Engine = "local"
    scheduler: str | None = None
    threads: int | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    overwrite: bool = False
    on_step: OnStep | None = None
    on_read: Callable[[Annotations], None] | None = None
    progress: Progress = field(default_factory=Progress)


def run(wanted: Run) -> Result:
    """Read the votes, fit the method to them, and return the result."""
    method = make_method(wanted.method, dict(wanted.settings))
    with fitter(wanted, [method]) as fit_method:
        return fit_method(method, read_votes(wanted))


def run_any(wanted: Run) -> Result | MultiResult:
    """Read the votes, fit them, and return the result. The votes themselves decide whether they are sets of labels."""
    method = make_method(wanted.method, dict(wanted.settings))
    with fitter(wanted, [method]) as fit_method:
        votes = read_votes(wanted, find_sets=True)
        return label_sets(wanted, method, votes, fit_method) if votes.multi else fit_method(method, votes)


def label_sets(wanted: Run, method: Method, votes: Annotations, fit_method: Fit) -> MultiResult:
    """Return the set of labels of each task. Methods other than the default are fitted to each option."""
    given = {"--prior": wanted.prior, "--checkpoint": wanted.checkpoint, "--predictions": wanted.predictions}
    if names := names_given(given):
        raise InputError(f"{names[0]} cannot be combined with sets of labels (--multi); leave it out")
    if method.name not in (DEFAULT_METHOD, "mv"):
        return fit_each_option(method.name, votes, lambda answers: fit_method(method, answers))
    if wanted.engine != "local":
        raise InputError(f"with sets of labels (--multi), the method {method.name} runs locally; leave --engine out")
    return vote_on_sets(votes) if method.name == "mv" else fit_sets(votes)


def run_questions(wanted: Run) -> dict[str, Result]:
    """Fit the method to the votes of every question of an export, and return the results by question."""
    method = make_method(wanted.method, dict(wanted.settings))
    with fitter(wanted, [method]) as fit_method:
        return {question: fit_method(method, votes) for question, votes in read_questions(wanted).items()}


@contextmanager
def fitter(wanted: Run, methods: Sequence[Method]) -> Iterator[Fit]:
    """Yield a function that fits any of these methods to votes with the options of the run.

    Checkpoints are checked and the engine is opened first, so that an unreachable cluster is reported before the votes
    are read.
    """
    _check(wanted, methods)
    checkpoints = {method.name: _checkpoint(wanted, method, len(methods) > 1) for method in methods}
    with ExitStack() as stack:

        @cache  # methods of the same precision share an engine
        def engine_of(single: bool) -> Engine:
            return stack.enter_context(opened_engine(wanted, single))

        def fit_method(method: Method, votes: Annotations) -> Result:
            predictions = read_predictions(wanted, votes)
            with wanted.progress.fitting(method.name) as line, how_to_resume(checkpoints[method.name]):
                result = fit(
                    method,
                    votes,
                    prior=wanted.prior,
                    engine=engine_of(method.single),
                    on_step=wanted.on_step or line,
                    checkpoint=checkpoints[method.name],
                )
            return result if predictions is None else Result.of(combine(result, predictions))

        engine_of(methods[0].single)
        yield fit_method


@contextmanager
def how_to_resume(checkpoint: Checkpoint | None) -> Iterator[None]:
    """After Ctrl-C, add to the message how to continue from the checkpoint."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.owned:
            raise
        how = "replace --overwrite by --resume" if checkpoint.overwrite else "add --resume"
        words = f"{checkpoint.path} holds the work so far; to continue, {how}"
        raise KeyboardInterrupt(words) from None


def read_votes(wanted: Run, find_sets: bool = False) -> Annotations:
    """Read the votes of a run. Unless the run says whether votes are sets of labels, they are only if `find_sets`."""
    from finegold.io.read import read

    multi = wanted.reading.get("multi")
    reading = {**wanted.reading, "multi": None if multi is None and find_sets else bool(multi)}
    with wanted.progress.reading() as watch:
        votes = read(wanted.votes, gold=wanted.gold, watch=watch, **reading)
    if wanted.on_read is not None:
        wanted.on_read(votes)
    return votes


def classes_of(classes: Sequence[Any] | None, ordered: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return the classes to read: those given, or the ordered ones."""
    if ordered is None:
        return classes
    if classes is not None:
        raise InputError("--classes and --ordered (classes=, ordered= in Python) both list the classes; leave one out")
    if isinstance(ordered, str) or len(ordered) < 2:
        raise InputError("--ordered (ordered= in Python) needs at least two classes, from the lowest to the highest")
    return ordered


def read_predictions(wanted: Run, votes: Annotations) -> Predictions | None:
    """Read the predictions of a run and match them to the votes; None if there are none."""
    if not has_predictions(wanted.predictions):
        return None
    from finegold.io.predictions import read_predictions

    return read_predictions(wanted.predictions, votes)


def has_predictions(given: Any) -> bool:
    """Return whether predictions were given. An empty table counts, so that reading it raises an error."""
    return given is not None and not (isinstance(given, list | tuple | dict) and not given)


def saved(votes: Any) -> Result | None:
    """Return the result if the argument is a result or the path of a saved one, otherwise None."""
    if isinstance(votes, ResultData):
        return Result.of(votes)
    paths = votes if isinstance(votes, list | tuple) else [votes]
    if len(paths) == 1 and isinstance(paths[0], str | Path) and is_saved_result(paths[0]):
        return Result.of(load(paths[0]))
    return None


def saved_any(votes: Any) -> Result | MultiResult | None:
    """Return the result, which may hold sets of labels, if the argument is one or the path of a saved one."""
    if isinstance(votes, MultiResult):
        return votes
    paths = votes if isinstance(votes, list | tuple) else [votes]
    if len(paths) == 1 and isinstance(paths[0], str | Path) and is_saved_result(paths[0]):
        found = load_any(paths[0])
        return found if isinstance(found, MultiResult) else Result.of(found)
    return saved(votes)


def refuse_for_model(given: Mapping[str, Any]) -> None:
    """Raise an error if any of these options, which need votes, was given with a saved model."""
    if names := names_given(given):
        raise InputError(f"{names[0]} needs votes, but this is a saved model, which is fitted already; leave it out")


def names_given(options: Mapping[str, Any]) -> list[str]:
    """Return the names of options that are neither None, False nor empty. Values may be data frames."""
    return [
        name
        for name, value in options.items()
        if value is not None and value is not False and not (isinstance(value, Sized) and len(value) == 0)
    ]


def _check(wanted: Run, methods: Sequence[Method]) -> None:
    if wanted.resume and wanted.checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, the file to continue from")
    if wanted.overwrite and (wanted.checkpoint is None or wanted.resume):
        raise InputError("--overwrite needs --checkpoint FILE and cannot be combined with --resume")
    if wanted.scheduler is not None and wanted.engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; add --engine dask")
    for method in methods:
        if wanted.prior is not None:
            check_takes_prior(method)
        if wanted.checkpoint is not None:
            check_resumable(method)
    if wanted.checkpoint is not None and len({method.name for method in methods}) < len(methods):
        raise InputError("with a checkpoint, each method can run once; leave the checkpoint out")


def _checkpoint(wanted: Run, method: Method, is_one_of_several: bool) -> Checkpoint | None:
    if wanted.checkpoint is None:
        return None
    path = f"{wanted.checkpoint}.{method.name}" if is_one_of_several else wanted.checkpoint
    kept = Checkpoint(path, resume=wanted.resume, overwrite=wanted.overwrite)
    kept.inspect()
    return kept


def opened_engine(wanted: Run, single: bool) -> AbstractContextManager[Engine]:
    """Open the engine of a run, for methods with posteriors in 32 bits (`single`) or 64 bits."""
    scheduler = {} if wanted.scheduler is None else {"scheduler": wanted.scheduler}
    return opened(wanted.engine, threads=wanted.threads, single=single, **scheduler)


def read_questions(wanted: Run) -> dict[str, Annotations]:
    """Read the votes for every question of an export."""
    from finegold.io.read import read_each

    reading = dict(wanted.reading)
    if reading.pop("multi", None):
        raise InputError("--multi works with one question only; choose it with --question NAME")
    if names_given({name: reading.pop(name, None) for name in ("annotator", "label", "wide")}):
        raise InputError(
            "--annotator, --label and --wide are for plain tables and cannot be combined with --question all"
        )
    with wanted.progress.reading() as watch:
        return read_each(wanted.votes, gold=wanted.gold, watch=watch, **reading)


def aggregate_files(
    votes: Any,
    folder: str | Path,
    method: str | Method = DEFAULT_METHOD,
    *,
    engine: DaskEngine,
    gold: Any = None,
    task: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Sequence[Any] | None = None,
    repeated: Repeated = "first",
    missing: Sequence[Any] | None = None,
    keep_missing: bool = False,
    normalise: bool = False,
    alias: Any = None,
    probabilities: bool = False,
    on_step: OnStep | None = None,
    rows_per_range: int = ROWS_PER_RANGE,
) -> Outcome:
    """Aggregate votes in files into a folder of Parquet files with labels, sorted by task name.

    Labels and probabilities are the same as those of `finegold.aggregate`, to the bit. The accuracies of annotators may
    differ in the last digits. The folder is created when everything is written, and replaces that of an earlier run.
    """
    chosen = make_method(method, {})
    _check_folders(chosen, engine, gold)
    began, target = time.perf_counter(), Path(folder).expanduser().resolve()
    check_folder(target, _places(votes, gold))
    options = ReadOptions(
        gold=gold,
        classes=classes,
        repeated=repeated,
        missing=missing,
        keep_missing=keep_missing,
        normalise=normalise,
        alias=read_alias(alias),
    )
    with replacing_folder(target) as staging:
        engine.cluster.check_shared(staging.place)
        columns = (task, annotator, label)
        remote = ingest(
            engine.cluster,
            votes,
            columns,
            options,
            staging.scratch,
            fewest_votes=engine.fewest_votes,
            rows_per_range=rows_per_range,
        )
        check_memory(chosen, remote, remote.label, 0)  # posteriors stay with the workers
        engine.adopt(lambda index: remote.blocks[index], [block.n_tasks for block in remote.blocks])
        made, tally = _fit(chosen, engine, remote, staging, probabilities, on_step)
    notes = [*chosen.notes, *chosen.cautions(remote.n_tasks), *engine.notes()]
    return outcome(target, made, remote, tally, time.perf_counter() - began, notes)


def run_into_folder(wanted: Run, folder: str | Path, *, probabilities: bool = False) -> Outcome:
    """Call `aggregate_files` for a run whose engine is "dask" and whose votes are files."""
    method = make_method(wanted.method, dict(wanted.settings))
    check_folder(Path(folder).expanduser().resolve(), _places(wanted.votes, wanted.gold))
    given = {name: value for name, value in wanted.reading.items() if value}
    with opened_engine(wanted, method.single) as engine, wanted.progress.fitting(method.name) as line:
        return aggregate_files(
            wanted.votes,
            folder,
            method,
            engine=cast(DaskEngine, engine),
            gold=wanted.gold,
            probabilities=probabilities,
            on_step=wanted.on_step or line,
            **given,
        )


def _check_folders(method: Method, engine: DaskEngine, gold: Any) -> None:
    engine.accept(method)
    if gold is not None and not method.takes_gold:
        raise InputError(f"{method.name} cannot use gold truths; leave them out or choose another method")
    if method.n_restarts > 1 or method.accelerated:
        raise InputError(
            f"{method.name} with these settings needs all posteriors on one machine, which a folder of labels does not "
            "allow; write the labels to one file, or choose another method (for ebcc: n_restarts=1)"
        )


def _places(*inputs: Any) -> list[Path]:
    """Return the paths among the inputs, which may also be data frames."""
    each = [one for given in inputs for one in (given if isinstance(given, list | tuple) else [given])]
    return [Path(one) for one in each if isinstance(one, str | Path)]


def _fit(
    method: Method,
    engine: DaskEngine,
    votes: Remote,
    staging: StagingFolder,
    probabilities: bool,
    on_step: OnStep | None,
) -> tuple[ResultData, Tally]:
    """Fit the method; then each worker writes the labels of its blocks."""
    with one_blas_thread():
        made = template(votes, descend(method, engine, on_step=on_step))
    preference = preference_of(engine.sum(class_totals).classes)
    tally = engine.sum(write_block, votes.blocks, preference, without_learned(made), probabilities, staging.labels)
    if len(votes.unlabelled):
        names: Any = nw.from_native(votes.unlabelled, series_only=True)
        write_unlabelled(made, names, names, probabilities, staging.labels / part_name(len(votes.blocks)))
    return made, tally
