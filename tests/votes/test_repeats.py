"""Several votes of one annotator on one task, merged by majority."""

import numpy as np
import pytest

from finegold import Annotations, InputError
from finegold.votes.annotations import count_repeats
from tests.support.cli_helpers import run, write

TASK = [1, 1, 1, 1, 2, 2, 2, 3]
WHO = ["a", "a", "a", "b", "a", "a", "b", "b"]
LABEL = ["x", "y", "y", "x", "x", "y", "y", "x"]


def names(votes):
    task, annotator, label = votes.votes()
    found = zip(votes.task_names[task], votes.annotator_names[annotator], votes.class_names[label], strict=True)
    return sorted((int(t), str(a), str(c)) for t, a, c in found)


def test_the_most_frequent_vote_counts_and_whoever_is_torn_has_not_voted():
    votes = Annotations.from_arrays(TASK, WHO, LABEL, repeated="majority")
    assert names(votes) == [(1, "a", "y"), (1, "b", "x"), (2, "b", "y"), (3, "b", "x")]
    assert votes.counts.repeated == 4
    assert votes.counts.rows == 8


def test_the_order_of_rows_plays_no_part():
    order = np.random.default_rng(0).permutation(8)
    task, who, label = (np.array(column, dtype=object)[order] for column in (TASK, WHO, LABEL))
    shuffled = Annotations.from_arrays(task, who, label, repeated="majority")
    assert names(shuffled) == names(Annotations.from_arrays(TASK, WHO, LABEL, repeated="majority"))


def test_a_task_on_which_everybody_is_torn_is_listed_without_a_label():
    votes = Annotations.from_arrays([1, 1, 2], ["a", "a", "a"], ["x", "y", "x"], repeated="majority")
    assert votes.unlabelled.tolist() == [1]
    assert votes.n_tasks == 1


def test_nothing_left_is_said():
    with pytest.raises(InputError, match="are tied on every task"):
        Annotations.from_arrays([1, 1], ["a", "a"], ["x", "y"], repeated="majority")


def test_missing_labels_are_no_votes():
    votes = Annotations.from_arrays([1, 1, 1], ["a", "a", "a"], ["x", None, None], repeated="majority")
    assert names(votes) == [(1, "a", "x")]
    assert (votes.counts.missing, votes.counts.repeated) == (2, 0)


def test_pairs_of_repeats_are_counted():
    votes = Annotations.from_arrays(TASK, WHO, LABEL, repeated="all")
    assert count_repeats(*votes.votes()) == (4, 1)


def test_on_the_command_line(tmp_path):
    rows = "".join(f"{t},{a},{c}\n" for t, a, c in zip(TASK, WHO, LABEL, strict=True))
    file = write(tmp_path / "votes.csv", "task,worker,label\n" + rows)
    done = run("aggregate", file, "--repeated", "majority", "--method", "mv")
    assert done.exit_code == 0, done.stderr
    assert "left out: 4 repeated votes" in done.stderr
    assert "2,y,1.0,1,false" in done.stdout
