"""Small files (good, dirty, not votes) with their expected outcomes."""

from tests.io.corpus import dirt, exports, faults, tables
from tests.io.corpus.case import Case

__all__ = ["CASES", "Case"]

CASES = (*tables.CASES, *exports.CASES, *dirt.CASES, *faults.CASES)
