"""How the labels were computed: method, settings, convergence, versions, command."""

from __future__ import annotations

import math
import platform
import shlex
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from finegold.methods.lookup import method_class, method_names
from finegold.report.sections.common import Subject, View

PACKAGES = ("finegold", "numpy", "scipy", "numba", "polars")


def record(subject: Subject) -> View:
    result = subject.result
    method = method_class(result.method) if result.method in method_names() else None
    defaults = {} if method is None else method().settings
    # name, value, whether it is not the default
    settings = []
    for name, value in result.all_settings.items():
        text = _as_text(value)
        settings.append((name, text, name in defaults and _as_text(defaults[name]) != text))
    changed = [f"--set {shlex.quote(f'{name}={text}')}" for name, text, new in settings if new]
    command = ["finegold aggregate votes.csv -o labels.csv --method", result.method, *changed]
    about = "" if method is None else _first_sentence(method.__doc__ or "")
    if subject.judges is not None:
        about = (
            "Judges count by what the known truths say about them; with fewer than ten truths, all"
            " judges count alike."
        )
        command = ["finegold judges LOG --report report.html"]
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        # run from a source folder, not installed
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    steps = result.steps
    return {
        "result": result,
        "about": about,
        "settings": settings,
        # iterations with the largest change of a probability, and with the bound
        "changes": [(s.iteration, s.change) for s in steps if s.change and math.isfinite(s.change)],
        "bounds": [(s.iteration, s.bound) for s in steps if math.isfinite(s.bound)],
        "versions": list(versions.items()),
        "command": subject.command or " ".join(command),
    }


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def _as_text(value: object) -> str:
    if isinstance(value, np.ndarray | list | tuple):
        return repr(np.asarray(value).tolist())
    return str(value)
