"""Published logs of LLM judges, which are not part of the repository: see ../shared/logs/README.md."""

import pytest

import finegold
from bench.trust.judges import PANDAS, by_pandas, majority, right, with_truths
from finegold.insight.judges.scores import score_judges
from finegold.io.judge_logs import merge_calls
from tests.support.data_sets import SHARED

LOGS = SHARED / "logs"


def log_named(name):
    if not (LOGS / name).is_dir():
        pytest.skip(f"the logs of {name} are not in ../shared/logs; put them there to run this")
    return finegold.judges.read(LOGS / name)


@pytest.mark.parametrize("name", PANDAS)
def test_figures_are_those_that_a_reader_computes_with_pandas(name):
    log = log_named(name)
    own = by_pandas(PANDAS[name](LOGS / name))
    for one in score_judges(log, merge_calls(log)):
        for figure in (
            "accuracy",
            "strict_accuracy",
            *(["pair_accuracy"] if log.kind == "pairwise" else []),
        ):
            assert getattr(one, figure).value == pytest.approx(own.loc[one.judge, figure], abs=1e-9)


def test_the_best_judge_of_judgebench_is_first():
    best = finegold.judges.assess(log_named("judgebench")).scores[0]
    assert best.judge == "arena_hard o1-mini-2024-09-12"
    assert best.pair_accuracy.value == pytest.approx(0.657, abs=5e-4)


def test_labels_are_not_worse_than_the_majority_and_truths_help():
    log = log_named("llmbar")
    rest = list(range(100, log.n_items))
    blind, taught = (
        finegold.judges.assess(with_truths(log, items)) for items in ([], list(range(100)))
    )
    assert right(blind, log, rest) >= majority(log, rest)
    assert right(taught, log, rest) > 0.8
    assert "tie" not in taught.labels()["label"].to_list()
