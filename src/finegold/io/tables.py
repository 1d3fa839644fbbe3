"""A table of any source: its column names are known at once, and its rows are read when the columns
are chosen.

`open_table` takes files, streams, data frames and other objects. `Table.batches` yields the rows of
some columns, which `finegold.votes.encoding` makes codes of, and `Table.read` returns all of them.
"""

from __future__ import annotations

import csv
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io.columns import KNOWN, bare_name
from finegold.io.diagnosis import ragged_line, wrong_header
from finegold.io.python_tables import as_frame, with_index
from finegold.io.source import (
    ARROW_STREAM,
    BOM,
    UNREADABLE,
    Source,
    is_files,
    lines_of,
    reading,
    records,
    sniff,
    sources_of,
)
from finegold.votes.encoding import as_integers, as_text, series_of
from finegold.votes.frames import polars_column, to_polars
from finegold.votes.hygiene import Finding
from finegold.votes.labels import as_cell

ROWS_PER_BATCH = 2**18
IDS = ("task", "annotator")
# between the columns that name tasks together
BETWEEN_IDS = " / "
# marks the rows in which the last column is blank, where rows with too few fields show
SHORT = "__is_null__"
# hold the labels of one vote
SEVERAL = (list, tuple, set, frozenset, np.ndarray)
# up to the first line end outside quotation marks
HEADER = re.compile(rb'[^"\n]*(?:"[^"]*"[^"\n]*)*\n')
NAN = b"NaN"
TEXT_OR_NAN = re.compile(rb'"(?:[^"\\]|\\.)*"|NaN', re.DOTALL)


class Progress(NamedTuple):
    """The progress of a long read."""

    rows: int
    # of all rows; None where there is no telling
    expected: int | None
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        return (
            None
            if self.expected is None
            else max(self.expected - self.rows, 0) / max(self.rate, 1e-9)
        )


WatchReading = Callable[[Progress], None]


# Libraries besides Polars in which a table can be made of values; for others, such as DuckDB, tables
# are of Polars.
MAKES_FRAMES = ("pandas", "modin", "cudf", "pyarrow")


@dataclass(eq=False)
class Table:
    """A table of files or of a data frame. What is known of its rows is there once they were read."""

    columns: list[Any]
    # of narwhals; None if the table is one of files
    frame: Any = None
    sources: Sequence[Source] = ()
    scans: Sequence[pl.LazyFrame] = ()
    # of a table without files
    title: str = "the data frame"
    # the number of rows of each source
    lengths: list[int] = field(default_factory=list)
    # the number of rows that repeat the header
    n_headers: int = 0

    @property
    def name(self) -> str:
        return ", ".join(source.name for source in self.sources[:3]) or self.title

    @property
    def is_text(self) -> bool:
        """Whether every value is read as text, so that numbers are still to be recognised."""
        return any(source.is_delimited for source in self.sources)

    @property
    def backend(self) -> str | None:
        """The library of the data frame, for `Names`."""
        if self.frame is None or str(self.frame.implementation.value) not in MAKES_FRAMES:
            return None
        return str(self.frame.implementation.value)

    @property
    def findings(self) -> list[Finding]:
        """What was noticed when the rows were read."""
        if not self.n_headers:
            return []
        rows, are = ("row repeats", "is") if self.n_headers == 1 else ("rows repeat", "are")
        text = f"{self.n_headers:,} {rows} the names of the columns and {are} left out"
        return [Finding("headers", text)]

    def where(self, row: int) -> str:
        """Describe a row, counted from zero: "votes.csv, row 3 (line 4)"."""
        for source, length in zip(self.sources, self.lengths, strict=False):
            if row < length:
                line = 0
                with suppress(*UNREADABLE):
                    lines = records(source, source.delimiter) if source.is_delimited else iter(())
                    line = next(
                        (line for line, _ in islice(lines, row + bool(source.header), None)), 0
                    )
                return f"{source.name}, row {row + 1:,}" + (f" (line {line:,})" if line else "")
            row -= length
        return f"{self.title}, row {row + 1:,}"

    def head(self, rows: int) -> pl.DataFrame:
        """Return the first rows."""
        if self.frame is None:
            with reading(self.sources[0]):
                return self.scans[0].head(rows).collect()
        return to_polars(self.frame.head(rows))

    def read(self, columns: Sequence[Any]) -> pl.DataFrame:
        """Return all rows of these columns; those that files have in several types become text."""
        columns = list(dict.fromkeys(columns))
        parts = list(self.batches({str(name): name for name in columns}))
        together = {}
        for name in map(str, columns):
            pieces = [part.get_column(name) for part in parts]
            types = {each.dtype for each in pieces} - {pl.Null()}
            is_plain = not any(each.is_nested() for each in types)
            if len(types) > 1 and is_plain and not all(each.is_integer() for each in types):
                pieces = [as_text(piece) for piece in pieces]
            frames = [piece.to_frame() for piece in pieces]
            together[name] = pl.concat(frames, how="vertical_relaxed").to_series()
        return pl.DataFrame(together)

    def batches(
        self,
        columns: Mapping[str, Any],
        watch: WatchReading | None = None,
        lists: Collection[Any] = (),
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of some columns under new names; `watch` is called after each batch.

        Where `lists` has a column, its lists are written as text. Several columns under one name,
        in a tuple, are joined.
        """
        self.lengths, self.n_headers = [0] * max(len(self.sources), 1), 0
        began = time.perf_counter()
        expected = self._expected_rows() if watch is not None and self.sources else None
        wanted = list(dict.fromkeys(name for of in columns.values() for name in _several(of)))
        ids = [each for to, of in columns.items() if to in IDS for each in _several(of)]
        is_text = self.is_text
        for number, batch in self._rows(wanted, ids, lists):
            if is_text:
                batch = batch.with_columns(
                    as_text(each) for each in batch.iter_columns() if each.dtype != pl.String
                )
                batch, n_headers = _without_headers(batch, is_first=not self.lengths[number])
                self.n_headers += n_headers
            self.lengths[number] += len(batch)
            yield pl.DataFrame({to: _column(batch, of) for to, of in columns.items()})
            if watch is not None:
                watch(Progress(sum(self.lengths), expected, time.perf_counter() - began))
        if not sum(self.lengths):
            raise InputError(f"{self.name} has a header but no rows; expected at least one")

    def _rows(
        self, columns: Sequence[Any], ids: Sequence[Any], lists: Collection[Any]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the number of a source, and some of its rows."""
        # Numbers in JSON are fractions if one of them is: as ids they are read as they are written.
        if self.frame is not None:
            import narwhals as nw

            frame = self.frame
            if isinstance(frame, nw.LazyFrame):
                try:
                    frame = frame.select(*columns).collect()
                except Exception as error:
                    # anything may be wrong with what the user's own lazy frame is to do
                    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                    problem = f"the lazy data frame cannot be collected: {reason}"
                    raise InputError(problem) from error
            series = [(str(name), frame.get_column(name), name in lists) for name in columns]
            yield (
                0,
                pl.DataFrame(
                    {
                        name: _cells(each.to_list())
                        if is_list and each.dtype in (nw.List, nw.Array, nw.Object)
                        else polars_column(each)
                        for name, each, is_list in series
                    }
                ),
            )
            return
        for number, (source, scan) in enumerate(zip(self.sources, self.scans, strict=True)):
            types = scan.collect_schema() if source.layout else {}
            fractions = [name for name in ids if types.get(name) == pl.Float64]
            scan = _scan(source, dict.fromkeys(fractions, pl.String)) if fractions else scan
            for batch in batches(source, scan, columns):
                numbers = {name: as_integers(batch[name]) for name in fractions}
                batch = batch.with_columns(each for each in numbers.values() if each is not None)
                nested = [
                    each.name
                    for each in batch.iter_columns()
                    if each.name in lists and each.dtype.base_type() in (pl.List, pl.Array)
                ]
                cells = [_cells(batch.get_column(name).to_list()).alias(name) for name in nested]
                yield number, batch.with_columns(cells)

    def _expected_rows(self) -> int | None:
        """Estimate the number of rows: binary files declare it, text files by their size and first
        lines.
        """
        total = 0
        for source, scan in zip(self.sources, self.scans, strict=True):
            if source.format in ("parquet", "arrow"):
                with reading(source):
                    total += int(scan.select(pl.len()).collect().item())
            elif source.compression or isinstance(source.data, bytes) or b"\n" not in source.start:
                return None
            else:
                total += source.data.stat().st_size * source.start.count(b"\n") // len(source.start)
        return total


def open_table(votes: Any) -> Table:
    """Open files, a stream, a data frame or another object that holds a table."""
    if is_files(votes):
        return open_sources(sources_of(votes))
    import narwhals as nw

    try:
        try:
            frame = nw.from_native(votes)
        except TypeError:
            frame = nw.from_native(as_frame(votes))
        if frame.implementation.is_pandas_like():
            frame = with_index(frame)
        columns = list(frame.collect_schema().names())
    except nw.exceptions.DuplicateError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the data frame has columns of the same name: {reason}") from None
    if len(set(columns)) < len(columns):
        _refuse_repeated_names("the data frame", columns)
    return Table(columns, frame)


def open_sources(sources: Sequence[Source]) -> Table:
    """Open files with plain tables."""
    sources, scans, columns = list(map(sniff, sources)), list[pl.LazyFrame](), list[list[str]]()
    for source in sources:
        if source.problem is not None:
            raise source.problem
        if not source.is_delimited and (source.separator or source.header != 1):
            kind = source.format.upper()
            raise InputError(
                f"{source.name} is {kind}, which has no separator and no header line; leave"
                " them out"
            )
    for source in sources:
        with reading(source):
            scans.append(_scan(source))
            columns.append(scans[-1].collect_schema().names())
    for source, names in zip(sources, columns, strict=True):
        if differing := ", ".join(sorted(set(names) ^ set(columns[0]))):
            problem = f"{source.name} has other columns than {sources[0].name} ({differing})"
            raise InputError(f"{problem}; files read together must have the same columns")
    return Table(columns[0], sources=sources, scans=scans)


def _several(columns: Any) -> tuple[Any, ...]:
    return columns if isinstance(columns, tuple) else (columns,)


def _column(batch: pl.DataFrame, columns: Any) -> pl.Series:
    parts = [batch.get_column(str(name)) for name in _several(columns)]
    if len(parts) == 1:
        return parts[0]
    texts = pl.DataFrame([as_text(part).alias(str(n)) for n, part in enumerate(parts)])
    return texts.select(pl.concat_str(pl.all(), separator=BETWEEN_IDS)).to_series()


def _cells(values: list[Any]) -> pl.Series:
    """Write the lists among the values as text."""
    return series_of([as_cell(each) if isinstance(each, SEVERAL) else each for each in values])


def _without_headers(batch: pl.DataFrame, is_first: bool) -> tuple[pl.DataFrame, int]:
    """Return a batch in which rows that repeat the names of the columns are blank, and how many
    did. The first row of a file may be a second header with other names.
    """
    names = batch.columns
    usual = [names[0], names[0].lower(), names[0].upper(), names[0].title()]
    second = map(bare_name, batch.row(0)) if is_first and len(batch) else ()
    if len(names) > 1 and sum(name in KNOWN for name in second) > 1:
        repeats = pl.Series([True]).extend_constant(False, len(batch) - 1)
        return pl.DataFrame({c.name: c.set(repeats, None) for c in batch.iter_columns()}), 1
    if len(names) < 2 or not batch.get_column(names[0]).is_in(usual).any():
        return batch, 0
    cells = (
        pl.nth(n).str.strip_chars().str.to_lowercase() == name.strip().lower()
        for n, name in enumerate(names)
    )
    repeats = batch.select(pl.all_horizontal(cells)).to_series().fill_null(False)
    blank = {each.name: each.set(repeats, None) for each in batch.iter_columns()}
    return pl.DataFrame(blank), int(repeats.sum())


# One file: its scan, and its rows in batches.


def _scan(source: Source, types: dict[str, Any] | None = None) -> pl.LazyFrame:
    """Scan a file, and add its annotator. `types` overrides the dtypes that Polars infers for
    columns of JSON.
    """
    data = source.data
    if source.is_delimited:
        scan = scan_delimited(source)
    elif source.format == "jsonl":
        scan = _lines_of_rows(source, types)
    elif source.format == "json":
        scan = _list_of_rows(source, types)
    elif source.format == "parquet":
        scan = pl.scan_parquet(data, glob=False, hive_partitioning=False)
    elif source.start.startswith(ARROW_STREAM):
        scan = pl.read_ipc_stream(data).lazy()
    else:
        scan = pl.scan_ipc(data, glob=False, hive_partitioning=False)
    return (
        scan.select(pl.lit(source.annotator).alias("annotator"), pl.all())
        if source.annotator
        else scan
    )


def _lines_of_rows(source: Source, types: dict[str, Any] | None) -> pl.LazyFrame:
    """Scan JSON Lines. Of a text that Polars does not read as it is, read all of it: its NaN becomes
    null, and its byte-order mark goes.
    """
    # Polars takes such a path for a pattern
    is_pattern = isinstance(source.data, Path) and any(mark in str(source.data) for mark in "*?[")
    if not is_pattern and not source.text.startswith(BOM):
        scan = pl.scan_ndjson(source.data, infer_schema_length=None, schema_overrides=types)
        with suppress(pl.exceptions.ComputeError):
            scan.collect_schema()
            return scan
    with source.open_bytes() as file:
        text = _without_nan(file.read().removeprefix(BOM))
    return pl.scan_ndjson(text, infer_schema_length=None, schema_overrides=types)


def _list_of_rows(source: Source, types: dict[str, Any] | None) -> pl.LazyFrame:
    """Read a JSON list of objects, as pandas writes with orient="records", as a whole."""
    with source.open_bytes() as file:
        text = file.read()
    options: dict[str, Any] = {"infer_schema_length": None, "schema_overrides": types}
    with suppress(pl.exceptions.PolarsError):
        return pl.read_json(text, **options).lazy()
    text = _without_nan(text)
    try:
        return pl.read_json(text, **options).lazy()
    except pl.exceptions.PolarsError:
        rows: Any = None
        reason = "it has no rows"
        try:
            rows = json.loads(text.removeprefix(BOM))
        except (ValueError, RecursionError) as error:
            reason = str(error)
        if not rows:
            remedies = [
                Remedy(text="write it again"),
                use(format=Placeholder("TOOL"), when="if a tool wrote it"),
            ]
            raise InputError(
                f"{source.name} cannot be read as JSON ({reason})", remedies=remedies
            ) from None
        for row in rows:
            if not isinstance(row, dict):
                problem = (
                    f"the list holds {row!r:.40}; expected rows, which are objects such as"
                    ' {"task": 1, ...}'
                )
                raise InputError(problem, source.name) from None
            # Polars wants one type per field, and these have none in common
            for name, value in row.items():
                if isinstance(value, dict | list):
                    row[name] = json.dumps(value, ensure_ascii=False)
        return as_frame(rows).lazy()


def _without_nan(text: bytes) -> bytes:
    """Return JSON with null instead of NaN."""
    if NAN not in text:
        return text
    return TEXT_OR_NAN.sub(lambda match: b"null" if match[0] == NAN else match[0], text)


def scan_delimited(source: Source) -> pl.LazyFrame:
    """Scan a text. Columns without names are called by their numbers, from 1."""
    dialect: dict[str, Any] = {"separator": source.delimiter, "infer_schema": False}
    if not source.header:
        scan = pl.scan_csv(source.data, has_header=False, glob=False, **dialect)
        return scan.rename(
            {name: str(n) for n, name in enumerate(scan.collect_schema().names(), 1)}
        )
    # Where the first bytes hold the header, Polars need not look for it in the file.
    skipped = source.header - 1
    text = source.text.removeprefix(BOM) + (b"\n" if source.is_whole else b"")
    match = HEADER.match(text.split(b"\n", skipped)[-1])
    header = match[0] if match is not None and match[0].strip() else None
    start: dict[str, Any] = {
        "has_header": False,
        "n_rows": 1,
        "skip_lines": 0 if header else skipped,
        "glob": False,
    }
    rows = pl.scan_csv(header or source.data, **start, **dialect).collect().rows()
    # as they are in the file: Polars renames duplicates
    names = [name or "" for row in rows for name in row]
    unnamed = names.count("")
    if len(set(names)) < len(names) - max(unnamed - 1, 0):
        if (problem := wrong_header(source)) is not None:
            raise problem
        _refuse_repeated_names(source.name, names)
    schema = None if header is None else pl.scan_csv(header, **dialect).collect_schema()
    # some lines may end with a separator
    with suppress(csv.Error):
        below = csv.reader(text.decode(errors="replace").splitlines(), delimiter=source.delimiter)
        source.is_loose = any(len(row) > len(names) and not any(row[len(names) :]) for row in below)
    loose = {"truncate_ragged_lines": True} if source.is_loose else {}
    dialect |= loose
    scan = pl.scan_csv(source.data, schema=schema, skip_lines=skipped, glob=False, **dialect)
    # commas at the end of every line are no columns
    if unnamed > 1 and all(names[:-unnamed]):
        scan = scan.select(scan.collect_schema().names()[:-unnamed])
    return scan


def _refuse_repeated_names(table: str, columns: Sequence[Any]) -> NoReturn:
    repeated = ", ".join(f'"{name}"' for name, times in Counter(columns).items() if times > 1)
    raise InputError(
        f"{table} has more than one column named {repeated}; give every column its own name"
    )


def batches(
    source: Source, scan: pl.LazyFrame, columns: Sequence[Any], may_omit: int = 0
) -> Iterator[pl.DataFrame]:
    """Yield the chosen columns. Polars reads ahead with all of its threads while a batch is
    processed.
    """
    # Rows of a delimited text may omit so many of the last cells.

    with reading(source):
        query, may_be_short = scan.select(columns), False
        if source.is_delimited:
            last = pl.col(scan.collect_schema().names()[-1 - may_omit]).is_null().alias(SHORT)
            query = scan.select(*columns, last)
        # Polars sees rows with too many fields only if it may not skip the columns that are not
        # asked for.
        flags = pl.QueryOptFlags(projection_pushdown=not source.is_delimited)
        large = query.collect_batches(engine="streaming", optimizations=flags)
        for batch in (part for each in large for part in each.iter_slices(ROWS_PER_BATCH)):
            if source.is_delimited:
                may_be_short |= bool(batch.get_column(SHORT).any())
                batch = batch.drop(SHORT)
            yield batch
        # Polars fills short rows with nulls; quoted lines may look short, too
        if may_be_short and not may_omit:
            _, header = next(records(source, source.delimiter))
            line = pl.first()
            is_short = line.str.count_matches(source.delimiter, literal=True) < len(header) - 1
            is_short |= line.str.starts_with('"') & line.str.ends_with('"')
            short = lines_of(source).select((line.str.len_bytes().gt(0) & is_short).any())
            may_be_short = bool(short.collect().item())
        is_loose = may_be_short or source.is_loose
        if is_loose and (problem := ragged_line(source, may_omit)) is not None:
            raise problem
