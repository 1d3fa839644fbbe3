"""Votes in, cells out: nothing lost, nothing invented, the order of rows without meaning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finegold import Annotations, FinegoldWarning, InputError

NAMES = st.one_of(
    st.integers(-(2**40), 2**40),
    st.text(min_size=1, max_size=4),
    st.booleans(),
    st.floats(0, 1),
    st.dates(),
)


@st.composite
def votes(draw, kinds=NAMES):
    """Rows (task, annotator, label) with few distinct names of one kind each."""
    pools = [draw(st.lists(kinds, min_size=1, max_size=6, unique=True)) for _ in range(3)]
    pools = [[name for name in pool if type(name) is type(pool[0])] for pool in pools]
    row = st.tuples(*(st.sampled_from(pool) for pool in pools))
    return draw(st.lists(row, min_size=1, max_size=40))


def columns(rows):
    return ([row[i] for row in rows] for i in range(3))


def back(annotations):
    """The votes as names again."""
    task, annotator, label = annotations.votes()
    return list(
        zip(
            np.asarray(annotations.task_names, dtype=object)[task],
            np.asarray(annotations.annotator_names, dtype=object)[annotator],
            np.asarray(annotations.class_names, dtype=object)[label],
            strict=True,
        )
    )


@given(votes())
def test_every_vote_comes_back_exactly_as_it_went_in(rows):
    annotations = Annotations.from_arrays(*columns(rows), repeated="all")
    assert sorted(map(repr, back(annotations))) == sorted(
        map(repr, ((a, b, c) for a, b, c in rows))
    )


@given(votes(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    one, other = (
        Annotations.from_arrays(*columns(each), repeated="all") for each in (rows, shuffled)
    )
    for name in ("task_ptr", "cell_ptr", "cell_class", "annotator"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@given(votes(), st.sampled_from(["first", "last"]))
def test_of_repeated_votes_the_first_or_the_last_is_kept(rows, policy):
    a = Annotations.from_arrays(*columns(rows), repeated=policy)
    ordered = rows if policy == "last" else rows[::-1]
    expected = {(task, annotator): label for task, annotator, label in ordered}
    assert sorted(map(repr, back(a))) == sorted(
        repr((*key, label)) for key, label in expected.items()
    )
    assert a.counts.repeated == len(rows) - len(expected)
    assert a.counts.rows == len(rows)


def test_missing_labels_are_no_votes_and_their_tasks_are_listed():
    a = Annotations.from_arrays(["a", "a", "b", "c"], [1, 2, 1, 3], ["x", None, None, "y"])
    assert a.n_votes == 2
    assert a.counts.missing == 2
    assert list(a.unlabelled) == ["b"]
    assert list(a.task_names) == ["a", "c"]
    assert list(a.annotator_names) == [1, 3]
    nan = Annotations.from_arrays([1, 1], [1, 2], [0.0, np.nan])
    assert nan.n_votes == 1


def test_classes_may_be_given_and_keep_their_order():
    a = Annotations.from_arrays(
        [1, 2], ["a", "a"], ["good", "bad"], classes=["good", "fair", "bad"]
    )
    assert a.class_names.tolist() == ["good", "fair", "bad"]
    assert a.cell_class.tolist() == [0, 2]
    with pytest.raises(InputError, match="'ugly' is not among the classes"):
        Annotations.from_arrays([1], ["a"], ["ugly"], classes=["good", "bad"])


def test_gold_may_bring_a_class_that_nobody_voted_for():
    a = Annotations.from_arrays(["t", "u"], [1, 1], ["x", "y"], gold={"u": "z"})
    assert a.class_names.tolist() == ["x", "y", "z"]
    assert a.gold.tolist() == [-1, 2]


def test_gold_of_tasks_without_votes_is_counted_and_said():
    with pytest.warns(FinegoldWarning, match="2 gold truths"):
        a = Annotations.from_arrays(["t"], [1], ["x"], gold={"u": "x", "v": "x", "t": "x"})
    assert a.counts.gold_unused == 2
    assert a.gold.tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "repeated", "words"),
    [
        (([1, 2], [1], ["a", "b"]), "first", "equally long"),
        (([], [], []), "first", "there are no votes"),
        (([1], [1], [None]), "first", "there are no votes"),
        (([1, None], [1, 1], ["a", "b"]), "first", "row 2 .* no task"),
        (([1, 2], [None, 1], ["a", "b"]), "first", "row 1 .* no annotator"),
        (([1], [1], ["a"]), "newest", "repeated must be"),
        (([1, 1], ["a", "a"], ["x", "y"]), "error", "1 votes repeat"),
        (([1, 1], ["a", "a"], ["x", "y"]), "majority", "are tied on every task"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, repeated, words):
    with pytest.raises(InputError, match=words):
        Annotations.from_arrays(*arguments, repeated=repeated)


@pytest.mark.parametrize("repeated", ["first", "last", "all"])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_many_votes_on_several_threads_are_sorted_like_few(repeated, threads, monkeypatch):
    """Against a plain twin: tasks of one vote and of hundreds, repeats, unused names, missing labels."""
    monkeypatch.setenv("FINEGOLD_THREADS", threads)
    rng = np.random.default_rng(7)
    task = np.where(rng.random(5000) < 0.2, 3, rng.integers(0, 900, 5000)).astype(np.int32)
    annotator, label = (rng.integers(0, n, 5000).astype(np.int32) for n in (300, 400))
    annotator[annotator == 17] = 18
    label[::7] = -1
    before = task.copy(), annotator.copy(), label.copy()
    found = Annotations.from_codes(
        task, annotator, label, np.arange(1000), np.arange(300), np.arange(400), repeated=repeated
    )
    assert sorted(
        map(tuple, np.column_stack([np.asarray(x) for x in back_codes(found)]).tolist())
    ) == plain(*before, repeated)
    assert found.cell_class.dtype == np.uint16
    assert all(np.array_equal(a, b) for a, b in zip(before, (task, annotator, label), strict=True))
    assert 17 not in found.annotator_names
    first_vote = found.cell_ptr[found.task_ptr]
    for i in range(found.n_tasks):
        of_task = found.votes()[2][first_vote[i] : first_vote[i + 1]]
        assert np.array_equal(of_task, np.sort(of_task))


def back_codes(annotations):
    task, annotator, label = annotations.votes()
    return annotations.task_names[task], annotations.annotator_names[annotator], label


def plain(task, annotator, label, repeated):
    """Row by row: what should be kept."""
    votes = {}
    for row, (t, j, k) in enumerate(
        zip(task.tolist(), annotator.tolist(), label.tolist(), strict=True)
    ):
        if k < 0 or (repeated == "first" and (t, j) in votes):
            continue
        votes[(t, j, row) if repeated == "all" else (t, j)] = (t, j, k)
    return sorted(votes.values())


TASK = [1, 1, 1, 1, 2, 2, 2, 3]
WHO = ["a", "a", "a", "b", "a", "a", "b", "b"]
LABEL = ["x", "y", "y", "x", "x", "y", "y", "x"]


KEPT = {(1, "a", "y"), (1, "b", "x"), (2, "b", "y"), (3, "b", "x")}
SHUFFLED = np.random.default_rng(0).permutation(8)


@pytest.mark.parametrize(
    ("columns", "kept", "unlabelled", "n_repeated"),
    [
        ((TASK, WHO, LABEL), KEPT, [], 4),
        ([np.array(column, dtype=object)[SHUFFLED] for column in (TASK, WHO, LABEL)], KEPT, [], 4),
        # everybody is torn on a task
        (([1, 1, 2], ["a"] * 3, ["x", "y", "x"]), {(2, "a", "x")}, [1], 2),
        # missing labels are no repeats
        (([1, 1, 1], ["a"] * 3, ["x", None, None]), {(1, "a", "x")}, [], 0),
    ],
)
def test_the_most_frequent_vote_counts_and_whoever_is_torn_has_not_voted(
    columns, kept, unlabelled, n_repeated
):
    votes = Annotations.from_arrays(*columns, repeated="majority")
    assert set(back(votes)) == kept
    assert votes.unlabelled.tolist() == unlabelled
    missing = sum(label is None for label in columns[2])
    counts = votes.counts
    assert (counts.missing, counts.repeated) == (missing, n_repeated)
