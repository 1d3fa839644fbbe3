"""SageMaker Ground Truth: hand-made outputs of jobs in, the votes written by hand out."""

import json

from tests.support.exports_cases import check_each, reads, refuses

VOTES = {(0, "w1", "cat"), (0, "w2", "dog"), (1, "w1", "dog")}
BY_ADDRESS = {(f"s3://b/{task}.png", who, said) for task, who, said in VOTES}


def annotation(worker, answers):
    return {"workerId": worker, "annotationData": {"content": json.dumps(answers)}}


def object_of(number, *annotations):
    about = {"datasetObjectId": number, "dataObject": {"s3Uri": f"s3://b/{number}.png"}}
    return about | {"annotations": list(annotations)}


def label(name):
    return {"crowd-image-classifier": {"label": name}}


def response(*answers, indent=None):
    about = {"acceptanceTime": "2018-11-26T12:00:00Z"}
    listed = [about | {"answerContent": content, "workerId": worker} for worker, content in answers]
    return json.dumps({"answers": listed}, indent=indent)


REQUESTS = [
    object_of("0", annotation("w1", label("cat")), annotation("w2", label("dog"))),
    object_of("1", annotation("w1", label("dog"))),
]
FOLDERS, PATTERN = "worker-response/iteration-1", "worker-response/*/*/*.json"
RESPONSES = [
    {
        f"{FOLDERS}/0/2018.json": response(
            ("w1", label("cat")), ("w2", label("dog")), indent=indent
        ),
        f"{FOLDERS}/1/2018.json": response(("w1", label("dog")), indent=indent),
    }
    for indent in (None, 2)
]
FORM = {
    "mood": {"good": True, "bad": False},
    "tags": {"labels": ["b", "a"]},
    "sure": {"on": False},
    "note": "hm",
    "where": {"boundingBoxes": [{"left": 1}]},
    "none": {"x": False, "y": False},
}
LABELS = {"mood": "good", "tags": "a|b", "sure": "false", "note": "hm"}
MANIFEST = {
    "source-ref": "s3://b/0.png",
    "animal": 0,
    "animal-metadata": {
        "class-name": "cat",
        "type": "groundtruth/image-classification",
        "job-name": "j",
    },
}
FOLDER = "; give the folder annotations/worker-response"
FILE, TITLE = "2018-11-26.json", "(SageMaker Ground Truth export)"

test_jobs = check_each({
    "a consolidation request holds JSON in JSON": reads(FILE, [*REQUESTS, object_of("2")], VOTES, unlabelled=[2]),
    "tasks by their address": reads(FILE, REQUESTS, BY_ADDRESS, task="s3Uri"),
    "worker responses in a folder per object": reads("", RESPONSES[0], VOTES),
    "forms ask several questions": reads(
        *(FILE, [object_of("7", annotation("w1", FORM))], {name: {(7, "w1", said)} for name, said in LABELS.items()}),
        {"answers that are not labels, such as boxes": 1},
    ),
    "an output manifest": refuses(
        "output.manifest", json.dumps(MANIFEST) + "\n", f"output.manifest {TITLE}, record 1: ", FOLDER
    ),
})  # fmt: skip

DAMAGED = {
    "record 1: it holds one label per object": [
        {"datasetObjectId": "0", "consolidatedAnnotation": {"content": {}}}
    ],
    'record 2: found no "datasetObjectId"': [object_of("0"), {"dataObject": {}}],
    'record 1: the "content" of an annotation is not JSON': [
        object_of("0", {"workerId": "w", "annotationData": {"content": "{"}})
    ],
    'record 1: found 3 for "content"': [
        object_of("0", {"workerId": "w", "annotationData": {"content": "3"}})
    ],
    'record 1: found no "workerId"': [object_of("0", {"annotationData": {"content": "{}"}})],
    'record 1: found no "annotationData"': [object_of("0", {"workerId": "w"})],
}
test_damage_is_named_with_the_tool_the_record_and_the_remedy = check_each(
    {words: refuses(FILE, content, TITLE, words, FOLDER[2:]) for words, content in DAMAGED.items()}
)
