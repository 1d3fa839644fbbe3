"""Read archives of a manifest (JSON) and arrays (NPY). Nothing in them is trusted before it is checked.

Finegold writes its archives without compression, so an archive that unpacks to far more than its own size was not
written by Finegold. Sizes are checked before memory is allocated.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import FinegoldError, InputError

__all__ = ["opened", "read_arrays", "read_manifest"]

MAX_UNPACKED_BYTES = 32 * 2**20  # the limit, unless the file itself is larger
LIMIT_VARIABLE = "FINEGOLD_MAX_UNPACKED"  # the environment variable that overrides the limit
CHUNK_BYTES = 2**20  # unpacked at a time
ALLOWED_KINDS = "biufmM"  # kinds of NumPy dtypes: booleans, numbers, dates


@contextmanager
def opened(path: str | Path, otherwise: str) -> Iterator[zipfile.ZipFile]:
    """Open the archive. Any other error while it is read becomes an `InputError` with the message `otherwise`."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            yield archive
    except FinegoldError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise InputError(f"there is no permission to read {path}; change its permissions") from None
    except MemoryError as error:
        raise InputError(f"there is not enough memory to read {path}") from error
    except Exception as error:  # a damaged archive can raise any exception of the libraries
        raise InputError(otherwise) from error


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    member = archive.getinfo("manifest.json")
    with archive.open(member) as file:
        manifest = json.loads(file.read(member.file_size))  # read() would unpack more than the size that was checked
    if not isinstance(manifest, dict):
        raise TypeError("the manifest is not a JSON object")
    return manifest


def read_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive by name. Arrays of Python objects raise an error and are not unpickled."""
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    return {member.filename.removesuffix(".npy"): _read(archive, member) for member in members}


def _check_size(archive: zipfile.ZipFile, path: str | Path) -> None:
    unpacked = sum(member.file_size for member in archive.infolist())
    limit = _limit()
    if unpacked > max(limit, Path(path).stat().st_size):
        raise InputError(
            f"{path} unpacks to {unpacked:,} bytes, more than the {limit:,} that are allowed; if you trust the file, "
            f"set the environment variable {LIMIT_VARIABLE} to a larger number of bytes"
        )


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE, str(MAX_UNPACKED_BYTES))
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise InputError(f"{LIMIT_VARIABLE} must be a number of bytes, not {text!r}") from None


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = header(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in ALLOWED_KINDS or fortran_order or file.tell() + size != member.file_size:
            raise ValueError(f"{member.filename} is not a plain array, or its size does not match its header")
        array = np.empty(shape, dtype)
        if size and _fill(file, array.reshape(-1).view(np.uint8).data) != size:
            raise EOFError(f"{member.filename} ends too early")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _fill(file: Any, memory: memoryview) -> int:
    """Fill the memory from the file, and return the number of bytes that were read."""
    done = 0
    while done < len(memory) and (more := file.readinto(memory[done : done + CHUNK_BYTES])):
        done += more
    return done
