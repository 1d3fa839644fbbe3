"""Data sets of many files: the workers of a Dask cluster read, sort, fit and write them."""
