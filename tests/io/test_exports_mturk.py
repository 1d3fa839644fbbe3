"""Amazon Mechanical Turk: hand-made batches in, the votes written by hand out."""

import json

from tests.support.exports_cases import check_each, reads, refuses

ABOUT = "HITId,HITTypeId,Title,AssignmentId,WorkerId,AssignmentStatus,WorkTimeInSeconds,LifetimeApprovalRate"
ROWS = ["H1,A1,ann,Approved", "H1,A2,bob,Submitted", "H2,A3,ann,Approved", "H2,A4,eve,Rejected"]
FILE = "Batch_123_batch_results.csv"


def batch(names, answers, rejects=("", "", "", "")):
    """A batch of four assignments with these columns, the last of them rejected."""
    rows = [f"{ABOUT},{names},Approve,Reject"]
    answers = answers.split() if isinstance(answers, str) else answers
    for about, cells, reject in zip(ROWS, answers, rejects, strict=True):
        hit, assignment, worker, status = about.split(",")
        rows.append(
            f'{hit},T,"Which, then?",{assignment},{worker},{status},12,100% (2/2),{cells},,{reject}'
        )
    return "\n".join(rows) + "\n"


def votes(first, second="", third=""):
    """The votes of the three assignments that count; "" for none."""
    given = zip(("H1", "H1", "H2"), ("ann", "bob", "ann"), (first, second, third), strict=True)
    return {(hit, worker, said) for hit, worker, said in given if said}


def as_cell(form):
    return '"' + json.dumps([form]).replace('"', '""') + '"'


CLASSIFIER = batch("Input.image_url,Answer.category.label", 'u1,Cat u1,Dog "u,2",Dog "u,2",Cat')
BY_IMAGE = {("u1", "ann", "Cat"), ("u1", "bob", "Dog"), ("u,2", "ann", "Dog")}
TWO = batch("Answer.mood,Answer.topic", "good,art bad,art good, bad,war")
MOOD = "Answer.mood.good,Answer.mood.bad"
CHOSEN = "true,false false,true true,false false,true"
RIDES = votes("Car", "Bus", "Car")
TICKED = "true,true false,true false,false true,false"
MOODS = votes("good", "bad", "good")
NOTHING = {"answers in which nothing was chosen": 1}
FORMS = [
    {"mood": {"good": True, "bad": False}, "tags": {"labels": ["b", "a"]}, "note": ""},
    {"mood": {"good": False, "bad": True}, "tags": {"labels": ["a"]}, "sure": 3},
    {"mood": {"good": True, "bad": False}, "tags": {"labels": []}},
    {"mood": {"good": False, "bad": True}},
]
MARKED = batch("Answer.mood", "good bad good bad", ("", "too fast", "", ""))
OMITTED = f"""{ABOUT},Input.url,Answer.mood,Approve,Reject
H1,T,x,A1,ann,Submitted,12,0%,u1,good
H1,T,x,A2,bob,Submitted,12,0%,u1,bad,
H2,T,x,A3,ann,Submitted,12,0%,u2,bad,,
"""
REJECTED = {"rejected assignments": 1}

test_batches = check_each({
    "a classifier is one question": reads(FILE, CLASSIFIER, votes("Cat", "Dog", "Dog"), REJECTED),
    "rejected": reads(FILE, CLASSIFIER, votes("Cat", "Dog", "Dog") | {("H2", "eve", "Cat")}, include="rejected"),
    "tasks by the short name of an input": reads(FILE, CLASSIFIER, BY_IMAGE, task="image_url"),
    "several answers are several questions": reads(
        FILE, TWO, {"mood": votes("good", "bad", "good"), "topic": votes("art", "art")}
    ),
    "what the requester marked for rejection": reads(
        FILE, MARKED, {("H1", "ann", "good"), ("H2", "ann", "good")}, {"rejected assignments": 2}
    ),
    "rows may omit the cells of Approve and Reject": reads(FILE, OMITTED, votes("good", "bad", "bad")),
    "answers in one cell are read as columns are": reads(
        *(FILE, batch("Answer.taskAnswers", map(as_cell, FORMS))),
        {"mood": votes("good", "bad", "good"), "tags": votes("a|b", "a"), "sure": votes("", 3)},
    ),
})  # fmt: skip

test_buttons_and_boxes = check_each({
    "buttons of one name are one question, and nothing was chosen": reads(
        FILE, batch(MOOD, "true,false false,true false,false true,false"), votes("good", "bad"), REJECTED | NOTHING
    ),
    "buttons that pandas saved again": reads(FILE, batch(MOOD, "True,False False,True True,False True,True"), MOODS),
    **{
        f"buttons and boxes: {names}, {cells}": reads(
            FILE, batch(names, cells), said, question=question
        )
        for names, question in (
            ("Answer.Car.Car,Answer.Bus.Bus", "choice"), ("Answer.Car.on,Answer.Bus.on", "choice"),
            ("Answer.ride.Car,Answer.ride.Bus", "ride"),
        )
        for cells, said in ((CHOSEN, RIDES), (TICKED, votes("Bus|Car", "Bus")))
    },
    "one box": reads(FILE, batch("Answer.spam.on", "true false false true"), votes("true", "false", "false")),
})  # fmt: skip

TITLE = f"{FILE} (Amazon Mechanical Turk export)"
PLAIN = batch("Input.url,Answer.mood", "1,a 2,b 3,a 4,a")

test_damage_is_named_with_the_tool_the_row_and_the_remedy = check_each({
    "answers": refuses(
        FILE, batch("Answer.taskAnswers", [as_cell({"a": "x"}), '"[{"', "", ""]),
        f"{TITLE}, record 2: the answers in Answer.taskAnswers are not JSON ", "Download CSV",
    ),
    "no answers": refuses(
        FILE, batch("Input.url", "1 2 3 4"), f"{TITLE}: there is no Answer.* column; download it again"
    ),
    "cut short": refuses(FILE, PLAIN[:-40], f"{TITLE}, line 5: too few fields", ", or download it again"),
    "a row that omits an answer": refuses(
        FILE, OMITTED + "H2,T,x,A4,eve,Submitted,12,0%,u2\n",
        "line 5: too few fields, found 9 but the header has 12",
    ),
})  # fmt: skip
