"""Aggregation with crowd-kit's names, arguments and attributes."""

from __future__ import annotations

from karat.crowdkit.aggregation.binary_relevance import BinaryRelevance
from karat.crowdkit.aggregation.dawid_skene import DawidSkene, OneCoinDawidSkene
from karat.crowdkit.aggregation.glad import GLAD
from karat.crowdkit.aggregation.kos import KOS
from karat.crowdkit.aggregation.mace import MACE
from karat.crowdkit.aggregation.mmsr import MMSR
from karat.crowdkit.aggregation.pairwise import BradleyTerry, NoisyBradleyTerry
from karat.crowdkit.aggregation.weighted import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

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
