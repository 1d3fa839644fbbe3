"""crowd-kit's majority vote, Wawa and Dawid-Skene under their names there: change the import, keep the rest.

MajorityVote().fit_predict(votes, skills)     votes count as much as their annotators' skills
Wawa().fit_predict(votes)                     the same, with everybody's agreement with the majority as skill
DawidSkene(n_iter, tol).fit_predict(votes, true_labels, initial_error)
"""

from __future__ import annotations

from karat.api.dawid_skene import DawidSkene
from karat.api.weighted_votes import MajorityVote, Wawa

__all__ = ["DawidSkene", "MajorityVote", "Wawa"]
