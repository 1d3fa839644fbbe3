"""karat methods: which there are."""

from __future__ import annotations

__all__ = ["methods"]


def methods() -> None:
    """List the methods, each with one line that explains it."""
    import typer

    from karat.methods import method_class
    from karat.methods.registry import REGISTRY

    width = max(map(len, REGISTRY))
    for name in REGISTRY:
        first_line = (method_class(name).__doc__ or "").strip().partition("\n")[0]
        typer.echo(f"{name:<{width}}  {first_line}")
