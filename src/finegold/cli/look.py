"""`finegold look`: what a file is, how it is read, and which commands it supports."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

import click

from finegold.cli import options as o
from finegold.cli.outputs import count, print_json
from finegold.errors import FinegoldWarning, InputError


@o.command
@click.argument(
    "file", metavar="FILE", help="Votes, an export, a log of judges, predictions or truths."
)
@o.json_option
def look(file: str, json: bool) -> None:
    """Say what a file is, how it is read, which commands it supports, and what a further column would
    add.
    """
    found = _look(file)
    if json:
        print_json(found)
        return
    click.echo(f"{file}: {found['what']}")
    for line in (found["reading"], *found["notes"]):
        click.echo(f"  {line}")
    click.echo("\nIt supports:")
    for command, about in found["commands"].items():
        click.echo(f"  {command}\n      {about}")
    if found["unlocks"]:
        click.echo("\nWhat would add to it:")
        for line in found["unlocks"]:
            click.echo(f"  {line}")


def _look(file: str) -> dict[str, Any]:
    from finegold.io.judge_logs import find_judge_logs

    path = shlex.quote(file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FinegoldWarning)
        logs = find_judge_logs(file)
        found = _log(path, logs) if logs else _votes(file, path) or _truths(file, path)
    assert found is not None
    found["notes"] += [str(each.message) for each in caught]
    return found


def _log(path: str, logs: dict[str, Any]) -> dict[str, Any]:
    log = next(iter(logs.values()))
    has_gold, has_price = bool((log.gold >= 0).any()), bool((log.cost == log.cost).any())
    commands = {
        f"finegold judges {path}": "what each judge is worth",
        f"finegold aggregate {path} -o labels.csv": "a label for every item",
        f"finegold agreement {path}": "how far the judges agree",
    }
    unlocks = []
    if has_gold:
        commands[f"finegold rate {path}"] = "what would pass if people judged everything"
        commands[f"finegold judges {path} --panels"] = "the best panels of judges"
    else:
        unlocks.append("a column human_label, for 50 random items: accuracy, panels and rates")
    if log.people is not None:
        commands[f"finegold judges {path} --replace expert"] = "whether a judge may replace people"
    elif has_gold:
        unlocks.append("columns human_1, human_2, human_3: may a judge replace people?")
    if log.system_names:
        commands[f"finegold rank {path}"] = "the systems in order, with intervals"
    elif log.kind == "pairwise":
        unlocks.append("columns model_a and model_b: a ranking of the systems")
    if log.kind == "pairwise" and "(both)" not in str(log.reading):
        unlocks.append("a column order with AB and BA, each item in both: position bias")
    if not has_price:
        unlocks.append("a column cost: what a panel costs")
    criteria = [f"criteria: {', '.join(logs)}; name one with --question"] if len(logs) > 1 else []
    what = f"a log of LLM judges ({log.kind}): {count(log.n_verdicts, 'verdict')} of"
    return {
        "what": f"{what} {count(log.n_judges, 'judge')} on {count(log.n_items, 'item')}",
        "reading": str(log.reading),
        "notes": [*criteria, *log.notes],
        "commands": commands,
        "unlocks": unlocks,
    }


def _votes(file: str, path: str) -> dict[str, Any] | None:
    from finegold.io.read import read_each

    try:
        questions = read_each(file)
    except InputError as error:
        if _truths(file, path, quiet=True):
            return None
        raise error from None
    name, votes = next(iter(questions.items()))
    named = f" --question {shlex.quote(name)}" if len(questions) > 1 else ""
    commands = {
        f"finegold aggregate {path}{named} -o labels.csv": "a label for every task",
        f"finegold report {path}{named}": "everything on one page",
        f"finegold trust {path}{named}": "how far the labels can be trusted",
        f"finegold agreement {path}{named}": "how far annotators agree",
        f"finegold sample {path}{named} --output checks.csv": "the tasks to check, for an accuracy",
        f"finegold studio {path}": "the same in a browser",
    }
    classes = [str(each) for each in votes.class_names]
    sizes = f"{count(votes.n_votes, 'vote')} of {count(votes.n_annotators, 'annotator')} on"
    listed = [f"questions: {', '.join(map(str, questions))}"] if len(questions) > 1 else []
    has_gold = bool((votes.gold >= 0).any())
    return {
        "what": f"votes: {sizes} {count(votes.n_tasks, 'task')}",
        "reading": f"classes: {', '.join(classes[:8])}{', ...' if len(classes) > 8 else ''}",
        "notes": listed,
        "commands": commands,
        "unlocks": [] if has_gold else ["a column truth, or a file of truths: finegold evaluate"],
    }


def _truths(file: str, path: str, quiet: bool = False) -> dict[str, Any] | None:
    from finegold.io.truth import read_truth

    try:
        tasks, truths = read_truth(file)
    except InputError:
        if quiet:
            return None
        raise
    return {
        "what": f"truths of {count(len(tasks), 'task')}",
        "reading": count(len({str(each) for each in truths}), "class", "es"),
        "notes": [],
        "commands": {
            f"finegold evaluate VOTES --truth {path}": "how accurate labels are",
            f"finegold aggregate VOTES --gold {path} -o labels.csv": "labels that learn from them",
        },
        "unlocks": [],
    }
