"""`finegold studio`: explore votes and labels in the browser, and decide contested tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from finegold.errors import InputError

BYTES_PER_MIB = 2**20


def studio(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="Votes in any format. Further files can be opened in the studio."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="FILE", help="The project file; by default in the folder of the votes."),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="The port; by default any free one.")
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", metavar="ADDRESS", help="The address to listen on. Any but a local one needs --token."),
    ] = "127.0.0.1",
    public_name: Annotated[
        str | None,
        typer.Option("--public-name", metavar="NAME", help="The host name under which a proxy serves the studio."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TEXT",
            envvar="FINEGOLD_STUDIO_TOKEN",
            help="The access token; by default a new random one.",
        ),
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option("--reviewer", metavar="NAME", help="Print an address for a person who judges; repeatable."),
    ] = None,
    upload_limit: Annotated[
        int, typer.Option("--upload-limit", metavar="MIB", min=1, help="The largest file that can be uploaded, in MiB.")
    ] = 1024,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the studio in the browser.")] = True,
    install_shortcut: Annotated[
        bool, typer.Option("--install-shortcut", help="Make an icon that starts the studio in this folder, and end.")
    ] = False,
) -> None:
    """Open the studio: a local web application for votes, labels and adjudication."""
    from finegold.cli.messages import say, warn

    try:
        from finegold.studio.serve import plan, serve
        from finegold.studio.shortcut import install_shortcut as install
    except ModuleNotFoundError as error:
        raise InputError(f"the studio needs {error.name}; install it with: pip install 'finegold[studio]'") from None
    if install_shortcut:
        folder = Path.cwd() if file is None else Path(file).expanduser().resolve().parent
        typer.echo(install(folder))
        say(f"double-click it to start the studio in {folder}")
        return
    most_bytes = upload_limit * BYTES_PER_MIB
    wanted = plan(file, project, host, port, token, most_bytes, public_name, reviewer or ())
    say(f"project file: {wanted.project}")
    say(f"files to open: {wanted.folder}")
    if not wanted.is_local:
        warn("other computers can reach the studio: whoever has the token can read and change this project")
    for person, link in wanted.links.items():
        typer.echo(f"{person}: {link}" if person else link)
    say("press Ctrl-C to stop")
    serve(wanted, open_browser=browser)
    say(f"stopped; everything is saved in {wanted.project}")
