"""Finegold turns noisy annotations into labels that you can trust."""

import re
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0.dev0"

# The stub next to this file lists the public names and where they live. They are loaded when they
# are first used, so that `import finegold` costs nothing.
_HOMES = {
    name: home
    for home, name in re.findall(
        r"^from (\S+) import (\w+) as \2$",
        Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
__all__ = sorted(name for name, home in _HOMES.items() if home != __name__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'finegold' has no attribute {name!r}")
    if _HOMES[name] == __name__:
        return import_module(f"finegold.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    # tracebacks, pages and pickles name it as users do
    with suppress(AttributeError):
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *(name for name in globals() if name.startswith("__"))})
