"""doccano: an archive with a file per member, or these files themselves."""

import json

from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import DOCCANO, lines, zipped

VOTES = {(5, "ann", "pos"), (6, "ann", "neg"), (5, "bob", "neg")}
HEAD = "id,text,label"
FILES = {
    "jsonl": {name: lines(records) for name, records in DOCCANO.items()},
    "json": {
        name.replace("jsonl", "json"): json.dumps(records) for name, records in DOCCANO.items()
    },
    "csv": {
        "ann.csv": f"{HEAD},Comments\n5,hi,pos,\n6,ho,neg,\n",
        "bob.csv": f"{HEAD},Comments\n5,hi,neg,\n6,ho,,\n",
    },
}
ANN = FILES["jsonl"]["ann.jsonl"]
IMAGES = [
    {"id": 1, "filename": "a.png", "label": ["cat", "ant"]},
    {"id": 2, "filename": "b.png", "cats": ["dog"]},
]
SPANS = [
    {"id": 1, "text": "hi", "label": [[0, 2, "NAME"]]},
    {"id": 2, "text": "hi", "label": ["a"]},
]
TOGETHER = ("(doccano export): it holds the labels of all members together", "Share")
LONG = zipped({"ann.jsonl": ANN * 50})


def packed(record):
    """An archive with the first record of ann and this one."""
    return zipped({"ann.jsonl": lines([DOCCANO["ann.jsonl"][0], record])})


def old(task, *annotations):
    return {
        "id": task,
        "text": "hi",
        "meta": {},
        "annotation_approver": None,
        "annotations": list(annotations),
    }


OLD = [
    old(5, {"label": 2, "user": 1}, {"label": 3, "user": 2}),
    old(6, {"id": 9, "label": 3, "user": 1}, {"id": 8, "label": 2, "user": 1}),
    old(7, {"label": 2, "user": 1, "start_offset": 0, "end_offset": 2}),
    old(8),
]

test_archives_and_their_files = check_each({
    **{f"an archive of {kind}": reads("v.zip", zipped(files), VOTES, missing=1) for kind, files in FILES.items()},
    **{f"files of {kind}": reads("", files, VOTES, missing=1) for kind, files in FILES.items()},
    "several labels and images": reads("ann.jsonl", IMAGES, {(1, "ann", "ant|cat"), (2, "ann", "dog")}),
    "several labels in CSV": reads("v.zip", zipped({"ann.csv": f"{HEAD}\n1,hi,cat#ant\n"}), {(1, "ann", "ant|cat")}),
    "spans": reads("ann.jsonl", SPANS, {(2, "ann", "a")}, {"marked spans": 1}),
    "labels of all members in a file": refuses("all.jsonl", ANN, *TOGETHER),
    "old versions name the user of every annotation": reads(
        *("file.json1", lines(OLD), {(5, 1, "2"), (5, 2, "3"), (6, 1, "2|3")}, {"marked spans": 1}),
        warns="holds? several labels", unlabelled=[7, 8],
    ),
})  # fmt: skip

MEMBER, REMEDY = "(doccano export), record 2: in ann.jsonl, ", "; export it again: Dataset, Actions"
test_damage_names_the_member_and_the_record = check_each({
    "label": refuses("v.zip", packed({"id": 6, "text": "ho", "label": 3}), f'{MEMBER}found 3 for "label"', REMEDY),
    "id": refuses("v.zip", packed({"text": "ho", "label": []}), f'{MEMBER}found no "id"', REMEDY),
    "json": refuses("v.zip", zipped({"ann.jsonl": ANN[:-9]}), f"{MEMBER}the file is cut short", REMEDY),
    "archive": refuses("v.zip", LONG[:60] + b"\0" * 20 + LONG[80:], "(doccano export)", "the zip archive is damaged"),
})  # fmt: skip
