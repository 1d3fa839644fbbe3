"""The input of a command: votes or a saved result."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from finegold.api.options import FitOptions
from finegold.cli.messages import on_terminal
from finegold.cli.options import Fit, chosen_method
from finegold.cli.outputs import print_left_out
from finegold.errors import InputError
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    from finegold.api.job import Job
    from finegold.api.result import Result
    from finegold.votes.annotations import Annotations

ALL = "all"  # the value of --question that selects all questions


def job_of(files: Any, reading: ReadOptions, fit: Fit | None = None, **more: Any) -> Job:
    """Return what is to be read, and what is to be fitted to it."""
    from finegold.api.job import Job

    if fit is not None:
        options = {each.name: getattr(fit, each.name) for each in fields(FitOptions)} | {"settings": None}
        more = options | ({} if "method" in more else {"method": chosen_method(fit)}) | more
    return Job(files, reading, progress=on_terminal(), **more)


def read(files: list[str], reading: ReadOptions, gold: Any = None, *, sets: bool = False) -> Annotations:
    """Read the votes for a command that fits nothing and may take sets of labels."""
    if reading.multi and not sets:
        raise InputError("sets of labels have no meaning here; leave out --multi")
    return job_of(files, reading, gold=gold).read(may_be_sets=False)


def result_of(files: list[str], reading: ReadOptions, fit: Fit) -> Result:
    """Load the saved result, or read the votes and fit the method. Options that need votes are refused for a model."""
    from finegold.api.job import saved

    result = saved(files)
    if result is not None:
        _refuse_for_model([name for name in fit.given if name != "threads"], reading)
        return result
    if reading.question == ALL:
        raise InputError("this command works with one question only; choose it with --question NAME")
    return job_of(files, reading, fit, on_read=print_left_out).run()


def votes_or_saved(files: list[str], reading: ReadOptions) -> Annotations | Result:
    """Load the saved result, or read the votes and print what was left out."""
    from finegold.api.job import saved

    if (result := saved(files)) is not None:
        _refuse_for_model([], reading)
        return result
    votes = read(files, reading, sets=True)
    print_left_out(votes)
    return votes


def _refuse_for_model(names: list[str], reading: ReadOptions) -> None:
    from finegold.api.job import refuse_for_model

    names += [name for name in reading.given() if name != "repeated"]
    refuse_for_model(dict.fromkeys(names, True))


def truths_of(path: str | None, task: str | None = None, label: str | None = None, prefix: str = "truth-") -> Any:
    """Read the truths. Commands do this before the fit, so that errors are found early."""
    from finegold.io.truth import read_truth

    return None if path is None else read_truth(path, task=task, label=label, prefix=prefix)
