"""Panels of LLM judges, from raw logs to decisions.

read(log)      a raw log: columns found, verdicts understood, swaps undone, failed calls counted
assess(log)    what each judge is worth, comparisons, the best panel for the money
rank(log)      the systems that the judges compared, with intervals
"""

from __future__ import annotations

from finegold.api.judges import JudgeReport, assess, rank, read
from finegold.io.judge_logs import JudgeLog

__all__ = ["JudgeLog", "JudgeReport", "assess", "rank", "read"]
