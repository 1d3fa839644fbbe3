"""What is said about a result in a few lines: on the terminal, in JSON and in notebooks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from finegold.insight.majority import Voted, n_flips, tie_warnings, voted_in_words, what_was_voted
from finegold.results.data import ResultData
from finegold.system.memory import count
from finegold.votes.encoding import MISSING, to_list

# best and worst annotators
ANNOTATORS_SHOWN = 3
TO_KNOW = "to know how many labels are right, check 50 tasks (finegold sample)"


def summary_of(result: ResultData) -> dict[str, Any]:
    """Return what a command prints with --json about a result."""
    votes, combined, sets = result.annotations, result.combined, result.label_sets
    names = to_list(result.class_names)
    summary: dict[str, Any] = {
        "method": result.method,
        "settings": result.all_settings,
        "n_votes": int(result.votes_per_task.sum()),
        "n_tasks": len(result.task_names),
        "n_annotators": len(result.annotator_names),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "objective": result.steps[-1].objective,
        "seconds": result.seconds,
        "notes": result.notes,
        "tied": int(result.tied.sum()),
        "differs_from_majority": n_flips(result),
        "gold": int((result.gold != MISSING).sum()),
        "unlabelled": len(result.unlabelled),
        "never_voted": to_list(votes.never_voted),
        "models": [record._asdict() for record in combined.records] if combined else [],
        "predictions_only": len(combined.posterior) if combined else 0,
        "rows": asdict(result.counts),
        "no_vote": votes.hygiene.no_vote,
    }
    if sets is not None:
        sizes = [len(sets[code]) for code in result.label_codes.tolist()]
        per_task = sum(sizes) / len(sizes)
        summary |= {"options": names, "labels_per_task": per_task, "without_labels": sizes.count(0)}
    else:
        voted = what_was_voted(votes)
        summary |= {"classes": names, "tied_votes": voted.tied, "voted": voted._asdict()}
    return summary | {"warnings": tie_warnings(result)}


def sentences_of(result: ResultData, summary: dict[str, Any]) -> list[str]:
    """Return what is said of the labels: ties, the majority vote, gold, notes, what was left out,
    and the best and worst annotators.
    """
    tied, flips = count(summary["tied"], "task") + " tied", summary["differs_from_majority"]
    if summary.get("tied_votes"):
        votes_tied = count(summary["tied_votes"], "task")
        tied = f"votes tied on {votes_tied}, labels on {summary['tied']:,}"
    against = f"{tied}; {count(flips, 'label')} against the majority vote"
    against += " (finegold trust shows why)" if flips else ""
    said = [against + (f", {summary['gold']:,} given by gold truths" if summary["gold"] else "")]
    if result.label_sets is not None:
        without = count(summary["without_labels"], "task")
        said.append(f"{summary['labels_per_task']:.2f} labels per task, {without} with none")
    elif sum(summary["voted"].values()):
        said.append(f"{voted_in_words(Voted(**summary['voted']))}; {TO_KNOW}")
    said += result.notes
    if result.annotations.left_out:
        said.append(f"left out: {result.annotations.left_out}")
    order = (-result.annotator_accuracy).argsort(kind="stable").tolist()
    # at most half of all in each list
    shown = max(min(ANNOTATORS_SHOWN, len(order) // 2), 1)
    names = to_list(result.annotator_names)
    best, worst = (
        ", ".join(
            f"{names[code]} ({100 * result.annotator_agreement[code]:.0f} % agreement)"
            for code in some
        )
        for some in (order[:shown], order[::-1][:shown])
    )
    return [*said, f"best annotators: {best}; worst: {worst}"]
