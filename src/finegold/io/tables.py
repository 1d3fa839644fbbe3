"""A table of any source: its column names are known at once, and its rows are read when the columns are chosen."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.diagnosis import line_of_row, ragged_line, reading
from finegold.io.formulas import unescaped, unescaped_name
from finegold.io.python_tables import as_frame, with_index
from finegold.io.source import (
    BOM,
    Source,
    check_lines,
    has_whole_text,
    is_files,
    limit,
    lines_of,
    open_bytes,
    read_start,
    recognise,
    refuse,
    separator_of,
    size_of,
    sources_of,
    text_start,
)
from finegold.kernels.sort_votes import renumber
from finegold.votes.encoding import MISSING, Codes, encode_pieces, rank_of, text_of
from finegold.votes.frames import indexable, series_of
from finegold.votes.names import Coded, as_integers, encode_column, encode_series, integer_names, without_blanks

__all__ = [
    "Growing",
    "Loaded",
    "Opened",
    "Progress",
    "Table",
    "WatchReading",
    "as_text",
    "batches",
    "check_short_rows",
    "common_kind",
    "expected_rows",
    "growing",
    "in_schema",
    "open_sources",
    "open_table",
    "scan_delimited",
    "watched",
    "without_nan",
]


def scan_delimited(source: Source) -> pl.LazyFrame:
    """Scan a text. Columns without names are called by their numbers, from 1."""
    separator = separator_of(source)
    if not source.header:
        scan = pl.scan_csv(source.data, separator=separator, has_header=False, infer_schema=False, glob=False)
        return scan.rename({name: str(n) for n, name in enumerate(scan.collect_schema().names(), 1)})
    header = _header_text(source)
    _refuse_repeated_names(source, separator)
    schema = None if header is None else pl.scan_csv(header, separator=separator, infer_schema=False).collect_schema()
    skipped = source.header - 1
    scan = pl.scan_csv(
        source.data, separator=separator, infer_schema=False, schema=schema, skip_lines=skipped, glob=False
    )
    names = {name: unescaped_name(name) for name in scan.collect_schema().names()}
    changed = {name: plain for name, plain in names.items() if plain != name}
    return scan.rename(changed) if changed else scan


def check_short_rows(source: Source) -> None:
    """Refuse short rows, which Polars fills with nulls. Called only if the last column has nulls."""
    separator = separator_of(source)
    width = len(_header(source, separator))
    if not _may_have_short_rows(source, separator, width):
        return
    found = ragged_line(source, separator)
    if found:
        raise InputError(f"{source.name}{found}")


def _may_have_short_rows(source: Source, separator: str, width: int) -> bool:
    """Return whether lines look short. Quoted values over several lines do, too, and are checked afterwards."""
    line = pl.first()
    short = line.str.count_matches(separator, literal=True) < width - 1
    return bool(lines_of(source).select((line.str.len_bytes().gt(0) & short).any()).collect().item())


def _header(source: Source, separator: str) -> list[str]:
    """Return the names as they are in the file: Polars renames duplicates."""
    text = _header_text(source)
    skipped = 0 if text else max(source.header - 1, 0)
    row = pl.scan_csv(
        text or source.data,
        has_header=False,
        separator=separator,
        infer_schema=False,
        n_rows=1,
        skip_lines=skipped,
        glob=False,
    ).collect()
    return [name or "" for name in row.row(0)] if row.height else []


def _header_text(source: Source) -> bytes | None:
    """Return the header out of the first bytes, up to the first line end outside quotation marks.

    Return None where it is not among them, is blank or is not UTF-8: then Polars looks at the file.
    """
    if source.compression == "zstd":
        return None
    text = text_start(source).removeprefix(BOM) + (b"\n" if has_whole_text(source) else b"")
    text = text.split(b"\n", max(source.header - 1, 0))[-1]
    end = quotes = 0
    while (found := text.find(b"\n", end)) >= 0:
        quotes, end = quotes + text.count(b'"', end, found), found + 1
        if quotes % 2 == 0:
            return text[:end] if text[:end].strip() and _is_utf8(text[:end]) else None
    return None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse_repeated_names(source: Source, separator: str) -> None:
    twice = [name for name, times in Counter(_header(source, separator)).items() if times > 1]
    if not twice:
        return
    from finegold.io.columns import wrong_header

    if (found := wrong_header(source)) is not None:
        raise InputError(found.what, source.name, found.remedies)
    names = ", ".join(f'"{name}"' for name in twice)
    raise InputError(f"{source.name} has more than one column named {names}; give every column its own name")


MOST_ROWS = 2**18  # in a batch
SHORT = "__is_null__"  # of the last column, where rows with too few fields show


class Progress(NamedTuple):
    """The progress of a long read."""

    rows: int
    expected: int | None  # of all rows; None where there is no telling
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        return None if self.expected is None else max(self.expected - self.rows, 0) / max(self.rate, 1e-9)


WatchReading = Callable[[Progress], None]


def batches(source: Source, scan: pl.LazyFrame, columns: Sequence[Any], may_omit: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the chosen columns. Polars reads ahead with all of its threads while a batch is processed.

    Rows of a delimited text may omit so many of the last cells.
    """
    with reading(source):
        if source.format in ("parquet", "arrow"):
            yield from _all_declared(source, scan, _stream(scan.select(columns)))
            return
        if not source.is_delimited:
            yield from _stream(scan.select(columns))
            return
        # Polars sees rows with too many fields only if it may not skip the columns that are not asked for.
        last = pl.col(scan.collect_schema().names()[-1 - may_omit]).is_null().alias(SHORT)
        may_be_short = False
        for batch in _stream(scan.select(*columns, last), projection_pushdown=False):
            may_be_short |= bool(batch.get_column(SHORT).any())
            yield unescaped(batch.drop(SHORT))
        if may_be_short and may_omit:
            _check_rows(source, may_omit)
        elif may_be_short:
            check_short_rows(source)


def _check_rows(source: Source, may_omit: int) -> None:
    """Refuse rows that are shorter than they may be."""
    found = ragged_line(source, separator_of(source), may_omit)
    if found:
        raise InputError(f"{source.name}{found}")


def _all_declared(source: Source, scan: pl.LazyFrame, rows: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the batches, and refuse a file with other than the declared rows.

    Polars ends early, without an error, if one of its threads panics over a damaged file.
    """
    declared, done = int(scan.select(pl.len()).collect().item()), 0
    for batch in rows:
        done += batch.height
        if done > declared:
            break
        yield batch
    if done != declared:
        found = "more" if done > declared else f"only {done:,}"
        raise InputError(
            f"{source.name} is no whole {source.format.capitalize()} file (it declares {declared:,} rows and has "
            f"{found}); fetch or write the file again"
        )


def _stream(scan: pl.LazyFrame, **flags: bool) -> Iterator[pl.DataFrame]:
    for batch in scan.collect_batches(engine="streaming", optimizations=pl.QueryOptFlags(**flags)):
        yield from batch.iter_slices(MOST_ROWS)


def watched(
    rows: Iterator[tuple[int, pl.DataFrame]], expected: int | None, watch: WatchReading | None
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the batches with the numbers of their sources, and call `watch` after each."""
    if watch is None:
        yield from rows
        return
    began, done = time.perf_counter(), 0
    for number, batch in rows:
        yield number, batch
        done += batch.height
        watch(Progress(done, expected, time.perf_counter() - began))


def expected_rows(sources: Sequence[Source], scans: Sequence[pl.LazyFrame]) -> int | None:
    """Estimate the number of rows: binary files declare it, text files by their size and first lines."""
    numbers = [_expected(source, scan) for source, scan in zip(sources, scans, strict=True)]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _expected(source: Source, scan: pl.LazyFrame) -> int | None:
    if source.format in ("parquet", "arrow"):
        with reading(source):
            return int(scan.select(pl.len()).collect().item())
    if source.compression or isinstance(source.data, bytes):
        return None
    start = read_start(source)
    lines = start.count(b"\n")
    return size_of(source) * lines // len(start) if lines else None


TEXT = (pl.String, pl.Categorical, pl.Enum)


def common_kind(kinds: Sequence[pl.DataType], name: str) -> pl.DataType | None:
    """Return a dtype that holds the values of all of these unchanged, or None if they must become text."""
    kinds = [kind for kind in kinds if kind != pl.Null()] or kinds
    alike = (
        len(set(kinds)) == 1
        or all(kind.is_integer() for kind in kinds)
        or all(kind.is_float() for kind in kinds)
        or all(kind in TEXT for kind in kinds)
    )
    if not alike and not any(kind.is_nested() for kind in kinds):
        return None
    try:
        frames = [pl.DataFrame(schema={"column": kind}) for kind in kinds]
        return pl.concat(frames, how="vertical_relaxed").schema["column"]
    except pl.exceptions.PolarsError as error:
        detail = str(error).splitlines()[0]
        raise InputError(f"{name}: the columns have different types from file to file ({detail})") from None


def in_schema(batch: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Cast the batch to these dtypes. What becomes text is written as in a text file (7.0 as 7)."""
    written = [
        as_text(batch.get_column(name))
        for name, kind in schema.items()
        if kind == pl.String and batch.schema[name] not in TEXT
    ]
    return batch.with_columns(written).cast(schema)


def as_text(column: pl.Series) -> pl.Series:
    values = (column.fill_nan(None) if column.dtype.is_float() else column).to_list()
    return pl.Series(column.name, [None if value is None else text_of(value) for value in values], dtype=pl.String)


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


INT32 = np.iinfo(np.int32)


class Growing(Protocol):
    def add(self, batch: pl.Series) -> None: ...

    def finish(self) -> Coded:
        """Once, after the last batch: memory is given back on the way."""
        ...


def growing(dtype: pl.DataType, *, is_id: bool, is_text: bool) -> Growing:
    """Return an encoder for a column of this dtype. In a text file, ids may turn out to be integers."""
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return Integers(dtype)
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return Whole(is_id)
    return Ids(dtype, is_text) if is_id else Text(dtype)


class Integers:
    """Integers, kept as they are until their range is known, in 32 bits where possible."""

    def __init__(self, dtype: pl.DataType) -> None:
        self.dtype = dtype
        self.pieces: list[NDArray[Any]] = []  # without nulls
        self.null_rows: list[NDArray[np.int64]] = []
        self.rows = 0

    def add(self, batch: pl.Series) -> None:
        if batch.null_count():
            self.null_rows.append(np.flatnonzero(batch.is_null().to_numpy()) + self.rows)
        numbers = batch.drop_nulls().to_numpy()
        if len(numbers):
            self.pieces.append(_narrow(numbers))
        self.rows += len(batch)

    def finish(self) -> Coded:
        if not self.pieces:
            return Coded(np.full(self.rows, MISSING, np.int32), _series(pl.Series([], dtype=self.dtype)))
        kinds = {piece.dtype for piece in self.pieces}
        wide = kinds.pop() if len(kinds) == 1 else _numpy_dtype(self.dtype)
        pieces = [piece.astype(wide, copy=False) for piece in self.pieces]
        self.pieces = []
        codes, names = encode_pieces(pieces, wide)
        return Coded(self._with_nulls(codes), _series(pl.Series(names).cast(self.dtype)))

    def _with_nulls(self, present: Codes) -> Codes:
        if not self.null_rows:
            return present
        is_present = np.ones(self.rows, dtype=bool)
        is_present[np.concatenate(self.null_rows)] = False
        codes = np.full(self.rows, MISSING, dtype=np.int32)
        codes[is_present] = present
        return codes


class Text:
    """Text, encoded by Polars, whose dictionary exists as long as the series `anchor`."""

    def __init__(self, dtype: pl.DataType, known: Coded | None = None) -> None:
        self.dtype = dtype
        self.dictionary = pl.Categories.random()
        self.anchor = pl.Series([], dtype=pl.Categorical(self.dictionary))
        self.pieces: list[Codes] = []
        if known is not None:  # a column that was taken for another kind so far
            codes = known.codes.copy()
            renumber(codes, self._codes(known.names.to_native()))
            self.pieces.append(codes)

    def add(self, batch: pl.Series) -> None:
        self.pieces.append(self._codes(batch))

    def finish(self) -> Coded:
        names = self._names()
        order = names.arg_sort().to_numpy()
        codes = np.concatenate([np.empty(0, np.int32), *self.pieces])
        self.pieces = []
        renumber(codes, rank_of(order))
        return Coded(codes, _series(names.gather(order).cast(self.dtype)))

    def _names(self) -> pl.Series:
        if hasattr(self.dictionary, "to_series"):
            return self.dictionary.to_series().alias("")
        return self.anchor.cat.get_categories()  # type: ignore[attr-defined,no-any-return]  # Polars before 2.0

    def _codes(self, batch: pl.Series) -> Codes:
        words = batch.cast(pl.String).cast(self.anchor.dtype)
        codes: Codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
        return codes


class Ids:
    """Text of which blank is null; in a text file integers, until another value comes."""

    def __init__(self, dtype: pl.DataType, is_text: bool) -> None:
        self.dtype, self.is_text = dtype, is_text
        self.column: Integers | Text = Integers(pl.Int64()) if is_text else Text(dtype)

    def add(self, batch: pl.Series) -> None:
        if isinstance(self.column, Integers):
            numbers = as_integers(batch) if batch.null_count() < len(batch) else batch.cast(pl.Int64)
            if numbers is not None:
                self.column.add(numbers)
                return
            self.column = Text(self.dtype, known=self.column.finish())
        self.column.add(batch)

    def finish(self) -> Coded:
        coded = self.column.finish()
        if isinstance(self.column, Integers):
            return coded
        coded = without_blanks(coded)
        return integer_names(coded) if self.is_text else coded


class Whole:
    """Any other type: fractions, dates, booleans. These are rare, so the column is kept whole."""

    def __init__(self, is_id: bool) -> None:
        self.is_id = is_id
        self.batches: list[pl.Series] = []

    def add(self, batch: pl.Series) -> None:
        self.batches.append(batch)

    def finish(self) -> Coded:
        column = _series(pl.concat(self.batches))
        return encode_column(column, is_text=False) if self.is_id else encode_series(column)


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Convert to 32 bits where possible."""
    fits = INT32.min <= int(numbers.min()) and int(numbers.max()) <= INT32.max
    return numbers.astype(np.int32) if fits else numbers.copy()  # a view would keep the whole batch alive


def _numpy_dtype(dtype: pl.DataType) -> np.dtype[Any]:
    found: np.dtype[Any] = pl.Series([], dtype=dtype).to_numpy().dtype
    return found


def _series(values: pl.Series) -> Any:
    return nw.from_native(values, series_only=True)


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
