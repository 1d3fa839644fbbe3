"""The share of each candidate in the labels, from how well it predicted votes that were hidden from it.

PTBCC alone, unless another predicts clearly better. Then each has the share that it has in the mixture that predicts
best (stacking: Y. Yao, A. Vehtari, D. Simpson, A. Gelman: Using Stacking to Average Bayesian Predictive Distributions.
Bayesian Analysis 13, 2018), and the plain vote a quarter of the whole at least: hidden votes cannot tell whether
annotators err together, and where they do all models are misled alike. How the constants were set: docs/choosing.md.
"""

from __future__ import annotations

from karat.hidden import Hidden, stack

__all__ = ["ENOUGH", "FEWEST_HIDDEN", "SURE", "best_of", "largest", "margin_of", "shares_of"]

Shares = dict[str, float]

SURE = 2.0  # standard errors by which another must predict better than PTBCC, and by which groups must show
MARGIN = 0.03  # and by how much at least, per vote: a smaller lead does not show in the labels
PANEL, EVERY_TASK = 15, 0.9  # a panel has fewer judges, and they vote on nearly every task
PANEL_MARGIN = 0.08  # where some of a panel seem to err together: their errors pass for the truth
ENOUGH = 3.0  # votes per task; below, prototypes have no head start, and hidden votes have little to say
EVENLY = ("hpt", "hds", "ds", "mv")  # who shares half of the blend there
LEAST_SHARE = 0.05  # a smaller share is not worth a fit
VOTE = 0.25  # the share that the plain vote has in a blend, at least
FEWEST_HIDDEN = 50  # votes; fewer tell nothing


def margin_of(votes_per_task: float, n_annotators: int, n_groups: int) -> float:
    """`n_groups`: of annotators who seem to err together."""
    is_panel = n_annotators < PANEL and votes_per_task >= EVERY_TASK * n_annotators
    return PANEL_MARGIN if is_panel and n_groups else MARGIN


def shares_of(hidden: Hidden, votes_per_task: float, margin: float = MARGIN, usual: str = "ptbcc") -> Shares:
    """`margin`: by how much another must predict better than the usual one."""
    few = votes_per_task < ENOUGH
    if hidden.weight.size < FEWEST_HIDDEN or not (few or _clearly_better(hidden, usual, margin)):
        return {usual: 1.0}
    shares = _normalised({name: share for name, share in stack(hidden).items() if share >= LEAST_SHARE})
    if few:
        shares = _mixed(hidden, shares, EVENLY, 0.5)
    missing = max(VOTE - shares.get("mv", 0.0), 0.0)
    return _mixed(hidden, shares, ("mv",), missing / (missing + 1 - VOTE))


def best_of(shares: Shares, hidden: Hidden) -> Shares:
    """The one that predicts best, alone."""
    return shares if len(shares) == 1 else {max(shares, key=lambda name: hidden.score(name)[0]): 1.0}


def largest(shares: Shares) -> str:
    """Of those that know annotators, if there are any: the plain vote does not."""
    return max(shares, key=lambda name: (name != "mv", shares[name]))


def _clearly_better(hidden: Hidden, usual: str, margin: float) -> bool:
    best = max(hidden.names, key=lambda name: hidden.score(name)[0])
    lead, error = hidden.lead(best, usual)
    return best != usual and lead > max(SURE * error, margin)


def _mixed(hidden: Hidden, shares: Shares, others: tuple[str, ...], part: float) -> Shares:
    """`part` of the whole is dealt out evenly to the others, as far as they took part."""
    even = _normalised({name: 1.0 for name in hidden.names if name in others})
    named = [name for name in hidden.names if name in shares or name in even]
    return {name: (1 - part) * shares.get(name, 0.0) + part * even.get(name, 0.0) for name in named}


def _normalised(shares: Shares) -> Shares:
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}
