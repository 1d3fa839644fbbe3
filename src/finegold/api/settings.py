"""The settings of all methods, for editors and type checkers, as keywords of `finegold.aggregate`.

Written by `python tools/make_methods.py` from the classes of the methods.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from numpy.typing import ArrayLike


class Settings(TypedDict, total=False):
    """The settings of all methods. The class of a method documents its settings."""

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
    # ebcc, hds, anchored
    class_prior: Literal["empirical", "uniform"] | Literal["votes", "flat"] | float
    # ebcc
    a_pi: float
    b_correct: float
    b_wrong: float
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
    # anchored
    vote_share: float
    own_share: float
    skill_power: float
    prior_votes: float
    coin_share: float
