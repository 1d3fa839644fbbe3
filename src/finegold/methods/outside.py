"""Methods of other packages, registered by `finegold.register` or by an entry point of the group `finegold.methods`."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from finegold.errors import FinegoldWarning, InputError
from finegold.methods.base import Method
from finegold.methods.registry import REGISTRY

__all__ = ["GROUP", "outside_class", "outside_names", "register"]

GROUP = "finegold.methods"
NAME = re.compile(r"[a-z][a-z0-9_]*")

_registered: dict[str, type[Method]] = {}


def register(name: str, method: type[Method]) -> type[Method]:
    """Make a method of your own known under its name, for as long as Python runs.

    Afterwards it can be used wherever a name of a method is expected: `finegold.aggregate`, results that are loaded or
    updated, `finegold.checks`. The command line finds methods of installed packages by an entry point instead: a line
    `name = "package.module:Class"` below `[project.entry-points."finegold.methods"]` in their pyproject.toml.

    Parameters
    ----------
    name : str
        Small letters, digits and underscores, and the same as the `name` of the class. A name that was registered
        before is replaced, but Finegold's own names cannot be.
    method : type
        A subclass of `finegold.Method`, see `examples/one_coin.py`.

    Returns
    -------
    type
        The class that was given.

    Raises
    ------
    InputError
        If the name is taken or the class is not a complete method.

    Examples
    --------
    >>> import finegold
    >>> from finegold.methods.mv import MajorityVote
    >>> class Plurality(MajorityVote):
    ...     name = "plurality"
    >>> _ = finegold.register("plurality", Plurality)
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1], ["ann", "bob", "eve"], ["cat", "cat", "dog"])
    >>> finegold.aggregate(votes, "plurality").label.tolist()
    ['cat']
    """
    _check(name, method)
    _registered[name] = method
    return method


def outside_names() -> list[str]:
    """Return the names of methods that other packages have registered and that can be loaded."""
    return [*_registered, *(name for name in _entry_points() if name not in _registered and _loaded(name))]


def outside_class(name: str) -> type[Method] | None:
    """Return the class that another package has registered under this name, or None."""
    return _registered.get(name) or (_loaded(name) if name in _entry_points() else None)


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def _loaded(name: str) -> type[Method] | None:
    """Load the class; warn and return None if that fails, so that a broken package does not affect other methods."""
    point = _entry_points()[name]
    try:
        found = point.load()
        _check(name, found)
    except Exception as error:  # the other package can raise any exception
        package = point.dist.name if point.dist else "another package"
        warnings.warn(
            f"the method {name} of {package} ({point.value}) cannot be used: {type(error).__name__}: {error}",
            FinegoldWarning,
            stacklevel=2,
        )
        return None
    loaded: type[Method] = found
    return loaded


def _check(name: str, method: Any) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"a method's name has small letters, digits and underscores only, not {name!r}")
    if name in REGISTRY:
        raise InputError(f"{name} is a method of Finegold; choose another name")
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise InputError(f"the method {name} must be a subclass of finegold.Method, not {method!r}")
    if inspect.isabstract(method):
        raise InputError(f"{method.__name__} must define {', '.join(sorted(method.__abstractmethods__))}")
    if getattr(method, "name", None) != name:
        raise InputError(f'{method.__name__} must have the line name: ClassVar[str] = "{name}"')
