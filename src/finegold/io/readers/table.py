"""A table of any source: its column names are known at once, and its rows are read when the columns are chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from finegold.errors import InputError
from finegold.io.readers.batches import WatchReading, batches, expected_rows, watched
from finegold.io.readers.check_files import check_lines
from finegold.io.readers.delimited import scan_delimited
from finegold.io.readers.diagnosis import line_of_row, reading
from finegold.io.readers.files import is_files, sources_of
from finegold.io.readers.formats import recognise
from finegold.io.readers.kinds import common_kind, in_schema
from finegold.io.readers.limits import limit, refuse
from finegold.io.readers.not_a_number import without_nan
from finegold.io.readers.python_tables import as_frame, with_index
from finegold.io.readers.source import Source, open_bytes, read_start, separator_of
from finegold.io.readers.streaming_codes import Growing, growing
from finegold.votes.frames import indexable, series_of
from finegold.votes.names import Coded, encode_column, encode_series

__all__ = ["Loaded", "Opened", "Table", "open_sources", "open_table"]


@dataclass(frozen=True)
class Table:
    """Rows whose columns are available as codes, and the origin of each row."""

    is_text: bool = False  # every value was read as text, so numbers are still to be recognised
    sources: Sequence[Source] = ()
    lengths: Sequence[int] = ()

    def where(self, row: int) -> str:
        """Describe a row, counted from zero: "votes.csv, row 3 (line 4)"."""
        for source, length in zip(self.sources, self.lengths, strict=True):
            if row < length:
                line = line_of_row(source, separator_of(source), row) if source.is_delimited else None
                return f"{source.name}, row {row + 1:,}" + (f" (line {line:,})" if line else "")
            row -= length
        return f"the data frame, row {row + 1:,}"

    def ids(self, column: Any) -> Coded:
        """Encode a column of names; blank ones are missing."""
        raise NotImplementedError

    def values(self, column: Any) -> Coded:
        """Encode a column of labels or truths."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Loaded(Table):
    """All rows in memory."""

    frame: nw.DataFrame[Any]
    mixed: frozenset[Any] = frozenset()  # columns that were made text, because files have them in several kinds

    def column(self, name: Any) -> nw.Series[Any]:
        return indexable(self.frame.get_column(name))

    def ids(self, column: Any) -> Coded:
        return encode_column(self.column(column), self.is_text or column in self.mixed)

    def values(self, column: Any) -> Coded:
        return self.ids(column) if column in self.mixed else encode_series(self.column(column))


@dataclass(frozen=True, kw_only=True)
class Streamed(Table):
    """Codes only: the rows were read in batches and are gone."""

    coded: dict[tuple[Any, bool], Coded]

    def ids(self, column: Any) -> Coded:
        return self.coded[column, True]

    def values(self, column: Any) -> Coded:
        return self.coded[column, False]


def _named(coded: Coded, column: Any) -> Coded:
    return Coded(coded.codes, coded.names.alias(str(column)))


@dataclass(frozen=True)
class Opened:
    """A table whose rows are not read yet."""

    columns: list[Any]
    frame: nw.LazyFrame[Any] | nw.DataFrame[Any] | None = None
    sources: Sequence[Source] = ()
    scans: Sequence[pl.LazyFrame] = ()

    @property
    def name(self) -> str:
        return ", ".join(source.name for source in self.sources[:3]) or "the data frame"

    @property
    def is_text(self) -> bool:
        return any(source.is_delimited for source in self.sources)

    def load(self, columns: Sequence[Any], ids: Sequence[Any] = ()) -> Loaded:
        """Read all rows of these columns, some of which are ids."""
        table = _load_frame(self.frame, columns) if self.frame is not None else self._load_files(columns, ids)
        self._refuse_empty(len(table.frame))
        return table

    def head(self, rows: int) -> list[list[Any]]:
        """Return the values of each column in the first rows."""
        if self.frame is not None:
            table = self.frame.head(rows)
            found = table.collect() if isinstance(table, nw.LazyFrame) else table
            return [found.get_column(name).to_list() for name in self.columns]
        with reading(self.sources[0]):
            first = self.scans[0].head(rows).collect()
        return [first.get_column(name).to_list() for name in self.columns]

    def encode(self, ids: Sequence[Any], values: Sequence[Any], watch: WatchReading | None = None) -> Table:
        """Encode these columns; files are read in batches."""
        if self.frame is not None:
            return self.load([*ids, *values])
        schema, mixed = self._schema(list(dict.fromkeys([*ids, *values])), ids)
        columns = {
            (name, is_id): growing(schema[name], is_id=is_id or name in mixed, is_text=self.is_text or name in mixed)
            for names, is_id in ((ids, True), (values, False))
            for name in names
        }
        lengths = self._feed(columns, schema, watch)
        self._refuse_empty(sum(lengths))
        coded = {key: _named(columns.pop(key).finish(), key[0]) for key in list(columns)}
        return Streamed(self.is_text, self.sources, lengths, coded=coded)

    def _feed(
        self, columns: dict[tuple[Any, bool], Growing], schema: pl.Schema, watch: WatchReading | None
    ) -> list[int]:
        """Add every batch to every column, and return the number of rows of each source."""
        lengths = [0] * len(self.sources)
        expected = expected_rows(self.sources, self.scans) if watch is not None else None
        for number, batch in watched(self._batches(schema), expected, watch):
            lengths[number] += batch.height
            for (name, _), column in columns.items():
                column.add(batch.get_column(name))
        return lengths

    def _batches(self, schema: pl.Schema) -> Iterator[tuple[int, pl.DataFrame]]:
        for number, (source, scan) in enumerate(zip(self.sources, self.scans, strict=True)):
            for batch in batches(source, _exact(source, scan, schema), schema.names()):
                yield number, in_schema(batch, schema)

    def _load_files(self, columns: Sequence[Any], ids: Sequence[Any]) -> Loaded:
        schema, mixed = self._schema(columns, ids)
        parts: list[list[pl.DataFrame]] = [[pl.DataFrame(schema=schema)] for _ in self.sources]
        for number, batch in self._batches(schema):
            parts[number].append(batch)
        lengths = [sum(map(len, part)) for part in parts]
        frame = pl.concat([batch for part in parts for batch in part])
        return Loaded(self.is_text, self.sources, lengths, frame=nw.from_native(frame), mixed=mixed)

    def _schema(self, columns: Sequence[Any], ids: Sequence[Any]) -> tuple[pl.Schema, frozenset[Any]]:
        """Return the common dtypes of the columns, text if a file is a CSV, and the columns of mixed types.

        Numbers in JSON files are mixed if one has a fraction: as ids they are read as they are written.
        """
        if self.is_text:
            return pl.Schema(dict.fromkeys(columns, pl.String())), frozenset()
        schemas = []
        for source, scan in zip(self.sources, self.scans, strict=True):
            with reading(source):
                schemas.append(scan.select(columns).collect_schema())
        kinds = {name: common_kind([schema[name] for schema in schemas], self.name) for name in columns}
        is_json = any(source.format in ("json", "jsonl") for source in self.sources)
        fractions = [name for name in columns if is_json and name in ids and kinds[name] == pl.Float64]
        mixed = frozenset([name for name, kind in kinds.items() if kind is None] + fractions)
        return pl.Schema({name: pl.String() if name in mixed else kind for name, kind in kinds.items()}), mixed

    def _refuse_empty(self, n_rows: int) -> None:
        if n_rows == 0:
            raise InputError(f"{self.name} has a header but no rows; expected at least one")


def open_table(votes: Any, named: Sequence[Any] = ()) -> Opened:
    """Open files, a stream, a data frame or another object that holds a table.

    `named` are columns that the user names: levels of a pandas index may be among them.
    """
    if is_files(votes):
        return open_sources(sources_of(votes))
    try:
        frame = with_index(_frame_of(votes), named)
        return Opened(_unique(list(frame.collect_schema().names())), frame=frame)
    except nw.exceptions.DuplicateError as error:
        said = " ".join(str(error).split())
        raise InputError(f"the data frame has columns of the same name: {said}") from None


def _frame_of(votes: Any) -> Any:
    with suppress(TypeError):
        return nw.from_native(votes)
    return nw.from_native(as_frame(votes))


def open_sources(sources: Sequence[Source]) -> Opened:
    """Open files with plain tables."""
    sources = [recognise(source) for source in sources]
    _refuse_dialect(sources)
    scans, columns = [], []
    for number, source in enumerate(sources):
        with reading(source):
            sources[number] = source = without_nan(source)
            scans.append(_scan(source))
            columns.append(scans[-1].collect_schema().names())
        if len(columns[-1]) > (most := limit("COLUMNS")):
            refuse(source.name, f"has {len(columns[-1]):,} columns, more than {most:,}", "COLUMNS")
    for source, names in zip(sources, columns, strict=True):
        differing = ", ".join(sorted(set(names) ^ set(columns[0])))
        if differing:
            raise InputError(
                f"{source.name} has other columns than {sources[0].name} ({differing}); "
                "files read together must have the same columns"
            )
    return Opened(columns[0], sources=sources, scans=scans)


def _refuse_dialect(sources: Sequence[Source]) -> None:
    for source in sources:
        if not source.is_delimited and (source.separator or source.header != 1):
            kind = source.format.upper()
            raise InputError(f"{source.name} is {kind}, which has no separator and no header line; leave them out")


def _scan(source: Source, kinds: dict[str, Any] | None = None) -> pl.LazyFrame:
    """Scan a file, and add its annotator. `kinds` overrides the dtypes that Polars infers for columns of JSON."""
    scan = _scan_file(source, kinds)
    return scan.select(pl.lit(source.annotator).alias("annotator"), pl.all()) if source.annotator else scan


def _scan_file(source: Source, kinds: dict[str, Any] | None) -> pl.LazyFrame:
    if source.is_delimited:
        return scan_delimited(source)
    if source.format == "jsonl":
        check_lines(source)
        return pl.scan_ndjson(_whole(source), infer_schema_length=None, schema_overrides=kinds)
    if source.format == "json":
        return _list_of_rows(source, kinds)
    if source.format == "parquet":
        return pl.scan_parquet(source.data, glob=False, hive_partitioning=False)
    if _is_arrow_stream(source):
        return pl.read_ipc_stream(_bytes(source)).lazy()
    return pl.scan_ipc(source.data, glob=False, hive_partitioning=False)


def _exact(source: Source, scan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Scan JSON again, with numbers as they are written, if they become text."""
    if source.format not in ("json", "jsonl"):
        return scan
    found = scan.collect_schema()
    numbers = {name: kind for name, kind in schema.items() if kind == pl.String and found[name] == pl.Float64}
    return _scan(source, numbers) if numbers else scan


def _list_of_rows(source: Source, kinds: dict[str, Any] | None) -> pl.LazyFrame:
    """Read a JSON list of objects, as pandas writes with orient="records", as a whole."""
    try:
        with open_bytes(source) as file:
            return pl.read_json(file.read(), infer_schema_length=None, schema_overrides=kinds).lazy()
    except pl.exceptions.PolarsError as error:
        said = str(error).strip().splitlines()[0]
        raise InputError(
            f"{source.name} is neither a list of rows in JSON nor an export that Finegold knows ({said}); "
            "write it again, or name the tool that wrote it with --format"
        ) from None


def _whole(source: Source) -> Any:
    """Return the data. Polars takes a path to JSONL for a pattern, so a name with * or [ is read here."""
    return _bytes(source) if any(mark in source.name for mark in "*?[") else source.data


def _bytes(source: Source) -> bytes:
    return source.data if isinstance(source.data, bytes) else source.data.read_bytes()


def _is_arrow_stream(source: Source) -> bool:
    return read_start(source).startswith(b"\xff" * 4)


def _load_frame(frame: Any, columns: Sequence[Any]) -> Loaded:
    if isinstance(frame, nw.DataFrame):
        return Loaded(frame=frame)
    try:
        return Loaded(frame=frame.select(*dict.fromkeys(columns)).collect())
    except Exception as error:  # anything may be wrong with what the user's own lazy frame is to do
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"the lazy data frame cannot be collected: {said}") from error


def _unique(columns: list[Any]) -> list[Any]:
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        names = ", ".join(f'"{column}"' for column in twice)
        raise InputError(f"the data frame has more than one column named {names}; give every column its own name")
    return columns


def row_numbers(table: Loaded) -> Any:
    """Return 1, 2, 3, ... as a series of the table's library: the ids of tasks without any."""
    return series_of(range(1, len(table.frame) + 1), table.frame.implementation)
