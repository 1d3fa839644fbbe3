"""The paper: its settings, data sets, tables and figures."""

from __future__ import annotations

from typing import Any

__all__ = ["settings"]


def settings(method: str) -> dict[str, Any]:
    """Return the settings with which the PTBCC paper ran a method.

    The defaults of the methods are those that we recommend for work. `finegold reproduce` uses
    these instead.

    Args:
        method: Name of one of the eleven methods that the paper compares, such as "ds".

    Returns:
        The settings by name; what is not in it is as in the method's defaults.

    Raises:
        InputError: If the paper does not compare a method of this name.

    Examples:
        >>> import finegold
        >>> finegold.paper.settings("ds")
        {'tolerance': 0.0, 'max_iterations': 20, 'quality': 0.7}
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "ibcc", **finegold.paper.settings("ibcc")).label.tolist()
        ['x', 'y']
    """
    from finegold.methods.lookup import paper_settings

    return paper_settings(method)
