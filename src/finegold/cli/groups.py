"""Groups of options that several commands share. A group is a dataclass whose fields are the options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["with_groups"]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter whose default is a group of options by these options.

    Typer sees one parameter per option, with the group's values as defaults. The command gets the group, filled in.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {
        name: one.default for name, one in signature.parameters.items() if is_dataclass(one.default)
    }

    @wraps(command)
    def filled(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = replace(group, **{option.name: given.pop(option.name) for option in fields(group)})
        command(**given)

    parameters: list[inspect.Parameter] = []
    for name, one in signature.parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
    filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    filled.__annotations__ = {one.name: one.annotation for one in parameters}
    return filled


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(type(group), include_extras=True)
    for option in fields(group):
        default = getattr(group, option.name)
        yield inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[option.name]
        )
