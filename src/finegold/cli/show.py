"""`finegold demo`, `report`, `studio` and `methods`: try it, and look at votes and labels."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.options import CommandLine
from finegold.cli.outputs import say, shown_name, warn
from finegold.errors import InputError, OutputError
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.options import option

BYTES_PER_MIB = 2**20


@o.command_with()
class Demo:
    """Try Finegold on a small real sample: read votes, compute labels, compare them with the truth."""

    out: str = option("finegold-demo", "The folder for the files.", kind="output", metavar="DIR")

    def run(self) -> None:
        from finegold.api.fit import fit_votes
        from finegold.io.read import read
        from finegold.io.truth import match_truth
        from finegold.io.writers import write_frame
        from finegold.results.metrics import accuracy
        from finegold.system.files import make_folder, write_bytes
        from finegold.votes.sample import TASKS, TRUTH, VOTES

        target = Path(self.out)
        earlier = target / "votes.csv"
        if earlier.exists() and earlier.read_bytes() != VOTES.read_bytes():
            raise OutputError(
                f"{earlier} exists and is not the sample of the demo; choose another folder with --out"
            )
        votes = read(VOTES)
        result, majority = (fit_votes(votes, FitOptions(method=x)) for x in (DEFAULT_METHOD, "mv"))
        annotators = result.annotators().sort("accuracy", descending=True)
        samples = {"votes.csv": VOTES, "tasks.csv": TASKS, "truth.csv": TRUTH}
        writers: dict[str, out.Write] = {
            name: partial(write_bytes, data=path.read_bytes()) for name, path in samples.items()
        }
        writers["labels.csv"] = partial(write_frame, result.labels())
        writers["annotators.csv"] = partial(write_frame, annotators)
        writers["model.finegold"] = result.save
        make_folder(target)
        out.write_all({str(target / name): write for name, write in writers.items()})
        truth = match_truth(votes, TRUTH).codes
        click.echo(
            f"{votes.n_votes:,} votes on {votes.n_tasks} tasks: which of two answers is better?\n"
            "Two LLM judges and two people voted. A third person gave the truth, which no method sees."
        )
        _heading("Labels that a third person agrees with")
        _bar("majority vote", accuracy(majority.posterior, truth))
        _bar("finegold", accuracy(result.posterior, truth))
        _heading("The annotators, best first (share of their votes that agree with the labels)")
        for row in annotators.iter_rows(named=True):
            _bar(row["annotator"], row["agreement"])
        _heading("Files")
        for name, words in DEMO_FILES.items():
            click.echo(f"  {target / name!s:<30}{words}")
        click.echo(
            f"\nGo on with: cd {target}\n"
            "Votes to labels, also yours: finegold aggregate votes.csv -o labels.csv\n"
            "See them in a browser: finegold report votes.csv, or finegold studio votes.csv"
        )


DEMO_FILES = {
    "votes.csv": "who said what",
    "tasks.csv": "the texts of the tasks",
    "truth.csv": "what a third person said",
    "labels.csv": "a label and its probability for every task",
    "annotators.csv": "how good each annotator is",
    "model.finegold": "the whole result, for finegold.load",
}


def _heading(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def _bar(name: str, share: float) -> None:
    click.echo(f"  {name:<15}{share:6.1%}  {'█' * round(40 * share)}")


@o.on_votes()
class Report(o.Truths):
    """Write one HTML file about the labels. It needs no network and no server, and it can be
    printed.

    It shows what was measured or voted, which tasks a person should check, how good each annotator
    is, the prototypes, the classes, agreement, calibration, and how the labels were computed. For
    sets of labels it shows the options, the tasks in doubt, and how good annotators are at each
    option.
    """

    output: str = option(
        "report.html", "The HTML file.", kind="output", flag=o.OUTPUT, metavar="OUT"
    )
    svg: str | None = option(None, "Save each figure as an SVG file too.", metavar="FOLDER")
    certificate: str | None = o.path("What finegold certify measured (.json): it stands first.")

    def run(self, votes: o.Votes) -> None:
        from finegold.report import require_libraries, write_report

        require_libraries()
        known = self.read_truth()
        write_report(
            votes.result(),
            self.output,
            known,
            title=title_of(votes.files),
            command=CommandLine(click.get_current_context().obj).with_options({}),
            certificate=self.certificate,
            svg=self.svg,
            scores=votes.reading.ordered is not None,
        )
        figures = f"; figures are in {self.svg}" if self.svg else ""
        say(f"wrote {self.output}; open it in a browser{figures}")


def title_of(files: tuple[str, ...]) -> str:
    """Return a title such as "votes.csv" or "votes.csv and 2 more"."""
    name = shown_name(files[0])
    first = name if "://" in name else Path(name).name or name
    first = "standard input" if first == "-" else first
    return first if len(files) == 1 else f"{first} and {len(files) - 1:,} more"


@o.command_with(
    click.argument(
        "file",
        required=False,
        help="Votes in any format. Further files can be opened in the studio.",
    )
)
class Studio:
    """Open the studio: a local web application for votes, labels and adjudication."""

    project: str | None = o.path("The project file; by default in the folder of the votes.")
    port: int | None = o.number(None, "The port; by default any free one.", low=1, high=65535)
    host: str = option(
        "127.0.0.1",
        "The address to listen on. An address that is not local needs --token.",
        metavar="ADDRESS",
    )
    public_name: str | None = option(
        None, "The host name under which a proxy serves the studio.", metavar="NAME"
    )
    token: str | None = option(
        None, "The access token; by default that in FINEGOLD_STUDIO_TOKEN, or a new random one."
    )
    upload_limit: int = o.number(
        1024, "The largest file that can be uploaded, in MiB.", low=1, metavar="MIB"
    )
    browser: bool | None = option(None, "Open the studio in the browser.", kind="switch")

    def run(self, file: str | None) -> None:
        try:
            from finegold.studio.serve import plan, serve
        except ModuleNotFoundError as error:
            raise InputError(
                f"the studio needs {error.name}; install it with: pip install 'finegold[studio]'"
            ) from None
        wanted = plan(
            file,
            self.project,
            self.host,
            self.port,
            self.token or os.environ.get("FINEGOLD_STUDIO_TOKEN"),
            self.upload_limit * BYTES_PER_MIB,
            self.public_name,
        )
        say(f"project file: {wanted.project}")
        say(f"files to open: {wanted.folder}")
        if not wanted.is_local:
            warn(
                "other computers can reach the studio: whoever has the token can read and change"
                " this project"
            )
        click.echo(wanted.link)
        say("press Ctrl-C to stop")
        serve(wanted, open_browser=self.browser is not False)
        say(f"stopped; everything is saved in {wanted.project}")


@o.command_with()
class Methods:
    """List the methods with a one-line description of each."""

    def run(self) -> None:
        from finegold.methods.lookup import method_class, method_names

        names = method_names()
        width = max(map(len, names))
        for name in names:
            first_line = (method_class(name).__doc__ or "").strip().partition("\n")[0]
            click.echo(f"{name:<{width}}  {first_line}")
