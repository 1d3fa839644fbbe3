"""A table of any source: its column names are known at once, and its rows are read when the columns
are chosen.

`open_table` takes files, streams, data frames and other objects. `Table.batches` yields the rows of
some columns, which `finegold.votes.encoding` makes codes of, and `Table.read` returns all of them.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io.columns import KNOWN, bare_name
from finegold.io.diagnosis import problems_of_text, ragged_line, wrong_header
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
# Libraries besides Polars in which a table can be made of values; for others, such as DuckDB, tables
# are of Polars.
MAKES_FRAMES = ("pandas", "modin", "cudf", "pyarrow")


# is called with the number of rows that were read so far
WatchReading = Callable[[int], None]


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
        library = None if self.frame is None else str(self.frame.implementation.value)
        return library if library in MAKES_FRAMES else None

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
                place = f"{source.name}, row {row + 1:,}"
                with suppress(*UNREADABLE):
                    lines = records(source, source.delimiter) if source.is_delimited else iter(())
                    for line, _ in islice(lines, row + bool(source.header), None):
                        return f"{place} (line {line:,})"
                return place
            row -= length
        return f"{self.title}, row {row + 1:,}"

    def head(self, rows: int) -> pl.DataFrame:
        """Return the first rows."""
        if self.frame is not None:
            return to_polars(self.frame.head(rows))
        with reading(self.sources[0]):
            return self.scans[0].head(rows).collect()

    def read(self, columns: Sequence[Any]) -> pl.DataFrame:
        """Return all rows of these columns; those that files have in several types become text."""
        columns = list(dict.fromkeys(columns))
        parts = list(self.batches({str(name): name for name in columns}))
        for name in parts[0].columns:
            types = {part.schema[name] for part in parts} - {pl.Null()}
            if len(types) > 1 and not all(each.is_integer() or each.is_nested() for each in types):
                parts = [part.with_columns(as_text(part[name])) for part in parts]
        return pl.concat(parts, how="vertical_relaxed", rechunk=True)

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
        wanted = list(dict.fromkeys(name for of in columns.values() for name in _several(of)))
        is_text = self.is_text
        ids = [name for to, of in columns.items() if to in IDS for name in _several(of)]
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
                watch(sum(self.lengths))
        if not sum(self.lengths):
            raise InputError(f"{self.name} has a header but no rows; expected at least one")

    def _rows(
        self, columns: Sequence[Any], ids: Sequence[Any], lists: Collection[Any]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the number of a source, and some of its rows."""
        if self.frame is None:
            for number, (source, scan) in enumerate(zip(self.sources, self.scans, strict=True)):
                # Numbers in JSON are fractions if one of them is: ids are read as they are written.
                types = scan.collect_schema() if source.layout else {}
                fractions = [name for name in ids if types.get(name) == pl.Float64]
                scan = _scan(source, dict.fromkeys(fractions, pl.String)) if fractions else scan
                for batch in batches(source, scan, columns):
                    numbers = [as_integers(batch[name]) for name in fractions]
                    nested = [c for c in batch.iter_columns() if c.name in lists and _is_nested(c)]
                    fixed = [each for each in numbers if each is not None]
                    yield number, batch.with_columns(*fixed, *map(_cells, nested))
            return
        try:
            frame = self.frame
            frame = frame.select(*columns).collect() if hasattr(frame, "collect") else frame
        except Exception as error:
            # anything may be wrong with what the user's own lazy frame is to do
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            problem = f"the lazy data frame cannot be collected: {reason}"
            raise InputError(problem) from error
        series = {str(name): frame.get_column(name) for name in columns}
        own = {name: column for name, column in series.items() if column.name in lists}
        read = {name: polars_column(column) for name, column in series.items()}
        read |= {name: _cells(column) for name, column in own.items() if _is_nested(column)}
        yield 0, pl.DataFrame(read)


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
    sources, scans = list(map(sniff, sources)), list[pl.LazyFrame]()
    for source in sources:
        if source.problem is not None:
            raise source.problem
        if not source.is_delimited and (source.separator or source.header != 1):
            raise InputError(
                f"{source.name} is {source.format.upper()}, which has no separator and no header"
                " line; leave them out"
            )
    for source in sources:
        with reading(source):
            scans.append(_scan(source))
            columns = scans[-1].collect_schema().names()
        first = scans[0].collect_schema().names()
        if differing := ", ".join(sorted(set(columns) ^ set(first))):
            problem = f"{source.name} has other columns than {sources[0].name} ({differing})"
            raise InputError(f"{problem}; files read together must have the same columns")
    return Table(scans[0].collect_schema().names(), sources=sources, scans=scans)


def _several(columns: Any) -> tuple[Any, ...]:
    return columns if isinstance(columns, tuple) else (columns,)


def _column(batch: pl.DataFrame, columns: Any) -> pl.Series:
    parts = [batch.get_column(str(name)) for name in _several(columns)]
    if len(parts) == 1:
        return parts[0]
    texts = pl.DataFrame([as_text(part).alias(str(n)) for n, part in enumerate(parts)])
    return texts.select(pl.concat_str(pl.all(), separator=BETWEEN_IDS)).to_series()


def _is_nested(column: Any) -> bool:
    return column.dtype.is_nested() or str(column.dtype) == "Object"


def _cells(column: Any) -> pl.Series:
    """Write the lists among the values of a column, of Polars or Narwhals, as text."""
    cells = [as_cell(each) if isinstance(each, SEVERAL) else each for each in column.to_list()]
    return series_of(cells).alias(str(column.name))


def _without_headers(batch: pl.DataFrame, is_first: bool) -> tuple[pl.DataFrame, int]:
    """Make rows blank that repeat the header, or are a second one; return how many there are."""
    names = [name.strip().lower() for name in batch.columns]
    usual = [batch.columns[0], names[0], names[0].upper(), names[0].title()]
    if len(names) < 2 or not len(batch):
        return batch, 0
    is_second = is_first and sum(bare_name(cell) in KNOWN for cell in batch.row(0)) > 1
    if not (is_second or batch.to_series().is_in(usual).any()):
        return batch, 0
    cells = (pl.nth(n).str.strip_chars().str.to_lowercase() == name for n, name in enumerate(names))
    repeats = batch.select(pl.all_horizontal(cells)).to_series().fill_null(False)
    if is_second:
        repeats[0] = True
    blank = {each.name: each.set(repeats, None) for each in batch.iter_columns()}
    return pl.DataFrame(blank), int(repeats.sum())


# One file: its scan, and its rows in batches.


def _scan(source: Source, types: dict[str, Any] | None = None) -> pl.LazyFrame:
    """Scan a file, and add its annotator. In JSON, columns may have other types than are inferred."""
    if source.is_delimited:
        scan = scan_delimited(source)
    elif source.format in ("json", "jsonl"):
        scan = _scan_json(source, types)
    elif source.format == "parquet":
        scan = pl.scan_parquet(source.data, glob=False, hive_partitioning=False)
    elif source.start.startswith(ARROW_STREAM):
        scan = pl.read_ipc_stream(source.data).lazy()
    else:
        scan = pl.scan_ipc(source.data, glob=False, hive_partitioning=False)
    if not source.annotator:
        return scan
    return scan.select(pl.lit(source.annotator).alias("annotator"), pl.all())


def _scan_json(source: Source, types: dict[str, Any] | None) -> pl.LazyFrame:
    """Scan JSON Lines, or a list of objects. Python parses what Polars does not take (NaN)."""
    is_lines = source.format == "jsonl"
    # Polars takes such a path for a pattern
    is_pattern = isinstance(source.data, Path) and any(mark in str(source.data) for mark in "*?[")
    plain = is_lines and not is_pattern and not source.text.startswith(BOM)
    text = source.data if plain else source.all_bytes()
    options: dict[str, Any] = {"infer_schema_length": None, "schema_overrides": types}
    with suppress(pl.exceptions.PolarsError):
        if not is_lines:
            return pl.read_json(text, **options).lazy()
        scan = pl.scan_ndjson(text, **options)
        scan.collect_schema()
        return scan
    rows: Any = None
    reason = "it has no rows"
    text = source.all_bytes()
    try:
        lines = [line for line in text.split(b"\n") if line.strip()]
        rows = [json.loads(line) for line in lines] if is_lines else json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error)
    if is_lines and not all(isinstance(row, dict) for row in rows or [None]):
        # which says what is wrong with which line
        return pl.scan_ndjson(text, infer_schema_length=None)
    if not rows:
        remedies = [Remedy(text="write it again")]
        remedies.append(use(format=Placeholder("TOOL"), when="if a tool wrote it"))
        raise InputError(f"{source.name} cannot be read as JSON ({reason})", remedies=remedies)
    for row in rows:
        if not isinstance(row, dict):
            expected = 'expected rows, which are objects such as {"task": 1, ...}'
            raise InputError(f"the list holds {row!r:.40}; {expected}", source.name)
        # Polars wants one type per field, and these have none in common
        for name, value in row.items():
            if isinstance(value, dict | list):
                row[name] = json.dumps(value, ensure_ascii=False)
    return as_frame(rows).lazy()


def scan_delimited(source: Source) -> pl.LazyFrame:
    """Scan a text. Columns without names are called by their numbers, from 1."""
    dialect: dict[str, Any] = {"separator": source.delimiter, "infer_schema": False}
    if not source.header:
        scan = pl.scan_csv(source.data, has_header=False, glob=False, **dialect)
        numbered = enumerate(scan.collect_schema().names(), start=1)
        return scan.rename({name: str(number) for number, name in numbered})
    # as they are in the file: Polars renames duplicates
    names = source.columns
    if not names and (problem := next(problems_of_text(source), None)) is not None:
        raise problem
    unnamed = names.count("")
    if len(set(names)) < len(names) - max(unnamed - 1, 0):
        if (problem := wrong_header(source)) is not None:
            raise problem
        _refuse_repeated_names(source.name, names)
    dialect["truncate_ragged_lines"] = _is_loose(source, source.text, len(names))
    scan = pl.scan_csv(source.data, skip_lines=source.header - 1, glob=False, **dialect)
    # commas at the end of every line are no columns
    if unnamed > 1 and all(names[:-unnamed]):
        scan = scan.select(scan.collect_schema().names()[:-unnamed])
    return scan


def _is_loose(source: Source, text: bytes, width: int) -> bool:
    """Return whether separators stand at the end of some lines."""
    with suppress(csv.Error):
        rows = csv.reader(text.decode(errors="replace").splitlines(), delimiter=source.delimiter)
        return any(len(row) > width and not any(row[width:]) for row in rows)
    return False


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
        query, may_be_ragged = scan.select(columns), False
        if source.is_delimited:
            names = scan.collect_schema().names()
            query = scan.select(*columns, pl.col(names[-1 - may_omit]).is_null().alias(SHORT))
            may_be_ragged = _is_loose(source, source.text, len(names))
        # Polars sees rows with too many fields only if it may not skip the columns that are not
        # asked for.
        flags = pl.QueryOptFlags(projection_pushdown=not source.is_delimited)
        large = query.collect_batches(engine="streaming", optimizations=flags)
        has_blanks = False
        for batch in (part for each in large for part in each.iter_slices(ROWS_PER_BATCH)):
            has_blanks |= source.is_delimited and bool(batch.get_column(SHORT).any())
            yield batch.drop(SHORT, strict=False)
        # Polars fills short rows with nulls; quoted lines may look short, too
        if has_blanks and not may_omit:
            _, header = next(records(source, source.delimiter))
            line = pl.first()
            is_short = line.str.count_matches(source.delimiter, literal=True) < len(header) - 1
            is_short |= line.str.starts_with('"') & line.str.ends_with('"')
            short = lines_of(source).select((line.str.len_bytes().gt(0) & is_short).any())
            has_blanks = bool(short.collect().item())
        may_be_ragged |= has_blanks
        if may_be_ragged and (problem := ragged_line(source, may_omit)) is not None:
            raise problem
