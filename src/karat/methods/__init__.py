"""The maths, one file per method, in the symbols of its paper.

REGISTRY is the only list of methods: a line here brings the command-line choice, the class in `karat`, the laws
and the benchmark row.
"""

from __future__ import annotations

from importlib import import_module

from karat.errors import InputError
from karat.methods.base import Method

__all__ = ["REGISTRY", "Method", "method_class"]

REGISTRY = {
    "mv": "karat.methods.mv:MajorityVote",
    "ptbcc": "karat.methods.ptbcc:PTBCC",
}


def method_class(name: str) -> type[Method]:
    """The class registered under a name (upper or lower case)."""
    if name.lower() not in REGISTRY:
        raise InputError(f"there is no method {name!r}; choose from {', '.join(REGISTRY)}")
    module, _, attribute = REGISTRY[name.lower()].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found
