"""The names of the methods, where they live, and which is the default. Importing this module does
not import them.

`python tools/make_methods.py` writes the list, from the classes in this folder. A line brings the
choice on the command line, the class in `finegold`, the laws of `finegold.checks`, the page of
methods and the benchmarks.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError, warn_user
from finegold.system.memory import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from finegold.methods.base import Method
    from finegold.results.data import ResultData

# if the user names none
DEFAULT_METHOD = "anchored"

REGISTRY = {
    "mv": "finegold.methods.mv:MajorityVote",
    "catd": "finegold.methods.catd:CATD",
    "ds": "finegold.methods.ds:DS",
    "glad": "finegold.methods.glad:GLAD",
    "ibcc": "finegold.methods.ibcc:IBCC",
    "cbcc": "finegold.methods.cbcc:CBCC",
    "bwa": "finegold.methods.bwa:BWA",
    "tiremge": "finegold.methods.tiremge:TiReMGE",
    "ebcc": "finegold.methods.ebcc:EBCC",
    "fgbcc": "finegold.methods.fgbcc:FGBCC",
    "ptbcc": "finegold.methods.ptbcc:PTBCC",
    "mace": "finegold.methods.mace:MACE",
    "hds": "finegold.methods.hds:HDS",
    "anchored": "finegold.methods.anchored:AnchoredVote",
}

# the entry points of other packages
GROUP = "finegold.methods"
NAME = re.compile(r"[a-z][a-z0-9_]*")

_registered: dict[str, type[Method]] = {}


def register(name: str, method: type[Method]) -> type[Method]:
    """Make a method of your own known under its name, for as long as Python runs.

    Afterwards it can be used wherever a name of a method is expected: `finegold.aggregate`, results
    that are loaded or updated, `finegold.checks`. The command line finds methods of installed
    packages by an entry point instead: a line `name = "package.module:Class"` below
    `[project.entry-points."finegold.methods"]` in their pyproject.toml.

    Args:
        name: Small letters, digits and underscores, and the same as the `name` of the class. A name
            that was registered before is replaced, but Finegold's own names cannot be.
        method (type): A subclass of `finegold.Method`, see `examples/one_coin.py`.

    Returns:
        type: The class that was given.

    Raises:
        InputError: If the name is taken or the class is not a complete method.

    Examples:
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


@cache
def _entry_points() -> dict[str, EntryPoint]:
    # importing it takes ten milliseconds
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def _load(name: str) -> type[Method] | None:
    """Load the class; warn and return None if that fails, so that a broken package does not affect
    other methods.
    """
    point = _entry_points()[name]
    try:
        loaded: type[Method] = point.load()
        _check(name, loaded)
    except Exception as error:
        # the other package can raise any exception
        package = point.dist.name if point.dist else "another package"
        warn_user(
            f"the method {name} of {package} ({point.value}) cannot be used:"
            f" {type(error).__name__}: {error}"
        )
        return None
    return loaded


def _check(name: str, method: Any) -> None:
    from finegold.methods.base import Method

    if not NAME.fullmatch(name):
        problem = f"a method's name has small letters, digits and underscores only, not {name!r}"
    elif name in REGISTRY:
        problem = f"{name} is a method of Finegold; choose another name"
    elif not (isinstance(method, type) and issubclass(method, Method)):
        problem = f"the method {name} must be a subclass of finegold.Method, not {method!r}"
    elif inspect.isabstract(method):
        missing = ", ".join(sorted(method.__abstractmethods__))
        problem = f"{method.__name__} must define {missing}"
    elif getattr(method, "name", None) != name:
        problem = f'{method.__name__} must have the line name: ClassVar[str] = "{name}"'
    else:
        return
    raise InputError(problem)


def method_names() -> list[str]:
    """Return the names of all methods: Finegold's own, then those that other packages have
    registered.
    """
    outside = [name for name in _entry_points() if name not in _registered and _load(name)]
    return [*REGISTRY, *_registered, *outside]


def method_class(name: str) -> type[Method]:
    """Return the class registered under a name, in upper or lower case."""
    registered = name.lower()
    if registered in REGISTRY:
        module, _, attribute = REGISTRY[registered].partition(":")
        own: type[Method] = getattr(import_module(module), attribute)
        return own
    outside = _registered.get(registered)
    if outside is None and registered in _entry_points():
        outside = _load(registered)
    if outside is not None:
        return outside
    known = method_names()
    choices = f"{', '.join(known)}{did_you_mean(name, known)}"
    raise InputError(f"there is no method {name!r}; choose from {choices}")


def method_of(result: ResultData) -> Method:
    """Return the method of a result, with its settings."""
    chosen = method_class(result.method)
    defaults = chosen.defaults()
    settings = {name: value for name, value in result.settings.items() if name in defaults}
    try:
        return chosen(**settings)
    except (TypeError, InputError) as error:
        raise InputError(
            f"the model has settings that {chosen.name} cannot use ({error}); fit it again"
        ) from None


def make_method(method: str | Method | type[Method], settings: dict[str, Any]) -> Method:
    """Return the method of this name with these settings. A method object is returned as it is,
    and a class gives a method with its defaults.
    """
    if not isinstance(method, str):
        made = method() if isinstance(method, type) else method
        if settings:
            given = ", ".join(settings)
            raise InputError(f"give {given} to {type(made).__name__}(...), not to aggregate")
        return made
    chosen = method_class(method)
    if unknown := sorted(set(settings) - set(chosen.defaults())):
        raise no_setting(chosen.name, unknown[0])
    return chosen(**settings)


def no_setting(method: str, setting: str) -> InputError:
    """Return an error that lists the settings of the method, and the methods that have the
    requested one.
    """
    others = [name for name in method_names() if setting in method_class(name).defaults()]
    owners = f"; {setting} is a setting of {', '.join(others)}: name the method, too"
    known = ", ".join(method_class(method).defaults())
    hint = owners if others else ""
    return InputError(f"{method} has no setting {setting}; it has {known}{hint}")
