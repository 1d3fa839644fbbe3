"""What no other test saw: each test here fails if the line in its `kills` is changed; see `tests/mutants.py`."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.errors import OutputError
from finegold.methods.anchored import AnchoredVote, First
from finegold.methods.cbcc import community_prior
from finegold.system.child import ExhaustedError, run_in_child
from finegold.system.memory import in_words
from finegold.votes.annotations import Counts
from finegold.votes.hygiene import Totals, examine_votes
from finegold.votes.labels import hold_sets
from tests.mutants import MUTANTS, ROOT, kills, register_all
from tests.support.cli_helpers import run

ANCHORED, SETS = "methods/anchored.py", "results/sets.py"


def test_the_code_has_each_line_that_is_changed_once() -> None:
    register_all()
    for mutant in MUTANTS:
        assert (ROOT / "src/finegold" / mutant.file).read_text("utf-8").count(mutant.line) == 1, (
            mutant
        )


# ---- The default method


@kills(
    ANCHORED,
    "self._parameters(first.pairs, parameters.excess, ",
    "self._parameters(first.pairs, np.zeros(2), ",
)
def test_an_update_keeps_the_excess_of_the_fit_before() -> None:
    n, tau, pairs = np.full((3, 2, 2), 2.0), np.array([4.0, 6.0]), np.array([5.0, 9.0])
    method = AnchoredVote()
    before = method._parameters(pairs, np.array([3.0, 10.0]), tau, n, 4)
    after = method.recompute_priors(before, First(0.0, tau, n, pairs))
    assert after.excess.tolist() == [3.0, 10.0]
    assert after.kernel_settings[1] == pytest.approx(0.3)


@kills(ANCHORED, "n = np.maximum(pi, 0.0).transpose", "n = pi.transpose")
def test_rounding_makes_no_negative_counts_of_votes() -> None:
    votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], list("abacbc"), list("xyxxyy"))
    result = finegold.aggregate(votes, "anchored")
    assert result.learned.confusion is not None
    result.learned.confusion[:] *= 1 - 1e-9
    result.learned.confusion[0, :, 0] = 0.0
    assert AnchoredVote().sufficient_statistics(result).first.n.min() == 0.0


@kills(ANCHORED, "excess = np.maximum(parameters.excess, 0.0)", "excess = parameters.excess")
def test_a_correlation_below_zero_counts_as_none() -> None:
    n, tau = np.full((3, 2, 2), 2.0), np.array([4.0, 6.0])
    method = AnchoredVote()
    parameters = method._parameters(np.array([5.0, 9.0]), np.array([-3.0, 10.0]), tau, n, 4)
    assert method.learned(parameters).statistics["excess"].tolist() == [0.0, 10.0]


# ---- CBCC


@kills(
    "methods/cbcc.py", "if change < tolerance and V.diagonal().min() > 0:", "if change < tolerance:"
)
@kills(
    "methods/cbcc.py", "message(n, m, a, keep, Lam, h, room)", "message(n, m, a, 0.0, Lam, h, room)"
)
def test_the_prior_of_many_classes_is_a_distribution() -> None:
    for n_classes in (14, 20, 40):
        mean, covariance = community_prior(n_classes)
        assert np.linalg.eigvalsh(covariance[0]).min() > 0.1
        assert 8 < mean[0, 0] < 12 < 12 * (1 - mean[0, 1])


@kills("methods/cbcc.py", "suppress(np.linalg.LinAlgError), ", "")
@pytest.mark.parametrize("quality", [1 - 1e-7, 1 - 1e-9, 1 - 1e-12])
def test_a_prior_is_a_distribution_or_refused_in_a_sentence(quality: float) -> None:
    with suppress(InputError):
        _, covariance = community_prior(5, quality)
        assert covariance[0].diagonal().min() > 0


# ---- Sets of labels


def cells(*given: str) -> bool:
    return hold_sets(given, np.ones(len(given), dtype=np.int64))


@kills(
    "votes/labels.py",
    "if 2 * counts[listed].sum() > total or",
    "if 2 * counts[listed].sum() >= total or",
)
def test_lists_in_half_of_the_votes_are_no_sets() -> None:
    assert not cells('["a"]', "b")
    assert cells('["a"]', '["b"]', "b")


@kills(
    "votes/labels.py",
    "(_recurring(parts) == 1)].sum() > total)",
    "(_recurring(parts) == 1)].sum() >= total)",
)
def test_options_that_recur_in_half_of_the_votes_are_no_sets() -> None:
    assert not cells("a;b", "b;a", "c;d", "x")
    assert cells("a;b", "b;a", "a;c", "b;c", "x")


@kills(
    "io/layouts.py",
    "whole = (codes[0] != MISSING) & (codes[1] != MISSING)",
    "whole = codes[0] != MISSING",
)
def test_a_row_without_an_annotator_and_a_label_asks_for_nothing() -> None:
    frame = {"task": ["t1", "t2", "t3"], "worker": ["ann", None, "bob"], "label": ["x", None, None]}
    votes = finegold.read(frame)
    assert (votes.unlabelled.to_list(), votes.never_voted.to_list(), votes.counts.missing) == (
        ["t3"],
        ["bob"],
        2,
    )


def test_a_set_without_an_annotator_is_no_vote(tmp_path: Path) -> None:
    rows = [("t1", "ann", ["x"]), ("t1", None, None), ("t1", "bob", ["x", "z"]), ("t2", "ann", [])]
    path = tmp_path / "sets.jsonl"
    path.write_text(
        "\n".join(
            json.dumps(dict(zip(("task", "worker", "label"), row, strict=True))) for row in rows
        )
    )
    votes = finegold.read(path, multi=True)
    assert votes.annotator_names.to_list() == ["ann", "bob"]
    assert finegold.aggregate(votes, "mv").votes_per_task.tolist() == [2, 1]


@kills("fitting/multi_label.py", "np.clip(prevalence, LEAST / 10, 1 - LEAST / 10),", "prevalence,")
def test_no_option_is_certain_because_everybody_chose_it() -> None:
    frame = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x;y"] * 4}
    result = finegold.aggregate(frame, multi=True)
    prevalence = result.learned.statistics["prevalence"]
    assert prevalence.max() <= 1 - 1e-5
    assert np.isfinite(np.log(1 - result.posterior)).all()


@kills(SETS, "    chosen = posterior > 0.5\n", "    chosen = posterior >= 0.5\n")
@kills(
    SETS,
    "right_answers(), (posterior == 0.5).any(axis=1)",
    "right_answers(), (posterior == 0.5).all(axis=1)",
)
def test_an_option_that_half_of_the_annotators_chose_is_tied_and_not_chosen() -> None:
    frame = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x;y", "x;z", "x;y", "x;y"]}
    result = finegold.aggregate(frame, "mv", multi=True)
    assert result.label_sets is not None
    names = result.class_names.to_list()
    chosen = [
        [names[option] for option in result.label_sets[code]]
        for code in result.label_codes.tolist()
    ]
    assert chosen == [["x"], ["x", "y"]]
    assert result.tied.tolist() == [True, False]


# ---- The studio


@kills(
    "studio/workspace.py", "while len(self._loaded) > MAX_LOADED:", "while len(self._loaded) > 3:"
)
@kills("studio/workspace.py", "self._loaded.popitem(last=False)", "self._loaded.popitem()")
def test_two_results_stay_loaded_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = pytest.importorskip("finegold.studio.workspace")
    found: Any = workspace.Workspace.__new__(workspace.Workspace)
    found._loaded, found._lock = OrderedDict(), Lock()
    for fit in range(4):
        found.remember(fit, None)
    assert list(found._loaded) == [2, 3]


# ---- The machine


@kills("system/memory.py", "if n_bytes < 1e9 else", "if n_bytes <= 1e9 else")
def test_a_gigabyte_is_said_as_one() -> None:
    words = {
        1e9: "1.0 GB",
        999e6: "999 MB",
        2e11: "200 GB",
        4.8e8: "480 MB",
        2.34e9: "2.3 GB",
        1.2e13: "12,000 GB",
    }
    assert {n_bytes: in_words(n_bytes) for n_bytes in words} == words


@kills("system/child.py", "max_bytes if max_bytes == math.inf else ", "")
def test_a_child_without_a_bound_may_use_more_than_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "1e6")
    job = "tests.system.child_jobs:take"
    assert run_in_child(job, b"", 5e7, max_bytes=math.inf, max_seconds=60).facts["size"] == 5e7


@kills(
    "report/images.py",
    "except (ExhaustedError, FailedError) as error:",
    "except FailedError as error:",
)
def test_a_chart_that_ends_its_process_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from finegold.report import images

    def end(*_: Any, **__: Any) -> None:
        raise ExhaustedError("the process ended with -5")

    monkeypatch.setattr(images, "run_in_child", end)
    with pytest.raises(
        InputError,
        match=r"the chart cannot be drawn \(the process ended with -5\); free some memory",
    ):
        images.image({"mark": "bar"}, "svg")


# ---- Reading and writing


BYTES = pl.DataFrame(
    {"task": ["a", "a", "b"], "worker": ["v", "w", "v"], "label": [b"x", b"x", b"y"]}
)


@kills("io/tables.py", "pl.String() if kind == pl.Binary() else kind", "kind")
def test_text_that_is_stored_as_bytes_is_text(tmp_path: Path) -> None:
    BYTES.write_parquet(tmp_path / "v.parquet")
    assert finegold.aggregate(tmp_path / "v.parquet", "mv").label.to_list() == ["x", "y"]


@kills("io/tables.py", "except pl.exceptions.ComputeError:", "except ZeroDivisionError:")
def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    BYTES.with_columns(label=pl.lit(b"\xff")).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(
        InputError, match="the column label holds bytes that are not text; expected UTF-8"
    ):
        finegold.read(tmp_path / "v.parquet")


@kills(
    "io/writers.py",
    "part.cast({pl.Binary: pl.String}).write_ndjson(text)",
    "part.write_ndjson(text)",
)
def test_bytes_are_written_as_text_or_not_at_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from finegold.io.writers import write_frame

    write_frame(BYTES, tmp_path / "v.jsonl")
    assert json.loads((tmp_path / "v.jsonl").read_text("utf-8").splitlines()[0])["label"] == "x"
    with pytest.raises(OutputError, match="invalid utf8"):
        write_frame(BYTES.with_columns(label=pl.lit(b"\xff")), tmp_path / "v.jsonl")
    assert "panicked" not in capfd.readouterr().err


# ---- Seeds


@kills(
    "votes/simulation.py",
    '    _check_range("seed", seed, 0, 2**63)\n\n    # What judges',
    "\n    # What judges",
)
def test_simulated_judges_need_a_seed_that_is_not_negative(tmp_path: Path) -> None:
    done = run("simulate", "--judges", "3", "--seed", "-1", "--out", str(tmp_path / "log"))
    assert (done.exit_code, "seed must be from 0" in done.stderr) == (2, True)


@kills("insight/judges/ranking.py", "    if seed < 0:\n", "    if False:\n")
def test_a_ranking_needs_a_seed_that_is_not_negative(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("item,judge,model_a,model_b,winner\n1,j,a,b,a\n2,j,b,a,a\n3,j,a,b,tie\n")
    done = run("rank", str(path), "--seed", "-1")
    assert (done.exit_code, "the seed must not be negative" in done.stderr) == (2, True)


# ---- What seems wrong in votes


def found(**given: Any) -> list[str]:
    """Return the kinds of findings in votes of which nothing seems wrong, but for what is given."""
    usual = {
        "n_votes": 100,
        "n_tasks": 30,
        "n_annotators": 5,
        "class_names": ["x", "y"],
        "task_names": ["1"],
    }
    counts = Counts(disagreeing=given.pop("disagreeing", 0))
    values: dict[str, Any] = {
        **usual,
        "annotator_names": ["2"],
        "votes_per_class": np.ones(60),
        **given,
    }
    return [finding.kind for finding in examine_votes(Totals(**values, counts=counts))]


HYGIENE = "votes/hygiene.py"


@kills(HYGIENE, "n_classes > MANY_CLASSES and", "n_classes >= MANY_CLASSES and")
@kills(HYGIENE, "n_classes * 2 > n_votes", "n_classes * 2 >= n_votes")
def test_twenty_classes_are_not_many_and_a_class_in_two_votes_is_usual() -> None:
    assert found(class_names=list(range(20)), n_votes=30) == []
    assert found(class_names=list(range(21)), n_votes=42) == []
    assert found(class_names=list(range(21)), n_votes=41) == ["many classes"]


@kills(HYGIENE, "n_votes >= FEW_VOTES", "n_votes > FEW_VOTES")
def test_twenty_votes_of_one_annotator_are_no_trial() -> None:
    assert found(n_annotators=1, n_votes=20) == ["one annotator"]
    assert found(n_annotators=1, n_votes=19) == []


@kills(HYGIENE, "disagreeing >= max(", "disagreeing > max(")
def test_ten_pairs_that_disagree_are_reported_unless_they_are_few_of_many() -> None:
    assert found(disagreeing=10) == ["disagreeing"]
    assert found(disagreeing=9) == []
    assert found(disagreeing=10, n_votes=1001) == []


@kills(HYGIENE, "n_annotators >= TIMES_MORE_ANNOTATORS", "n_annotators > TIMES_MORE_ANNOTATORS")
@kills(HYGIENE, "for name in names) > len(names)", "for name in names) >= len(names)")
def test_columns_seem_swapped_if_most_tasks_are_called_like_people() -> None:
    assert found(n_annotators=90, task_names=["worker1", "worker2", "7"]) == ["swapped"]
    assert found(n_annotators=89, task_names=["worker1", "worker2", "7"]) == []
    assert found(n_annotators=90, task_names=["worker1", "7"]) == []


@kills(HYGIENE, "all(label and occurs[label] > 1", "all(occurs[label] > 1")
def test_a_comma_at_the_end_is_not_a_second_label() -> None:
    assert found(class_names=["x,", "x", "y,", "y"]) == []
    assert found(class_names=["x,y", "x", "y"]) == ["several labels"]
