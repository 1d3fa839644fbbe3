"""Marked texts: several people marked spans of the same documents, and one set of spans is wanted.

marks = finegold.spans.read("export.json")
result = finegold.spans.aggregate(marks)
result.spans()
"""

from finegold.spans.agreement import SpanAgreement, agreement
from finegold.spans.consensus import SpanResult, aggregate
from finegold.spans.marks import Marks
from finegold.spans.read import read
from finegold.spans.write import write

__all__ = ["Marks", "SpanAgreement", "SpanResult", "aggregate", "agreement", "read", "write"]
