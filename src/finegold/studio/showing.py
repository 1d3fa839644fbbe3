"""How the content of a task is shown: its texts, links, images and sounds, or a template that is filled with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import quote, urlsplit

__all__ = ["MEDIA", "Item", "items_of", "media_file"]

Kind = Literal["text", "link", "image", "audio", "video"]
MAX_ADDRESS = 2000

# Suffixes of files that are shown, and their media types. SVG is left out because it may contain scripts.
MEDIA: dict[str, str] = {
    **{f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "avif", "bmp")},
    ".jpg": "image/jpeg",
    **{".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4"},
    **{".mp4": "video/mp4", ".webm": "video/webm"},
}


class Item(NamedTuple):
    """A part of the content. `href` is None for texts."""

    name: str | None
    text: str
    kind: Kind
    href: str | None
    is_remote: bool


def items_of(fields: Mapping[str, str], template: str | None, folder: Path, address: str) -> list[Item]:
    """Return what is shown of a task: each field, or each line of the template with the fields filled in.

    `address` is the address of the route for files in the folder.
    """
    if not template:
        return [_item(name, text, folder, address) for name, text in fields.items()]
    lines = [re.sub(r"\{([^{}\n]+)\}", lambda found: fields.get(found[1], ""), line) for line in template.splitlines()]
    return [_item(None, line.strip(), folder, address) for line in lines if line.strip()]


def media_file(folder: Path, name: str) -> Path | None:
    """Return the path of an image or a sound in the folder; None if there is none, or if it lies elsewhere."""
    try:
        path = (folder / name).resolve()
        relative = path.relative_to(folder)
        is_fine = path.suffix.lower() in MEDIA and path.is_file()
    except (OSError, ValueError):
        return None
    return path if is_fine and not any(part.startswith(".") for part in relative.parts) else None


def _item(name: str | None, text: str, folder: Path, address: str) -> Item:
    value = text.strip()
    if re.fullmatch(r"https?://\S+", value) and len(value) <= MAX_ADDRESS:
        kind = _kind(_path_of(value))
        return Item(name, text, kind or "link", value, True)
    if len(value) <= MAX_ADDRESS and _kind(value) and media_file(folder, value) is not None:
        return Item(name, text, _kind(value) or "link", f"{address}?path={quote(value)}", False)
    return Item(name, text, "text", None, False)


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:  # such as http://[
        return ""


def _kind(path: str) -> Kind | None:
    suffix = PurePosixPath(path).suffix.lower() if "\n" not in path and "\0" not in path else ""
    found = MEDIA.get(suffix, "").partition("/")[0]
    return found or None  # type: ignore[return-value]  # the first part of each media type is a Kind
