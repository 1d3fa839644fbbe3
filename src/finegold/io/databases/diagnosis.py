"""Errors of drivers as one sentence with a remedy, and without passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from finegold.errors import FinegoldError
from finegold.io.databases import Database

__all__ = ["explained"]

REMEDIES = {  # by what drivers say
    "password authentication failed|no password supplied": "check the user and the password; PGPASSWORD and "
    "~/.pgpass are read too, and keep the password out of the address",
    "refused|timeout expired|could not translate|No such file|not known|unreachable": "check that the server runs "
    "there and the address is right",
    "read-only|readonly|[Pp]ermission denied|unable to open": "ask for the permission, or name another place",
    "lock on file|database is locked": "another program is using the file; try again when it is done",
    "not a database|not a valid DuckDB": "check the file, and whether it is sqlite:/// or duckdb:///",
    "does not exist|no such table|no such column|not found": "check the name, its schema and its capitals",
}
OF_DRIVERS = re.compile(r"^[A-Z_]+: (\[\w+\] )?(Failed to (connect|(prepare|execute|step) query): )?")
POSTGRESQL = re.compile(r"(?:ERROR|FATAL): +([^\n]+)")
HINT = re.compile(r"HINT: +([^\n]+)|^(Did you mean [^\n]+|Candidate bindings[^\n]+)", re.MULTILINE)


@contextmanager
def explained(database: Database, failure: type[FinegoldError], *errors: type[Exception]) -> Iterator[None]:
    """Raise these errors as errors of Finegold, without the original, which may hold the address."""
    try:
        yield
    except errors as error:
        if isinstance(error, FinegoldError):
            raise
        said = _scrubbed(_said(str(error)), database)
        remedy = next((remedy for words, remedy in REMEDIES.items() if re.search(words, said)), "")
        raise failure(f"{database.name}: {said}" + (f"; {remedy}" if remedy else "")) from None


def _said(message: str) -> str:
    """Return the database's own message within that of the driver, and its hint."""
    message = OF_DRIVERS.sub("", message)
    own, hint = POSTGRESQL.search(message), HINT.search(message)
    said = (own[1] if own else message.strip().partition("\n")[0]).rstrip(".!")
    return said + (f" ({(hint[1] or hint[2]).rstrip('.')})" if hint else "")


def _scrubbed(said: str, database: Database) -> str:
    for secret in database.secrets:
        said = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", said)
    return said
