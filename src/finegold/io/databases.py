"""Addresses of databases: PostgreSQL, SQLite and DuckDB. Importing this module loads no driver.

No message shows a password: `Database.name` is what is shown of an address, and messages of drivers
are scrubbed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from finegold.errors import InputError

KINDS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
FOREIGN = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "mongodb")
SHAPES = "postgresql://USER@HOST/DATABASE, sqlite:///FILE and duckdb:///FILE"
# postgresql+psycopg:// is SQLAlchemy's way to write it
ADDRESS = re.compile(r"(\w+)(?:\+\w+)?://(.*)", re.DOTALL)
NAME = re.compile(r'"(?:[^"]|"")+"|[^."]+')
# to wait for a server, or for another writer
SECONDS = 10


@dataclass(frozen=True)
class Database:
    kind: str
    # for people: without user, password and options
    name: str
    # for the driver: an address, or the path of a file
    target: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def is_file(self) -> bool:
        return self.kind != "postgresql"


def is_database(votes: object) -> bool:
    """Return whether this is an address such as postgresql://..."""
    if isinstance(votes, list | tuple) and len(votes) == 1:
        votes = votes[0]
    address = ADDRESS.match(votes) if isinstance(votes, str) else None
    return address is not None and address[1].lower() in [*KINDS, *FOREIGN]


def parse(address: Any) -> Database:
    parts = ADDRESS.match(address) if isinstance(address, str) else None
    kind = KINDS.get(parts[1].lower(), "") if parts else ""
    if not parts or not kind:
        scheme = parts[1] + "://" if parts else repr(address)
        remedy = "From any other, write the votes to a CSV or Parquet file"
        raise InputError(
            f"{scheme} is not a database that Finegold knows; it knows {SHAPES}. {remedy}"
        )
    rest = parts[2]
    if kind != "postgresql":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path:
            raise InputError(
                f"{kind}://{rest} names no file; write {kind}:///votes.db, or {kind}:////home/me/votes.db"
            )
        return Database(kind, f"{kind}:///{path}", str(Path(path).expanduser()), ())
    shown = re.split("[?&#]", rest.rpartition("@")[2])[0]
    target = f"postgresql://{rest}"
    if "connect_timeout=" not in rest and "PGCONNECT_TIMEOUT" not in os.environ:
        # libpq would wait for a silent server for ever.
        target += f"{'&' if '?' in rest else '?'}connect_timeout={SECONDS}"
    # Whatever could be a password or a part of one, quoted and unquoted, longest first.
    user = rest.rpartition("@")[0]
    password = user.partition(":")[2]
    secrets = {
        address,
        rest,
        user,
        password,
        *re.split("[/:@?#]", password),
        *re.findall(r"password=([^&]*)", rest),
    }
    texts = {text for secret in secrets for text in (secret, unquote(secret)) if text}
    return Database(
        kind, f"postgresql://{shown}", target, tuple(sorted(texts, key=len, reverse=True))
    )


def table_parts(text: str) -> list[str]:
    """Split the name of a table: votes -> [votes], work.votes -> [work, votes]. Quotes may protect
    a point.
    """
    parts = NAME.findall(text)
    if not parts or ".".join(parts) != text or len(parts) > 2:
        raise InputError(f"{text!r} is not the name of a table; expected NAME or SCHEMA.NAME")
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]


def quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
