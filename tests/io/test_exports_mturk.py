"""Amazon Mechanical Turk: hand-made batches in, the votes written by hand out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

ABOUT = "HITId,HITTypeId,Title,AssignmentId,WorkerId,AssignmentStatus,WorkTimeInSeconds,LifetimeApprovalRate"
ROWS = [
    ("H1", "A1", "ann", "Approved"),
    ("H1", "A2", "bob", "Submitted"),
    ("H2", "A3", "ann", "Approved"),
    ("H2", "A4", "eve", "Rejected"),
]


def batch(path: Path, names: str, answers: list[str], rejects: tuple[str, ...] = ("", "", "", "")) -> Path:
    """A batch of four assignments with these columns, the last of them rejected."""
    lines = [f"{ABOUT},{names},Approve,Reject"]
    for (hit, assignment, worker, status), cells, reject in zip(ROWS, answers, rejects, strict=True):
        lines.append(f'{hit},T,"Which, then?",{assignment},{worker},{status},12,100% (2/2),{cells},,{reject}')
    return write(path / "Batch_123_batch_results.csv", "\n".join(lines) + "\n")


def test_a_classifier_is_one_question(tmp_path: Path) -> None:
    path = batch(tmp_path, "Input.image_url,Answer.category.label", ["u1,Cat", "u1,Dog", '"u,2",Dog', '"u,2",Cat'])
    found = read(path)
    assert votes_of(found) == {("H1", "ann", "Cat"), ("H1", "bob", "Dog"), ("H2", "ann", "Dog")}
    assert found.counts.left_out == {"rejected assignments": 1}
    assert ("H2", "eve", "Cat") in votes_of(read(path, include="rejected"))
    by_image = {("u1", "ann", "Cat"), ("u1", "bob", "Dog"), ("u,2", "ann", "Dog")}
    assert votes_of(read(path, task="Input.image_url")) == votes_of(read(path, task="image_url")) == by_image


def test_several_answers_are_several_questions(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.mood,Answer.topic", ["good,art", "bad,art", "good,", "bad,war"])
    with pytest.raises(InputError, match=r'asks 2 questions: "mood" \(3 votes\), "topic".*use question=NAME'):
        read(path)
    assert votes_of(read(path, question="mood")) == {("H1", "ann", "good"), ("H1", "bob", "bad"), ("H2", "ann", "good")}
    each = read_each(path)
    assert votes_of(each["topic"]) == {("H1", "ann", "art"), ("H1", "bob", "art")}
    assert each["topic"].unlabelled.to_list() == ["H2"]


def test_buttons_of_one_name_are_one_question(tmp_path: Path) -> None:
    path = batch(
        tmp_path, "Answer.mood.good,Answer.mood.bad", ["true,false", "false,true", "false,false", "true,false"]
    )
    found = read(path)
    assert votes_of(found) == {("H1", "ann", "good"), ("H1", "bob", "bad")}
    assert found.counts.missing == 1  # nothing was chosen


def test_buttons_with_names_of_their_own_are_one_question_if_everybody_chose_one(tmp_path: Path) -> None:
    chosen = ["true,false", "false,true", "true,false", "false,true"]
    expected = {("H1", "ann", "Car"), ("H1", "bob", "Bus"), ("H2", "ann", "Car")}
    path = batch(tmp_path, "Answer.Car.Car,Answer.Bus.Bus", chosen)
    assert votes_of(read(path, question="choice")) == votes_of(read(path)) == expected
    path = batch(tmp_path, "Answer.ride_1.Car,Answer.ride_2.Bus", chosen)
    assert votes_of(read(path, question="ride")) == expected
    path = batch(tmp_path, "Answer.Car.on,Answer.Bus.on", chosen)
    assert votes_of(read(path)) == expected


@pytest.mark.parametrize(
    ("names", "questions"),
    [("Answer.Car.Car,Answer.Bus.Bus", ["Bus", "Car"]), ("Answer.ride.Car,Answer.ride.Bus", ["ride.Bus", "ride.Car"])],
)
def test_boxes_of_which_several_were_ticked_are_a_question_each(
    tmp_path: Path, names: str, questions: list[str]
) -> None:
    path = batch(tmp_path, names, ["true,true", "false,true", "false,false", "true,false"])
    each = read_each(path)
    assert list(each) == questions
    assert votes_of(each[questions[1]]) == {("H1", "ann", "true"), ("H1", "bob", "false"), ("H2", "ann", "false")}
    assert votes_of(each[questions[0]]) == {("H1", "ann", "true"), ("H1", "bob", "true"), ("H2", "ann", "false")}


def test_boxes_that_somebody_left_empty_are_a_question_each(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.spam.on,Answer.rude.on", ["true,false", "false,false", "false,true", "true,false"])
    assert votes_of(read_each(path)["spam"]) == {("H1", "ann", "true"), ("H1", "bob", "false"), ("H2", "ann", "false")}


def test_an_answer_that_says_true_or_false_is_a_question(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.sure,Answer.rude", ["true,false", "false,true", "false,true", "true,false"])
    assert list(read_each(path)) == ["rude", "sure"]


def test_one_box_is_a_question(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.spam.on", ["true", "false", "false", "true"])
    assert votes_of(read(path)) == {("H1", "ann", "true"), ("H1", "bob", "false"), ("H2", "ann", "false")}


def test_several_items_in_one_hit(tmp_path: Path) -> None:
    names = "Input.url1,Input.url_2,Input.url10,Answer.mood1,Answer.mood2,Answer.mood_10,Answer.note"
    path = batch(
        tmp_path, names, ["a,b,c,good,bad,good,hm", "a,b,c,bad,bad,,", "d,e,f,good,good,bad,", "d,e,f,bad,bad,bad,"]
    )
    assert list(read_each(path)) == ["mood1", "mood2", "mood_10", "note"]
    found = read(path, task="url")
    assert votes_of(found) == {
        ("a", "ann", "good"), ("b", "ann", "bad"), ("c", "ann", "good"), ("a", "bob", "bad"), ("b", "bob", "bad"),
        ("d", "ann", "good"), ("e", "ann", "good"), ("f", "ann", "bad"),
    }  # fmt: skip
    assert found.counts.left_out == {"rejected assignments": 1, "answers that are about a whole HIT": 1}
    assert votes_of(read(path, task="Input.url", question="mood")) == votes_of(found)


def as_cell(form: object) -> str:
    return '"' + json.dumps([form]).replace('"', '""') + '"'


def test_answers_in_one_cell_are_read_as_columns_are(tmp_path: Path) -> None:
    forms = [
        {"mood": {"good": True, "bad": False}, "tags": {"labels": ["b", "a"]}, "note": ""},
        {"mood": {"good": False, "bad": True}, "tags": {"labels": ["a"]}, "sure": 3},
        {"mood": {"good": True, "bad": False}, "tags": {"labels": []}},
        {"mood": {"good": False, "bad": True}},
    ]
    path = batch(tmp_path, "Answer.taskAnswers", [as_cell(form) for form in forms])
    each = read_each(path)
    assert list(each) == ["mood", "sure", "tags"]
    assert votes_of(each["mood"]) == {("H1", "ann", "good"), ("H1", "bob", "bad"), ("H2", "ann", "good")}
    assert {label for _, _, label in votes_of(each["tags"])} == {"a|b", "a"}
    assert votes_of(each["sure"]) == {("H1", "bob", 3)}


def test_what_the_requester_marked_for_rejection_is_left_out(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.mood", ["good", "bad", "good", "bad"], ("", "too fast", "", ""))
    found = read(path)
    assert votes_of(found) == {("H1", "ann", "good"), ("H2", "ann", "good")}
    assert found.counts.left_out == {"rejected assignments": 2}


TITLE = r"Batch_123_batch_results\.csv \(Amazon Mechanical Turk export\)"


def test_damage_is_named_with_the_tool_the_row_and_the_remedy(tmp_path: Path) -> None:
    path = batch(tmp_path, "Answer.taskAnswers", [as_cell({"a": "x"}), '"[{"', "", ""])
    with pytest.raises(
        InputError, match=rf"{TITLE}, record 2: the answers in Answer.taskAnswers are not JSON .*Download CSV"
    ):
        read(path)
    path = batch(tmp_path, "Input.url", ["1", "2", "3", "4"])
    with pytest.raises(InputError, match=rf"{TITLE}: there is no Answer\.\* column; download it again"):
        read(path)
    path = batch(tmp_path, "Input.url,Answer.mood", ["1,a", "2,b", "3,a", "4,a"])
    with pytest.raises(InputError, match=r'there is no column "text"; use task=NAME with one of HITId, Input\.url'):
        read(path, task="text")
    cut = write(tmp_path / "cut.csv", path.read_text()[:-40])
    with pytest.raises(
        InputError,
        match=r"cut\.csv \(Amazon Mechanical Turk export\), line 5: too few fields.*, or (download|export) it again",
    ):
        read(cut)
    nobody = write(tmp_path / "nobody.csv", path.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="it has a header but no rows"):
        read(nobody)


def test_a_table_with_names_of_mechanical_turk_is_a_plain_table(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", "HITId,WorkerId,answer\nH1,ann,a\n")
    assert votes_of(read(path)) == {("H1", "ann", "a")}


def test_rows_may_omit_the_cells_of_approve_and_reject(tmp_path: Path) -> None:
    head = f"{ABOUT},Input.url,Answer.mood,Approve,Reject\n"
    rows = [
        "H1,T,x,A1,ann,Submitted,12,0%,u1,good",
        "H1,T,x,A2,bob,Submitted,12,0%,u1,bad,",
        "H2,T,x,A3,ann,Submitted,12,0%,u2,bad,,",
    ]
    found = read(write(tmp_path / "batch.csv", head + "\n".join(rows) + "\n"))
    assert votes_of(found) == {("H1", "ann", "good"), ("H1", "bob", "bad"), ("H2", "ann", "bad")}
    short = write(tmp_path / "short.csv", head + "\n".join([*rows, "H2,T,x,A4,eve,Submitted,12,0%,u2"]) + "\n")
    with pytest.raises(InputError, match=r"line 5: too few fields, found 9 but the header has 12"):
        read(short)


def test_buttons_that_pandas_saved_again_are_one_question(tmp_path: Path) -> None:
    names, chosen = "Answer.mood.good,Answer.mood.bad", ["True,False", "False,True", "False,False", "True,False"]
    assert votes_of(read(batch(tmp_path, names, chosen))) == {("H1", "ann", "good"), ("H1", "bob", "bad")}
    boxes = read_each(batch(tmp_path, names, ["True,True", "False,True", "False,False", "True,False"]))
    assert {label for _, _, label in votes_of(boxes["mood.good"])} == {"true", "false"}
