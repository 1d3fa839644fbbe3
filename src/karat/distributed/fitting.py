"""The methods of a plan, one after another, on blocks that stay with the workers, who blend the posteriors."""

from __future__ import annotations

from typing import NamedTuple

from karat.distributed.labels import add_share
from karat.distributed.plan import Plan
from karat.engines.blas import one_blas_thread
from karat.engines.dask import DaskEngine
from karat.result import Part, Step
from karat.shares import largest
from karat.solve import Descent, Watch, descend, told

__all__ = ["Fitted", "fitted"]


class Fitted(NamedTuple):
    parts: dict[str, Part]  # those that have a share
    main: Descent  # of the method with the largest share
    ended: Descent  # the first that did not converge, else the main one


def fitted(plan: Plan, engine: DaskEngine, watch: Watch | None) -> Fitted:
    parts: dict[str, Part] = {}
    done: dict[str, Descent] = {}
    with one_blas_thread():
        for name, method in plan.methods.items():
            who = watch if name == plan.name else told(watch, name)
            descent = descend(method, engine, watch=who, before=_before(name, done))
            if name in plan.shares:
                parts[name] = _part(plan, name, descent)
                if len(plan.shares) > 1:
                    engine.sum(add_share, plan.shares[name], plan.temperature)
            done[name] = descent._replace(parameters=None)  # they may be large
    main = done[largest(plan.shares)]
    return Fitted(parts, main, next((one for one in done.values() if not one.converged), main))


def _before(name: str, done: dict[str, Descent]) -> list[Step] | None:
    """HPT goes on from PTBCC's posterior, where that is in the blocks; else it runs its prelude."""
    return done["ptbcc"].steps if name == "hpt" and list(done) == ["ptbcc"] else None


def _part(plan: Plan, name: str, descent: Descent) -> Part:
    method = descent.method
    return Part(plan.shares[name], method.name, method.settings, method.knowledge(descent.parameters))
