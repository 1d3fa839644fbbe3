"""Exports of annotation tools: as the tools write them, damaged, and files that only look like them."""

from __future__ import annotations

import json
from typing import Any

from tests.io.corpus.case import Case
from tests.support.exports_made import ARGILLA, DOCCANO, INSPECT, LABEL_STUDIO, PRODIGY, zipped
from tests.support.exports_sheets import ALPACA_EVAL, ARENA_HARD, JUDGE_BENCH, MT_BENCH, SAGEMAKER, SHEETS

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


def _good(name: str, dirt: str, file: str, data: bytes, votes: int, *says: str, asks: str = "") -> Case:
    return Case(name, "good", dirt, {file: data}, tuple(asks.split()), votes, says)


def _dirty(name: str, dirt: str, file: str, data: bytes, votes: int | None, *says: str, asks: str = "") -> Case:
    return Case(name, "dirty", dirt, {file: data}, tuple(asks.split()), votes, says)


def _no_votes(name: str, dirt: str, file: str, data: bytes, *says: str) -> Case:
    return Case(name, "not votes", dirt, {file: data}, (), None, says)


def _short_mturk() -> bytes:
    """Return a batch whose rows end before the cells of Approve and Reject."""
    head, *rows = MTURK.splitlines()
    return "\n".join([head, *(row.rstrip(",") for row in rows)]).encode() + b"\n"


def _legacy_qualtrics() -> bytes:
    about = "ResponseID,ResponseSet,Name,ExternalDataReference,EmailAddress,IPAddress,Status,StartDate,EndDate,Finished"
    numbers = ",".join(f"V{number}" for number in range(1, 11))
    people = [f"R_{who},Default,Anonymous,,,1.2.3.4,0,2014-01-01 10:00:00,2014-01-01 10:05:00,1" for who in "abc"]
    rows = [f"{one},{first},{second}" for one, first, second in zip(people, "yyn", "nyn", strict=True)]
    return "\n".join([f"{numbers},Q1,Q2", f"{about},First?,Second?", *rows]).encode() + b"\n"


def _old_doccano(*annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 5, "text": "hi", "meta": {}, "annotation_approver": None, "annotations": list(annotations)}


def _radio(yes: str, no: str) -> bytes:
    head = MTURK.splitlines()[0].replace("Answer.category.label", "Answer.mood.good,Answer.mood.bad")
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
    _good("Label Studio: JSON", "cancelled annotations, predictions and drafts beside the votes", "export.json",
          _text(LABEL_STUDIO), 3, "cancelled annotations (1)", "predictions of models (1)", "drafts (1)"),
    _good("Label Studio: one indented task", "a single object over many lines", "7.json",
          json.dumps(LABEL_STUDIO[0], indent=2).encode(), 2),
    _good("Label Studio: predictions as votes", "models beside people", "export.json", _text(LABEL_STUDIO), 4,
          asks="--include predictions"),
    _good("Label Studio: CSV", "a record per annotation", "export.csv",
          b"annotation_id,annotator,id,lead_time,sent,text\n1,3,7,1,pos,hi\n2,4,7,1,neg,hi\n", 2),
    _good("Prodigy: choices", "ignored answers and rejected choices", "answers.jsonl", _lines(PRODIGY), 3,
          "ignored answers (1), rejected choices (1)"),
    _good("doccano: zip", "a file per member", "export.zip", DOCCANO_ZIP, 3, "1 row without a label"),
    _good("doccano: one member", "the annotator is the name of the file", "ann.jsonl", _lines(DOCCANO["ann.jsonl"]), 2),
    _good("doccano: old version", "the user in every annotation", "file.json1",
          _lines([_old_doccano({"label": 2, "user": 1}, {"label": 3, "user": 2})]), 2),
    _good("Argilla: records", "suggestions beside responses", "records.json", _text(ARGILLA), 3),
    _good("Inspect: JSON log", "a scorer that failed", "log.json", json.dumps(INSPECT, indent=2).encode(), 3,
          "scores without a value (1)"),
    _good("Inspect: eval log", "a zip archive with a file per sample", "log.eval",
          zipped({"header.json": json.dumps({key: INSPECT[key] for key in ("version", "status", "eval")}),
                  **{f"samples/{n}.json": json.dumps(one) for n, one in enumerate(INSPECT["samples"])}}), 3),
    _good("Mechanical Turk: batch", "a row per assignment", "batch.csv", _text(MTURK), 2),
    _good("Mechanical Turk: rows without the last cells", "rows that omit Approve and Reject", "batch.csv",
          _short_mturk(), 2),
    _good("Mechanical Turk: buttons", "a column per radio button", "batch.csv", _radio("true", "false"), 2),
    _good("Mechanical Turk: buttons saved by pandas", "True and False instead of true and false", "batch.csv",
          _radio("True", "False"), 2),
    _good("SageMaker: consolidation request", "JSON in JSON", "request.json", _text(SAGEMAKER), 2),
    _good("Toloka: assignments", "a blank line between task suites", "assignments.tsv", _text(TOLOKA), 2),
    _good("Toloka: a task of two inputs", "no task ids", "pairs.tsv", _text(TWO_INPUTS), 2,
          "INPUT:left and INPUT:right together name the tasks"),
    _good("Toloka: a chosen task of two inputs", "no task ids", "pairs.tsv", _text(TWO_INPUTS), 2,
          asks="--task left,right"),
    _good("Appen: full report", "a row per judgment", "f1.csv", _text(APPEN), 2),
    _good("Qualtrics: three header rows", "one row per respondent", "survey.csv", _text(QUALTRICS), 4),
    _good("Qualtrics: legacy headers", "V1, V2, ... above the names of the fields", "survey.csv", _legacy_qualtrics(),
          6),
    _good("Zooniverse: classifications", "JSON in a cell", "classifications.csv", _text(ZOONIVERSE), 2),
    _good("Zooniverse: one step of several", "a question per workflow step", "classifications.csv", _steps("T0", "T1"),
          2, asks="--question T1"),
    _good("MT-bench: pairs", "games with swapped positions", "pair.jsonl", _lines(MT_BENCH), 2),
    _good("MT-bench: each game a vote", "games with swapped positions", "pair.jsonl", _lines(MT_BENCH), 3,
          asks="--include games"),
    _good("AlpacaEval: annotations", "preferences of 1 and 2", "annotations.json", _text(ALPACA_EVAL), 2),
    _good("JudgeBench: judgements", "games with swapped positions", "judges.jsonl", _lines(JUDGE_BENCH), 2),
    _good("Arena-Hard: judgements", "games with swapped positions", "llama.jsonl", _lines(ARENA_HARD), 2),
    _good("Arena: battles in a table", "pairs of models in either order", "battles.csv", _text(BATTLES), 3),
    _good("nested JSON: an object of tasks", "annotators as keys", "answers.json", _text(NESTED), 4),
    _good("nested JSON: labels in a list", "annotators without names", "rows.jsonl",
          _lines([{"id": 1, "labels": ["a", "a", "b"]}, {"id": 2, "labels": ["b", "b", "b"]}]), 6,
          "by their position"),
)  # fmt: skip

DIRTY = (
    _dirty("Label Studio: cut short", "a download that ended early", "export.json", _text(LABEL_STUDIO)[:-30], None,
           "(Label Studio export), record 3: the file is cut short", "Export, format JSON"),
    _dirty("Label Studio: two questions", "several questions", "export.json",
           _text(LABEL_STUDIO).replace(b'"sent"', b'"mood"', 1), None, "asks 2 questions", "--question NAME"),
    _dirty("Prodigy: a line that is no JSON", "a broken line", "answers.jsonl", _lines(PRODIGY)[:-9], None,
           "(Prodigy export), record 5: not valid JSON"),
    _dirty("Prodigy: everything was ignored", "no votes left", "answers.jsonl", _lines([PRODIGY[3]]), None,
           "holds no votes; left out were ignored answers (1)"),
    _dirty("doccano: all members together", "annotators that are lost", "all.jsonl", _lines(DOCCANO["ann.jsonl"]),
           None, "so that nobody can tell who voted for what"),
    _dirty("doccano: spans in an old version", "spans beside labels", "file.jsonl",
           _lines([_old_doccano({"label": 2, "user": 1}, {"label": 3, "user": 2, "start_offset": 0, "end_offset": 1})]),
           1, "marked spans (1)"),
    _dirty("Inspect: no scores", "a log that was not scored", "log.json", json.dumps(UNSCORED, indent=2).encode(),
           None, "none of its 1 samples has a score", "inspect score"),
    _dirty("Mechanical Turk: a short row", "a row that ends within the answers", "batch.csv",
           MTURK.encode() + b"H2,T,A3,ann\n", None, "line 4: too few fields, found 4 but the header has 9"),
    _dirty("Mechanical Turk: rejected", "an assignment that was rejected", "batch.csv",
           MTURK.replace("bob,Approved", "bob,Rejected").encode(), 1, "rejected assignments (1)"),
    _dirty("Mechanical Turk: no answer", "{} where nothing was answered", "batch.csv",
           MTURK.replace("dog", "{}").encode(), 1, "1 row without a label"),
    _dirty("Toloka: no worker", "a column that is not there", "assignments.tsv",
           TOLOKA.replace("ASSIGNMENT:worker_id", "ASSIGNMENT:w").encode(), None, "there is no ASSIGNMENT:worker_id"),
    _dirty("Appen: tainted", "a judgment that is marked as tainted", "f1.csv",
           APPEN.replace("12,,false", "12,,true").encode(), 1, "tainted"),
    _dirty("Qualtrics: preview and spam", "responses that are tests", "survey.csv",
           QUALTRICS.replace("IP Address,True,R_1", "Survey Preview,True,R_1").encode(), 2, "previews (1)"),
    _dirty("Zooniverse: two steps", "several questions", "classifications.csv", _steps("T0", "T1"), None,
           'asks 2 questions: "T0" (2 votes), "T1" (2 votes)'),
    _dirty("Zooniverse: broken JSON", "a cell that is cut", "classifications.csv",
           ZOONIVERSE.replace('""Dog""}]"', '""Dog"').encode(), None, "record 2: the annotations are not valid JSON"),
    _dirty("MT-bench: a judge that failed", "error for a winner", "pair.jsonl",
           _lines([*MT_BENCH, {**MT_BENCH[0], "judge": ["claude", "p"], "g2_winner": "error"}]), 2,
           "judgements that failed (1)"),
    _dirty("AlpacaEval: no preference", "null for a preference", "annotations.json",
           _text([*ALPACA_EVAL, {**ALPACA_EVAL[0], "annotator": "x", "preference": None}]), 2,
           "judgements that failed (1)"),
    _dirty("AlpacaEval: odd preference", "a preference of 7", "annotations.json",
           _text([{**ALPACA_EVAL[0], "preference": 7}]), None, 'record 1: found 7 for "preference"'),
    _dirty("JudgeBench: a game that failed", "null for a judgement", "judges.jsonl",
           _lines([JUDGE_BENCH[0], {**JUDGE_BENCH[1], "judgments": [None, {"decision": "A>B"}]}]), 1,
           "judgements that failed (1)"),
    _dirty("Arena-Hard: odd verdict", "a verdict that is none", "llama.jsonl",
           _lines([{**ARENA_HARD[0], "games": [{"score": "purple"}]}]), None, "record 1: found 'purple' for a verdict"),
    _dirty("Arena: no judge", "battles without a judge", "battles.csv",
           b"id,model_a,model_b,winner\n1,x,y,model_a\n2,x,y,tie\n", None, "record 1: found no judge"),
    Case("files of two tools", "dirty", "exports that do not belong together",
         {"export.json": _text(LABEL_STUDIO), "answers.jsonl": _lines(PRODIGY)}, says=("is an export of Prodigy",)),
)  # fmt: skip

LOOK_ALIKES = (
    _no_votes("a vocabulary with the keys of a log", "words and numbers", "vocab.json", _text(VOCABULARY)),
    _no_votes("a vocabulary over many lines", "words and numbers", "vocab.json",
              json.dumps(VOCABULARY, indent=2).encode()),
    _no_votes("settings with the keys of a task", "plain values where Label Studio has objects", "settings.json",
              json.dumps({"id": 7, "data": "folder", "annotations": 3}, indent=2).encode()),
    _no_votes("SageMaker: output manifest", "one label per object, no votes", "output.manifest",
              _lines([{"source-ref": "s3://b/0.png", "animal": 0,
                       "animal-metadata": {"class-name": "cat", "type": "groundtruth/image-classification"}}]),
              "annotations/worker-response"),
    _no_votes("COCO annotations", "boxes with ids and categories", "instances.json",
              _text({"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "category_id": 3,
                                                             "bbox": [0, 0, 1, 1]}], "categories": [{"id": 3}]})),
    _no_votes("a package manifest", "an object of objects", "package.json",
              _text({"name": "x", "version": "1.0", "scripts": {"test": "x"}, "dependencies": {"a": "^1", "b": "^1"}})),
)  # fmt: skip

CASES = (*GOOD, *DIRTY, *LOOK_ALIKES)
