"""The machines of a Dask cluster, or the processes of this one.

Blocks and their posteriors stay in the memory of the workers. A sweep sends the parameters out and brings the sums
back, both along a tree of workers; sums follow the same tree of blocks as on one machine, so the bits are the same. A
lost worker takes its blocks with it: others load them again and repeat, on these blocks alone, the sweeps so far.
"""

from __future__ import annotations

from karat.errors import InputError

try:
    from karat.engines.dask.engine import DaskEngine
except ImportError as error:
    raise InputError(f'the Dask engine needs {error.name}, which is missing; pip install "karat[dask]"') from None

__all__ = ["DaskEngine"]
