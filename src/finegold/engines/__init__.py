"""Engines that run fits: local threads or a Dask cluster. `Job.open_engine` imports the one
that it opens.
"""

ENGINES = {
    "local": "finegold.engines.local:LocalEngine",
    "dask": "finegold.engines.dask:DaskEngine",
}
