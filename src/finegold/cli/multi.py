"""Write and summarise sets of labels, the result of `finegold aggregate --multi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.cli.outputs import Write
    from finegold.results.multi import MultiResult

__all__ = ["write_sets"]


def write_sets(
    result: MultiResult, output: str | None, annotators: str | None, probabilities: bool,
    as_json: bool, more: dict[str, Write], refused: dict[str, Any],
) -> None:  # fmt: skip
    """Write all files or none, then print the summary."""
    from finegold.cli.outputs import frame_writer, write_all
    from finegold.cli.summary import print_json
    from finegold.io.writers import write_frame
    from finegold.results.multi import annotators_for_users, labels_for_users

    if given := [option for option, value in refused.items() if value is not None]:
        raise InputError(f"{given[0]} cannot be combined with sets of labels; leave it out, or say --no-multi")
    labels = labels_for_users(result, probabilities=probabilities)
    files = dict(more)
    if output:
        files[output] = frame_writer(lambda: labels)
    if annotators:
        files[annotators] = frame_writer(lambda: annotators_for_users(result))
    write_all(files)
    found = summary_of(result)
    if as_json:
        print_json({**found, "files": {"labels": output, "annotators": annotators}} | _rows(labels, output))
    elif not output:
        write_frame(labels, "-")
    print_summary(found, result)


def _rows(labels: Any, output: str | None) -> dict[str, Any]:
    return {} if output else {"labels": labels.to_dicts()}


def summary_of(result: MultiResult) -> dict[str, Any]:
    from dataclasses import asdict

    from finegold.fitting.multi_label import vote_on_sets
    from finegold.votes.frames import to_list

    sets, majority = result.sets(), vote_on_sets(result.votes).sets()
    return {
        "method": result.method,
        "n_votes": int(result.votes_per_task.sum()),
        "n_tasks": len(sets),
        "n_annotators": len(result.annotator_names),
        "options": result.option_names,
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "seconds": result.seconds,
        "labels_per_task": sum(map(len, sets)) / len(sets),
        "without_labels": sum(not labels for labels in sets),
        "differs_from_majority": sum(one != other for one, other in zip(sets, majority, strict=True)),
        "unlabelled": len(result.unlabelled),
        "never_voted": to_list(result.votes.never_voted),
        "rows": asdict(result.counts),
        "no_vote": result.votes.hygiene.no_vote,
    }


def print_summary(found: dict[str, Any], result: MultiResult) -> None:
    from finegold.cli.messages import count, say, warn
    from finegold.cli.summary import left_out

    say(
        f"{found['method']}: {count(found['n_votes'], 'set')} of labels by {count(found['n_annotators'], 'annotator')} "
        f"on {count(found['n_tasks'], 'task')}, {count(len(found['options']), 'option')}"
    )
    (say if found["converged"] else warn)(f"{found['stopped']}, {found['seconds']:.2f} s")
    say(
        f"{found['labels_per_task']:.2f} labels per task, {count(found['without_labels'], 'task')} with none, "
        f"{found['differs_from_majority']:,} other than a vote on each option"
    )
    if words := left_out(found):
        say(f"left out: {words}")
