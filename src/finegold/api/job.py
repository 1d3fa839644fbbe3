"""Run a method: read votes, open the engine, handle the prior, and fit.

`finegold.aggregate`, the commands and the studio describe what they need as a `Job`. What every fit
takes is declared in `api/options.py`, how votes are read in `io/options.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
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
from finegold.methods.lookup import make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.data import ResultData, Step
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

if TYPE_CHECKING:
    from finegold.io.tables import WatchReading

# known truths from which they set the temperature of confidences: bench/trust/gold.py
MIN_GOLD = 25
OnStep = Callable[[Step], None]
Fit = Callable[[Method, Annotations], Result]


def fit(method: Method, annotations: Annotations, *, prior: Any = None, **keywords: Any) -> Result:
    """Fit the method, with an earlier result as the prior of the annotators if `prior` is given.

    Keywords are those of `solve.fit`. If votes are sets of labels, the classes of the result are
    the options. If enough truths are known, the confidences of the default are those that the
    truths support: what confidences are worth is seen in a second fit that does not know the
    truths.
    """
    if annotations.multi:
        if prior is not None:
            raise InputError(
                "sets of labels cannot be combined with a prior", remedies=[leave_out("prior")]
            )
        from finegold.fitting.multi_label import fit_sets

        fit_option = partial(solve.fit, method, **keywords)
        return Result.of(fit_sets(method, annotations, fit_option, keywords.get("on_step")))
    fit_votes = partial(solve.fit, method)
    if prior is not None:
        from finegold.fitting.updating import fit_with_prior

        fit_votes = partial(fit_with_prior, method, prior=prior)
    result = fit_votes(annotations, **keywords)
    votes = result.annotations
    if method.name == DEFAULT_METHOD and votes is not None and (votes.gold >= 0).sum() >= MIN_GOLD:
        from finegold.insight.expected import calibration

        blind = replace(votes, gold=np.full_like(votes.gold, MISSING))
        more = {name: value for name, value in keywords.items() if name != "on_step"}
        result = calibration(fit_votes(blind, **more), votes.gold).apply(result)
    return Result.of(result)


class Progress(NamedTuple):
    """Context managers that show the progress of reading and fitting. The default shows nothing."""

    reading: Callable[[], AbstractContextManager[WatchReading | None]] = nullcontext
    fitting: Callable[[str], AbstractContextManager[OnStep | None]] = lambda name: nullcontext()


# shown in a notebook or on a terminal
IN_PYTHON = Progress(fitting=in_python)


@dataclass(frozen=True)
class Job(FitOptions):
    """Everything that a fit depends on. `FitOptions` has the method, its settings, gold, engine and
    the like.
    """

    # a path, paths, a data frame, the address of a database, or Annotations
    votes: Any
    # keywords of `finegold.read`
    reading: ReadOptions | Mapping[str, Any] = field(default_factory=dict)
    # called with a `Step` after each sweep; an exception in it stops the fit
    on_step: OnStep | None = None
    # called with the votes when they are read
    on_read: Callable[[Annotations], None] | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def chosen_method(self) -> Method:
        """The method with its settings."""
        return make_method(self.method or DEFAULT_METHOD, dict(self.settings or {}))

    @property
    def reading_keywords(self) -> dict[str, Any]:
        """The keywords of `finegold.read` that were given."""
        if isinstance(self.reading, Mapping):
            return dict(self.reading)
        return {name: getattr(self.reading, name) for name in self.reading.given()}

    def run(self) -> Result:
        """Read the votes, fit the method to them, and return the result."""
        method = self.chosen_method
        with self.fitter([method]) as fit_method:
            return fit_method(method, self.read())

    def run_questions(self) -> dict[str, Result]:
        """Fit the method to the votes of every question of an export, and return the results by
        question.
        """
        method = self.chosen_method
        with self.fitter([method]) as fit_method:
            return {
                question: fit_method(method, votes)
                for question, votes in self.read_questions().items()
            }

    def read(self, *, may_be_sets: bool = True) -> Annotations:
        """Read the votes. Unless the job says whether they are sets of labels, the votes decide, if
        they may.
        """
        from finegold.io.read import read

        keywords = self.reading_keywords
        multi = keywords.pop("multi", None)
        multi = None if multi is None and may_be_sets else bool(multi)
        with self.progress.reading() as watch:
            votes = read(self.votes, gold=self.gold, watch=watch, multi=multi, **keywords)
        if self.on_read is not None:
            self.on_read(votes)
        return votes

    def read_questions(self) -> dict[str, Annotations]:
        """Read the votes for every question of an export."""
        from finegold.io.read import read_each

        keywords = self.reading_keywords
        if keywords.pop("multi", None):
            raise InputError(
                "sets of labels need one question", remedies=[use(question=Placeholder("NAME"))]
            )
        if names := names_given(
            {name: keywords.pop(name, None) for name in ("annotator", "label", "layout")}
        ):
            raise InputError(
                "all questions of an export are read, and the columns of a plain table have no"
                " meaning for them",
                remedies=[leave_out(*names)],
            )
        with self.progress.reading() as watch:
            return read_each(self.votes, gold=self.gold, watch=watch, **keywords)

    @contextmanager
    def fitter(self, methods: Sequence[Method]) -> Iterator[Fit]:
        """Yield a function that fits any of these methods to votes with the options of the job.

        Options are checked and the engine is opened first, so that an unreachable cluster is
        reported before the votes are read.
        """
        if self.scheduler is not None and self.engine != "dask":
            raise InputError(
                "the scheduler is the address of a Dask cluster", remedies=[use(engine="dask")]
            )
        for method in methods:
            # otherwise this is checked when the votes are read
            if self.reading_keywords.get("multi"):
                self._check_sets(method)
            if self.prior is not None:
                check_takes_prior(method)
        with ExitStack() as stack:
            # methods of the same precision share an engine
            @cache
            def engine_of(single: bool) -> Engine:
                return stack.enter_context(self.open_engine(single))

            def fit_method(method: Method, votes: Annotations) -> Result:
                if votes.multi:
                    self._check_sets(method)
                predictions = None
                if has_predictions(self.predictions):
                    from finegold.io.predictions import read_predictions

                    predictions = read_predictions(self.predictions, votes)
                with self.progress.fitting(method.name) as line:
                    more = {"engine": engine_of(method.single), "on_step": self.on_step or line}
                    result = fit(method, votes, prior=self.prior, **more)
                if predictions is None:
                    return result
                # which needs SciPy
                from finegold.fitting.combining import combine

                return Result.of(combine(result, predictions, method))

            engine_of(methods[0].single)
            yield fit_method

    @contextmanager
    def open_engine(self, single: bool) -> Iterator[Engine]:
        """Open the engine, for methods with posteriors in 32 bits (`single`) or 64 bits, and close
        it at the end.
        """
        # it stays open
        if not isinstance(self.engine, str):
            yield self.engine
            return
        if self.engine not in ENGINES:
            raise InputError(f"there is no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        module, _, class_name = ENGINES[self.engine].partition(":")
        scheduler = {} if self.scheduler is None else {"scheduler": self.scheduler}
        engine: Engine = getattr(import_module(module), class_name)(
            threads=self.threads, single=single, **scheduler
        )
        try:
            yield engine
        finally:
            engine.close()

    def _check_sets(self, method: Method) -> None:
        given = {"prior": self.prior, "predictions": self.predictions}
        if names := names_given(given):
            raise InputError(
                f"{names[0]} cannot be combined with sets of labels", remedies=[leave_out(names[0])]
            )
        if method.name in (DEFAULT_METHOD, "mv") and self.engine != "local":
            raise InputError(
                f"for sets of labels, the method {method.name} runs on this machine",
                remedies=[leave_out("engine")],
            )


def job_of(votes: Any, keywords: Mapping[str, Any], **more: Any) -> Job:
    """Return the job of a function of Python: what is not an option of every fit says how the votes
    are read.

    Commands pass a job in place of votes.
    """
    if isinstance(votes, Job):
        return votes
    names = {each.name for each in fields(Job)}
    fitting = {name: value for name, value in keywords.items() if name in names}
    reading = {name: value for name, value in keywords.items() if name not in names}
    return Job(votes, reading, **{"progress": IN_PYTHON, **fitting, **more})


def has_predictions(given: Any) -> bool:
    """Return whether predictions were given. An empty table counts, so that reading it raises an
    error.
    """
    return given is not None and not (isinstance(given, list | tuple | dict) and not given)


def given_result(votes: Any) -> Result | None:
    """Return the result if the argument is a result or the path of a saved one, otherwise None."""
    from finegold.results.archive import is_saved_result, load

    if isinstance(votes, ResultData):
        return Result.of(votes)
    paths = votes if isinstance(votes, list | tuple) else [votes]
    if len(paths) == 1 and isinstance(paths[0], str | Path) and is_saved_result(paths[0]):
        return Result.of(load(paths[0]))
    return None


def refuse_for_model(given: Mapping[str, Any]) -> None:
    """Raise an error if any of these options, which need votes, was given with a saved model."""
    if names := names_given(given):
        remedy = leave_out(names[0], text="because it needs votes")
        raise InputError("this is a saved model, which is fitted already", remedies=[remedy])


def result_for(
    votes: Any,
    method: str | Method | None,
    keywords: Mapping[str, Any],
    otherwise: str = DEFAULT_METHOD,
) -> tuple[Result, Job | None]:
    """Return a result that was given, or that of a job with these options, and the job."""
    result = given_result(votes)
    if result is not None:
        refuse_for_model({"method": method, **keywords})
        return result, None
    job = job_of(votes, keywords, method=method or otherwise)
    return job.run(), job


def names_given(options: Mapping[str, Any]) -> list[str]:
    """Return the names of options that are neither None, False nor empty. Values may be data
    frames.
    """
    return [
        name
        for name, value in options.items()
        if value is not None
        and value is not False
        and not (isinstance(value, Sized) and len(value) == 0)
    ]
