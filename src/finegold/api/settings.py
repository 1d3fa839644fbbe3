"""The settings of all methods, for editors and type checkers, as keywords of `finegold.aggregate`."""

from __future__ import annotations

from typing import Literal, TypedDict

from numpy.typing import ArrayLike

from finegold.io.options import Reading

__all__ = ["Keywords", "Settings"]


class Settings(TypedDict, total=False):
    """The settings of all methods. The class of a method documents its settings; a test keeps this list complete."""

    tolerance: float | None
    max_iterations: int | None
    seed: int
    # catd
    ties: Literal["random", "split"]
    quantiles: Literal["printed", "exact"]
    alpha: float
    # ds, cbcc
    quality: float
    # glad
    priors: bool
    gradient_tolerance: float
    steps: int
    # ibcc
    inference: Literal["ep", "vb"]
    right: float | None
    wrong: float
    # cbcc
    n_communities: int
    community_strength: float
    w: float
    repeats: int
    # bwa
    a_v: float
    lam: float
    # tiremge
    learning_rate: float
    units: int
    view_units: int
    # ebcc
    n_subtypes: int
    n_restarts: int
    a_pi: float
    b_correct: float
    b_wrong: float
    # ebcc, hds, hpt; a number for anchored
    class_prior: Literal["empirical", "uniform", "votes", "flat"] | float
    # fgbcc
    exact: bool
    lbfgs_tolerance: float
    lbfgs_iterations: int
    # ptbcc
    n_prototypes: int
    e: float
    f: float
    m: float
    pi_strength: float
    v_strength: float
    further: Literal["dirichlet", "uniform"]
    prototypes: ArrayLike | None
    precision: Literal["double", "single"]
    accelerate: bool
    # anchored
    vote_share: float
    own_share: float
    skill_power: float
    prior_votes: float
    coin_share: float


class Keywords(Reading, Settings, total=False):
    """What `finegold.aggregate` takes besides what it documents itself: how votes are read, and settings."""
