"""Methods as estimators with the interface of scikit-learn and crowd-kit: `PTBCC().fit(votes).labels_`."""

from __future__ import annotations

from functools import cache
from typing import Any

from finegold.api.estimator import Estimator, Listed
from finegold.methods import anchored, bwa, catd, cbcc, ds, ebcc, fgbcc, glad, hds, hpt, ibcc, ptbcc, tiremge
from finegold.methods.lookup import method_class

__all__ = [
    "BWA",
    "CATD",
    "CBCC",
    "DS",
    "EBCC",
    "FGBCC",
    "GLAD",
    "HDS",
    "HPT",
    "IBCC",
    "PTBCC",
    "AnchoredVote",
    "Estimator",
    "TiReMGE",
    "estimator",
]


class AnchoredVote(Estimator, anchored.AnchoredVote):
    __doc__ = anchored.AnchoredVote.__doc__


class BWA(Estimator, bwa.BWA):
    __doc__ = bwa.BWA.__doc__


class CATD(Estimator, catd.CATD):
    __doc__ = catd.CATD.__doc__


class CBCC(Estimator, cbcc.CBCC):
    __doc__ = cbcc.CBCC.__doc__


class DS(Estimator, ds.DS):
    __doc__ = ds.DS.__doc__


class EBCC(Estimator, ebcc.EBCC):
    __doc__ = ebcc.EBCC.__doc__


class FGBCC(Estimator, fgbcc.FGBCC):
    __doc__ = fgbcc.FGBCC.__doc__


class GLAD(Estimator, glad.GLAD):
    __doc__ = glad.GLAD.__doc__


class HDS(Estimator, hds.HDS):
    __doc__ = hds.HDS.__doc__


class HPT(Estimator, hpt.HPT):
    __doc__ = hpt.HPT.__doc__


class IBCC(Estimator, ibcc.IBCC):
    __doc__ = ibcc.IBCC.__doc__


class PTBCC(Estimator, ptbcc.PTBCC):
    __doc__ = ptbcc.PTBCC.__doc__


class TiReMGE(Estimator, tiremge.TiReMGE):
    __doc__ = tiremge.TiReMGE.__doc__


@cache
def estimator(name: str) -> type[Any]:
    """Return the estimator class of a method; create it if there is none, as for methods of other packages."""
    chosen = method_class(name)
    written = globals().get(chosen.__name__)
    if isinstance(written, type) and issubclass(written, chosen):
        return written
    return Listed(chosen.__name__, (Estimator, chosen), {"__doc__": chosen.__doc__, "__module__": "finegold"})
