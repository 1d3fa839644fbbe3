"""`finegold aggregate --question all`: write the results of every question into tables with a question column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from finegold.api.result import Result
    from finegold.cli.outputs import Write

__all__ = ["refuse_single_question_options", "write_questions"]

Results = dict[str, "Result"]


def refuse_single_question_options(**options: Any) -> None:
    """Raise an error if an option is given that works with one question only."""
    given = [name for name, value in options.items() if value]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"--{option} works with one question only; choose it with --question NAME")


def write_questions(
    results: Results, output: str | None, annotators: str | None, probabilities: bool,
    as_json: bool, more: dict[str, Write],
) -> None:  # fmt: skip
    """Write all files or none, then print the summary."""
    import polars as pl

    from finegold.cli.outputs import write_all
    from finegold.cli.summary import print_json
    from finegold.io.writers import write_frame
    from finegold.results.tables import annotators_for_users, labels_pieces

    labels = _together(
        results, lambda result: pl.concat(labels_pieces(result, probabilities=probabilities, for_users=True))
    )
    files = dict(more)
    if output:
        files[output] = lambda path: write_frame(labels, path)
    if annotators:
        files[annotators] = lambda path: write_frame(_together(results, annotators_for_users), path)
    write_all(files)
    found = _summary(results)
    if as_json:
        printed = {} if output else {"labels": labels.to_dicts()}
        print_json({"questions": found, "files": {"labels": output, "annotators": annotators}, **printed})
    elif not output:
        write_frame(labels, "-")
    _print_summary(found, results)


def _summary(results: Results) -> dict[str, dict[str, Any]]:
    from finegold.cli.summary import summary_of

    return {question: summary_of(result) for question, result in results.items()}


def _print_summary(found: dict[str, dict[str, Any]], results: Results) -> None:
    from finegold.cli.messages import say
    from finegold.cli.summary import print_summary

    for question, result in results.items():
        say(f'question "{question}"')
        print_summary(found[question], result)


def _together(results: Results, table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """Concatenate the tables. Columns that are numbers for one question and text for another become text."""
    import polars as pl

    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all()) for question, result in results.items()
    ]
    mixed = {
        name for table in tables for name in table.columns if len({part.schema.get(name, None) for part in tables}) > 1
    }
    names = sorted(mixed & {"task", "annotator", "label"})
    return pl.concat([table.cast(dict.fromkeys(names, pl.String)) for table in tables], how="diagonal")
