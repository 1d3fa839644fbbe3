"""Label Studio: JSON, JSON-MIN and CSV."""

import gzip
import json

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from tests.support.exports_made import LABEL_STUDIO, annotation, choices
from tests.support.readers_votes import votes_of, write

VOTES = {(7, "3", "pos"), (7, "b@x.org", "neg"), (8, "3", "neg")}
MINI = [
    {
        "text": "hi", "id": 7, "sent": "pos", "annotator": 3, "annotation_id": 1,
        "created_at": "", "updated_at": "", "lead_time": 4.2,
    },
    {
        "text": "hi", "id": 7, "sent": "neg", "annotator": "b@x.org", "annotation_id": 2,
        "created_at": "", "updated_at": "", "lead_time": 4.2,
    },
    {
        "text": "ho", "id": 8, "sent": "neg", "annotator": 3, "annotation_id": 3,
        "created_at": "", "updated_at": "", "lead_time": 4.2,
    },
]  # fmt: skip
HEADER = '"annotation_id","annotator","created_at","id","lead_time","sent","text","updated_at"\n'
CSV = HEADER + '1,"3","",7,4.2,"pos","hi",""\n2,"b@x.org","",7,4.2,"neg","hi",""\n3,"3","",8,4.2,"neg","ho",""\n'


def export(tmp_path, tasks, name="export.json"):
    return write(tmp_path / name, json.dumps(tasks, indent=2))


def task(*annotations, **more):
    return {"id": 1, "data": {"text": "hi"}, "annotations": list(annotations), **more}


def test_votes_and_what_is_left_out(tmp_path):
    votes = finegold.read(export(tmp_path, LABEL_STUDIO))
    assert votes_of(votes) == VOTES
    assert votes.unlabelled.to_list() == [9]
    assert votes.counts.left_out == {"cancelled annotations": 1, "predictions of models": 1, "drafts": 1}
    assert (votes.gold == -1).all()


def test_gold_marks_are_gold_when_asked_for(tmp_path):
    votes = finegold.read(export(tmp_path, LABEL_STUDIO), gold=True)
    assert votes_of(votes) == VOTES
    assert [votes.class_names.to_list()[code] for code in votes.gold if code >= 0] == ["neg"]


def test_predictions_are_annotators_when_asked_for(tmp_path):
    votes = finegold.read(export(tmp_path, LABEL_STUDIO), include="predictions")
    assert votes_of(votes) == VOTES | {(7, "m1", "neg")}
    assert "predictions of models" not in votes.counts.left_out


def test_an_export_may_have_only_the_numbers_of_predictions(tmp_path):
    path = export(tmp_path, [task(annotation(1, choices("q", "a")), predictions=[17])])
    assert finegold.read(path).counts.left_out == {"predictions of models": 1}
    with pytest.raises(InputError, match=r"record 1: of predictions there are only the numbers; .* export snapshot"):
        finegold.read(path, include="predictions")


def test_tasks_may_be_named_by_their_data(tmp_path):
    votes = finegold.read(export(tmp_path, LABEL_STUDIO), task="text")
    assert votes_of(votes) == {("hi", "3", "pos"), ("hi", "b@x.org", "neg"), ("ho", "3", "neg")}
    with pytest.raises(InputError, match=r'the data of the task have no "txt"; use task=NAME with one of text'):
        finegold.read(export(tmp_path, LABEL_STUDIO), task="txt")


def test_old_exports_packed_with_gzip(tmp_path):
    old = [{"id": 1, "data": {}, "completions": [annotation(1, choices("q", "a")), annotation(2, skipped=True)]}]
    path = write(tmp_path / "old.json.gz", gzip.compress(json.dumps(old).encode()))
    votes = finegold.read(path)
    assert votes_of(votes) == {(1, 1, "a")}
    assert votes.counts.left_out == {"cancelled annotations": 1}


def test_old_exports_do_not_say_who_annotated(tmp_path):
    nameless = [{"id": number, "result": [choices("q", label)]} for number, label in enumerate("ab")]
    path = export(tmp_path, [{"id": 1, "data": {}, "completions": nameless}])
    with pytest.warns(FinegoldWarning, match=r"does not say who annotated.* taken as those of the annotators 1, 2"):
        assert votes_of(finegold.read(path)) == {(1, 1, "a"), (1, 2, "b")}


def test_files_in_a_cloud_storage_hold_an_annotation_each(tmp_path):
    about = {"id": 7, "data": {"text": "hi"}, "predictions": []}
    for number, (who, label) in enumerate([("ann", "pos"), ("bob", "neg")]):
        record = {**annotation({"id": number, "email": who}, choices("sent", label)), "task": about}
        write(tmp_path / str(number), json.dumps(record))
    assert votes_of(finegold.read(str(tmp_path / "*"))) == {(7, "ann", "pos"), (7, "bob", "neg")}


def test_several_questions(tmp_path):
    rating = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}
    better = {"from_name": "better", "to_name": "text", "type": "pairwise", "value": {"selected": "left"}}
    kinds = {"from_name": "kind", "to_name": "t", "type": "taxonomy", "value": {"taxonomy": [["a", "b"], ["c"]]}}
    path = export(
        tmp_path, [task(annotation(1, choices("tags", "b", "a"), rating, better, kinds), annotation(2, rating))]
    )
    with pytest.raises(InputError) as failure:
        finegold.read(path)
    assert 'asks 4 questions: "stars" (2 votes), "tags" (1 vote), "better" (1 vote)' in str(failure.value)
    assert "question=NAME" in str(failure.value)
    each = {question: votes_of(votes) for question, votes in finegold.read_each(path).items()}
    assert each == {
        "better": {(1, 1, "left")},
        "kind": {(1, 1, "a/b|c")},
        "stars": {(1, 1, 4), (1, 2, 4)},
        "tags": {(1, 1, "a|b")},
    }
    assert votes_of(finegold.read(path, question="tags")) == each["tags"]


def test_regions_and_free_text_are_no_votes(tmp_path):
    box = {"from_name": "box", "to_name": "t", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["a"]}}
    of_box = {"from_name": "q", "to_name": "t", "type": "choices", "value": {"x": 1, "choices": ["a"]}}
    text = {"from_name": "why", "to_name": "t", "type": "textarea", "value": {"text": ["because"]}}
    link = {"type": "relation", "from_id": "a", "to_id": "b"}
    path = export(tmp_path, [task(annotation(1, choices("q", "a"), box, of_box, text, link), annotation(2))])
    votes = finegold.read(path)
    assert votes_of(votes) == {(1, 1, "a")}
    assert votes.counts.left_out == {"marked regions": 2, "free texts": 1, "annotations without an answer": 1}
    assert votes_of(finegold.read(path, question="why")) == {(1, 1, "because")}


def test_annotations_without_an_annotator_are_counted(tmp_path):
    votes = finegold.read(
        export(tmp_path, [task(annotation(None, choices("q", "a")), annotation(2, choices("q", "a")))])
    )
    assert votes_of(votes) == {(1, 2, "a")}
    assert votes.counts.left_out == {"annotations without an annotator": 1}


def test_json_min(tmp_path):
    assert votes_of(finegold.read(export(tmp_path, MINI))) == VOTES


def test_json_min_with_answers_of_all_kinds(tmp_path):
    record = {"text": "hi", "id": 7, "tags": {"choices": ["b", "a"]}, "stars": [{"rating": 4}], "box": [{"x": 1}],
              "annotator": 1, "annotation_id": 1, "lead_time": 1}  # fmt: skip
    path = export(tmp_path, [record])
    assert votes_of(finegold.read(path, question="tags")) == {(7, 1, "a|b")}
    assert votes_of(finegold.read(path, question="stars")) == {(7, 1, 4)}
    with pytest.raises(InputError, match="there are no votes"):
        finegold.read(path, question="box")


@pytest.mark.parametrize(("name", "content"), [("export.csv", CSV), ("export.tsv", CSV.replace(",", "\t"))])
def test_csv(tmp_path, name, content):
    assert votes_of(finegold.read(write(tmp_path / name, content))) == VOTES


def test_csv_with_answers_as_json(tmp_path):
    content = (
        HEADER + '1,1,,7,1,"{""choices"":[""b"",""a""]}",hi,\n2,2,,7,1,"[{""rating"":4}]",hi,\n3,3,,7,1,[oops,hi,\n'
    )
    votes = finegold.read(write(tmp_path / "export.csv", content))
    assert votes_of(votes) == {(7, 1, "a|b"), (7, 2, "4"), (7, 3, "[oops")}


def test_csv_that_does_not_show_which_column_holds_answers_asks(tmp_path):
    content = HEADER + "1,1,,7,1,pos,hi,\n2,1,,8,1,neg,ho,\n"
    path = write(tmp_path / "export.csv", content)
    with pytest.raises(InputError, match=r'asks 2 questions: "sent" \(2 votes\), "text" \(2 votes\)'):
        finegold.read(path)
    assert votes_of(finegold.read(path, question="sent")) == {(7, 1, "pos"), (8, 1, "neg")}


def test_csv_in_another_encoding_says_which(tmp_path):
    (tmp_path / "votes.csv").write_bytes(b"task,annotator,label\nt1,a1,caf\xe9\n")
    with pytest.raises(InputError, match=r"line 2: not valid UTF-8 .*looks like latin-1.*encoding=.latin-1."):
        finegold.read(tmp_path / "votes.csv", format="label-studio")


def test_short_exports_have_no_gold(tmp_path):
    with pytest.raises(InputError, match=r"JSON-MIN and CSV hold no gold marks; export it again: .* format JSON"):
        finegold.read(export(tmp_path, MINI), gold=True)


def test_gold_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="marks no gold"):
        finegold.read(export(tmp_path, [task(annotation(1, choices("q", "a")))]), gold=True)


DAMAGED = {
    "cut short": (json.dumps(LABEL_STUDIO)[:-300], "record 2: the file is cut short"),
    "annotations": (json.dumps([LABEL_STUDIO[1], task() | {"annotations": 3}]), 'record 2: found 3 for "annotations"'),
    "no id": (json.dumps([LABEL_STUDIO[1], {"data": {}, "annotations": []}]), 'record 2: found no task with an "id"'),
    "result": (json.dumps([task(annotation(1) | {"result": {}})]), 'record 1: found {} for "result", expected a list'),
    "value": (
        json.dumps([task(annotation(1, choices("q", ["a"])))]),
        "record 1: expected a name, a number or a label, found ['a']",
    ),
    "annotation": (json.dumps([task(5)]), "record 1: expected a JSON object, found 5"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_names_the_tool_the_record_and_the_remedy(tmp_path, name):
    content, found = DAMAGED[name]
    path = write(tmp_path / "export.json", content)
    with pytest.raises(InputError) as failure:
        finegold.read(path)
    assert f"{path} (Label Studio export)" in str(failure.value)
    assert found in str(failure.value)
    assert "; export it again: on the project's page, Export, format JSON" in str(failure.value)


@pytest.mark.parametrize("as_annotation", [False, True])
def test_a_single_indented_object_is_a_task(tmp_path, as_annotation):
    task = LABEL_STUDIO[0]
    if as_annotation:
        task = {**task["annotations"][0], "task": {"id": 7, "data": {"text": "hi"}}}
    votes = finegold.read(write(tmp_path / "7.json", json.dumps(task, indent=2)))
    assert votes_of(votes) == ({(7, 3, "pos")} if as_annotation else {(7, "3", "pos"), (7, "b@x.org", "neg")})
    long = {**LABEL_STUDIO[0], "data": {f"field {number}": "x" * 50 for number in range(2000)}}
    assert finegold.read(write(tmp_path / "long.json", json.dumps(long, indent=2))).n_votes == 2


def test_an_object_that_is_no_task_is_not_taken_for_one(tmp_path):
    settings = {"id": 7, "data": "folder", "annotations": 3}
    with pytest.raises(InputError) as failure:
        finegold.read(write(tmp_path / "settings.json", json.dumps(settings, indent=2)))
    assert "Label Studio" not in str(failure.value)
