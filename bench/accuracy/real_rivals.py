"""Other libraries on the real data sets, each method in a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.real_score import measure
from bench.real_data import RealSet
from bench.rivals.rivals import BENCH, one_thread, rival_python, versions

__all__ = ["RIVALS", "Rival", "covers", "is_rival", "version"]

RIVALS = (
    *(
        f"crowd-kit {name}"
        for name in (
            "MajorityVote",
            "Wawa",
            "ZeroBasedSkill",
            "OneCoinDawidSkene",
            "DawidSkene",
            "KOS",
            "MMSR",
            "MACE",
            "GLAD",
        )
    ),
    *(f"peerannot {name}" for name in ("IWMV", "Wawa", "WDS", "DawidSkene", "PlantNet")),
    "snorkel LabelModel",
)
KINDS = {"snorkel LabelModel": "weak"}  # for those that are made for one kind of data


def is_rival(name: str) -> bool:
    return name.partition(" ")[0] in versions()


def version(name: str) -> str:
    """The version of the library that rivals.txt asks for."""
    return versions()[name.partition(" ")[0]]


def covers(name: str, kind: str) -> bool:
    """Whether the method is run on this kind of data."""
    return KINDS.get(name, kind) == kind


class Rival:
    """A process in which the library is loaded; it fits one data set after the other.

    Parameters
    ----------
    name : str
        The library and its method, such as "crowd-kit Wawa".
    limit : float
        Seconds of processor time that a fit may take.
    """

    def __init__(self, name: str, limit: float) -> None:
        self.arguments = [*name.split(" ", 1), f"{limit:g}"]

    @cached_property
    def process(self) -> subprocess.Popen[str]:
        """Started by the first request."""
        command = [
            str(rival_python()),
            str(BENCH / "rivals" / "rival.py"),
            "--serve",
            *self.arguments,
        ]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nothing, text=True, env=one_thread()
        )

    def measure(self, data: RealSet) -> dict[str, Any]:
        """The figures of one fit, or why there are none."""
        with tempfile.TemporaryDirectory() as folder:
            votes, out = Path(folder) / "votes.npy", Path(folder) / "posterior.npz"
            np.save(votes, data.votes)
            said = self._ask([str(votes), str(out)])
            if said != "done":
                return {"failed": said}
            with np.load(out, allow_pickle=False) as arrays:
                return _figures(dict(arrays), data)

    def _ask(self, request: list[str]) -> str:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        return str(json.loads(answer)) if answer else f"exit code {self.process.wait()}"

    def close(self) -> None:
        if "process" in vars(self):
            self.process.communicate()


def _figures(found: dict[str, Any], data: RealSet) -> dict[str, Any]:
    if "failed" in found:
        return {"failed": str(found["failed"])}
    posterior = found["posterior"]
    if posterior.shape != (len(data.truth), data.n_classes) or not np.isfinite(posterior).all():
        return {"failed": "some tasks have no probabilities"}
    labels_only = bool((posterior.max(axis=1) == 1).all())
    return {
        **measure(posterior, data.truth),
        "seconds": float(found["seconds"]),
        "labels_only": labels_only,
    }
