"""Aggregation with crowd-kit's names, arguments and attributes."""

from __future__ import annotations

from finegold.crowdkit.aggregation.agreements import KOS, MMSR
from finegold.crowdkit.aggregation.dawid_skene import DawidSkene, OneCoinDawidSkene
from finegold.crowdkit.aggregation.glad import GLAD
from finegold.crowdkit.aggregation.mace import MACE
from finegold.crowdkit.aggregation.pairwise import BradleyTerry, NoisyBradleyTerry
from finegold.crowdkit.aggregation.weighted import (
    BinaryRelevance,
    GoldMajorityVote,
    MajorityVote,
    Wawa,
    ZeroBasedSkill,
)

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
