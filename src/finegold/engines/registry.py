"""The list of engines. Importing this module does not import the engines."""

from __future__ import annotations

ENGINES = {
    "local": "finegold.engines.local:LocalEngine",
    "gpu": "finegold.engines.gpu:GPUEngine",
    "dask": "finegold.engines.dask:DaskEngine",
}
