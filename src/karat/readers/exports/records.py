"""The records of JSON exports, one by one: a list, or an object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from karat.readers.exports.export import Wrong
from karat.readers.exports.peek import Peek
from karat.readers.source import Source, open_bytes

__all__ = ["items", "json_lines", "records_of"]

CHUNK = 2**18  # bytes that ijson reads at once


def records_of(seen: Peek) -> Iterator[Any]:
    """Of a JSON list or of JSON Lines, whichever the file is; a single object is a list of one."""
    if seen.source.format == "json" and seen.is_list:
        return items(seen.source, "item")
    if seen.source.format == "jsonl":
        with_source = open_export(seen.source)
        return json_lines(with_source)
    return items(seen.source, "")


def open_export(source: Source) -> BinaryIO:
    if source.compression == "zstd":
        raise Wrong("it is packed with zstd", remedy="unpack it first (zstd -d)")
    return open_bytes(source)


def items(source: Source, place: str) -> Iterator[Any]:
    """The values at a place of a JSON file that may be bigger than memory ("item" means those of a list)."""
    import ijson

    done = 0
    with open_export(source) as file:
        try:
            for item in ijson.items(file, place, use_float=True, buf_size=CHUNK):
                yield item
                done += 1
        except ijson.IncompleteJSONError:
            raise Wrong(f"the file is cut short after record {done:,}") from None
        except ijson.JSONError as error:
            said = " ".join(str(error).split())
            raise Wrong(f"the file is damaged after record {done:,} ({said[:80]})") from None


def json_lines(file: BinaryIO) -> Iterator[Any]:
    """One JSON value per line; blank lines do not count. The file is closed at the end."""
    with file:
        number = 0
        for line in file:
            if not line.strip():
                continue
            number += 1
            try:
                yield json.loads(line.removeprefix(b"\xef\xbb\xbf"))
            except ValueError as error:
                raise Wrong(f"no valid JSON ({error})", record=number) from None
