"""What was read, and how the labels were computed."""

from __future__ import annotations

import math
import platform
import shlex
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from finegold.methods.lookup import method_class, method_names
from finegold.report.sections.common import Shown, Subject, View, as_sentence, texts
from finegold.votes.labels import visible

MAX_CLASSES = 30
MAX_GROUPS = 20
PACKAGES = ("finegold", "numpy", "scipy", "numba", "polars")


def reading(subject: Subject) -> View:
    result, votes = subject.result, subject.result.annotations
    counts, hygiene, n = result.counts, votes.hygiene, votes.votes_per_class
    most = np.argsort(-n, kind="stable")[:MAX_CLASSES]
    left_out = [
        ("votes without a label", counts.missing - sum(hygiene.no_vote.values())),
        *((f"“{word}”, which means no vote", n) for word, n in hygiene.no_vote.items()),
        ("repeated votes of an annotator on a task", counts.repeated),
        ("pairs of task and annotator whose repeated votes disagree", counts.disagreeing),
        ("tasks without any vote", len(result.unlabelled)),
        ("gold truths of tasks without votes", counts.gold_unused),
        *counts.left_out.items(),
    ]
    # spellings of one class and their votes, None for a truth; whether they were merged
    spellings = [
        ([(visible(text), n) for text, n in group], finding.kind == "merged")
        for finding in hygiene.findings
        for group in finding.groups
    ]
    alarms = [finding.text for finding in hygiene.findings if finding.kind != "merged"]
    names = map(visible, texts(votes.class_names, most))
    return {
        "n_rows": counts.rows,
        "votes": votes,
        "n_gold": int((votes.gold >= 0).sum()),
        # name, number of votes
        "classes": list(zip(names, n[most].tolist(), strict=True)),
        "shown": Shown(len(most), votes.n_classes, "number of votes", "the table of classes"),
        "left_out": [(what, n) for what, n in left_out if n > 0],
        "spellings": spellings[:MAX_GROUPS],
        "alarms": [as_sentence(text) for text in alarms],
    }


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
        # iterations with the largest change of a probability, and with the objective
        "changes": [
            (s.iteration, s.largest_change)
            for s in steps
            if s.largest_change and math.isfinite(s.largest_change)
        ],
        "objective": [(s.iteration, s.objective) for s in steps if math.isfinite(s.objective)],
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
