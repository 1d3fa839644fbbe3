"""SageMaker Ground Truth: hand-made outputs of jobs in, the votes written by hand out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

CLASSIFIER = "crowd-image-classifier"
VOTES = {(0, "w1", "cat"), (0, "w2", "dog"), (1, "w1", "dog")}


def annotation(worker: str, answers: Any) -> dict[str, Any]:
    return {"workerId": worker, "annotationData": {"content": json.dumps(answers)}}


def requested(path: Path, *objects: Any) -> Path:
    return write(path / "2018-11-26_12-00-00.json", json.dumps(list(objects)))


def object_of(number: Any, *annotations: Any) -> dict[str, Any]:
    return {
        "datasetObjectId": number,
        "dataObject": {"s3Uri": f"s3://b/{number}.png"},
        "annotations": list(annotations),
    }


def classified(worker: str, label: str) -> dict[str, Any]:
    return annotation(worker, {CLASSIFIER: {"label": label}})


def test_a_consolidation_request_holds_json_in_json(tmp_path: Path) -> None:
    path = requested(
        tmp_path,
        object_of("0", classified("w1", "cat"), classified("w2", "dog")),
        object_of("1", classified("w1", "dog")),
        object_of("2"),
    )
    found = read(path)
    assert votes_of(found) == VOTES
    assert found.unlabelled.to_list() == [2]
    assert {task for task, _, _ in votes_of(read(path, task="s3Uri"))} == {"s3://b/0.png", "s3://b/1.png"}


def response(folder: Path, number: int, *answers: tuple[str, Any], indent: int | None = None) -> Path:
    place = folder / "worker-response" / "iteration-1" / str(number)
    place.mkdir(parents=True, exist_ok=True)
    listed = [
        {"acceptanceTime": "2018-11-26T12:00:00Z", "answerContent": content, "workerId": worker}
        for worker, content in answers
    ]
    return write(place / "2018-11-26_12-01-00.json", json.dumps({"answers": listed}, indent=indent))


@pytest.mark.parametrize("indent", [None, 2])
def test_worker_responses_lie_in_a_folder_per_object(tmp_path: Path, indent: int | None) -> None:
    response(tmp_path, 0, ("w1", {CLASSIFIER: {"label": "cat"}}), ("w2", {CLASSIFIER: {"label": "dog"}}), indent=indent)
    response(tmp_path, 1, ("w1", {CLASSIFIER: {"label": "dog"}}), indent=indent)
    assert votes_of(read(tmp_path / "worker-response")) == VOTES
    assert votes_of(read(str(tmp_path / "worker-response/*/*/*.json"))) == VOTES


def test_forms_ask_several_questions(tmp_path: Path) -> None:
    answers = {
        "mood": {"good": True, "bad": False},
        "tags": {"labels": ["b", "a"]},
        "sure": {"on": False},
        "note": "hm",
        "where": {"boundingBoxes": [{"left": 1}]},
        "none": {"x": False, "y": False},
    }
    path = requested(tmp_path, object_of("7", annotation("w1", answers)))
    each = read_each(path)
    labels = {question: {label for _, _, label in votes_of(votes)} for question, votes in each.items()}
    assert labels == {"mood": {"good"}, "tags": {"a|b"}, "sure": {"false"}, "note": {"hm"}}
    assert each["mood"].counts.left_out == {"answers that are not labels, such as boxes": 1}


MANIFEST = {
    "source-ref": "s3://b/0.png",
    "animal": 0,
    "animal-metadata": {"class-name": "cat", "type": "groundtruth/image-classification", "job-name": "j"},
}


def test_an_output_manifest_names_the_folder_with_the_answers(tmp_path: Path) -> None:
    path = write(tmp_path / "output.manifest", json.dumps(MANIFEST) + "\n")
    words = (
        r"output\.manifest \(SageMaker Ground Truth export\), record 1: .*; give the folder annotations/worker-response"
    )
    with pytest.raises(InputError, match=words):
        read(path)


def test_a_manifest_that_kept_all_answers_is_read(tmp_path: Path) -> None:
    kept = {"annotationsFromAllWorkers": [classified("w1", "cat"), classified("w2", "dog")]}
    about = {"type": "groundtruth/custom", "job-name": "j"}
    record = {"source-ref": "s3://b/0.png", "job": kept, "job-metadata": about}
    path = write(tmp_path / "output.manifest", json.dumps(record) + "\n")
    assert votes_of(read(path)) == {("s3://b/0.png", "w1", "cat"), ("s3://b/0.png", "w2", "dog")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            [{"datasetObjectId": "0", "consolidatedAnnotation": {"content": {}}}],
            "record 1: this is the answer to a consolidation",
        ),
        ([object_of("0"), {"dataObject": {}}], 'record 2: found no object with a "datasetObjectId"'),
        (
            [object_of("0", {"workerId": "w", "annotationData": {"content": "{"}})],
            'record 1: the "content" of an annotation is not JSON',
        ),
        ([object_of("0", {"workerId": "w", "annotationData": {"content": "3"}})], "record 1: found no JSON object"),
        ([object_of("0", {"annotationData": {"content": "{}"}})], 'record 1: found no "workerId"'),
        ([object_of("0", {"workerId": "w"})], 'record 1: found no "annotationData"'),
        ([object_of("0", annotation("w", {"where": {"boundingBoxes": []}}))], "holds no votes; left out were"),
    ],
)
def test_damage_is_named_with_the_tool_the_record_and_the_remedy(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        read(requested(tmp_path, *content))
    assert "SageMaker Ground Truth export" in str(error.value)
    assert "left out" in words or "give the folder annotations/worker-response" in str(error.value)


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    path = requested(tmp_path, object_of("0", classified("w1", "cat")), object_of("1", classified("w1", "dog")))
    cut = write(tmp_path / "cut.json", path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"cut\.json \(SageMaker Ground Truth export\), record 2: .*cut short"):
        read(cut)


def test_responses_have_no_task_to_choose(tmp_path: Path) -> None:
    path = response(tmp_path, 0, ("w1", {CLASSIFIER: {"label": "cat"}}))
    with pytest.raises(InputError, match=r'do not say the "s3Uri".*consolidation-request'):
        read(path, task="s3Uri")
    with path.open("rb") as stream, pytest.raises(InputError, match="told apart by the folder"):
        read(stream)
