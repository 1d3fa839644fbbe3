"""Labels back into the tool that the votes came from."""

import json

import pytest

import finegold
from finegold.errors import InputError
from finegold.io.writeback import write_back
from tests.support.cli_helpers import CSV, run, write
from tests.support.exports_made import ARGILLA, LABEL_STUDIO, annotation, choices

RATING = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}


def label_studio(tmp_path, tasks=LABEL_STUDIO):
    return write(tmp_path / "export.json", json.dumps(tasks))


def task(*annotations, number=1):
    return {"id": number, "data": {"text": "hi"}, "annotations": list(annotations)}


def test_predictions_for_label_studio(tmp_path):
    path, out = label_studio(tmp_path), tmp_path / "predictions.json"
    done = run("aggregate", path, "--method", "mv", "--write-back", out, "-o", tmp_path / "labels.csv")
    assert done.exit_code == 0, done.stderr
    answer = {"from_name": "sent", "to_name": "text", "type": "choices", "value": {"choices": ["neg"]}}
    assert json.loads(out.read_text()) == [
        {
            "id": 7,
            "data": {"text": "hi"},
            "predictions": [{"model_version": "finegold mv", "score": 0.5, "result": [answer]}],
        },
        {
            "id": 8,
            "data": {"text": "ho"},
            "predictions": [{"model_version": "finegold mv", "score": 1.0, "result": [answer]}],
        },
        {"id": 9, "data": {"text": "he"}, "predictions": []},
    ]


def test_what_was_written_for_label_studio_can_be_read_as_votes_of_a_model(tmp_path):
    path, out = label_studio(tmp_path), tmp_path / "predictions.json"
    write_back(finegold.aggregate(path, method="mv"), path, out)
    tasks = [{**one, "annotations": []} for one in json.loads(out.read_text())]
    votes = finegold.read(write(tmp_path / "again.json", json.dumps(tasks)), include="predictions")
    assert votes.annotator_names.to_list() == ["finegold mv"]
    assert votes.n_votes == 2


def test_all_questions_are_in_one_prediction(tmp_path):
    tasks = [task(annotation(1, choices("tags", "b", "a"), RATING))]
    path, out = label_studio(tmp_path, tasks), tmp_path / "predictions.json"
    done = run("aggregate", path, "--method", "mv", "--question", "all", "--write-back", out)
    assert done.exit_code == 0, done.stderr
    [prediction] = json.loads(out.read_text())[0]["predictions"]
    assert [answer["value"] for answer in prediction["result"]] == [{"rating": 4}, {"choices": ["b", "a"]}]


def test_one_of_several_questions(tmp_path):
    path, out = label_studio(tmp_path, [task(annotation(1, choices("tags", "a"), RATING))]), tmp_path / "out.json"
    result = finegold.aggregate(path, method="mv", question="stars")
    write_back(result, path, out, question="stars")
    [prediction] = json.loads(out.read_text())[0]["predictions"]
    assert prediction["result"] == [RATING]
    with pytest.raises(InputError, match=r"record 1: the task answers several questions; use question=NAME"):
        write_back(result, path, out)


def test_places_in_a_taxonomy_stay_paths(tmp_path):
    def kind(*path):
        return {"from_name": "kind", "to_name": "text", "type": "taxonomy", "value": {"taxonomy": [list(path)]}}

    tasks = [task(annotation(1, kind("animal", "dog"))), task(annotation(1, kind("plant", "a/b")), number=2)]
    path, out = label_studio(tmp_path, tasks), tmp_path / "out.json"
    write_back(finegold.aggregate(path, method="mv"), path, out)
    found = [one["predictions"][0]["result"][0] for one in json.loads(out.read_text())]
    assert found == [kind("animal", "dog"), kind("plant", "a/b")]
    write_back(finegold.aggregate(path, method="mv", gold={2: "animal/dog"}), path, out)
    assert json.loads(out.read_text())[1]["predictions"][0]["result"] == [kind("animal", "dog")]


def test_a_task_that_only_a_model_has_answered(tmp_path):
    model = {"model_version": "m1", "result": [choices("q", "b")]}
    tasks = [task(annotation(1, choices("q", "a"))), {**task(number=2), "predictions": [model]}]
    path, out = label_studio(tmp_path, tasks), tmp_path / "out.json"
    write_back(finegold.aggregate(path, method="mv", include="predictions"), path, out)
    [answer] = json.loads(out.read_text())[1]["predictions"][0]["result"]
    assert answer["value"] == {"choices": ["b"]}


def test_an_answer_that_does_not_say_what_it_is_about(tmp_path):
    answer = {name: value for name, value in RATING.items() if name != "to_name"}
    path = label_studio(tmp_path, [task(annotation(1, answer))])
    with pytest.raises(InputError, match=r'\(Label Studio export\), record 1: found no "to_name"'):
        write_back(finegold.aggregate(path, method="mv"), path, tmp_path / "out.json")


def test_labels_are_written_as_annotators_write_them(tmp_path):
    """Numbers that are choices stay text, and a label that nobody gave to this task is written like the others."""
    tasks = [task(annotation(1, choices("q", "1"))), task(annotation(1, choices("q", "2")), number=2)]
    path, out = label_studio(tmp_path, tasks), tmp_path / "out.json"
    write_back(finegold.aggregate(path, method="mv", gold={2: 1}), path, out)
    found = [one["predictions"][0]["result"][0]["value"] for one in json.loads(out.read_text())]
    assert found == [{"choices": ["1"]}, {"choices": ["1"]}]


def test_tasks_named_by_their_data(tmp_path):
    path, out = label_studio(tmp_path), tmp_path / "out.json"
    done = run("aggregate", path, "--task", "text", "--method", "mv", "--write-back", out)
    assert done.exit_code == 0, done.stderr
    assert [len(one["predictions"]) for one in json.loads(out.read_text())] == [1, 1, 0]


def test_suggestions_for_argilla(tmp_path):
    path, out = write(tmp_path / "records.json", json.dumps(ARGILLA)), tmp_path / "suggestions.json"
    done = run("aggregate", path, "--method", "mv", "--write-back", out)
    assert done.exit_code == 0, done.stderr
    records = json.loads(out.read_text())
    assert [one["suggestions"]["sent"] for one in records] == [
        {"value": "neg", "score": 0.5, "agent": "finegold mv"},
        {"value": "neg", "score": 1.0, "agent": "finegold mv"},
    ]
    assert [{**one, "suggestions": {}} for one in records] == [{**one, "suggestions": {}} for one in ARGILLA]


def test_several_labels_of_argilla_are_a_list(tmp_path):
    records = [{"id": "1", "fields": {}, "responses": {"q": [{"value": ["b", "a"], "user_id": "u"}]}}]
    path, out = write(tmp_path / "records.jsonl", json.dumps(records[0]) + "\n"), tmp_path / "out.json"
    write_back(finegold.aggregate(path, method="mv"), path, out)
    assert json.loads(out.read_text())[0]["suggestions"]["q"]["value"] == ["b", "a"]


def test_what_cannot_take_labels_is_refused_before_the_work(tmp_path):
    path = write(tmp_path / "votes.csv", CSV)
    done = run("aggregate", path, "--write-back", tmp_path / "out.json")
    assert done.exit_code == 2
    assert "labels cannot be written back into plain tables; they can for label-studio and argilla" in done.stderr
    done = run("aggregate", "-", "--write-back", tmp_path / "out.json", stdin=CSV)
    assert "reads FILE twice" in done.stderr


def test_short_exports_of_label_studio_cannot_take_labels(tmp_path):
    record = {"text": "hi", "id": 7, "sent": "pos", "annotator": 3, "annotation_id": 1, "lead_time": 4.2}
    path, out = label_studio(tmp_path, [record]), tmp_path / "out.json"
    done = run("aggregate", path, "--method", "mv", "--write-back", out)
    assert done.exit_code == 2
    assert "record 1: found no task with its data and annotations; predictions need the full one" in done.stderr
    assert not out.exists()


def test_labels_of_other_tasks(tmp_path):
    path, out = label_studio(tmp_path), tmp_path / "out.json"
    result = finegold.aggregate(write(tmp_path / "votes.csv", CSV), method="mv")
    with pytest.raises(InputError, match="no label belongs to a task of the export"):
        write_back(result, path, out)
    assert not out.exists()


def test_numbers_that_are_labels_of_argilla_stay_text(tmp_path):
    records = [
        {"id": name, "fields": {}, "responses": {"q": [{"value": label, "user_id": "u"}]}}
        for name, label in (("a", "1"), ("b", "2"))
    ]
    path, out = write(tmp_path / "records.json", json.dumps(records)), tmp_path / "out.json"
    write_back(finegold.aggregate(path, method="mv", gold={"b": 1}), path, out)
    assert [one["suggestions"]["q"]["value"] for one in json.loads(out.read_text())] == ["1", "1"]
