"""Raw logs of LLM judges -> `JudgeLog`: verdicts in any usual form, the swap undone, failed calls recognised."""

from __future__ import annotations

from finegold.io.readers.judge_logs.log import JudgeLog
from finegold.io.readers.judge_logs.read import read_judge_log

__all__ = ["JudgeLog", "read_judge_log"]
