"""Aggregation with crowd-kit's names, arguments and attributes."""

from __future__ import annotations

from finegold.crowdkit.aggregation.binary_relevance import BinaryRelevance
from finegold.crowdkit.aggregation.dawid_skene import DawidSkene, OneCoinDawidSkene
from finegold.crowdkit.aggregation.glad import GLAD
from finegold.crowdkit.aggregation.kos import KOS
from finegold.crowdkit.aggregation.mace import MACE
from finegold.crowdkit.aggregation.mmsr import MMSR
from finegold.crowdkit.aggregation.pairwise import BradleyTerry, NoisyBradleyTerry
from finegold.crowdkit.aggregation.weighted import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "BinaryRelevance",
    "BradleyTerry",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]
