"""Engines that run fits: local threads, a GPU or a Dask cluster. `Job.open_engine` imports the one
that it opens.
"""

ENGINES = {
    "local": "finegold.engines.local:LocalEngine",
    "gpu": "finegold.engines.gpu:GPUEngine",
    "dask": "finegold.engines.dask:DaskEngine",
}
