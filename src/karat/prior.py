"""What an earlier run knew of annotators, for a new run in which some of them vote again.

An earlier run counts as if its votes stood in the new table, with the truths that it found: nothing more, nothing less.
For PTBCC these are the Dirichlet counts of each annotator's mixture and of the prototypes; for DS, IBCC, HDS and HPT
each annotator's votes by the truth of their tasks; for auto, what each of its candidates takes. Of a blend, a method
takes what the part of its name knew. How frequent the classes are is learned anew: that belongs to the tasks, not to
the annotators. Annotators and classes are matched by name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat import solve
from karat.annotations import Annotations
from karat.archive import load
from karat.encoding import MISSING, Codes
from karat.errors import InputError
from karat.frames import to_list
from karat.methods import Method, method_class, method_of
from karat.methods.auto import CANDIDATES, Auto
from karat.methods.hds import HDS
from karat.methods.ibcc import IBCC
from karat.methods.ptbcc import PTBCC, Earlier
from karat.predict import votes_by_truth
from karat.readers.labels import listed
from karat.readers.names import match
from karat.registry import REGISTRY
from karat.result import Part, Result

__all__ = ["fit_with_prior"]

Floats = NDArray[np.float64]


class Matched(NamedTuple):
    """Where the annotators and classes of new votes are in an earlier result; MISSING: nowhere."""

    annotators: Codes
    classes: Codes

    def annotators_of(self, values: Floats) -> Floats:
        """[W, ...] in the new order; zeros for those who are new."""
        found = np.zeros((len(self.annotators), *values.shape[1:]))
        known = self.annotators != MISSING
        found[known] = values[self.annotators[known]]
        return found

    def classes_of(self, values: Floats) -> Floats:
        """[..., K, K] in the new classes; zeros for those that are new."""
        K, known = len(self.classes), np.flatnonzero(self.classes != MISSING)
        found = np.zeros((*values.shape[:-2], K, K))
        old = self.classes[known]
        found[..., known[:, None], known] = values[..., old[:, None], old]
        return found


def fit_with_prior(method: Method, votes: Annotations, prior: Result | str | Path | None, **keywords: Any) -> Result:
    """`fit`, with what an earlier result (or the file of one) knows of those who vote here."""
    if prior is None:
        return solve.fit(method, votes, **keywords)
    if not method.takes_prior:
        able = [name for name in REGISTRY if method_class(name).takes_prior]
        raise InputError(f"{method.name} cannot take a prior, only {', '.join(able)} can")
    earlier = prior if isinstance(prior, Result) else load(prior)
    if earlier.annotations is None:
        raise InputError("the prior was saved without its votes; fit again with this Karat and save it")
    matched = _match(earlier, votes)
    result = solve.fit(_informed(method, earlier, matched), votes, **keywords)
    known = int((matched.annotators != MISSING).sum())
    note = f"{known:,} of {votes.n_annotators:,} annotators are known from an earlier run ({earlier.method})."
    return replace(result, notes=[note, *result.notes], settings={**result.settings, "prior": known})


def _informed(method: Method, earlier: Result, matched: Matched) -> Method:
    if isinstance(method, Auto):
        return method.inform(_of_candidates(earlier, matched))
    if isinstance(method, PTBCC):
        return method.inform(_of_prototypes(method, earlier, matched))
    return method.inform(_votes_by_truth(earlier, _source(earlier, method.name), matched))


def _of_candidates(earlier: Result, matched: Matched) -> tuple[Any, ...]:
    """In their order; None for those that cannot take what there is: they start as always."""
    try:
        prototypes = _of_prototypes(PTBCC(), earlier, matched)
    except InputError:
        prototypes = None
    able = [name for name, (kind, _) in CANDIDATES.items() if kind.takes_prior and kind is not PTBCC]
    source = {name: _source(earlier, name) for name in able}
    counts = {part: _votes_by_truth(earlier, part, matched) for part in set(source.values())}
    found = {"ptbcc": prototypes, **{name: counts[part] for name, part in source.items()}}
    return tuple(found.get(name) for name in CANDIDATES)


def _match(earlier: Result, votes: Annotations) -> Matched:
    annotators = match(to_list(votes.annotator_names), earlier.annotator_names)
    classes = match(to_list(votes.class_names), earlier.class_names)
    if (annotators == MISSING).all():
        raise InputError("the prior knows none of these annotators; are their names written as they were then?")
    if (classes == MISSING).all():
        raise InputError(
            f"the prior knows none of these classes, only {listed(to_list(earlier.class_names))}; "
            "it is of another question"
        )
    return Matched(annotators, classes)


def _of_prototypes(method: PTBCC, earlier: Result, matched: Matched) -> Earlier:
    known = next((part.knowledge.more for part in earlier.blend.values() if part.method == "ptbcc"), None)
    if known is None:
        blend = f", which blends {', '.join(earlier.parts)}" if earlier.parts else ""
        raise InputError(f"a prior of ptbcc must be a model of ptbcc, but this one is of {earlier.method}{blend}")
    eta, mu = known["eta"], known["mu"]
    if eta.shape[1] != len(method.first_prototypes(len(matched.classes))):
        raise InputError(f"the prior has {eta.shape[1]} prototypes; set n_prototypes={eta.shape[1]}")
    return Earlier(matched.annotators_of(eta), matched.classes_of(mu))


def _source(earlier: Result, name: str) -> str:
    """The part of the earlier result that counts votes by truth: that of this name, or else the largest."""
    able = [one for one, part in earlier.blend.items() if _counts_by_truth(part)]
    return name if name in able else max(able, key=lambda one: earlier.blend[one].share, default="")


def _counts_by_truth(part: Part) -> bool:
    kind = method_class(part.method)
    return kind.takes_prior and not issubclass(kind, PTBCC | Auto)


def _votes_by_truth(earlier: Result, source: str, matched: Matched) -> Floats:
    """[W, L, K], as methods keep it: with the votes of earlier runs that the source knew of, if there is one."""
    n = matched.classes_of(matched.annotators_of(_experience(earlier, source)))
    return n.transpose(0, 2, 1).copy()


def _experience(earlier: Result, source: str) -> Floats:
    """[W, K, K]: the votes of each annotator by truth, in expectation."""
    if not source:
        return votes_by_truth(earlier)
    part = earlier.blend[source]
    method = method_of(part)
    memory = method.recall(replace(earlier, knowledge=part.knowledge))
    sums = memory.parameters if isinstance(method, HDS) else memory.statistics  # discounted, where they were
    by_truth: Floats = (sums.a if isinstance(method, IBCC) else sums.n).transpose(0, 2, 1)
    return by_truth
