"""The list of engines. Loading it loads none of them."""

from __future__ import annotations

__all__ = ["ENGINES"]

ENGINES = {
    "local": "karat.engines.local:LocalEngine",
    "gpu": "karat.engines.gpu:GPUEngine",
    "dask": "karat.engines.dask:DaskEngine",
}
