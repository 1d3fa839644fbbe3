"""`finegold methods`: list the methods."""

from __future__ import annotations

__all__ = ["methods"]


def methods() -> None:
    """List the methods with a one-line description of each."""
    import typer

    from finegold.methods.lookup import method_class, method_names

    names = method_names()
    width = max(map(len, names))
    for name in names:
        first_line = (method_class(name).__doc__ or "").strip().partition("\n")[0]
        typer.echo(f"{name:<{width}}  {first_line}")
