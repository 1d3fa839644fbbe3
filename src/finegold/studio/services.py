"""The services of a running studio: project file, data files, gold, results and jobs."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from finegold.errors import FinegoldError
from finegold.studio.adjudication import Holds
from finegold.studio.events import Hub
from finegold.studio.files import Files
from finegold.studio.gold import Gold
from finegold.studio.jobs import Jobs
from finegold.studio.judge_views import JudgeViews
from finegold.studio.model_predictions import ModelPredictions
from finegold.studio.problems import Problem
from finegold.studio.projects import Projects
from finegold.studio.store import Store
from finegold.studio.workspace import Workspace

__all__ = ["Services"]


class Services:
    """All services around one open project file."""

    def __init__(self, project_file: Path, folder: Path, most_bytes: int, file: str | None = None) -> None:
        self.most_bytes = most_bytes
        self.hub = Hub()
        self.store = Store(project_file)
        self.files = Files(folder, self.store, also=file)
        self.projects = Projects(self.store, self.hub)
        self.gold = Gold(self.projects)
        self.holds = Holds()
        self.judges = JudgeViews(self.projects, self.files, self.gold)
        self.workspace = Workspace(self.projects, self.files)
        self.predictions = ModelPredictions(self.projects, self.files)
        self.jobs = Jobs(self.projects, self.workspace, self.predictions)

    def warm_up(self) -> None:
        """Load the newest result in the background while the browser starts."""
        threading.Thread(target=self._load_newest, name="finegold-studio-warm-up", daemon=True).start()

    def _load_newest(self) -> None:
        newest = next((row for row in self.projects.all() if row["shown"] is not None), None)
        if newest is None:
            return
        opening = self.projects.opening(newest["id"], newest["shown"])
        with suppress(FinegoldError, Problem, sqlite3.Error, OSError), opening:  # the next request reports it
            self.workspace.shown(newest["id"]).doubts  # noqa: B018 (fills the cache)

    def close(self) -> None:
        self.hub.close()
        self.jobs.close()
        self.files.close()
        self.store.close()
