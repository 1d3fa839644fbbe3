"""Where a fit runs: threads of this machine, a GPU, a Dask cluster. `registry` lists the engines, `base` opens them."""
