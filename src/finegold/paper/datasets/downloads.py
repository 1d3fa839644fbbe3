"""Copy or download files. A file is checked before it is moved into place."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from finegold.errors import FinegoldError, InputError
from finegold.system.files import prepared, replacing

__all__ = ["Bar", "copy", "download", "sha256"]

TIMEOUT = 30  # seconds without a response

Bar = Callable[[str], Any]  # name of a file -> a progress bar for Pooch
Check = Callable[[Path], None]  # raises if the file is not the expected one


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy(source: Path, target: Path, check: Check) -> None:
    with prepared(target.parent), replacing(target) as temporary:
        shutil.copyfile(source, temporary)
        check(temporary)


def download(address: str, target: Path, check: Check, bar: Bar | None = None) -> None:
    """Download with Pooch, which supports proxies, certificates and time limits."""
    get = _downloader(bar(target.name) if bar else False)
    with prepared(target.parent), replacing(target) as temporary:
        _get(get, address, temporary)
        check(temporary)


def _downloader(bar: Any) -> Any:
    try:
        from pooch import HTTPDownloader
    except ImportError:
        raise InputError(
            "downloads need Pooch: pip install 'finegold[data]'; or copy files from disk (--from DIR)"
        ) from None
    return HTTPDownloader(progressbar=bar, chunk_size=2**16, timeout=TIMEOUT)


def _get(downloader: Any, address: str, path: Path) -> None:
    from requests import RequestException  # a dependency of Pooch

    try:
        downloader(address, str(path), None)
    except RequestException as error:
        answer = getattr(error.response, "status_code", None)
        reason = f"the server answers {answer}" if answer else f"no connection ({type(error).__name__})"
        raise FinegoldError(
            f"{address} cannot be downloaded: {reason}; check the network and try again, "
            "or obtain the file in another way and pass its folder with --from DIR"
        ) from error
