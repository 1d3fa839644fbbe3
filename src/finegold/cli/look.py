"""`finegold look`: what a file is, how it is read, and which commands it supports."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

import click

from finegold.cli import options as o
from finegold.cli.outputs import count, print_json
from finegold.errors import FinegoldWarning, InputError

FILE = "Votes, an export, a log of judges, predictions or truths."


@o.command_with(click.argument("file", metavar="FILE", help=FILE))
class Look:
    """Say what a file is, how it is read, which commands it supports, and what a further column would
    add.
    """

    json: bool = o.json_flag()

    def run(self, file: str) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FinegoldWarning)
            found = look(file)
        found["notes"] += [str(each.message) for each in caught]
        if self.json:
            print_json(found)
            return
        click.echo(f"{file}: {found['what']}")
        for line in (found["reading"], *found["notes"]):
            click.echo(f"  {line}")
        click.echo("\nIt supports:")
        for command, about in found["commands"].items():
            click.echo(f"  {command}\n      {about}")
        if found["unlocks"]:
            click.echo("\n  ".join(["\nWhat would add to it:", *found["unlocks"]]))


def look(file: str) -> dict[str, Any]:
    """Return what a file is, how it is read, remarks, commands, and what would add to it."""
    from finegold.io.judge_logs import find_judge_logs
    from finegold.io.read import read_each
    from finegold.io.truth import read_truth

    path = shlex.quote(file)
    if logs := find_judge_logs(file):
        return _judges(path, logs)
    try:
        return _votes(path, read_each(file))
    except InputError as no_votes:
        try:
            tasks, truths = read_truth(file)
        except InputError:
            raise no_votes from None
    commands = {
        f"finegold evaluate VOTES --truth {path}": "how accurate labels are",
        f"finegold aggregate VOTES --gold {path} -o labels.csv": "labels that learn from them",
    }
    classes = count(len({str(each) for each in truths}), "class", "es")
    return _found(f"truths of {count(len(tasks), 'task')}", classes, commands)


def _found(
    what: str, reading: str, commands: dict[str, str], unlocks: Any = (), notes: Any = ()
) -> dict[str, Any]:
    about = {"what": what, "reading": reading, "notes": list(notes), "commands": commands}
    return about | {"unlocks": list(unlocks)}


def _judges(path: str, logs: dict[str, Any]) -> dict[str, Any]:
    log = next(iter(logs.values()))
    is_pairwise, has_gold = log.kind == "pairwise", bool((log.gold >= 0).any())
    # NaN differs from itself
    has_price, has_people = bool((log.cost == log.cost).any()), log.people is not None
    commands = {
        "judges {}": "what each judge is worth",
        "aggregate {} -o labels.csv": "a label for every item",
        "agreement {}": "how far the judges agree",
        **({"rate {}": "what would pass if people judged everything"} if has_gold else {}),
        **({"judges {} --panels": "the best panels of judges"} if has_gold else {}),
        **({"judges {} --replace expert": "may a judge replace people?"} if has_people else {}),
        **({"rank {}": "the systems in order, with intervals"} if log.system_names else {}),
    }
    unlocks = {
        "a column human_label, for 50 random items: accuracy, panels and rates": not has_gold,
        "columns human_1, human_2, human_3: may a judge replace people?": (
            has_gold and not has_people
        ),
        "columns model_a and model_b: a ranking of the systems": (
            is_pairwise and not log.system_names
        ),
        "a column order with AB and BA, each item in both: position bias": (
            is_pairwise and "(both)" not in str(log.reading)
        ),
        "a column cost: what a panel costs": not has_price,
    }
    criteria = [f"criteria: {', '.join(logs)}; name one with --question"] if len(logs) > 1 else []
    verdicts, judges = count(log.n_verdicts, "verdict"), count(log.n_judges, "judge")
    return _found(
        f"a log of LLM judges ({log.kind}): {verdicts} of {judges} on {count(log.n_items, 'item')}",
        str(log.reading),
        {f"finegold {words.format(path)}": about for words, about in commands.items()},
        [words for words, is_wanted in unlocks.items() if is_wanted],
        [*criteria, *log.notes],
    )


def _votes(path: str, questions: dict[str, Any]) -> dict[str, Any]:
    name, votes = next(iter(questions.items()))
    named = f" --question {shlex.quote(name)}" if len(questions) > 1 else ""
    commands = {
        f"aggregate {path}{named} -o labels.csv": "a label for every task",
        f"report {path}{named}": "everything on one page",
        f"trust {path}{named}": "how far the labels can be trusted",
        f"agreement {path}{named}": "how far annotators agree",
        f"sample {path}{named} --output checks.csv": "the tasks to check, for an accuracy",
        f"studio {path}": "the same in a browser",
    }
    classes = [str(each) for each in votes.class_names]
    more = ", ..." if len(classes) > 8 else ""
    sizes = f"{count(votes.n_votes, 'vote')} of {count(votes.n_annotators, 'annotator')}"
    return _found(
        f"votes: {sizes} on {count(votes.n_tasks, 'task')}",
        f"classes: {', '.join(classes[:8])}{more}",
        {f"finegold {words}": about for words, about in commands.items()},
        []
        if (votes.gold >= 0).any()
        else ["a column truth, or a file of truths: finegold evaluate"],
        [f"questions: {', '.join(map(str, questions))}"] if named else [],
    )
