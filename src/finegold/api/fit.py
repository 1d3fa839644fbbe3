"""The one front door: read votes, open the engine, fit, combine with predictions, calibrate.

`finegold.aggregate`, the commands and the studio come through here. What every fit takes is
declared in `api/options.py`, how votes are read in `io/options.py`; both travel as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from finegold.api.options import FitOptions
from finegold.api.result import Result
from finegold.engines import ENGINES
from finegold.engines.base import Engine
from finegold.errors import InputError, Placeholder, leave_out, use
from finegold.fitting import solve
from finegold.fitting.progress import in_python
from finegold.fitting.solve import check_takes_prior
from finegold.io.options import ReadOptions
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, make_method
from finegold.options import options_of
from finegold.results.data import ResultData, Step
from finegold.system.memory import did_you_mean
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING
from finegold.votes.hygiene import warn_of_lost_votes

if TYPE_CHECKING:
    from finegold.io.tables import WatchReading

# known truths from which they set the temperature of confidences: bench/trust/gold.py
MIN_GOLD = 25
OnStep = Callable[[Step], None]
Methods = str | Method | type[Method] | Iterable[str | Method | type[Method]]
log = logging.getLogger("finegold")


def fit(
    method: Method,
    annotations: Annotations,
    *,
    prior: Any = None,
    calibrate: bool = True,
    **keywords: Any,
) -> Result:
    """Fit the method, with an earlier result as the prior of the annotators if `prior` is given.

    Keywords are those of `solve.fit`. If votes are sets of labels, the classes of the result are
    the options. If enough truths are known, the confidences of the default are those that the
    truths support: what confidences are worth is seen in a second fit that does not know the
    truths. Without `calibrate`, truths teach the method and nothing else: confidences must not be
    fitted to tasks that were chosen because they are doubtful.
    """
    if annotations.multi:
        from finegold.fitting.multi_label import fit_sets

        fit_option = partial(solve.fit, method, **keywords)
        return Result.from_data(fit_sets(method, annotations, fit_option, keywords.get("on_step")))
    fit_votes = partial(solve.fit, method)
    if prior is not None:
        from finegold.fitting.prior import fit_with_prior

        fit_votes = partial(fit_with_prior, method, prior=prior)
    result = fit_votes(annotations, **keywords)
    votes = result.annotations
    is_default = calibrate and method.name == DEFAULT_METHOD
    if is_default and votes is not None and (votes.gold >= 0).sum() >= MIN_GOLD:
        from finegold.insight.calibration import calibration

        blind = replace(votes, gold=np.full_like(votes.gold, MISSING))
        more = {name: value for name, value in keywords.items() if name != "on_step"}
        result = calibration(fit_votes(blind, **more), votes.gold).apply(result)
    return Result.from_data(result)


class Progress(NamedTuple):
    """Context managers that show the progress of reading and fitting, and what is told when votes
    were read. The default shows nothing.
    """

    reading: Callable[[], AbstractContextManager[WatchReading | None]] = nullcontext
    fitting: Callable[[str], AbstractContextManager[OnStep | None]] = lambda name: nullcontext()
    on_read: Callable[[Annotations], None] = lambda votes: None


SILENT = Progress()
AS_FOUND = ReadOptions()
# shown in a notebook or on a terminal
IN_PYTHON = Progress(fitting=in_python, on_read=warn_of_lost_votes)


def read_questions(
    votes: Any, reading: ReadOptions, gold: Any = None, progress: Progress = SILENT
) -> dict[str, Annotations]:
    """Read the votes by question; without --question all, they are those of the question "".

    If `multi` is None, the votes decide whether they are sets of labels.
    """
    from finegold.io.read import read_each_with, read_with

    if reading.every_question and reading.multi:
        raise InputError(
            "sets of labels need one question", remedies=[use(question=Placeholder("NAME"))]
        )
    with progress.reading() as watch:
        how = replace(reading, gold=gold, watch=watch)
        if reading.every_question:
            found = read_each_with(votes, replace(how, multi=False))
        else:
            found = {"": read_with(votes, how)}
    for part in found.values():
        log.info("read %r", part)
        progress.on_read(part)
    return found


def fit_questions(
    votes: Any,
    methods: Sequence[Method],
    options: FitOptions,
    reading: ReadOptions = AS_FOUND,
    progress: Progress = SILENT,
    on_step: OnStep | None = None,
    *,
    calibrate: bool = True,
) -> dict[str, list[Result]]:
    """Read the votes, and fit methods to those on each question.

    Options are checked and the engine is opened first, so that an unreachable cluster is reported
    before the votes are read.
    """
    for method in methods if options.prior is not None else ():
        check_takes_prior(method)

    def fit_part(method: Method, part: Annotations, engine: Engine) -> Result:
        if part.multi:
            _check_sets(method, options)
        predictions = None
        if has_predictions(options.predictions):
            from finegold.io.predictions import read_predictions

            predictions = read_predictions(options.predictions, part)
        with progress.fitting(method.name) as line:
            how: dict[str, Any] = {"engine": engine, "on_step": on_step or line}
            result = fit(method, part, prior=options.prior, calibrate=calibrate, **how)
        if predictions is not None:
            from finegold.fitting.combining import combine

            result = Result.from_data(combine(result, predictions, method))
        log.info("%s: %s, %.2f s", result.method, result.stopped, result.seconds)
        return result

    with open_engine(options) as engine:
        found = read_questions(votes, reading, options.gold, progress)
        return {
            question: [fit_part(method, part, engine) for method in methods]
            for question, part in found.items()
        }


def fit_each(
    votes: Any,
    methods: Sequence[Method],
    options: FitOptions,
    reading: ReadOptions = AS_FOUND,
    progress: Progress = SILENT,
    on_step: OnStep | None = None,
    **more: Any,
) -> list[Result]:
    """Read the votes on one question, fit several methods to them, and return their results."""
    check_one_question(reading)
    return fit_questions(votes, methods, options, reading, progress, on_step, **more)[""]


def check_one_question(reading: ReadOptions) -> None:
    """Refuse --question all where one question is read."""
    if reading.every_question:
        raise InputError(
            "this works with one question only", remedies=[use(question=Placeholder("NAME"))]
        )


def fit_votes(votes: Any, options: FitOptions, *more: Any, **keywords: Any) -> Result:
    """Read the votes, fit the method of the options, and return the result; as `fit_each`."""
    return fit_each(votes, [method_of(options)], options, *more, **keywords)[0]


def method_of(options: FitOptions) -> Method:
    """Return the method of the options, with its settings."""
    return make_method(options.method or DEFAULT_METHOD, dict(options.settings or {}))


def methods_of(methods: Methods) -> list[Method]:
    """Return methods that are given by name, as classes or as objects."""
    chosen = [methods] if isinstance(methods, str | Method | type) else list(methods)
    if not chosen:
        raise InputError("no method is given; name at least one, such as ds")
    return [make_method(method, {}) for method in chosen]


@contextmanager
def open_engine(options: FitOptions) -> Iterator[Engine]:
    """Open the engine, and close it at the end. An engine object stays open."""
    if not isinstance(options.engine, str):
        yield options.engine
        return
    is_address = "://" in options.engine
    name = "dask" if is_address else options.engine
    if name not in ENGINES:
        raise InputError(
            f"there is no engine {name!r}; there are {', '.join(ENGINES)}, and the address of a"
            " Dask cluster, such as tcp://10.0.0.1:8786"
        )
    module, _, class_name = ENGINES[name].partition(":")
    more = {"scheduler": options.engine} if is_address else {}
    engine: Engine = getattr(import_module(module), class_name)(threads=options.threads, **more)
    try:
        yield engine
    finally:
        engine.close()


def _check_sets(method: Method, options: FitOptions) -> None:
    if given := names_given({"prior": options.prior, "predictions": options.predictions}):
        raise InputError(
            f"{given[0]} cannot be combined with sets of labels", remedies=[leave_out(given[0])]
        )
    if method.name in (DEFAULT_METHOD, "mv") and options.engine != "local":
        raise InputError(
            f"for sets of labels, the method {method.name} runs on this machine",
            remedies=[leave_out("engine")],
        )


# ---- What functions of Python are given


def split(keywords: Mapping[str, Any], method: Any = None) -> tuple[FitOptions, ReadOptions]:
    """Return the options of the fit and those of reading among the keywords of a function."""
    of_fit, of_reading = options_of(FitOptions), options_of(ReadOptions)
    if unknown := [name for name in keywords if name not in {*of_fit, *of_reading, "on_step"}]:
        near = did_you_mean(unknown[0], [*of_fit, *of_reading])
        is_setting = " (settings of a method are given to its class, such as finegold.DS)"
        raise InputError(f"there is no option {unknown[0]}{near or is_setting}")
    fitting = {name: value for name, value in keywords.items() if name in of_fit}
    reading = {name: value for name, value in keywords.items() if name in of_reading}
    return FitOptions(method=method, **fitting), ReadOptions(**reading)


def result_of(
    votes: Any, method: Any, keywords: Mapping[str, Any], otherwise: str = DEFAULT_METHOD
) -> Result:
    """Return a result that was given, or that of a fit with these options."""
    result = given_result(votes)
    if result is not None:
        refuse_for_model({"method": method, **keywords})
        return result
    on_step = keywords.get("on_step")
    return fit_votes(votes, *split(keywords, method or otherwise), IN_PYTHON, on_step)


def given_result(votes: Any) -> Result | None:
    """Return the result if the argument is a result or the path of a saved one, otherwise None."""
    from finegold.results.archive import is_saved_result, load

    if isinstance(votes, ResultData):
        return Result.from_data(votes)
    paths = votes if isinstance(votes, list | tuple) else [votes]
    if len(paths) == 1 and isinstance(paths[0], str | Path) and is_saved_result(paths[0]):
        return Result.from_data(load(paths[0]))
    return None


def refuse_for_model(given: Mapping[str, Any]) -> None:
    """Raise an error if any of these options, which need votes, was given with a saved model."""
    if names := names_given(given):
        remedy = leave_out(names[0], text="because it needs votes")
        raise InputError("this is a saved model, which is fitted already", remedies=[remedy])


def has_predictions(given: Any) -> bool:
    """Return whether predictions were given. An empty table counts, so that reading it raises an
    error.
    """
    return given is not None and not (isinstance(given, list | tuple | dict) and not given)


def names_given(options: Mapping[str, Any]) -> list[str]:
    """Return the names of options that are neither None, False nor empty. Values may be frames."""

    def is_given(value: Any) -> bool:
        is_empty = isinstance(value, Sized) and len(value) == 0
        return value is not None and value is not False and not is_empty

    return [name for name, value in options.items() if is_given(value)]
