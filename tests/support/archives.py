"""Saved models, taken apart and put together."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        arrays = {
            name: np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if ".npy" in name
        }
        return json.loads(archive.read("manifest.json")), arrays


def pack(manifest: Any, arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Values that are bytes are written as they are."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json"), json.dumps(manifest), compression)
        for name, values in arrays.items():
            content = values if isinstance(values, bytes) else as_npy(values)
            archive.writestr(zipfile.ZipInfo(name), content, compression)  # without the time of now
    return memory.getvalue()


def as_npy(values: Any) -> bytes:
    memory = io.BytesIO()
    np.save(memory, values, allow_pickle=True)
    return memory.getvalue()
