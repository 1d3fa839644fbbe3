"""Convert parameters, which are nested named tuples of arrays and numbers, to flat lists and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["leaves", "rebuild"]


def leaves(tree: Any) -> list[NDArray[Any]]:
    """Return every array and number of the tree, in order."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [np.asarray(tree)]


def rebuild(template: Any, values: Sequence[NDArray[Any]]) -> Any:
    """Return a tree like the template with these leaves."""
    return _take(template, iter(values))


def _take(template: Any, values: Iterator[NDArray[Any]]) -> Any:
    if isinstance(template, tuple):
        return type(template)(*(_take(part, values) for part in template))
    if template is None:
        return None
    value = next(values)
    if not isinstance(template, np.ndarray):
        return value.item()
    alike = np.empty_like(template)  # of the same memory order, on which the last bit of a sum depends
    alike[...] = value
    return alike
