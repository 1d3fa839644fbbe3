"""Dirt that ordinary files hold: spellings, words for no vote, votes that look wrong, gold, nested JSON, columns."""

from tests.support.reading_corpus.dirt import alarms, gold, hints, nested, no_votes, spellings

__all__ = ["CASES"]

CASES = (*spellings.CASES, *no_votes.CASES, *alarms.CASES, *gold.CASES, *nested.CASES, *hints.CASES)
