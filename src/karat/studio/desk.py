"""Everything that a running studio works with."""

from __future__ import annotations

from pathlib import Path

from karat.studio.events import Hub
from karat.studio.files import Files
from karat.studio.gold import Gold
from karat.studio.jobs import Jobs
from karat.studio.projects import Projects
from karat.studio.store import Store
from karat.studio.workspace import Workspace

__all__ = ["Desk"]


class Desk:
    """One project file, opened."""

    def __init__(self, project_file: Path, folder: Path, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.hub = Hub()
        self.store = Store(project_file)
        self.files = Files(folder, self.store)
        self.projects = Projects(self.store, self.hub)
        self.gold = Gold(self.projects)
        self.workspace = Workspace(self.projects, self.files)
        self.jobs = Jobs(self.projects, self.workspace)

    def close(self) -> None:
        self.hub.close()
        self.jobs.close()
        self.files.close()
        self.store.close()
