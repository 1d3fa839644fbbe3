"""A table of any source: its column names are known at once, and its rows are read when the columns
are chosen.

`open_table` takes files, streams, data frames and other objects. `load` reads all rows of some
columns, `encode` reads them in batches and keeps codes only, and both return the table with these
rows.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
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
from finegold.votes.encoding import (
    TEXT,
    Coded,
    Encoder,
    Names,
    encode_column,
    encode_series,
    text_of,
)
from finegold.votes.frames import names_of
from finegold.votes.hygiene import Finding
from finegold.votes.labels import as_cell

if TYPE_CHECKING:
    import narwhals as nw

# in a batch
MOST_ROWS = 2**18
# of the last column, where rows with too few fields show
SHORT = "__is_null__"
# that hold the labels of one vote
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


@dataclass(frozen=True)
class Table:
    """A table of files, of a data frame or of an export. Rows are there after `load` or `encode`
    only.
    """

    columns: list[Any] = field(default_factory=list)
    frame: nw.LazyFrame[Any] | nw.DataFrame[Any] | None = None
    sources: Sequence[Source] = ()
    scans: Sequence[pl.LazyFrame] = ()
    # every value is read as text, so that numbers are still to be recognised
    is_text: bool = False
    # of a table without files
    title: str = "the data frame"
    # the votes of an export; empty for the rows of files or of a data frame
    origin: str = ""
    # of the columns that were loaded
    rows: Mapping[Any, Names] = field(default_factory=dict)
    # by column, and whether it holds ids
    coded: Mapping[tuple[Any, bool], Coded] = field(default_factory=dict)
    # the number of rows of each source
    lengths: Sequence[int] = ()
    # columns that were made text, because files have them in several types
    mixed: frozenset[Any] = frozenset()
    findings: Sequence[Finding] = ()

    @property
    def name(self) -> str:
        return ", ".join(source.name for source in self.sources[:3]) or self.title

    def where(self, row: int) -> str:
        """Describe a row, counted from zero: "votes.csv, row 3 (line 4)"."""
        if self.origin:
            return f"{self.origin}, vote {row + 1:,}"
        for source, length in zip(self.sources, self.lengths, strict=True):
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

    def to_polars(self) -> pl.DataFrame:
        return pl.DataFrame({str(name): column.values for name, column in self.rows.items()})

    def ids(self, column: Any) -> Coded:
        """Encode a column of names; blank ones are missing."""
        if self.coded:
            return self.coded[column, True]
        return encode_column(self.rows[column], self.is_text or column in self.mixed)

    def values(self, column: Any) -> Coded:
        """Encode a column of labels or truths."""
        if self.coded:
            return self.coded[column, False]
        return self.ids(column) if column in self.mixed else encode_series(self.rows[column])

    def with_annotators(self, names: Sequence[str]) -> Table:
        """Return the table with a column of annotators: one of these names for each file."""
        return open_sources(
            [replace(file, annotator=name) for file, name in zip(self.sources, names, strict=True)]
        )

    def head(self, rows: int) -> list[list[Any]]:
        """Return the values of each column in the first rows."""
        if self.frame is None:
            with reading(self.sources[0]):
                head: Any = self.scans[0].head(rows).collect()
        else:
            import narwhals as nw

            head = self.frame.head(rows)
            head = head.collect() if isinstance(head, nw.LazyFrame) else head
        return [head.get_column(name).to_list() for name in self.columns]

    def load(self, columns: Sequence[Any], ids: Sequence[Any] = ()) -> Table:
        """Read all rows of these columns, some of which are ids."""
        if self.frame is not None:
            import narwhals as nw

            frame = self.frame
            if isinstance(frame, nw.LazyFrame):
                try:
                    frame = frame.select(*dict.fromkeys(columns)).collect()
                except Exception as error:
                    # anything may be wrong with what the user's own lazy frame is to do
                    reason = (
                        str(error).strip().splitlines()[0]
                        if str(error).strip()
                        else type(error).__name__
                    )
                    raise InputError(
                        f"the lazy data frame cannot be collected: {reason}"
                    ) from error
            table = replace(self, rows={name: names_of(frame.get_column(name)) for name in columns})
        else:
            schema, mixed = self._schema(columns, ids)
            parts: list[list[pl.DataFrame]] = [[pl.DataFrame(schema=schema)] for _ in self.sources]
            headers = 0
            for number, batch, n_headers in self._batches(schema):
                headers += n_headers
                parts[number].append(batch)
            rows = pl.concat([batch for part in parts for batch in part])
            known = {column.name: Names(column) for column in rows.iter_columns()}
            lengths = [sum(map(len, part)) for part in parts]
            findings = report_headers(headers)
            table = replace(self, rows=known, lengths=lengths, mixed=mixed, findings=findings)
        if not len(table.rows[columns[0]]):
            raise InputError(f"{self.name} has a header but no rows; expected at least one")
        return table

    def encode(
        self, ids: Sequence[Any], values: Sequence[Any], watch: WatchReading | None = None
    ) -> Table:
        """Encode these columns; files are read in batches, and `watch` is called after each."""
        if self.frame is not None:
            return self.load([*ids, *values])
        schema, mixed = self._schema(list(dict.fromkeys([*ids, *values])), ids)
        columns = {
            (name, is_id): Encoder(
                schema[name], is_id=is_id or name in mixed, is_text=self.is_text or name in mixed
            )
            for names, is_id in ((ids, True), (values, False))
            for name in names
        }
        lengths, headers = [0] * len(self.sources), 0
        expected = self._expected_rows() if watch is not None else None
        began = time.perf_counter()
        for number, batch, n_headers in self._batches(schema):
            lengths[number] += batch.height
            headers += n_headers
            for (name, _), column in columns.items():
                column.add(batch.get_column(name))
            if watch is not None:
                watch(Progress(sum(lengths), expected, time.perf_counter() - began))
        if not sum(lengths):
            raise InputError(f"{self.name} has a header but no rows; expected at least one")
        coded = {}
        for key in list(columns):
            column_codes = columns.pop(key).finish()
            coded[key] = Coded(
                column_codes.codes, Names(column_codes.names.values.alias(str(key[0])))
            )
        return replace(self, lengths=lengths, coded=coded, findings=report_headers(headers))

    def _batches(self, schema: pl.Schema) -> Iterator[tuple[int, pl.DataFrame, int]]:
        """Yield the number of a source, some of its rows, and how many of them repeated the header."""
        for number, (source, scan) in enumerate(zip(self.sources, self.scans, strict=True)):
            # numbers that become text are read as they are written
            if source.format in ("json", "jsonl"):
                types = scan.collect_schema()
                exact = {
                    name: kind
                    for name, kind in schema.items()
                    if kind == pl.String and types[name] == pl.Float64
                }
                scan = _scan(source, exact) if exact else scan
            # what becomes text is written as in a text file
            for batch in batches(source, scan, schema.names()):
                columns = [
                    batch.get_column(name) for name, kind in schema.items() if kind == pl.String
                ]
                texts = [as_text(column) for column in columns if column.dtype not in TEXT]
                batch = batch.with_columns(texts).cast(schema)
                yield number, *(without_headers(batch) if self.is_text else (batch, 0))

    def _schema(
        self, columns: Sequence[Any], ids: Sequence[Any]
    ) -> tuple[pl.Schema, frozenset[Any]]:
        """Return the common dtypes of the columns, text if a file is a CSV, and the columns of
        mixed types.
        """
        # Numbers in JSON files are mixed if one has a fraction: as ids they are read as they are
        # written.
        if self.is_text:
            return pl.Schema(dict.fromkeys(columns, pl.String())), frozenset()
        schemas = []
        for source, scan in zip(self.sources, self.scans, strict=True):
            with reading(source):
                schemas.append(scan.select(columns).collect_schema())
        types = {
            name: _common_type([schema[name] for schema in schemas], self.name) for name in columns
        }
        is_json = any(source.format in ("json", "jsonl") for source in self.sources)
        fractions = [
            name for name in columns if is_json and name in ids and types[name] == pl.Float64
        ]
        mixed = frozenset([name for name, kind in types.items() if kind is None] + fractions)
        return (
            pl.Schema(
                {name: pl.String() if name in mixed else kind for name, kind in types.items()}
            ),
            mixed,
        )

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


def open_table(votes: Any, named: Sequence[Any] = ()) -> Table:
    """Open files, a stream, a data frame or another object that holds a table."""
    # `named` are columns that the user names: levels of a pandas index may be among them.
    if is_files(votes):
        return open_sources(sources_of(votes))
    import narwhals as nw

    try:
        try:
            frame = nw.from_native(votes)
        except TypeError:
            frame = nw.from_native(as_frame(votes))
        if frame.implementation.is_pandas_like():
            frame = with_index(frame, named)
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
    is_text = any(source.is_delimited for source in sources)
    return Table(columns[0], sources=sources, scans=scans, is_text=is_text)


def without_headers(batch: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return a batch in which rows that repeat the names of the columns are blank, and how many
    did.
    """
    names = batch.columns
    usual = [names[0], names[0].lower(), names[0].upper(), names[0].title()]
    if len(names) < 2 or not batch.get_column(names[0]).is_in(usual).any():
        return batch, 0
    cells = (
        pl.col(name).str.strip_chars().str.to_lowercase() == name.strip().lower() for name in names
    )
    repeats = batch.select(pl.all_horizontal(cells)).to_series().fill_null(False)
    return batch.with_columns(
        pl.when(~repeats).then(pl.col(name)).alias(name) for name in names
    ), int(repeats.sum())


def report_headers(n: int) -> list[Finding]:
    rows, are = ("row repeats", "is") if n == 1 else ("rows repeat", "are")
    return (
        [Finding("headers", f"{n:,} {rows} the names of the columns and {are} left out")]
        if n
        else []
    )


def lists_as_text(table: Table, column: Any) -> Table:
    """Write the lists of a column, if it holds lists, as text."""
    if table.frame is None:
        text = pl.col(column).map_elements(as_cell, return_dtype=pl.String)
        scans = [
            (
                scan.with_columns(text)
                if scan.collect_schema()[column].base_type() in (pl.List, pl.Array)
                else scan
            )
            for scan in table.scans
        ]
        return replace(table, scans=scans)
    import narwhals as nw

    if table.frame.collect_schema()[column] not in (nw.List, nw.Array, nw.Object):
        return table
    frame = table.frame.collect() if isinstance(table.frame, nw.LazyFrame) else table.frame
    values = frame.get_column(column).to_list()
    if not any(isinstance(value, SEVERAL) for value in values):
        return table
    cells = [as_cell(value) if isinstance(value, SEVERAL) else value for value in values]
    texts = nw.new_series(str(column), cells, backend=frame.implementation)
    return replace(table, frame=frame.with_columns(texts.alias(column)))


def as_text(column: pl.Series) -> pl.Series:
    """Return the values as a text file has them: 7.0 as 7, and bytes as the text that they are."""
    if column.dtype == pl.Binary:
        try:
            return column.cast(pl.String)
        except pl.exceptions.ComputeError:
            raise InputError(
                f"the column {column.name} holds bytes that are not text; expected UTF-8"
            ) from None
    values = (column.fill_nan(None) if column.dtype.is_float() else column).to_list()
    return pl.Series(
        column.name,
        [None if value is None else text_of(value) for value in values],
        dtype=pl.String,
    )


def _common_type(types: Sequence[pl.DataType], name: str) -> pl.DataType | None:
    """Return a dtype that holds the values of all of these unchanged, or None if they must become
    text.
    """
    # some writers do not mark text as text
    types = [pl.String() if kind == pl.Binary() else kind for kind in types]
    types = [kind for kind in types if kind != pl.Null()] or types
    are_alike = (
        len(set(types)) == 1
        or all(kind.is_integer() for kind in types)
        or all(kind.is_float() for kind in types)
        or all(kind in TEXT for kind in types)
    )
    if not are_alike and not any(kind.is_nested() for kind in types):
        return None
    try:
        frames = [pl.DataFrame(schema={"column": kind}) for kind in types]
        return pl.concat(frames, how="vertical_relaxed").schema["column"]
    except pl.exceptions.PolarsError as error:
        detail = str(error).splitlines()[0]
        raise InputError(
            f"{name}: the columns have different types from file to file ({detail})"
        ) from None


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
        for batch in (part for each in large for part in each.iter_slices(MOST_ROWS)):
            if source.is_delimited:
                may_be_short |= bool(batch.get_column(SHORT).any())
                batch = batch.drop(SHORT)
            yield batch
        # Polars fills short rows with nulls; quoted lines may look short, too
        if may_be_short and not may_omit:
            _, header = next(records(source, source.delimiter))
            line = pl.first()
            is_short = line.str.count_matches(source.delimiter, literal=True) < len(header) - 1
            short = lines_of(source).select((line.str.len_bytes().gt(0) & is_short).any())
            may_be_short = bool(short.collect().item())
        if may_be_short and (problem := ragged_line(source, may_omit)) is not None:
            raise problem
