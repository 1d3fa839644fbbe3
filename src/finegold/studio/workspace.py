"""A cache of the results that are in use, loaded from the project file when they are first requested."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from finegold.api.result import Result, load
from finegold.errors import FinegoldError
from finegold.studio.browser import Browser
from finegold.studio.content import Contents, collect
from finegold.studio.files import Files
from finegold.studio.fits import Fits
from finegold.studio.problems import Problem, no_votes_yet
from finegold.studio.projects import Projects
from finegold.studio.reading import Reading
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Codes, Names

MAX_LOADED = 2  # a result of a million tasks takes a few hundred megabytes


class Workspace:
    """Browsers by the id of their fit. A finished fit never changes."""

    def __init__(self, projects: Projects, fits: Fits, files: Files) -> None:
        self.projects, self.fits, self.files = projects, fits, files
        self._loaded: OrderedDict[int, Browser] = OrderedDict()
        self._contents: dict[tuple[int, ...], Contents] = {}
        self._lock = threading.Lock()

    def shown(self, project: int) -> Browser:
        """Return the browser of the fit that the project shows."""
        while True:
            fit = self.projects.get(project)["shown"]
            if fit is None:
                raise no_votes_yet()
            try:
                return self.of(project, fit)
            except Problem:  # another fit may have replaced this one meanwhile
                if self.projects.get(project)["shown"] == fit:
                    raise

    def of(self, project: int, fit: int) -> Browser:
        with self._lock:  # two tabs that open a project at the same time load it once
            if fit not in self._loaded:
                self._keep(fit, Browser(self._load(project, fit)))
            self._loaded.move_to_end(fit)
            return self._loaded[fit]

    def votes(self, project: int) -> Annotations | None:
        """Return the votes of a project with the gold of their file; None if it has no votes yet."""
        base = self.projects.get(project)["base"]
        return None if base is None else self.of(project, base).votes

    def truths_of_file(self, project: int) -> Codes | None:
        """Return the truths that came with the votes; None if there are none, which is known without the votes."""
        base = self.projects.get(project)["base"]
        if base is None or not self.fits.get(project, base)["facts"]["gold"]:
            return None
        return self.of(project, base).votes.gold

    def keep_content(self, project: int, path: Path, options: Reading) -> None:
        """Store the content of the tasks in the project, so that it does not need the file any more."""
        found, copy = collect(path, options), self.files.temporary(".parquet")
        try:
            found.write_parquet(copy)
            self.projects.keep_content(project, copy)
        finally:
            copy.unlink(missing_ok=True)

    def contents(self, project: int) -> Contents | None:
        """Return the content of the tasks; None if there is none."""
        own, store = self.projects.get(project)["content"], self.projects.store
        added = store.rows("SELECT file FROM layer WHERE project = ? ORDER BY id", project)
        blobs = ([] if own is None else [int(own)]) + [int(row["file"]) for row in added]
        if not blobs:
            return None
        with self._lock:
            if tuple(blobs) not in self._contents:
                # They stay in the scratch folder, where others may read them now.
                self._contents[tuple(blobs)] = Contents([self.files.stored(blob, "content.parquet") for blob in blobs])
            return self._contents[tuple(blobs)]

    def contents_or_none(self, project: int) -> Contents | None:
        """Return the content of the tasks; None also if it is damaged, because tables can do without it."""
        with suppress(FinegoldError):
            return self.contents(project)
        return None

    def remember(self, fit: int, browser: Browser) -> None:
        """Cache a result that was just computed."""
        with self._lock:
            self._keep(fit, browser)

    def forget(self, fits: list[int]) -> None:
        with self._lock:
            for fit in fits:
                self._loaded.pop(fit, None)

    def _keep(self, fit: int, browser: Browser) -> None:
        self._loaded[fit] = browser
        while len(self._loaded) > MAX_LOADED:
            self._loaded.popitem(last=False)

    def _load(self, project: int, fit: int) -> Result:
        path = self.files.temporary(".finegold")
        model = self._model(project, fit)
        try:
            with self.fits.opening(project, fit):
                self.projects.store.copy_to(model, path)
                return compact(load(path))
        except FinegoldError:
            self._model(project, fit)  # raises if the fit was replaced meanwhile
            raise
        finally:
            path.unlink(missing_ok=True)

    def _model(self, project: int, fit: int) -> int:
        found = self.fits.get(project, fit)["model"]
        if found is None:
            raise Problem(409, "This fit has no result", "Choose one that has finished and was not replaced.")
        return int(found)


def compact(result: Result) -> Result:
    """Return the same result with names in Polars columns, which take a tenth of the memory of Python strings."""
    kinds = ("task_names", "annotator_names", "class_names", "unlabelled")
    names: dict[str, Any] = {kind: _column(getattr(result, kind)) for kind in kinds}
    votes = None if result.annotations is None else replace(result.annotations, **names)
    return replace(result, **names, annotations=votes)


def _column(names: Names) -> Names:
    if isinstance(names, nw.Series):
        return names
    column = np.asarray(names)
    if column.dtype.kind in "iu":
        return nw.from_native(pl.Series(column), series_only=True)
    if column.dtype.kind == "O" and set(map(type, column)) == {str}:
        return nw.from_native(pl.Series(column.tolist(), dtype=pl.String), series_only=True)
    return names
