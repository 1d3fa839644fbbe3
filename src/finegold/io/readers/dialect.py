"""How a delimited text is written, where the user says so: its encoding, its separator and the line of its header."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from typing import Any

from finegold.errors import InputError
from finegold.io.readers.files import is_files, sources_of
from finegold.io.readers.formats import by_magic
from finegold.io.readers.source import Source, open_bytes, start_of

__all__ = ["DIALECT", "Dialect"]

WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """What the user says of a delimited text. The default says nothing."""

    encoding: str | None = None
    separator: str | None = None
    header: int = 1

    def __post_init__(self) -> None:
        mark = WORDS.get(self.separator or "", self.separator or ",")
        if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
            known = ", ".join(word for word in WORDS if word.isalpha())
            raise InputError(f"the separator {self.separator!r} is not one ASCII character, nor one of {known}")
        if isinstance(self.header, int) and self.header < 0:
            raise InputError(f"the header is on line {self.header}; expected a line from 1 on, or 0 for no header")

    def apply(self, votes: Any) -> Any:
        """Return files as sources that are read this way."""
        if self == DIALECT:
            return votes
        if not is_files(votes):
            raise InputError("an encoding, a separator and a header are for text files only; leave them out")
        return [self._source(source) for source in sources_of(votes)]

    def _source(self, source: Source) -> Source:
        if self.encoding is not None:
            source = Source(source.name, _decoded(source, self.encoding))
        mark = WORDS.get(self.separator or "", self.separator or "")
        return replace(source, separator=mark, header=int(self.header))


def _decoded(source: Source, encoding: str) -> bytes:
    """Return the text in UTF-8."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}"; try utf-8, latin-1, cp1252 or utf-16') from None
    packed = by_magic(start_of(source))
    with open_bytes(replace(source, compression=packed if packed == "gzip" else "")) as file:
        data = file.read()
    try:
        return data.decode(encoding).encode()
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{source.name} is not written in {encoding} ({error}); try another encoding") from None


DIALECT = Dialect()
