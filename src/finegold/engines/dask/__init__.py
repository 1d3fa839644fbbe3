"""Run a fit on the machines of a Dask cluster, or in processes of this machine.

Blocks and their posteriors stay in the memory of the workers. A sweep sends the parameters to the
workers and collects the sums, both along a tree of workers. The sums follow the same tree of blocks
as on one machine, so the bits are the same. If a worker is lost, other workers load its blocks
again and repeat the sweeps so far on these blocks alone.
"""

from __future__ import annotations

from finegold.errors import InputError

try:
    from finegold.engines.dask.engine import DaskEngine
except ImportError as error:
    raise InputError(f"the Dask engine needs {error.name}: pip install 'finegold[dask]'") from None

__all__ = ["DaskEngine"]
