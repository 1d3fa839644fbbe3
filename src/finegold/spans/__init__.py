"""Marked texts: several people marked spans of the same documents, and one set of spans is wanted.

Marks that overlap are one candidate. Whoever read the document voted on it, for the class of their mark or for nothing, so
that any method for votes decides it. Where annotators marked spans of two classes at one place, marks of different classes
are different candidates. A discontinuous span is taken from its first to its last character.

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
