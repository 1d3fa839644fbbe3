"""Import modules of Karat 0.1 by their old names, with a warning. This will be removed after one release."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from karat.system.renamed import warn_renamed

__all__ = ["MOVED", "install"]

MOVED = {
    "karat.annotations": "karat.votes.annotations",
    "karat.archive": "karat.results.archive",
    "karat.checkpoint": "karat.fitting.checkpoint",
    "karat.compare": "karat.api.compare",
    "karat.databases": "karat.io.databases",
    "karat.datasets": "karat.paper.datasets",
    "karat.distributed": "karat.api.folders",
    "karat.encoding": "karat.votes.encoding",
    "karat.estimators": "karat.api.estimators",
    "karat.files": "karat.system.files",
    "karat.frames": "karat.votes.frames",
    "karat.metrics": "karat.results.metrics",
    "karat.planning": "karat.insight.next_votes",
    "karat.predict": "karat.results.predictions",
    "karat.prior": "karat.fitting.prior",
    "karat.progress": "karat.fitting.progress",
    "karat.readers": "karat.io.readers",
    "karat.registry": "karat.methods.registry",
    "karat.reproduce": "karat.paper.reproduce",
    "karat.result": "karat.api.result",
    "karat.simulation": "karat.votes.simulation",
    "karat.solve": "karat.api.fit",
    "karat.tables": "karat.results.tables",
    "karat.trust": "karat.insight",
    "karat.updating": "karat.api.update",
    "karat.writeback": "karat.io.writeback",
    "karat.writers": "karat.io.writers",
}


class _CallableModule(ModuleType):
    """A module whose old name is now that of a function: `karat.compare`."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.compare(*arguments, **keywords)


class _Moved(MetaPathFinder, Loader):
    """Import hook that loads the new module for an old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warn_renamed(spec.name, new)
        module = import_module(new)
        if spec.name == "karat.compare":  # Python now sets this attribute of karat to the module
            module.__class__ = _CallableModule
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module was executed under its new name."""


def install() -> None:
    """Make the old names importable."""
    sys.meta_path.append(_Moved())
