"""karat aggregate --question all: every question of an export, in tables with a column that names the question."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from karat.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from karat.api.result import Result
    from karat.cli.outputs import Write

__all__ = ["hand_over_each", "refuse_single"]

Results = dict[str, "Result"]


def refuse_single(**options: Any) -> None:
    """Options that stand for one result."""
    given = [name for name, value in options.items() if value]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"--{option} is for one question; choose it with --question NAME")


def hand_over_each(
    results: Results, output: str | None, annotators: str | None, probabilities: bool,
    as_json: bool, more: dict[str, Write],
) -> None:  # fmt: skip
    """All files or none; what is printed comes last."""
    from karat.cli.outputs import write_all
    from karat.cli.summary import print_json
    from karat.io.writers import write_frame

    labels = _together(results, lambda result: result.labels(probabilities=probabilities))
    files = dict(more)
    if output:
        files[output] = lambda path: write_frame(labels, path)
    if annotators:
        files[annotators] = lambda path: write_frame(_together(results, lambda result: result.annotators()), path)
    write_all(files)
    found = _facts(results)
    if as_json:
        printed = {} if output else {"labels": labels.to_dicts()}
        print_json({"questions": found, "files": {"labels": output, "annotators": annotators}, **printed})
    elif not output:
        write_frame(labels, "-")
    _tell(found, results)


def _facts(results: Results) -> dict[str, dict[str, Any]]:
    from karat.cli.summary import facts

    return {question: facts(result) for question, result in results.items()}


def _tell(found: dict[str, dict[str, Any]], results: Results) -> None:
    from karat.cli.summary import tell
    from karat.cli.words import say

    for question, result in results.items():
        say(f'question "{question}"')
        tell(found[question], result)


def _together(results: Results, table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """One table; names that are numbers for one question and words for another become text."""
    import polars as pl

    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all()) for question, result in results.items()
    ]
    mixed = {
        name for table in tables for name in table.columns if len({part.schema.get(name, None) for part in tables}) > 1
    }
    names = sorted(mixed & {"task", "annotator", "label"})
    return pl.concat([table.cast(dict.fromkeys(names, pl.String)) for table in tables], how="diagonal")
