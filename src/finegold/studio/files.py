"""The files that a user may open: those in the folder where the studio was started, and uploads."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from finegold.io.source import READABLE
from finegold.studio.problems import Problem
from finegold.studio.store import Row, Store
from finegold.system.files import replacing

MAX_LISTED = 500
# such a name is not a file on Windows
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
# Suffixes of files that are shown, and their media types. SVG is left out because it may contain
# scripts.
MEDIA: dict[str, str] = {
    **{f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "avif", "bmp")},
    ".jpg": "image/jpeg",
    **{".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac"},
    **{".m4a": "audio/mp4", ".mp4": "video/mp4", ".webm": "video/webm", ".pdf": "application/pdf"},
}


class Files:
    """Access to the data files of one folder. Paths outside the folder are refused."""

    def __init__(self, folder: Path, store: Store, also: str | None = None) -> None:
        """`also` is a file in the folder that is listed whatever its extension."""
        self.folder, self.also, self.store = folder.resolve(), also, store
        # Beside the project file, which no other studio has open, so what a killed one left goes.
        # Only this user can read it.
        self.scratch = store.path.with_name(f".{store.path.name}.files")
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(mode=0o700)

    def close(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def new_path(self, suffix: str = "") -> Path:
        return self.scratch / f"{secrets.token_hex(8)}{suffix}"

    @contextmanager
    def temporary(self, suffix: str = "") -> Iterator[Path]:
        """Yield the path of a file to be written, which is removed at the end."""
        path = self.new_path(suffix)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def keep(self, write: Callable[[Path], object], suffix: str) -> int:
        """Keep what `write` writes in the project file, and return the id of its bytes."""
        with self.temporary(suffix) as path:
            write(path)
            return self.store.keep_file(path)

    def listed(self) -> list[dict[str, Any]]:
        """List the data files directly in the folder, the newest first."""
        states = {path.name: path.stat() for path in self.folder.iterdir() if self._is_data(path)}
        newest = sorted(states, key=lambda name: -states[name].st_mtime)[:MAX_LISTED]
        return [
            {"name": name, "size": states[name].st_size, "changed": states[name].st_mtime}
            for name in newest
        ]

    def resolve(self, name: str) -> Path:
        """Return the path of a file in the folder. Links that lead out of the folder are refused."""
        with suppress(OSError, ValueError):
            path = (self.folder / name).resolve()
            if Path(name).name == name and self._is_data(path):
                return path
        detail = f"The studio opens files in {self.folder}; put it there, or drop it on the page."
        raise Problem(404, "There is no such file in the folder", detail)

    def subfolder(self, name: str) -> Path | None:
        """Return a folder in the folder that holds files to be shown, if there is one."""
        with suppress(OSError, ValueError):
            path = (self.folder / name).resolve()
            is_inside = Path(name).name == name and path.parent == self.folder and path.is_dir()
            if is_inside and any(file.suffix.lower() in MEDIA for file in path.iterdir()):
                return path
        return None

    def folders(self) -> list[str]:
        """Return the names of the folders that hold images, sounds, videos or PDF."""
        names = [path.name for path in self.folder.iterdir() if path.name[0] != "."]
        return sorted(name for name in names if self.subfolder(name) is not None)[:MAX_LISTED]

    def path_of(self, source: Row) -> Path:
        """Return the file of a source: in the folder, or a copy of what was sent."""
        if source["blob"] is not None:
            return self.stored(source["blob"], source["name"])
        place = source["place"] or ""
        return self.subfolder(place) or self.resolve(place)

    def stored(self, blob: int, name: str) -> Path:
        path = self.scratch / str(blob) / safe_name(name)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            # other threads see the whole file or none
            with replacing(path) as (copy,):
                self.store.copy_to(blob, copy)
        return path

    def _is_data(self, path: Path) -> bool:
        is_listed = path.suffix.lower() in READABLE and not path.name.startswith(".")
        is_inside = path.resolve().is_relative_to(self.folder)
        return (is_listed or path.name == self.also) and path.is_file() and is_inside


def safe_name(name: str) -> str:
    """Return a name for any file system, with its extension, which determines the format."""
    plain = re.sub(r"[^\w. -]", "_", Path(name).name)[-100:].strip(". ")
    return f"_{plain}" if DEVICE.match(plain) else plain or "votes"
