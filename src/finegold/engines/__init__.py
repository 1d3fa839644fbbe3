"""Engines that run fits: local threads, a GPU or a Dask cluster. `registry` lists the engines, `base` opens them."""
