"""The suffixes of the files that Finegold reads and writes. Readers, writers, the studio and the commands use these."""

from __future__ import annotations

__all__ = ["COMPRESSIONS", "EXPORTS", "READABLE", "TABLES", "TEXT", "WORKBOOKS", "WRITABLE"]

TABLES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
TEXT = frozenset({"csv", "tsv", "jsonl"})  # formats that can be compressed
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
EXPORTS = (".json", ".json.gz", ".zip", ".eval", *WORKBOOKS)  # of files in a folder without plain tables
READABLE = frozenset({*TABLES, *COMPRESSIONS, *WORKBOOKS, ".json", ".zip", ".eval", ".manifest"})
WRITABLE = {suffix: kind for suffix, kind in TABLES.items() if kind in TEXT | {"parquet"}} | {".xlsx": "xlsx"}
