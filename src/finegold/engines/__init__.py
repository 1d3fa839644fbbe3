"""Engines that run fits: local threads, a GPU or a Dask cluster. `base` opens them; nothing is imported before."""

ENGINES = {
    "local": "finegold.engines.local:LocalEngine",
    "gpu": "finegold.engines.gpu:GPUEngine",
    "dask": "finegold.engines.dask:DaskEngine",
}
