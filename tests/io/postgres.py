"""A PostgreSQL server of the tests' own, in a temporary folder; it ends with them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

try:
    import pwd
except ImportError:  # Windows, where these tests are skipped
    pwd = None

PASSWORD = "0pen-sesame"
USERS = ("postgres", "nobody")  # the server refuses to run as root


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int

    def through_socket(self, database: str = "postgres", user: str = "finegold") -> str:
        """No password is asked for."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def through_network(self, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://finegold:{password}@127.0.0.1:{self.port}/{database}"


@contextmanager
def running_server() -> Iterator[Server]:
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="finegold-pg-"))
    data, password = folder / "data", folder / "password"
    password.write_text(PASSWORD)
    if user := _user():
        for path in (folder, password):
            shutil.chown(path, user)
    server = Server(folder, _free_port())
    options = f"-c listen_addresses=127.0.0.1 -c port={server.port} -c unix_socket_directories={folder} -c fsync=off"
    try:
        _run(
            programs / "initdb", "--pgdata", data, "--username", "finegold", "--pwfile", password, "--encoding", "UTF8",
            "--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-locale", "--no-sync",
        )  # fmt: skip
        _run(
            programs / "pg_ctl",
            "--pgdata",
            data,
            "--log",
            folder / "log",
            "--wait",
            "--options",
            options,
            "start",
        )
        yield server
    finally:
        if (data / "postmaster.pid").exists():
            _run(programs / "pg_ctl", "--pgdata", data, "--mode", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def find_programs(debian: Path = Path("/usr/lib/postgresql")) -> Path:
    """Where initdb and pg_ctl are. Without them the tests are skipped, but fail in CI."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(debian.glob("*/bin"))
    if places and (places[-1] / "pg_ctl").exists():
        return places[-1]
    say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
    say("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
    raise AssertionError


def _user() -> str | None:
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(user for user in USERS if user in known)


def _run(*command: object) -> None:
    user = _user()
    groups = (
        {}
        if user is None
        else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    )
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/", **groups
    )
    assert done.returncode == 0, f"{words[0]}: {done.stderr}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
