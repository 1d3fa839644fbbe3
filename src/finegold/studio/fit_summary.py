"""Summary figures of a fit, stored beside its result."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from finegold.api.result import Result
from finegold.studio.browse import Browser
from finegold.votes.encoding import MISSING
from finegold.votes.frames import take, to_list
from finegold.votes.hygiene import Hygiene

__all__ = ["summarise_fit"]

MAX_EXAMPLES = 50


def summarise_fit(browser: Browser, before: Browser | None = None) -> dict[str, Any]:
    """Summarise a result, and what changed since the result shown before if both have the same votes."""
    result = browser.result
    bound = result.steps[-1].bound
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": int(result.votes_per_task.sum()),
        "n_annotators": len(result.accuracy),
        "n_classes": len(result.class_names),
        "n_unlabelled": len(result.unlabelled),
        "mean_confidence": float(result.confidence.mean()),
        "tied": int(browser.doubts.tied.sum()),
        "flipped": int(browser.doubts.flipped.sum()),
        "contested": int(browser.doubts.contested.sum()),
        "gold": int((result.gold != MISSING).sum()),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "bound": bound if math.isfinite(bound) else None,
        "seconds": result.seconds,
        "notes": list(result.notes),
        "counts": asdict(result.counts),
        "hygiene": _hygiene(result),
        "changes": _changes(browser, before) if before is not None else None,
    }


def _hygiene(result: Result) -> dict[str, Any]:
    """Return what the reader noticed, and the classes with the most votes."""
    if result.annotations is None:
        return {**Hygiene().as_json(), "classes": []}
    votes = result.annotations.votes_per_class
    most = np.argsort(-votes, kind="stable")[:MAX_EXAMPLES]
    names = to_list(take(result.class_names, most.astype(np.int32)))
    counted = [[str(name), int(votes[code])] for name, code in zip(names, most, strict=True)]
    return {**result.annotations.hygiene.as_json(), "classes": counted}


def _changes(browser: Browser, before: Browser) -> dict[str, Any] | None:
    now, then = browser.result, before.result
    if len(now.label_codes) != len(then.label_codes) or browser.classes != before.classes:
        return None
    changed = np.flatnonzero(now.label_codes != then.label_codes)
    judged, shown = now.gold != MISSING, changed[:MAX_EXAMPLES].tolist()
    return {
        "method": then.method,
        "labels": len(changed),
        "beyond_gold": int(np.count_nonzero(~judged[changed])),
        "confidence_before": float(then.confidence.mean()),
        "examples": [
            {"task": code, "name": name, "before": int(then.label_codes[code]), "after": int(now.label_codes[code])}
            for code, name in zip(shown, browser.task_texts(shown), strict=True)
        ],
    }
