"""NaN in JSON: Python and R write it for a missing value, although JSON has no such word."""

from __future__ import annotations

import re

from finegold.io.readers.source import Source, open_bytes

__all__ = ["without_nan"]

NAN = b"NaN"
CHUNK = 2**20
TEXT_OR_NAN = re.compile(rb'"(?:[^"\\]|\\.)*"|NaN', re.DOTALL)


def without_nan(source: Source) -> Source:
    """Return JSON with null in the place of NaN, read as a whole; JSON without NaN is returned as it is."""
    if source.format not in ("json", "jsonl") or source.compression == "zstd" or not _mentions_nan(source):
        return source
    with open_bytes(source) as file:
        text = file.read()
    cleaned = TEXT_OR_NAN.sub(lambda found: b"null" if found[0] == NAN else found[0], text)
    return source if cleaned == text else Source(source.name, cleaned, source.format, annotator=source.annotator)


def _mentions_nan(source: Source) -> bool:
    with open_bytes(source) as file:
        end = b""
        while chunk := file.read(CHUNK):
            if NAN in end + chunk:
                return True
            end = chunk[-len(NAN) + 1 :]
    return False
