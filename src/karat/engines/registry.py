"""The list of engines. Importing this module does not import the engines."""

from __future__ import annotations

__all__ = ["ENGINES"]

ENGINES = {
    "local": "karat.engines.local:LocalEngine",
    "gpu": "karat.engines.gpu:GPUEngine",
    "dask": "karat.engines.dask:DaskEngine",
}
