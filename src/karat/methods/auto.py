"""Auto: the votes decide which method suits them.

1. PTBCC is fitted. Groups of annotators who agree more than it explains are looked for (karat.dependence). Two who know
   the truth agree in excess, too, where PTBCC does not: a group counts as one only if votes that were hidden are
   predicted better by HDS when its votes are discounted. Then they are, in HDS and HPT; in PTBCC prototypes are shared,
   so that no group can make its own.
2. Some votes are hidden, and every candidate predicts them from the rest (karat.hidden): majority vote, DS, PTBCC, HPT,
   and HDS with each of its priors of the classes.
3. PTBCC stays unless another predicts clearly better. Then the candidates are blended, each with the share that the
   best mixture of their predictions gives it, the plain vote a quarter at least (karat.shares). The posterior is the
   same blend of the posteriors.
4. Mean-field posteriors are too sure; one temperature, chosen on the hidden votes, makes them less so.

No truth is used in any of it. How the constants were set: docs/choosing.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from karat.annotations import Annotations
from karat.choice import Candidate, Choice
from karat.dependence import Dependence, dependence, independent
from karat.engines.blocks import Block
from karat.errors import InputError
from karat.hidden import Hidden, Sample, add_tempered, hide, sample_tasks
from karat.methods.base import Fit, Floats, Knowledge, Method
from karat.methods.ds import DS
from karat.methods.hds import HDS
from karat.methods.hpt import HPT
from karat.methods.mv import MajorityVote
from karat.methods.ptbcc import PTBCC, Earlier
from karat.result import Part, Result, summarise
from karat.shares import ENOUGH, FEWEST_HIDDEN, SURE, best_of, largest, margin_of, shares_of

__all__ = ["Auto", "Compared"]

ROUGHLY = 1e-2  # tolerance where only hidden votes are scored, and of a blend's parts where votes are many
ROUGH_VOTES = 100_000  # many: among so many tasks one is always the last, and the blend hardly moves with it
ROUGH_SWEEPS = 50  # at most, where only hidden votes are scored
FEW_VOTES, FEW_NUMBERS = 10_000, 100_000  # up to so many, in votes and in matrices, five folds; beyond, two
MOST_NUMBERS = 200  # in matrices, per vote; beyond, nobody's own matrix can be learned, and it takes too long to try
CANDIDATES: dict[str, tuple[type[Method], dict[str, Any]]] = {
    "ptbcc": (PTBCC, {}),
    "hpt": (HPT, {}),
    "hds": (HDS, {}),
    "hds flat": (HDS, {"class_prior": "flat"}),
    "ds": (DS, {}),
    "mv": (MajorityVote, {}),
}
MOST_BLENDED = 10_000_000  # votes; beyond, several fits take too long, and the best candidate is used alone
NOTHING: Floats = np.empty((0, 0))
OWN = ("hpt", "hds", "hds flat")  # those in which annotators have matrices of their own, and weights
MATRICES = (*OWN, "ds")


class Limits(NamedTuple):
    """Of a fit."""

    tolerance: float
    sweeps: int


class Compared(NamedTuple):
    """What votes that were hidden say of the candidates."""

    found: Dependence
    hidden: Hidden
    shares: dict[str, float]
    temperature: float
    notes: list[str]


@dataclass(kw_only=True)
class Auto(Method):
    """Lets the votes decide: hides some, sees which methods predict them best, and blends those.

    Use it where you do not know how alike the annotators are, how many votes each has cast, or whether some copy from
    others: `notes` of the result says what was found. Costs the fits of the methods that are blended, and for choosing
    fits to at most `most_votes` votes.

    >>> import karat
    >>> votes = karat.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> karat.aggregate(votes, "auto").label.tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "auto"
    takes_prior: ClassVar[bool] = True
    random_start: ClassVar[bool] = True  # the seed decides which votes are hidden

    folds: int | None = None  # None: 5, or 2 where there are many votes
    most_votes: int = 10_000  # that choosing looks at: those of random tasks
    calibrate: bool = True  # whether the posterior is tempered

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds is not None and self.folds < 2:
            raise InputError(f"folds must be at least 2, not {self.folds}")

    def settle(self, annotations: Annotations, fit: Fit) -> Result:
        first = fit(self.candidate("ptbcc", independent(annotations.n_annotators)), annotations, "ptbcc")
        compared = self.compare(annotations, first, fit, alone=annotations.n_votes > MOST_BLENDED)
        fitted: dict[str, Result] = {}
        posterior: Floats | None = None
        for name, share in compared.shares.items():
            candidate = self.candidate(name, compared.found, self.limits_on(annotations.n_votes))
            one = first if name == "ptbcc" else fit(candidate, annotations, name, first)
            posterior = add_tempered(posterior, one.posterior, share, compared.temperature)
            fitted[name] = replace(one, posterior=NOTHING)  # what was added need not be held
        assert posterior is not None
        return self._blend(annotations, posterior, fitted, compared)

    def compare(
        self, annotations: Annotations, first: Result, fit: Fit, *, alone: bool = False, some: Sample | None = None
    ) -> Compared:
        """On hidden votes; `first` is PTBCC's result on all. What the user's engine cannot run takes no part.

        `alone`: one candidate is to be used, not a blend. `some`: whose votes are hidden; None: of random tasks.
        """
        some = some or sample_tasks(annotations, self.most_votes, self.seed)
        everybody, votes_per_task = independent(annotations.n_annotators), annotations.n_votes / annotations.n_tasks
        refused = [name for name in CANDIDATES if fit.refusal(self.candidate(name, everybody))]
        sparse = _numbers(some[0]) > MOST_NUMBERS * some[0].n_votes
        left = [name for name in CANDIDATES if not (name in refused or (sparse and name in MATRICES))]
        suspected = everybody if sparse else dependence(annotations, first.posterior, self.seed, SURE)
        found = suspected if self._confirmed(suspected, annotations, some, fit) else everybody
        hidden = self._hide(annotations, some, found, {name: (name, found) for name in left}, fit)
        margin = margin_of(votes_per_task, annotations.n_annotators, suspected.n_groups)
        shares = shares_of(hidden, votes_per_task, margin, self._usual(left))
        shares = best_of(shares, hidden) if alone else shares
        temperature = hidden.temperature(shares) if self.calibrate and hidden.weight.size else 1.0
        notes = [*_said(hidden, shares, votes_per_task < ENOUGH, alone), *_said_of_groups(found, shares)]
        notes += [*_said_of_temperature(temperature), *_said_of_refused(refused), *_said_of_sparse(sparse)]
        return Compared(found, hidden, shares, temperature, notes)

    def _usual(self, names: list[str]) -> str:
        """PTBCC, but where an earlier run is known that HDS can go on from and PTBCC cannot."""
        is_known = self.earlier is not None and self.earlier[0] is None
        return "hds" if is_known and "hds" in names else "ptbcc"

    def limits_on(self, n_votes: int) -> Limits:
        """Of fits after PTBCC's to so many votes."""
        tolerance = max(ROUGHLY, self.tolerance) if n_votes > ROUGH_VOTES else self.tolerance
        return Limits(tolerance, self.max_iterations)

    def settings_of(self, compared: Compared) -> dict[str, Any]:
        """The settings, with what the votes decided."""
        decided = {"chosen": compared.shares, "temperature": compared.temperature}
        return {**self.settings, **decided, **_choice(compared.hidden, compared.shares)}

    def candidate(self, name: str, found: Dependence, limits: Limits | None = None, who: Any = slice(None)) -> Method:
        """PTBCC and the majority vote as they are; in HPT and HDS the votes of groups are discounted.

        An earlier run knew all annotators; `who` are those that are left where votes are hidden.
        """
        kind, settings = CANDIDATES[name]
        if name == "mv":
            return MajorityVote()
        if found.n_groups and name in OWN:
            settings = {**settings, "weights": found.weights}
        tolerance, sweeps = limits or (self.tolerance, self.max_iterations)
        made = kind(seed=self.seed, tolerance=tolerance, max_iterations=sweeps, **settings)
        earlier = None if self.earlier is None else self.earlier[list(CANDIDATES).index(name)]
        return made if earlier is None else made.inform(_of(earlier, who))

    def _confirmed(self, suspected: Dependence, annotations: Annotations, some: Sample, fit: Fit) -> bool:
        """Whether hidden votes are predicted better where those who agree in excess count less."""
        if not suspected.n_groups:
            return False
        fits = {"discounted": ("hds", suspected), "plain": ("hds", independent(annotations.n_annotators))}
        hidden = self._hide(annotations, some, suspected, fits, fit)
        lead, error = hidden.lead("discounted", "plain") if hidden.weight.size else (0.0, 0.0)
        return lead > SURE * error

    def _hide(
        self,
        annotations: Annotations,
        some: Sample,
        found: Dependence,
        fits: dict[str, tuple[str, Dependence]],
        fit: Fit,
    ) -> Hidden:
        """Votes of groups are hidden together; the candidates may take them as independent all the same."""
        votes, code = some
        few = annotations.n_votes <= FEW_VOTES and _numbers(votes) <= FEW_NUMBERS
        folds = self.folds or (5 if few else 2)
        rough = Limits(max(ROUGHLY, self.tolerance), min(ROUGH_SWEEPS, self.max_iterations))
        prototypes: Result | None = None

        def fit_named(name: str, groups: Dependence, rest: Annotations) -> Result:
            nonlocal prototypes
            who = code[np.asarray(rest.annotator_names)]
            after = prototypes if prototypes is not None and prototypes.annotations is rest else None
            result = fit(self.candidate(name, groups.of(who), rough, who), rest, after=after)
            prototypes = result if name == "ptbcc" else prototypes  # HPT goes on from there
            return result

        chosen = {said: partial(fit_named, *which) for said, which in fits.items()}
        return hide(votes, chosen, found.of(code).group, found.of(code).weights, folds, self.seed)

    def _blend(
        self, annotations: Annotations, posterior: Floats, fitted: dict[str, Result], compared: Compared
    ) -> Result:
        """What is known of annotators is that of the method with the largest share."""
        shares, main, settings = compared.shares, fitted[largest(compared.shares)], self.settings_of(compared)
        result = summarise(self.name, settings, annotations, posterior, main.steps, main.knowledge)
        ended = next((one for one in fitted.values() if not one.converged), main)
        result = replace(result, converged=ended.converged, stopped=f"{ended.method} {ended.stopped}")
        kept = {name: _part(fitted[name], share) for name, share in shares.items()}
        return replace(result, notes=compared.notes, parts=kept)

    def obstacle(self) -> str:
        return "this model does not hold the parts of its blend, as an earlier Karat saved it"

    def start(self, block: Block, restart: int) -> NoReturn:
        raise TypeError("auto has no sweeps of its own: it settles on other methods")

    def begin(self, statistics: Any) -> NoReturn:
        raise TypeError("auto has no parameters of its own")

    def sweep(self, block: Block, parameters: Any) -> NoReturn:
        raise TypeError("auto has no sweeps of its own")

    def knowledge(self, parameters: Any) -> Knowledge:
        raise TypeError("auto has no knowledge of its own")


def _of(earlier: Any, who: Any) -> Any:
    return earlier._replace(pi=earlier.pi[who]) if isinstance(earlier, Earlier) else earlier[who]


def _numbers(votes: Annotations) -> int:
    """In matrices of all annotators."""
    return votes.n_annotators * votes.n_classes**2


def _part(fitted: Result, share: float) -> Part:
    return Part(share, fitted.method, fitted.settings, fitted.knowledge)


def _choice(hidden: Hidden, shares: dict[str, float]) -> dict[str, Any]:
    """The score of every candidate, as a setting of the result; nothing where there was nothing to compare."""
    if not hidden.weight.size:
        return {}
    order = sorted(hidden.names, key=lambda name: -hidden.score(name)[0])
    candidates = [Candidate(name, *hidden.score(name), shares.get(name, 0.0)) for name in order]
    return {"choice": Choice(hidden.weight.size, candidates).to_json()}


def _said(hidden: Hidden, shares: dict[str, float], few: bool, alone: bool) -> list[str]:
    if (size := hidden.weight.size) < FEWEST_HIDDEN:
        few_or_none = f"Only {size:,}" if size else "No"
        return [f"{few_or_none} votes could be hidden to compare methods by; {largest(shares)} was used."]
    if list(shares) == ["ptbcc"]:
        choice = "ptbcc was used, because no other method predicted hidden votes clearly better"
    elif len(shares) == 1:
        why = f"; beyond {MOST_BLENDED:,} votes methods are not blended, which would take several fits" if alone else ""
        choice = f"{largest(shares)} was used, because it predicted hidden votes best{why}"
    else:
        parts = sorted(shares.items(), key=lambda part: -part[1])
        choice = "The labels blend " + ", ".join(f"{name} ({share:.0%})" for name, share in parts)
        choice += ", because together they predicted hidden votes best"
        choice += "; the plain vote has a quarter at least, in case annotators err together"
        choice += "; half of it evenly, as tasks with so few votes hardly tell them apart" if few else ""
    return [f"{choice}."]


def _said_of_groups(found: Dependence, shares: dict[str, float]) -> list[str]:
    if not found.n_groups:
        return []
    members = int((found.group >= 0).sum())
    groups = f"{found.n_groups:,} group{'s' if found.n_groups > 1 else ''}"
    return [
        f"{members:,} annotators in {groups} agree more than their skill explains, as copies do, or judges "
        f"of one family (excess agreement {found.rho.min():.2f} to {found.rho.max():.2f}): the {len(found.group):,} "
        f"annotators are worth about {found.effective:,.1f} independent ones"
        + (", and votes of groups count less." if set(shares) & set(OWN) else ".")
    ]


def _said_of_temperature(temperature: float) -> list[str]:
    if temperature == 1.0:
        return []
    extreme = "less" if temperature > 1 else "more"
    return [f"Probabilities were made {extreme} extreme (temperature {temperature:g}), because hidden votes said so."]


def _said_of_refused(names: list[str]) -> list[str]:
    return [f"Candidates that this engine cannot run were left out: {', '.join(names)}."] if names else []


def _said_of_sparse(sparse: bool) -> list[str]:
    said = f"Annotators have too few votes for so many classes: {', '.join(MATRICES)} were left out."
    return [said] if sparse else []
