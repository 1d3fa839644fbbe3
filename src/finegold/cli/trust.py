"""`finegold sample`, `certify`, `trust`, `audit` and `next-votes`: how far labels can be trusted, and
what to do about it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, say, warn
from finegold.errors import InputError
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.options import option

# rows of a table of finegold trust
ROWS_SHOWN = 5
# rows of a table of finegold next-votes
TASKS_SHOWN = 20


@o.on_votes()
class Sample:
    """Draw tasks for a person to check, so that finegold certify can estimate how accurate all
    labels are.
    """

    output: str = o.table("The sheet to fill in, .csv or .xlsx.", flag=o.OUTPUT, required=True)
    n: int = o.number(100, "How many tasks to check.", flag="-n --checks", low=1)
    risk: float = o.number(0.05, "The share of accepted labels that may be wrong.", metavar="P")
    looks: int = o.number(1, "How often you will look at the results.", low=1, high=20)
    seed: int = o.number(0, "The seed of the draw.", low=0)
    items: str | None = o.path("What is shown of each task: a table with a task column.")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api import sample as api
        from finegold.api.fit import given_result

        plan = str(api.plan_path(self.output))
        out.check_files([], [plan], votes.files)
        source = None if given_result(votes.files) else (list(votes.files), votes.reading)
        how: dict[str, Any] = {"risk": self.risk, "seed": self.seed, "looks": self.looks}
        drawn = api.draw(votes.result(), self.n, **how, items=self.items, source=source)
        out.write_all({self.output: out.frame_writer(lambda: drawn.sheet), plan: drawn.plan.write})
        if self.json:
            about = {"sheet": self.output, "plan": plan, "sample": drawn.plan.id, "n": drawn.plan.n}
            out.print_json(about | {"width": drawn.plan.width})
            return
        for sentence in drawn.promise:
            say(sentence)
        say(
            f'fill in the column "truth" of {self.output}, then run finegold certify with'
            f" --checks {self.output}"
        )


@o.on_votes()
class Certify:
    """Estimate the accuracy of all labels from a completed sheet, and find those that can be
    accepted unchecked.
    """

    checks: str = o.path("The completed sheet.", required=True, metavar="SHEET")
    plan: str | None = o.path("The plan of the sheet, if it is in another folder.")
    drawn_at_random: bool = o.flag("There is no plan: tasks were drawn at random from all tasks.")
    output: str | None = o.table("Write the labels, recalibrated and accepted.", flag=o.OUTPUT)
    certificate: str | None = o.output("Write the certificate, a page (.html) or data (.json).")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api import certify as api

        page = self.certificate
        if page is not None and Path(page).suffix.lower() not in (".html", ".json"):
            raise InputError(f"--certificate takes a .html or .json file, not {page}")
        plan = None if self.drawn_at_random else api.find_plan(self.checks, self.plan)
        result = votes.result(plan.method if plan else DEFAULT_METHOD)
        made = api.certify(result, self.checks, plan=plan, drawn_at_random=self.drawn_at_random)
        out.write_all(
            {self.output: out.frame_writer(partial(made.labels, result)), page: made.save}
        )
        if self.json:
            out.print_json(made.to_dict())
            return
        for sentence in made.sentences():
            click.echo(sentence)


@o.on_votes()
class Trust(o.Truths):
    """Show how far labels can be trusted: labels against the majority, spammers, correlated
    annotators, calibration.
    """

    flips: str | None = o.table("Write the labels against the majority vote, with the reasons.")
    contested: str | None = o.table("Write the labels barely more probable than another class.")
    spammers: str | None = o.table("Write how much each annotator's votes depend on the truth.")
    pairs: str | None = o.table("Write all pairs of annotators, those who err alike first.")
    calibration: str | None = o.table("Write the reliability curve (needs --truth).")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api.summary import TO_KNOW
        from finegold.insight.majority import voted_in_words, what_was_voted
        from finegold.insight.overview import caution

        if self.calibration is not None and self.truth is None:
            raise InputError("--calibration needs --truth FILE, to compare the probabilities with")
        known = self.read_truth()
        result = votes.result()
        checked = result.trust(known)
        panel, measured = checked.correlated, checked.calibration
        tables: dict[str | None, Any] = {
            self.flips: result.flips,
            self.contested: result.contested,
            self.spammers: result.spammers,
            self.pairs: panel.pairs,
        }
        if measured is not None:
            tables[self.calibration] = measured.curve
        out.write_tables(tables)
        if self.json:
            out.print_json(checked.figures())
            return
        tasks = count(checked.n_tasks, "task" if result.label_sets is None else "question")
        annotators = count(checked.agreement.n_annotators, "annotator")
        out.print_figures(f"{checked.method}: {tasks}, {annotators}", checked.rows().items())
        if checked.n_flips:
            title = "Labels against the majority vote, the most probable first"
            out.print_frame(title, result.flips(), ROWS_SHOWN)
        if checked.n_spammers:
            title = "Votes that do not depend on the truth"
            out.print_frame(title, result.spammers(), checked.n_spammers)
        if len(panel.excess):
            out.print_frame("Annotators with correlated errors", panel.groups(), ROWS_SHOWN)
        for warning in checked.warnings:
            warn(warning)
        if result.label_sets is None:
            say(f"{voted_in_words(what_was_voted(result.annotations))}; {TO_KNOW}")
        if words := caution(result):
            warn(words)


@o.on_votes()
class Audit:
    """List how likely each label in use is to be wrong, judged by votes and predictions, the worst
    first.
    """

    labels: str = o.path("The labels in use: a table of tasks and labels.", required=True)
    labels_task: str | None = option(None, "The column of the tasks in --labels.", metavar="NAME")
    labels_label: str | None = option(None, "The column of the labels in --labels.", metavar="NAME")
    output: str | None = o.table("The table; by default, CSV is printed.", flag=o.OUTPUT)
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api.evaluate import audit as judge
        from finegold.io.writers import write_frame
        from finegold.votes.frames import to_polars

        current = o.truths_of(self.labels, self.labels_task, self.labels_label, "labels-")
        table = to_polars(judge(votes.result(), current))
        n_wrong = table["p_wrong"].sum()
        out.write_tables({self.output: lambda: table})
        if self.json:
            rows = table.to_dicts()
            out.print_json({"n_labels": len(table), "expected_wrong": n_wrong, "labels": rows})
        elif self.output in (None, "-"):
            write_frame(table, "-")
        judges = "votes and predictions" if "predicted" in table.columns else "votes"
        labels = count(len(table), "label")
        say(f"{labels} audited; about {n_wrong:.0f} are wrong, judged by {judges}")


@o.on_votes()
class NextVotes:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop."""

    budget: int | None = o.number(None, "The most votes to plan; by default no limit.", low=1)
    available: list[str] | None = option(
        None, "The annotators who may vote next; by default all.", kind="list", metavar="A,B"
    )
    safe: float = o.number(0.95, "From this probability on, a label needs no vote.", metavar="P")
    output: str | None = o.table("The file for the tasks.", flag=o.OUTPUT)
    safe_tasks: str | None = o.table("Write the tasks that need no further vote.")
    annotators: str | None = o.table("Write the annotators to retrain or drop.")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api import aggregate as api
        from finegold.votes.frames import to_polars

        result, available = votes.result(), self.available
        # with the types that the names have in the model; values of options are text
        if available is not None:
            known = {str(name): name for name in result.annotator_names}
            available = [known.get(name, name) for name in available]
        plan = api.next_votes(result, self.budget, available=available, safe=self.safe)
        tables = {self.output: plan.tasks, self.safe_tasks: plan.safe_tasks}
        out.write_tables(tables | {self.annotators: plan.annotators})
        n_safe, n_exhausted = int(plan.safe.sum()), int(plan.exhausted.sum())
        ask, people = to_polars(plan.tasks()), to_polars(plan.annotators())
        if self.json:
            rows: dict[str, Any] = {"ask": ask.to_dicts(), "annotators": people.to_dicts()}
            out.print_json(rows | {"safe": n_safe, "exhausted": n_exhausted})
        elif self.output is None:
            for title, frame in (("Ask about", ask), ("Annotators to retrain or drop", people)):
                if len(frame):
                    out.print_frame(f"{title} ({len(frame):,})", frame, TASKS_SHOWN)
        say(f"{count(len(ask), 'task')} to ask about, {n_safe:,} safe")
        if n_exhausted:
            say(
                f"everybody has voted on {count(n_exhausted, 'task')} not safe: find new annotators"
            )
        if plan.advice:
            drop = sum(advice.action == "drop" for advice in plan.advice)
            rest = f"{len(plan.advice) - drop:,} to retrain (--annotators OUT lists all)"
            say(f"annotators: {drop:,} to drop, {rest}")
