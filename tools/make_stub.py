"""Write src/finegold/__init__.pyi, the public names for editors and type checkers: python tools/make_stub.py"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import finegold
from finegold.methods.registry import REGISTRY

STUB = Path(finegold.__file__).with_suffix(".pyi")


def stub() -> str:
    """Return the stub: names with their homes, and the estimator of every method."""
    lines = [f"from {home} import {name} as {name}" for name, home in finegold._HOME.items()]
    lines += [f"from finegold import {name} as {name}" for name in finegold._MODULES]
    lines += ["from finegold.api.estimators import Estimator"]
    classes = []
    for home in REGISTRY.values():
        module, _, name = home.partition(":")
        if name not in finegold._HOME:
            lines.append(f"from {module} import {name} as _{name}")
            summary = textwrap.wrap(f'"""{getattr(finegold, name).__doc__.partition(chr(10))[0]}"""', 114)
            classes.append("\n    ".join([f"class {name}(Estimator, _{name}):", *summary]) + "\n")
    head = '"""The public names of Finegold, for editors and type checkers. Written by tools/make_stub.py."""'
    text = "\n".join([head, *lines, "__version__: str", f"__all__ = {finegold.__all__!r}", *classes])
    for command in (["check", "--select", "I,RUF022", "--fix", "-q"], ["format", "-q"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub())
