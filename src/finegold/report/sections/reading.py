"""What was read: votes by class, what was left out, spellings, and what looks wrong."""

from __future__ import annotations

import numpy as np

from finegold.report.sections.common import Shown, Subject, View, as_sentence, texts
from finegold.results.data import votes_of
from finegold.votes.labels import visible

MAX_CLASSES = 30
MAX_GROUPS = 20


def reading(subject: Subject) -> View:
    result, votes = subject.result, votes_of(subject.result)
    counts, hygiene, n = result.counts, votes.hygiene, votes.votes_per_class
    most = np.argsort(-n, kind="stable")[:MAX_CLASSES]
    left_out = [
        ("votes without a label", counts.missing - sum(hygiene.no_vote.values())),
        *((f"“{word}”, which means no vote", n) for word, n in hygiene.no_vote.items()),
        ("repeated votes of an annotator on a task", counts.repeated),
        ("pairs of task and annotator whose repeated votes disagree", counts.disagreeing),
        ("tasks without any vote", len(result.unlabelled)),
        ("gold truths of tasks without votes", counts.gold_unused),
        *counts.left_out.items(),
    ]
    # spellings of one class and their votes, None for a truth; whether they were merged
    spellings = [
        ([(visible(text), n) for text, n in group], finding.kind == "merged")
        for finding in hygiene.findings
        for group in finding.groups
    ]
    alarms = [finding.text for finding in hygiene.findings if finding.kind != "merged"]
    names = map(visible, texts(votes.class_names, most))
    return {
        "n_rows": counts.rows,
        "votes": votes,
        "n_gold": int((votes.gold >= 0).sum()),
        # name, number of votes
        "classes": list(zip(names, n[most].tolist(), strict=True)),
        "shown": Shown(len(most), votes.n_classes, "number of votes", "the table of classes"),
        "left_out": [(what, n) for what, n in left_out if n > 0],
        "spellings": spellings[:MAX_GROUPS],
        "alarms": [as_sentence(text) for text in alarms],
    }
