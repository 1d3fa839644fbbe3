"""Files with class probabilities of models. They are kept in the project, and every fit uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.io.predictions import read_predictions
from finegold.report.views.common import texts
from finegold.studio.files import Files
from finegold.studio.projects import Projects
from finegold.studio.store import Row
from finegold.votes.annotations import Annotations

__all__ = ["ModelPredictions"]


class ModelPredictions:
    """The files of each project, by name."""

    def __init__(self, projects: Projects, files: Files) -> None:
        self.projects, self.store, self.files = projects, projects.store, files

    def all(self, project: int) -> list[Row]:
        """Return what was read of each file."""
        rows = self.store.rows("SELECT name, facts FROM predictions WHERE project = ? ORDER BY name", project)
        return [{"name": row["name"], **json.loads(row["facts"])} for row in rows]

    def add(self, project: int, name: str, path: Path, votes: Annotations) -> None:
        """Keep a file, instead of one of the same name. Raise an InputError if it does not fit the votes."""
        facts = _facts(path, votes)
        blob = self.store.keep_file(path)
        with self.projects.changing(project):
            self._delete(project, name)
            self.store.own(blob)
            self.store.run("INSERT INTO predictions VALUES (?, ?, ?, ?)", project, name, blob, json.dumps(facts))

    def remove(self, project: int, name: str) -> None:
        with self.projects.changing(project):
            self._delete(project, name)

    @contextmanager
    def opened(self, project: int) -> Iterator[list[Path]]:
        """Yield the paths of the files while they are read. Error messages use the files' own names."""
        rows = self.store.rows("SELECT name, file FROM predictions WHERE project = ? ORDER BY name", project)
        paths = [self.files.stored(row["file"], row["name"]) for row in rows]
        try:
            yield paths
        except InputError as error:
            said = str(error)
            for path in paths:
                said = said.replace(f"{path.parent}/", "")
            raise InputError(said) from error

    def _delete(self, project: int, name: str) -> None:
        found = self.store.row("SELECT file FROM predictions WHERE project = ? AND name = ?", project, name)
        if found is not None:
            self.store.run("DELETE FROM predictions WHERE project = ? AND name = ?", project, name)
            self.store.run("DELETE FROM blob WHERE id = ?", found["file"])


def _facts(path: Path, votes: Annotations) -> dict[str, Any]:
    found = read_predictions(path, votes)
    known = found.known[0]
    n_tasks = int(known[: votes.n_tasks].sum())
    return {
        "n_tasks": n_tasks,
        "n_without_prediction": votes.n_tasks - n_tasks,
        "n_without_votes": len(found.task_names),
        "classes": texts(votes.class_names),
        "confidence": float(found.probabilities[0][known].max(axis=1).mean()),
    }
