"""karat studio: look at votes and labels in the browser, and judge what needs a person."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.errors import InputError

__all__ = ["studio"]

MIB = 2**20


def studio(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Votes in any format; more can be opened later.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="FILE", help="Where everything is kept; by default beside the votes."),
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="By default any that is free.")] = None,
    host: Annotated[
        str, typer.Option("--host", help="Beyond this machine only with a --token of your own.")
    ] = "127.0.0.1",
    public_name: Annotated[
        str | None, typer.Option("--public-name", metavar="NAME", help="Under which a proxy serves it, if one does.")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar="KARAT_STUDIO_TOKEN", help="By default a new random one.")
    ] = None,
    upload_limit: Annotated[
        int, typer.Option("--upload-limit", metavar="MIB", min=1, help="Largest file that can be sent, in MiB.")
    ] = 1024,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
) -> None:
    """Open the studio: a local web application for votes, labels and adjudication."""
    from karat.cli.words import say, warn

    try:
        from karat.studio.serve import plan, serve
    except ModuleNotFoundError as error:
        raise InputError(f"the studio needs {error.name}; install it with: pip install 'karat[studio]'") from None
    wanted = plan(file, project, host, port, token, upload_limit * MIB, public_name)
    say(f"project file: {wanted.project}")
    say(f"files to open: {wanted.folder}")
    if not wanted.is_local:
        warn("other computers can reach the studio: whoever has the token can read and change this project")
    typer.echo(f"{wanted.address}/?token={wanted.token}")
    say("press Ctrl-C to end")
    serve(wanted, open_browser=browser)
    say(f"ended; everything is kept in {wanted.project}")
