"""`finegold demo`: run every step on the sample data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from finegold.errors import OutputError

if TYPE_CHECKING:
    from finegold.api.result import Result
    from finegold.votes.annotations import Annotations

__all__ = ["demo"]


def demo(
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder for the files.")] = "finegold-demo",
) -> None:
    """Run every step on a small sample: read votes, aggregate them, evaluate the labels."""
    from finegold.api.job import Job
    from finegold.cli.messages import on_terminal
    from finegold.io.read import read
    from finegold.votes.sample import VOTES

    _check_folder(Path(out))
    votes = read(VOTES)
    result = Job(votes, progress=on_terminal()).run()
    majority = Job(votes, method="mv").run()
    files = _write(result, Path(out))
    _show_job(votes, result)
    _show_accuracy(votes, result, majority)
    _show_annotators(result)
    _show_prototypes(result)
    _show_files(files, Path(out))


def _check_folder(folder: Path) -> None:
    """Raise an error if the folder holds votes that are not those of the demo."""
    from finegold.votes.sample import VOTES

    votes = folder / "votes.csv"
    if votes.exists() and votes.read_bytes() != VOTES.read_bytes():
        raise OutputError(f"{votes} exists and is not the sample of the demo; choose another folder with --out")


def _write(result: Result, folder: Path) -> dict[str, str]:
    """Write the sample and the outputs, all files or none, and return a description of each file."""
    from finegold.cli.outputs import Write, write_all
    from finegold.io.writers import write_bytes, write_frame
    from finegold.system.files import prepared
    from finegold.votes.sample import TRUTH, VOTES

    files: dict[str, tuple[str, Write]] = {
        "votes.csv": ("the votes", lambda path: write_bytes(path, VOTES.read_bytes())),
        "truth.csv": ("the truth", lambda path: write_bytes(path, TRUTH.read_bytes())),
        "labels.csv": ("a label for every task", lambda path: write_frame(result.labels(), path)),
        "annotators.csv": ("how good each annotator is", lambda path: write_frame(result.annotators(), path)),
        "model.finegold": ("the whole result, for finegold.load", result.save),
    }
    with prepared(folder):
        write_all({str(folder / name): write for name, (_, write) in files.items()})
    return {name: words for name, (words, _) in files.items()}


def _show_job(votes: Annotations, result: Result) -> None:
    from finegold.votes.frames import to_list

    typer.echo(
        f"Read {votes.n_votes:,} votes by {votes.n_annotators} annotators on {votes.n_tasks} pictures: "
        f"is it a {', '.join(to_list(votes.class_names)[:-1])} or {to_list(votes.class_names)[-1]}?"
    )
    typer.echo(f"{result.method}: {result.stopped}, {result.seconds:.2f} s.")
    for note in result.notes:
        typer.echo(note)


def _show_accuracy(votes: Annotations, result: Result, majority: Result) -> None:
    from finegold.io.read import match_truth
    from finegold.results.metrics import accuracy
    from finegold.votes.sample import TRUTH

    truth = match_truth(votes, TRUTH).codes
    heading("How many labels are right")
    for name, found in (("majority vote", majority), (result.method, result)):
        share = accuracy(found.posterior, truth)
        typer.echo(f"  {name:<14}{share:6.1%}  {'█' * round(40 * share)}")


def _show_annotators(result: Result) -> None:
    from finegold.cli.summary import extremes
    from finegold.votes.frames import to_list

    names = to_list(result.annotator_names)
    for title, codes in zip(("The best annotators", "The worst"), extremes(result), strict=True):
        heading(f"{title} (expected accuracy, 95 % interval, votes)")
        for code in codes:
            typer.echo(
                f"  {names[code]!s:>4}  {result.accuracy[code]:.2f}  "
                f"[{result.accuracy_low[code]:.2f}, {result.accuracy_high[code]:.2f}]"
                f"  {result.votes_per_annotator[code]:4d}"
            )


def _show_prototypes(result: Result) -> None:
    from finegold.cli.picture import heat_map
    from finegold.votes.frames import to_list

    known = result.learned
    if known.prototypes is None or known.weights is None:
        return
    shares = result.votes_per_annotator @ known.weights / result.votes_per_annotator.sum()
    for s, (matrix, share) in enumerate(zip(known.prototypes, shares, strict=True), start=1):
        heading(f"Prototype {s}, behind {share:.0%} of the votes (in %)")
        for line in heat_map(matrix, to_list(result.class_names)):
            typer.echo(f"  {line}")


def _show_files(files: dict[str, str], folder: Path) -> None:
    heading("Written")
    for name, words in files.items():
        typer.echo(f"  {folder / name!s:<28}{words}")
    typer.echo("\nNow with your own votes: finegold aggregate votes.csv -o labels.csv")


def heading(text: str) -> None:
    typer.echo()
    typer.secho(text, bold=True)
