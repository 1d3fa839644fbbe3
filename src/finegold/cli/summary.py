"""Summarise a fit: a few lines on standard error, or one JSON object on standard output."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from finegold.cli.messages import count, say, warn
from finegold.insight import n_flips
from finegold.insight.expected import Expected, expected_of, in_words
from finegold.insight.votes import votes_of
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list

if TYPE_CHECKING:
    from finegold.results.data import ResultData
    from finegold.votes.annotations import Annotations

__all__ = ["extremes", "left_out", "print_json", "print_left_out", "print_summary", "summary_fields", "summary_of"]

ANNOTATORS_SHOWN = 3  # best and worst annotators in the summary
NAMES_SHOWN = 10  # annotators without any vote in the summary


def summary_of(result: ResultData) -> dict[str, Any]:
    """Return the summary of a result."""
    votes = votes_of(result)
    gold, tied = int((votes.gold != MISSING).sum()), int(result.tied.sum())
    n_votes = int(result.votes_per_task.sum())
    found = summary_fields(result, n_votes, votes.n_tasks, tied=tied, outvoted=n_flips(result), gold=gold)
    if result.label_sets is not None:
        sizes = np.array([len(codes) for codes in result.label_sets])[result.label_codes]
        found["options"] = found.pop("classes")
        found |= {"labels_per_task": float(sizes.mean()), "without_labels": int((sizes == 0).sum())}
    expected = expected_of(result)
    return {**found, "expected_accuracy": None if expected is None else expected._asdict()}


def summary_fields(
    result: ResultData, n_votes: int, n_tasks: int, *, tied: int, outvoted: int, gold: int
) -> dict[str, Any]:
    """Return the summary of a result, given the counts of its tasks."""
    return {
        "method": result.method,
        "settings": result.all_settings,
        "n_votes": n_votes,
        "n_tasks": n_tasks,
        "n_annotators": len(result.annotator_names),
        "classes": to_list(result.class_names),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "bound": result.steps[-1].bound,
        "seconds": result.seconds,
        "notes": result.notes,
        "tied": tied,
        "differs_from_majority": outvoted,
        "expected_accuracy": None,
        "gold": gold,
        "unlabelled": len(result.unlabelled),
        "never_voted": [] if result.annotations is None else to_list(result.annotations.never_voted),
        "models": [record._asdict() for record in result.combined.records] if result.combined else [],
        "predictions_only": len(result.combined.posterior) if result.combined else 0,
        "rows": asdict(result.counts),
        "no_vote": {} if result.annotations is None else result.annotations.hygiene.no_vote,
    }


def print_summary(found: dict[str, Any], result: ResultData) -> None:
    """Print the summary on standard error."""
    of_sets = result.label_sets is not None
    votes = f"{count(found['n_votes'], 'set')} of labels" if of_sets else count(found["n_votes"], "vote")
    classes = count(len(found["options"]), "option") if of_sets else count(len(found["classes"]), "class", "es")
    say(
        f"{found['method']}: {votes} by {count(found['n_annotators'], 'annotator')} "
        f"on {count(found['n_tasks'], 'task')}, {classes}"
    )
    (say if found["converged"] else warn)(f"{found['stopped']}, {found['seconds']:.2f} s")
    say(
        f"{count(found['tied'], 'task')} tied, {found['differs_from_majority']:,} against the majority vote"
        + (" (finegold trust shows why)" if found["differs_from_majority"] else "")
        + (f", {found['gold']:,} given by gold truths" if found["gold"] else "")
    )
    if of_sets:
        say(f"{found['labels_per_task']:.2f} labels per task, {count(found['without_labels'], 'task')} with none")
    if found["expected_accuracy"]:
        say(in_words(Expected(**found["expected_accuracy"])))
    for note in result.notes:
        say(note)
    if words := left_out(found):
        say(f"left out: {words}")
    if found.get("table"):
        say(f"labels written to {found['table']}")
    best, worst = extremes(result)
    say(f"best annotators: {_named(result, best)}; worst: {_named(result, worst)}")


def extremes(result: ResultData, shown: int = ANNOTATORS_SHOWN) -> tuple[list[int], list[int]]:
    """Return the annotators with the highest and the lowest expected accuracy, at most half of all in each list."""
    order = np.argsort(-result.accuracy, kind="stable").tolist()
    shown = max(min(shown, len(order) // 2), 1)
    return order[:shown], order[::-1][:shown]


def print_json(value: Any) -> None:
    """Print JSON; where standard output is not UTF-8, as pipes on Windows are not, other letters are escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=not is_utf8, default=_plain))


def left_out(found: dict[str, Any]) -> str:
    """Describe what was read but left out; empty if nothing was."""
    rows = found["rows"]
    parts = [
        (rows["missing"], f"{count(rows['missing'], 'row')} without a label" + _words(found["no_vote"])),
        (rows["repeated"], count(rows["repeated"], "repeated vote") + _disagreeing(rows["disagreeing"])),
        (found["unlabelled"], f"{count(found['unlabelled'], 'task')} without any vote (listed without a label)"),
        (len(found["never_voted"]), never_voted(found["never_voted"])),
        *((number, f"{what} ({number:,})") for what, number in rows["left_out"].items()),
    ]
    return ", ".join(words for number, words in parts if number)


def _words(no_vote: dict[str, int]) -> str:
    """Write (2 "NA", 1 "?"), or nothing."""
    words = [f'{number:,} "{word}"' for word, number in no_vote.items()]
    more = f" and {len(words) - NAMES_SHOWN:,} more words" if len(words) > NAMES_SHOWN else ""
    return f" ({', '.join(words[:NAMES_SHOWN])}{more})" if words else ""


def _disagreeing(pairs: int) -> str:
    """Write (2 pairs of task and annotator have votes that disagree), or nothing."""
    if not pairs:
        return ""
    return f" ({count(pairs, 'pair')} of task and annotator {'has' if pairs == 1 else 'have'} votes that disagree)"


def never_voted(names: list[Any]) -> str:
    """Return text such as "2 annotators without any vote: spam_words, has_link"."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{count(len(names), 'annotator')} without any vote: {', '.join(map(str, names[:NAMES_SHOWN]))}{more}"


def print_left_out(votes: Annotations) -> None:
    """Print what was left out, for commands that print no other summary of the votes."""
    found = {"unlabelled": len(votes.unlabelled), "never_voted": to_list(votes.never_voted)}
    if words := left_out({"rows": asdict(votes.counts), "no_vote": votes.hygiene.no_vote, **found}):
        say(f"left out: {words}")


def _named(result: ResultData, codes: list[int]) -> str:
    names = to_list(result.annotator_names[np.array(codes)])
    return ", ".join(f"{name} ({result.accuracy[code]:.2f})" for name, code in zip(names, codes, strict=True))


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
