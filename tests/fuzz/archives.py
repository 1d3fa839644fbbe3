"""Mutations of saved models and checkpoints: of their bytes, of their arrays and of their manifests.

`mutate(data, seed)` gives the same mutation for the same seed. Run as a command, this module reads mutated models in a
process with little memory, and uses those that can be read:

    python -m tests.fuzz.archives MODEL VOTES FIRST_SEED LAST_SEED
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 6 * 2**30  # of address space, most of which libraries take and never touch
ODD_NUMBERS = [
    -1,
    0,
    1,
    2,
    255,
    256,
    2**31 - 1,
    -(2**31),
    2**62,
    np.nan,
    np.inf,
    -np.inf,
    1e300,
    1e-300,
    0.5,
]
ODD_VALUES = [
    None,
    True,
    -1,
    0,
    2**70,
    1.5,
    float("nan"),
    "",
    "x",
    "\0",
    [],
    [[]],
    {},
    {"x": 1},
    [None],
    ["a", 1, 0.5],
]
DTYPES = [
    "i1",
    "u1",
    "i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "?",
    "c16",
    "S3",
    "U3",
    "M8[ns]",
    ">i4",
    ">f8",
]


def mutate(data: bytes, seed: int) -> tuple[str, bytes]:
    """What was done, and the mutated archive."""
    rng = random.Random(seed)
    change = rng.choice(
        [_change_bytes, _change_array, _change_array, _change_array, _change_manifest]
    )
    return change(data, rng)


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


def _change_bytes(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    start, length = rng.randrange(len(data)), rng.choice([1, 4, 100])
    rest = data[start + length :]
    kind = rng.choice(["cut", "cut", "flip", "remove", "insert", "zero", "double"])
    changed = {
        "cut": data[:start],
        "flip": data[:start]
        + bytes(byte ^ rng.randrange(1, 256) for byte in data[start : start + length])
        + rest,
        "remove": data[:start] + rest,
        "insert": data[:start] + rng.randbytes(length) + data[start:],
        "zero": data[:start] + bytes(length) + rest,
        "double": data + data,
    }[kind]
    return f"{kind} {length} bytes at {start}", changed


def _change_array(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    manifest, arrays = unpack(data)
    name = rng.choice(sorted(arrays))
    kind = rng.choice(
        ["value", "value", "value", "dtype", "resize", "shape", "drop", "objects", "header", "swap"]
    )
    if kind == "drop":
        del arrays[name]
    elif kind == "objects":
        arrays[name] = np.array([{}, None], dtype=object)
    elif kind == "header":
        arrays[name] = _with_other_header(arrays[name], rng)
    elif kind == "swap":
        arrays[name] = arrays[rng.choice(sorted(arrays))]
    else:
        arrays[name] = _changed(arrays[name], kind, rng)
    return f"{kind} of {name}", pack(manifest, arrays)


def _changed(values: Any, kind: str, rng: random.Random) -> Any:
    with np.errstate(all="ignore"):
        if kind == "dtype":
            return values.astype(rng.choice(DTYPES))
        if kind == "resize":
            return np.resize(
                values, (max(len(values) + rng.choice([-2, -1, 1, 1000]), 0), *values.shape[1:])
            )
        if kind == "shape":
            return rng.choice(
                [values.reshape(-1), values[..., None], values[:0], values.T.copy(), values[None]]
            )
        changed = values.copy().reshape(-1)
        places = (
            [rng.randrange(changed.size) for _ in range(rng.choice([1, 1, changed.size]))]
            if changed.size
            else []
        )
        changed[places] = np.asarray(rng.choice(ODD_NUMBERS)).astype(changed.dtype)
        return changed.reshape(values.shape)


def _with_other_header(values: Any, rng: random.Random) -> bytes:
    shape = rng.choice(
        ["(1000000000000,)", "(-1,)", "(2, 3", "()", "(4294967296, 4294967296)", "'x'"]
    )
    text = f"{{'descr': '{rng.choice(DTYPES)}', 'fortran_order': {rng.choice([True, False])}, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + values.tobytes()


def _change_manifest(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    manifest, arrays = unpack(data)
    place, path = manifest, []
    while isinstance(place, dict | list) and place:
        key = rng.choice(sorted(place)) if isinstance(place, dict) else rng.randrange(len(place))
        path.append(key)
        if rng.random() < 0.4 or not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    odd = rng.choice(ODD_VALUES)
    if rng.random() < 0.2:
        del place[path[-1]]
        return f"manifest without {path}", pack(manifest, arrays)
    place[path[-1]] = odd
    return f"manifest {path} = {odd!r}", pack(manifest, arrays)


def use_model(path: Path, votes: Any) -> str:
    """Load and use a model. -> what was refused; any exception but InputError is a finding"""
    import finegold

    try:
        result = finegold.load(path)
    except finegold.InputError as error:
        return f"load: {error}"
    refused = []
    for name, use in USES.items():
        try:
            use(result, votes, path)
        except finegold.InputError as error:
            refused.append(f"{name}: {error}")
    return "; ".join(refused)


def _prior(result: Any, votes: Any, path: Path) -> None:
    import finegold

    finegold.aggregate(votes, "ds", prior=path)


USES = {
    "labels": lambda result, votes, path: (
        result.labels(probabilities=True),
        result.annotators(),
        str(result),
    ),
    "update": lambda result, votes, path: result.update(votes).save(path.with_suffix(".new")),
    "prior": _prior,
    "next": lambda result, votes, path: result.next(5).tasks(),
    "trust": lambda result, votes, path: (result.trust(), result.flips(), result.spammers()),
}


def main(model: str, votes: str, first: str, last: str) -> None:
    """One line a seed, before and after; a process that dies leaves the seed in the last line."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data = Path(model).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.finegold"
        for seed in range(int(first), int(last)):
            what, mutated = mutate(data, seed)
            path.write_bytes(mutated)
            print(f"{seed}: {what}", flush=True)
            print(f"    {use_model(path, votes) or 'used'}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
