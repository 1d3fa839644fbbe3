"""Engines that run fits: local threads or a Dask cluster. `open_engine` of `api/fit.py`
imports the one that it opens.
"""

ENGINES = {
    "local": "finegold.engines.local:LocalEngine",
    "dask": "finegold.engines.dask:DaskEngine",
}
