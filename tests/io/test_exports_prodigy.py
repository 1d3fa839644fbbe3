"""Prodigy: db-out, with choices and with accept or reject."""

from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import PRODIGY, lines

VOTES = {(-11, "ann", "POS"), (-11, "bob", "NEG"), (22, "ann", "NEG")}
LEFT_OUT = {"ignored answers": 1, "rejected choices": 1}


def answer(task, who, said, **more):
    return {
        "text": "hi",
        "answer": said,
        "_input_hash": task,
        "_task_hash": 1,
        "_annotator_id": who,
        **more,
    }


LABELS = [
    answer(1, "d-ann", "accept", label="SPORT"),
    answer(1, "d-bob", "reject", label="SPORT"),
    answer(1, "d-bob", "accept", label="NEWS"),
]
TIMES = [
    answer(1, f"2026-01-02_10-{minute}-00", said)
    for minute, said in (("00", "accept"), ("30", "reject"))
]
NAMELESS = {
    who: answer(-1, None, "accept", accept=[label], _session_id=None)
    for who, label in (("ann", "A"), ("bob", "B"))
}
SPANS = [answer(1, "d-ann", "accept", spans=[], _view_id="ner_manual")]
DAMAGED = {
    "record 1: found no annotator": [{**PRODIGY[0], "_annotator_id": None, "_session_id": None}],
    'record 2: found 1 for "answer", expected a text': [PRODIGY[0], {**PRODIGY[1], "answer": 1}],
    "record 2: found 'POS' for \"accept\"": [PRODIGY[0], {**PRODIGY[1], "accept": "POS"}],
    'record 2: found no "_input_hash"': [PRODIGY[0], {"answer": "accept"}],
    "record 5: the file is cut short": lines(PRODIGY)[:-20],
}

test_answers = check_each({
    "choices": reads("d.jsonl", PRODIGY, VOTES, LEFT_OUT, unlabelled=[33], missing=0),  # they are counted once
    "rejected choices": reads("d.jsonl", PRODIGY, VOTES | {(33, "bob", "POS")}, include=["rejected"]),
    "tasks by a field": reads("d.jsonl", PRODIGY[:2], {("hi", "ann", "POS"), ("hi", "bob", "NEG")}, task="text"),
    "accept and reject answer the question of the label": reads("d.jsonl", LABELS, {
        "NEWS": {(1, "d-bob", "accept")},  # one annotator alone shows no data set's name
        "SPORT": {(1, "ann", "accept"), (1, "bob", "reject")},
    }),
    "sessions without a name keep their time": reads(
        "d.jsonl", TIMES, {(1, "2026-01-02_10-00-00", "accept"), (1, "2026-01-02_10-30-00", "reject")}
    ),
    "a file per annotator": reads(
        "", {f"{who}.jsonl": [NAMELESS[who]] for who in NAMELESS}, {(-1, "ann", "A"), (-1, "bob", "B")},
        warns="do not say who annotated: each is taken for one annotator, by its name",
    ),
    "marked spans": refuses("d.jsonl", SPANS, "holds no votes; left out were marked spans (1); run finegold spans "),
    **{words: refuses("d.jsonl", content, "(Prodigy export)", words, "; ") for words, content in DAMAGED.items()},
})  # fmt: skip
