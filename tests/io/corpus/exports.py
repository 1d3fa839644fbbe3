"""Exports of annotation tools: as the tools write them, damaged, and files that only look like them."""

from __future__ import annotations

import json
from typing import Any

from tests.io.corpus.case import case
from tests.support.exports_made import ARGILLA, DOCCANO, INSPECT, LABEL_STUDIO, PRODIGY, zipped
from tests.support.exports_sheets import (
    ALPACA_EVAL,
    ARENA_HARD,
    JUDGE_BENCH,
    MT_BENCH,
    SAGEMAKER,
    SHEETS,
)

MTURK = SHEETS["mturk"][1]
TOLOKA = SHEETS["toloka"][1]
APPEN = SHEETS["appen"][1]
QUALTRICS = SHEETS["qualtrics"][1]
ZOONIVERSE = SHEETS["zooniverse"][1]
NESTED = {"t1": {"ann": "cat", "bob": "cat"}, "t2": {"ann": "dog", "bob": "cat"}}


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _short_mturk() -> bytes:
    """Return a batch whose rows end before the cells of Approve and Reject."""
    head, *rows = MTURK.splitlines()
    return "\n".join([head, *(row.rstrip(",") for row in rows)]).encode() + b"\n"


def _old_doccano(*annotations: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": 5,
        "text": "hi",
        "meta": {},
        "annotation_approver": None,
        "annotations": list(annotations),
    }


def _radio(yes: str, no: str) -> bytes:
    head = MTURK.splitlines()[0].replace(
        "Answer.category.label", "Answer.mood.good,Answer.mood.bad"
    )
    return f"{head}\nH1,T,A1,ann,Approved,u1,{yes},{no},,\nH1,T,A2,bob,Approved,u1,{no},{yes},,\n".encode()


def _steps(*names: str) -> bytes:
    steps = json.dumps([{"task": name, "value": "Cat"} for name in names]).replace('"', '""')
    head = ZOONIVERSE.splitlines()[0]
    return f'{head}\n1,ann,11,ab,77,3.4,"{steps}",101\n2,bob,12,ab,77,3.4,"{steps}",101\n'.encode()


DOCCANO_ZIP = zipped({name: _lines(records).decode() for name, records in DOCCANO.items()})
UNSCORED = {**INSPECT, "samples": [{"id": "q1", "epoch": 1, "target": "4"}]}
VOCABULARY = {"version": 1, "status": 2, "eval": 3, "samples": 4, "the": 5, "cat": 6}
TWO_INPUTS = "INPUT:left\tINPUT:right\tOUTPUT:better\tASSIGNMENT:worker_id\na\tb\tleft\tann\na\tc\tleft\tann\n"
BATTLES = "question_id,model_a,model_b,winner,judge\nq1,x,y,model_a,ann\nq1,y,x,model_b,bob\nq1,x,z,tie,ann\n"

GOOD = (
    case("Label Studio: JSON", {"export.json": _text(LABEL_STUDIO)}, 3, "cancelled annotations (1)",
         "predictions of models (1)", "drafts (1)"),
    case("Label Studio: one indented task", {"7.json": json.dumps(LABEL_STUDIO[0], indent=2).encode()}, 2),
    case("Label Studio: predictions as votes", {"export.json": _text(LABEL_STUDIO)}, 4, asks="--include predictions"),
    case("Label Studio: CSV",
         {"export.csv": b"annotation_id,annotator,id,lead_time,sent,text\n1,3,7,1,pos,hi\n2,4,7,1,neg,hi\n"}, 2),
    case("Prodigy: choices", {"answers.jsonl": _lines(PRODIGY)}, 3, "ignored answers (1), rejected choices (1)"),
    case("doccano: zip", {"export.zip": DOCCANO_ZIP}, 3, "1 row without a label"),
    case("doccano: one member", {"ann.jsonl": _lines(DOCCANO["ann.jsonl"])}, 2),
    case("doccano: old version",
         {"file.json1": _lines([_old_doccano({"label": 2, "user": 1}, {"label": 3, "user": 2})])}, 2),
    case("Argilla: records", {"records.json": _text(ARGILLA)}, 3),
    case("Inspect: JSON log", {"log.json": json.dumps(INSPECT, indent=2).encode()}, 3, "scores without a value (1)"),
    case("Inspect: eval log",
         {"log.eval": zipped({"header.json": json.dumps({key: INSPECT[key] for key in ("version", "status", "eval")}),
                  **{f"samples/{n}.json": json.dumps(one) for n, one in enumerate(INSPECT["samples"])}})},
         3),
    case("Mechanical Turk: batch", {"batch.csv": _text(MTURK)}, 2),
    case("Mechanical Turk: rows without the last cells", {"batch.csv": _short_mturk()}, 2),
    case("Mechanical Turk: buttons", {"batch.csv": _radio("true", "false")}, 2),
    case("Mechanical Turk: buttons saved by pandas", {"batch.csv": _radio("True", "False")}, 2),
    case("SageMaker: consolidation request", {"request.json": _text(SAGEMAKER)}, 2),
    case("Toloka: assignments", {"assignments.tsv": _text(TOLOKA)}, 2),
    case("Toloka: a task of two inputs", {"pairs.tsv": _text(TWO_INPUTS)}, 2,
         "INPUT:left, INPUT:right together name the tasks"),
    case("Toloka: a chosen task of two inputs", {"pairs.tsv": _text(TWO_INPUTS)}, 2, asks="--task left,right"),
    case("Appen: full report", {"f1.csv": _text(APPEN)}, 2),
    case("Qualtrics: three header rows", {"survey.csv": _text(QUALTRICS)}, 4),
    case("Zooniverse: classifications", {"classifications.csv": _text(ZOONIVERSE)}, 2),
    case("Zooniverse: one step of several", {"classifications.csv": _steps("T0", "T1")}, 2, asks="--question T1"),
    case("MT-bench: pairs", {"pair.jsonl": _lines(MT_BENCH)}, 2),
    case("AlpacaEval: annotations", {"annotations.json": _text(ALPACA_EVAL)}, 2),
    case("JudgeBench: judgements", {"judges.jsonl": _lines(JUDGE_BENCH)}, 2),
    case("Arena-Hard: judgements", {"llama.jsonl": _lines(ARENA_HARD)}, 2),
    case("Arena: battles in a table", {"battles.csv": _text(BATTLES)}, 3),
    case("nested JSON: an object of tasks", {"answers.json": _text(NESTED)}, 4),
    case("nested JSON: labels in a list",
         {"rows.jsonl": _lines([{"id": 1, "labels": ["a", "a", "b"]}, {"id": 2, "labels": ["b", "b", "b"]}])}, 6,
         "by their position"),
)  # fmt: skip

DIRTY = (
    case("Label Studio: cut short", {"export.json": _text(LABEL_STUDIO)[:-30]}, None,
         "(Label Studio export), record 3: the file is cut short", "Export, format JSON"),
    case("Label Studio: two questions", {"export.json": _text(LABEL_STUDIO).replace(b'"sent"', b'"mood"', 1)}, None,
         "asks 2 questions", "--question NAME"),
    case("Prodigy: a line that is no JSON", {"answers.jsonl": _lines(PRODIGY)[:-9]}, None,
         "(Prodigy export), record 5: the file is cut short"),
    case("Prodigy: everything was ignored", {"answers.jsonl": _lines([PRODIGY[3]])}, None,
         "holds no votes; left out were ignored answers (1)"),
    case("doccano: all members together", {"all.jsonl": _lines(DOCCANO["ann.jsonl"])}, None,
         "so that nobody can tell who voted for what"),
    case("doccano: spans in an old version",
         {"file.jsonl": _lines([_old_doccano({"label": 2, "user": 1},
                                             {"label": 3, "user": 2, "start_offset": 0, "end_offset": 1})])},
         1, "marked spans (1)"),
    case("Inspect: no scores", {"log.json": json.dumps(UNSCORED, indent=2).encode()}, None,
         "holds no votes; score it", "inspect score"),
    case("Mechanical Turk: a short row", {"batch.csv": MTURK.encode() + b"H2,T,A3,ann\n"}, None,
         "line 4: too few fields, found 4 but the header has 9"),
    case("Mechanical Turk: rejected", {"batch.csv": MTURK.replace("bob,Approved", "bob,Rejected").encode()}, 1,
         "rejected assignments (1)"),
    case("Mechanical Turk: no answer", {"batch.csv": MTURK.replace("dog", "{}").encode()}, 1, "1 row without a label"),
    case("Toloka: no worker", {"assignments.tsv": TOLOKA.replace("ASSIGNMENT:worker_id", "ASSIGNMENT:w").encode()},
         None, "there is no ASSIGNMENT:worker_id"),
    case("Appen: tainted", {"f1.csv": APPEN.replace("12,,false", "12,,true").encode()}, 1, "tainted"),
    case("Qualtrics: preview and spam",
         {"survey.csv": QUALTRICS.replace("IP Address,True,R_1", "Survey Preview,True,R_1").encode()}, 2,
         "previews (1)"),
    case("Zooniverse: two steps", {"classifications.csv": _steps("T0", "T1")}, None,
         'asks 2 questions: "T0" (2 votes), "T1" (2 votes)'),
    case("Zooniverse: broken JSON", {"classifications.csv": ZOONIVERSE.replace('""Dog""}]"', '""Dog"').encode()}, None,
         "record 2: the annotations are not valid JSON"),
    case("MT-bench: a judge that failed",
         {"pair.jsonl": _lines([*MT_BENCH, {**MT_BENCH[0], "judge": ["claude", "p"], "g2_winner": "error"}])}, 3,
         "1 call failed"),
    case("AlpacaEval: no preference",
         {"annotations.json": _text([*ALPACA_EVAL, {**ALPACA_EVAL[0], "annotator": "x", "preference": None}])}, 2,
         "1 call failed"),
    case("AlpacaEval: odd preference", {"annotations.json": _text([{**ALPACA_EVAL[0], "preference": 7}])}, None,
         'cannot be read as pairwise'),
    case("JudgeBench: a game that failed",
         {"judges.jsonl": _lines([JUDGE_BENCH[0], {**JUDGE_BENCH[1], "judgments": [None, {"decision": "A>B"}]}])}, 2,
         "1 call failed"),
    case("Arena-Hard: odd verdict", {"llama.jsonl": _lines([{**ARENA_HARD[0], "games": [{"score": "purple"}]}])}, None,
         'cannot be read as pairwise'),
    case("Arena: no judge", {"battles.csv": b"id,model_a,model_b,winner\n1,x,y,model_a\n2,x,y,tie\n"}, 2,
         "judge = battles (one judge)"),
    case("files of two tools", {"export.json": _text(LABEL_STUDIO), "answers.jsonl": _lines(PRODIGY)}, None,
         "is an export of Prodigy"),
)  # fmt: skip

LOOK_ALIKES = (
    case("a vocabulary with the keys of a log", {"vocab.json": _text(VOCABULARY)}, None),
    case("a vocabulary over many lines", {"vocab.json": json.dumps(VOCABULARY, indent=2).encode()}, None),
    case("settings with the keys of a task",
         {"settings.json": json.dumps({"id": 7, "data": "folder", "annotations": 3}, indent=2).encode()}, None),
    case("SageMaker: output manifest",
         {"output.manifest": _lines([{"source-ref": "s3://b/0.png", "animal": 0,
                       "animal-metadata": {"class-name": "cat", "type": "groundtruth/image-classification"}}])},
         None, "annotations/worker-response"),
    case("COCO annotations",
         {"instances.json": _text({"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "category_id": 3,
                                                             "bbox": [0, 0, 1, 1]}], "categories": [{"id": 3}]})},
         None),
    case("a package manifest",
         {"package.json": _text({"name": "x", "version": "1.0", "scripts": {"test": "x"},
                                 "dependencies": {"a": "^1", "b": "^1"}})}, None),
)  # fmt: skip

CASES = (*GOOD, *DIRTY, *LOOK_ALIKES)
