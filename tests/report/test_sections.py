"""What the report says, held against counts by hand."""

import numpy as np
import pytest

import finegold
from finegold.errors import FinegoldWarning
from finegold.io.truth import match_truth
from finegold.report.sections.annotators import annotators
from finegold.report.sections.classes import classes
from finegold.report.sections.common import Subject, percent
from finegold.report.sections.quality import quality
from finegold.report.sections.record import reading
from finegold.report.sections.scales import scores
from finegold.report.sections.tasks import doubts, tasks
from tests.support.cli_helpers import write
from tests.support.report_helpers import SAMPLE, Page, votes_of


@pytest.fixture(scope="module")
def sample():
    return finegold.aggregate(SAMPLE / "votes.csv", "ptbcc")


def subject(result, truth=None):
    return Subject(result, None if truth is None else match_truth(result, truth))


def test_labels_are_compared_with_truths_beside_the_majority_vote(sample):
    found = quality(subject(sample, SAMPLE / "truth.csv"))
    compared = found["comparison"]
    assert sum(one["n"] for one in found["histogram"]) == found["n_tasks"] == 300
    assert (compared["n"], compared["accuracy"]) == (300, pytest.approx(283 / 300))
    assert compared["majority"] == pytest.approx(260.5 / 300)


def test_gold_truths_are_neither_judged_nor_in_doubt():
    votes = votes_of(a="xy", b="xy", c="xxy")
    result = finegold.aggregate(votes, "mv", gold={"a": "x"})
    with pytest.warns(FinegoldWarning, match="1 truth belongs to a task without votes"):
        about = subject(result, {"a": "y", "c": "x", "elsewhere": "x"})
    found = quality(about)
    assert {
        "1 of the truths belong to tasks without votes and are not counted.",
        "1 of the truths were given to the method as gold and are not counted.",
    } <= set(found["sentences"])
    assert (found["n_gold"], found["comparison"]["n"], sum(found["voted"])) == (1, 1, 2)
    assert [row["task"] for row in tasks(about)["rows"]] == ["b"]


def test_doubts_are_counted_as_by_hand():
    votes = votes_of(tie="xy", sure="xxx", close="xxxyyyz", clear="xxxxy")
    found = doubts(finegold.aggregate(votes, "mv"))
    names = {kind: [votes.task_names[i] for i in np.flatnonzero(found[kind])] for kind in found}
    assert names == {"contested": ["close", "tie"], "tied": ["close", "tie"], "flipped": []}


def test_a_flip_names_the_majority_and_every_vote_with_its_weight_as_why_does(sample):
    row = next(row for row in tasks(subject(sample))["rows"] if "flipped" in row["reasons"])
    label, n_votes, _ = max(row["tally"], key=lambda one: one[1])
    assert row["rival"] == label != row["label"]
    assert sum(n for _, n, _ in row["tally"]) == row["n_votes"] == len(row["votes"]) >= n_votes
    weights = [weight for *_, weight in row["votes"]]
    assert weights == sorted(weights, reverse=True)
    code = list(map(str, sample.task_names)).index(row["task"])
    why = sample.why(sample.task_names[code]).to_dicts()[1:]
    assert sorted(weights) == pytest.approx(sorted(each["weight"] for each in why), abs=1e-3)


def test_many_votes_on_a_task_are_counted_where_they_are_not_listed():
    result = finegold.aggregate(votes_of(a="x" * 20 + "y" * 20, b="xxx"), "mv")
    [row] = tasks(subject(result))["rows"]
    assert (len(row["votes"]), row["votes_left_out"]) == (30, 10)


def test_annotators_are_ranked_and_measured_by_known_truths():
    result = finegold.aggregate(votes_of(a="xxxy", b="yyyx", c="xxyy", d="yyyx"))
    rows = annotators(subject(result, {"a": "x", "b": "y"}))["rows"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["accuracy"] >= rows[1]["accuracy"] >= rows[-1]["accuracy"]
    worst = next(row for row in rows if row["annotator"] == "3")
    assert (worst["measured"], worst["n_measured"]) == (0.0, 2)


def test_classes_show_what_is_taken_for_what_only_with_enough_votes():
    few = classes(subject(finegold.aggregate(votes_of(a="xxxx", b="xxxy", c="yyyy"), "mv")))
    assert [(row["label"], row["n_labels"]) for row in few["rows"]] == [("x", 2), ("y", 1)]
    assert few["matrix"][0][0] == pytest.approx((4 + 3 * 0.75) / (4 + 0.75 * 4), abs=1e-4)
    # 12 votes are too few
    assert (few["mistakes"], [row["taken_for"] for row in few["rows"]]) == ([], [None, None])
    often = {f"t{i}": "xxxxy" for i in range(19)}
    seldom = {f"u{i}": "zzzzx" for i in range(3)}
    found = classes(subject(finegold.aggregate(votes_of(**often, **seldom), "mv")))
    assert {one["truth"] for one in found["mistakes"]} == {"x"}
    taken = {row["label"]: row["taken_for"] and row["taken_for"][0] for row in found["rows"]}
    assert taken == {"x": "y", "y": None, "z": None}


def simulated(n_annotators, n_tasks, accuracy, more):
    """The annotators of a result with votes of the first n, and others that `more` makes of these."""
    rng = np.random.default_rng(0)
    truth, size = rng.integers(3, size=n_tasks), (n_annotators, n_tasks)
    own = np.where(rng.random(size) < accuracy, truth, rng.integers(3, size=size))
    votes = np.vstack([own, *more(own)])
    task, annotator = np.meshgrid(np.arange(n_tasks), np.arange(len(votes)))
    annotations = finegold.Annotations.from_arrays(task.ravel(), annotator.ravel(), votes.ravel())
    return annotators(subject(finegold.aggregate(annotations)))


def test_annotators_who_copy_stand_in_one_group_and_who_votes_for_one_class_only_is_suspected():
    found = simulated(9, 300, 0.6, lambda own: [own[0], own[0]])
    assert [members for _, members, _, _ in found["groups"]] == [["0", "9", "10"]]
    assert {row["annotator"] for row in found["rows"] if row["group"]} == {"0", "9", "10"}
    assert found["effective"] < 11
    rows = simulated(4, 100, 0.85, lambda own: [np.zeros(100, int)])["rows"]
    suspected = {row["annotator"]: row["suspicion"] for row in rows if row["suspicion"]}
    assert suspected == {"4": "nearly always votes for one class"}


def test_a_task_that_is_called_by_its_whole_text_leaves_room_for_others():
    texts = [f"{'What is the capital of this country? ' * 50}{i}" for i in range(2)]
    result = finegold.aggregate(votes_of(**{texts[0]: "xy", texts[1]: "yx"}), "mv")
    rows = tasks(subject(result, {texts[0]: "x", texts[1]: "y"}))["rows"]
    assert all(len(row["task"]) == 200 and row["task"].endswith("…") for row in rows)
    assert sorted(row["right"] for row in rows) == [False, True]


def test_scores_are_shown_on_their_scale_the_least_certain_tasks_first(tmp_path):
    votes = finegold.read([("a", 1, 1), ("a", 2, 5), ("b", 1, 4), ("b", 2, 4)], ordered=range(1, 6))
    result = finegold.aggregate(votes, "mv")
    found = scores(subject(result))
    expected = {task: (score, low, high) for task, score, low, high in result.scores().rows()}
    assert [row[0] for row in found["rows"]] == ["b", "a"]
    for task, *numbers in found["rows"]:
        assert numbers == pytest.approx(expected[task], abs=1e-4)
    assert found["ends"] == (1, 5)
    result.report(tmp_path / "report.html", scores=True)
    page = Page(tmp_path / "report.html")
    assert "on a scale from 1 to 5" in page.words
    assert "scores" in page.figures


DIRTY = "task,worker,label\n" + "".join(
    f"t{i},{worker},{label}\n"
    for i in range(6)
    for worker, label in (("ann", "cat"), ("bob", "Cat"), ("eve", "NA" if i < 2 else "dog"))
)


def test_votes_of_classes_spellings_and_reasons_why_cells_were_left_out(tmp_path):
    with pytest.warns(FinegoldWarning):
        votes = finegold.read(write(tmp_path / "v.csv", f"{DIRTY}t0,ann,dog\nt7,ann,\n"))
    found = reading(Subject(finegold.aggregate(votes, "mv")))
    assert found["classes"] == [("Cat", 6), ("cat", 6), ("dog", 4)]
    assert dict(found["left_out"]) == {
        "votes without a label": 1,
        "“NA”, which means no vote": 2,
        "repeated votes of an annotator on a task": 1,
        "pairs of task and annotator whose repeated votes disagree": 1,
        "tasks without any vote": 1,
    }
    assert found["alarms"] == ["3 classes look like 2: Cat (6) = cat (6)."]
    assert found["spellings"] == [([("Cat", 6), ("cat", 6)], False)]
    merged = finegold.aggregate(write(tmp_path / "v.csv", DIRTY), "mv", normalise=True)
    found = reading(Subject(merged))
    assert ([is_merged for _, is_merged in found["spellings"]], found["alarms"]) == ([True], [])
    # spaces that would not be seen are quoted
    with pytest.warns(FinegoldWarning):
        blank = finegold.read(write(tmp_path / "v.csv", DIRTY.replace("Cat", " cat")))
    found = reading(Subject(finegold.aggregate(blank, "mv")))
    assert [name for name, _ in found["classes"]] == ['" cat"', "cat", "dog"]


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.5, 0, "50 %"),
        (1.0, 0, "100 %"),
        (0.9999, 0, "over 99 %"),
        (0.0001, 0, "under 1 %"),
        (0.0, 1, "0.0 %"),
    ],
)
def test_nearly_all_is_not_all(share, digits, text):
    assert percent(share, digits).replace("\u202f", " ") == text
