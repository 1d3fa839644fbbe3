"""Labels back into the tool that the votes came from."""

import json

import pytest

import finegold
from finegold.errors import InputError
from finegold.io.writeback import write_back
from tests.support.cli_helpers import CSV, refusal_of, succeed, write
from tests.support.exports_made import ARGILLA, LABEL_STUDIO, annotation, choices

RATING = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}


def task(*annotations, number=1):
    return {"id": number, "data": {"text": "hi"}, "annotations": list(annotations)}


def back(tmp_path, export, question=None, **how):
    """Aggregate an export, and return it as it is written back."""
    path, out = write(tmp_path / "export.json", json.dumps(export)), tmp_path / "out.json"
    write_back(
        finegold.aggregate(path, method="mv", question=question, **how),
        path,
        out,
        question=question,
    )
    return json.loads(out.read_text())


def answers(tmp_path, *annotations, **how):
    """What is written back of tasks with an annotation each: the answers of the first prediction of each task."""
    tasks = [task(each, number=number) for number, each in enumerate(annotations, 1)]
    return [one["predictions"][0]["result"] for one in back(tmp_path, tasks, **how)]


def test_predictions_for_label_studio(tmp_path):
    path, out = (
        write(tmp_path / "export.json", json.dumps(LABEL_STUDIO)),
        tmp_path / "predictions.json",
    )
    succeed("aggregate", path, "--method", "mv", "--write-back", out, "-o", tmp_path / "labels.csv")
    answer = {
        "from_name": "sent",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": ["neg"]},
    }
    tasks = json.loads(out.read_text())
    assert [(one["id"], one["data"]) for one in tasks] == [
        (7, {"text": "hi"}),
        (8, {"text": "ho"}),
        (9, {"text": "he"}),
    ]
    assert [one["predictions"] for one in tasks] == [
        [{"model_version": "finegold mv", "score": 0.5, "result": [answer]}],
        [{"model_version": "finegold mv", "score": 1.0, "result": [answer]}],
        [],
    ]
    again = write(
        tmp_path / "again.json", json.dumps([{**one, "annotations": []} for one in tasks])
    )
    votes = finegold.read(again, include="predictions")  # as votes of a model
    assert votes.annotator_names.to_list() == ["finegold mv"]
    assert votes.n_votes == 2
    succeed("aggregate", path, "--task", "text", "--method", "mv", "--write-back", out)
    assert [len(one["predictions"]) for one in json.loads(out.read_text())] == [1, 1, 0]


def test_all_questions_are_in_one_prediction_or_one_of_them(tmp_path):
    tasks = [task(annotation(1, choices("tags", "b", "a"), RATING))]
    path, out = write(tmp_path / "export.json", json.dumps(tasks)), tmp_path / "predictions.json"
    succeed("aggregate", path, "--method", "mv", "--question", "all", "--write-back", out)
    [prediction] = json.loads(out.read_text())[0]["predictions"]
    assert [answer["value"] for answer in prediction["result"]] == [
        {"rating": 4},
        {"choices": ["b", "a"]},
    ]
    assert back(tmp_path, tasks, question="stars")[0]["predictions"][0]["result"] == [RATING]
    with pytest.raises(
        InputError, match=r"record 1: the task answers several questions; use question=NAME"
    ):
        write_back(finegold.aggregate(path, method="mv", question="stars"), path, out)


def test_places_in_a_taxonomy_stay_paths(tmp_path):
    def kind(*path):
        return {
            "from_name": "kind",
            "to_name": "text",
            "type": "taxonomy",
            "value": {"taxonomy": [list(path)]},
        }

    given = annotation(1, kind("animal", "dog")), annotation(1, kind("plant", "a/b"))
    assert answers(tmp_path, *given) == [[kind("animal", "dog")], [kind("plant", "a/b")]]
    assert answers(tmp_path, *given, gold={2: "animal/dog"})[1] == [kind("animal", "dog")]


def test_labels_are_written_as_annotators_write_them(tmp_path):
    """Numbers that are choices stay text, and a label that nobody gave to this task is written like the others."""
    given = annotation(1, choices("q", "1")), annotation(1, choices("q", "2"))
    written = answers(tmp_path, *given, gold={2: 1})
    assert [result[0]["value"] for result in written] == [{"choices": ["1"]}, {"choices": ["1"]}]
    responses = ({"q": [{"value": label, "user_id": "u"}]} for label in ("1", "2"))
    records = [
        {"id": name, "fields": {}, "responses": each}
        for name, each in zip("ab", responses, strict=True)
    ]
    assert [one["suggestions"]["q"]["value"] for one in back(tmp_path, records, gold={"b": 1})] == [
        "1",
        "1",
    ]


def test_suggestions_for_argilla(tmp_path):
    path, out = write(tmp_path / "records.json", json.dumps(ARGILLA)), tmp_path / "suggestions.json"
    succeed("aggregate", path, "--method", "mv", "--write-back", out)
    records = json.loads(out.read_text())
    assert [one["suggestions"]["sent"] for one in records] == [
        {"value": "neg", "score": 0.5, "agent": "finegold mv"},
        {"value": "neg", "score": 1.0, "agent": "finegold mv"},
    ]
    assert [{**one, "suggestions": {}} for one in records] == [
        {**one, "suggestions": {}} for one in ARGILLA
    ]
    several = {"id": "1", "fields": {}, "responses": {"q": [{"value": ["b", "a"], "user_id": "u"}]}}
    assert back(tmp_path, several)[0]["suggestions"]["q"]["value"] == ["b", "a"]


SHORT = {"text": "hi", "id": 7, "sent": "pos", "annotator": 3, "annotation_id": 1, "lead_time": 4.2}


@pytest.mark.parametrize(
    ("given", "stdin", "words"),
    [
        (
            CSV,
            None,
            "labels cannot be written back into plain tables; they can for label-studio and argilla",
        ),
        (None, CSV, "reads FILE twice"),
        (
            json.dumps([SHORT]),
            None,
            'record 1: found no "data", expected an object; export it again: on the project\'s page',
        ),
    ],
)
def test_what_cannot_take_labels_is_refused(tmp_path, given, stdin, words):
    path = "-" if given is None else write(tmp_path / "export.json", given)
    assert words in refusal_of(
        "aggregate", path, "--method", "mv", "--write-back", tmp_path / "out.json", stdin=stdin
    )
    assert not (tmp_path / "out.json").exists()
