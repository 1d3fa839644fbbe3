"""Archives of a manifest (JSON) and arrays (NPY), read with care: nothing in them is trusted before it is checked.

Karat writes its archives without compression, so an archive that unpacks to far more than its own size was not written
by Karat. Sizes are compared before memory is taken.
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

from karat.errors import InputError, KaratError

__all__ = ["opened", "read_arrays", "read_manifest"]

MOST_UNPACKED = 32 * 2**20  # bytes, where the file itself is smaller
RAISE = "KARAT_MAX_UNPACKED"  # environment variable with another number of bytes
PIECE = 2**20  # bytes that are unpacked at a time
KINDS = "biufmM"  # of NumPy: truth values, numbers, dates


@contextmanager
def opened(path: str | Path, otherwise: str) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever goes wrong while it is read is one `InputError`, which says `otherwise`."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            yield archive
    except KaratError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise InputError(f"{path} may not be read; change its permissions") from None
    except MemoryError as error:
        raise InputError(f"there is not enough memory to read {path}") from error
    except Exception as error:  # a damaged archive fails in any way that its libraries have
        raise InputError(otherwise) from error


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    member = archive.getinfo("manifest.json")
    with archive.open(member) as file:
        manifest = json.loads(file.read(member.file_size))  # read() would unpack more than the size that was checked
    if not isinstance(manifest, dict):
        raise TypeError("the manifest is no object")
    return manifest


def read_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """Every array of an archive; one that holds Python objects is refused, not unpickled."""
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    return {member.filename.removesuffix(".npy"): _read(archive, member) for member in members}


def _check_size(archive: zipfile.ZipFile, path: str | Path) -> None:
    unpacked = sum(member.file_size for member in archive.infolist())
    limit = _limit()
    if unpacked > max(limit, Path(path).stat().st_size):
        raise InputError(
            f"{path} unpacks to {unpacked:,} bytes, more than the {limit:,} that are allowed; if you trust the file, "
            f"raise the limit: {RAISE}=N in the environment"
        )


def _limit() -> int:
    text = os.environ.get(RAISE, str(MOST_UNPACKED))
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise InputError(f"{RAISE} must be a number of bytes, not {text!r}") from None


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = header(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in KINDS or fortran_order or file.tell() + size != member.file_size:
            raise ValueError(f"{member.filename} is no plain array, or has another size than it says")
        array = np.empty(shape, dtype)
        if size and _fill(file, array.reshape(-1).view(np.uint8).data) != size:
            raise EOFError(f"{member.filename} ends too early")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _fill(file: Any, memory: memoryview) -> int:
    """-> how many bytes there were"""
    done = 0
    while done < len(memory) and (more := file.readinto(memory[done : done + PIECE])):
        done += more
    return done
