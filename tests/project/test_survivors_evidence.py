"""What no other test saw in judge logs, predictions, tables and archives; see `tests/mutants.py`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import finegold
from finegold import Annotations, FinegoldWarning, InputError
from finegold.fitting import combining
from finegold.insight.judges.answers import interval, merge
from finegold.io.judge_logs import with_gold
from finegold.io.predictions import read_predictions
from finegold.io.verdicts import LogReading, Meaning, meaning_of
from finegold.methods.lookup import method_of
from finegold.results.tables import distinct, training_table
from finegold.votes.encoding import MISSING
from tests.mutants import kills

VERDICTS, LOGS, ANSWERS = "io/verdicts.py", "io/judge_logs.py", "insight/judges/answers.py"
SCORES, PREDICTIONS, COMBINING = (
    "insight/judges/scores.py",
    "io/predictions.py",
    "fitting/combining.py",
)

# ---- Judge logs


def log_of(
    *rows: tuple[Any, ...], columns: str = "item judge verdict gold"
) -> finegold.judges.JudgeLog:
    return finegold.judges.read(
        pl.DataFrame([dict(zip(columns.split(), row, strict=True)) for row in rows])
    )


@kills(
    VERDICTS,
    "candidates = [_plain(each[-1]) for each in",
    "candidates = [_plain(each[0]) for each in",
)
@kills(VERDICTS, 'else f"answer {found[-1].casefold()}"', 'else f"answer {found[0].casefold()}"')
def test_the_last_of_several_verdicts_counts() -> None:
    assert meaning_of("At first [[A]] seems best, but the answer is [[B]]") is meaning_of("[[B]]")
    assert meaning_of(
        "Answer A is better in style. In all, answer B is better than answer A."
    ) is meaning_of("B")


@kills(VERDICTS, "for part in matches[-1].groups() if", "for part in matches[0].groups() if")
def test_the_last_match_of_a_pattern_counts() -> None:
    assert (
        LogReading(verdict_pattern=r"verdict: (\w)").said("verdict: A. On reflection, verdict: B")
        == "B"
    )


@kills(
    VERDICTS,
    "if ERROR.search(text[:300]):",
    "if ERROR.search(text[:300]) and not REFUSAL.search(text):",
)
def test_a_failed_call_whose_message_is_also_a_refusal_is_an_error() -> None:
    assert meaning_of("Error: content filter, I cannot answer") is Meaning.ERROR
    assert meaning_of("I cannot answer that") is Meaning.REFUSAL


@kills(
    VERDICTS,
    "if not all(sign and word.strip() and meant.strip()",
    "if not all(sign and word.strip()",
)
def test_a_map_of_verdicts_names_what_every_word_means() -> None:
    with pytest.raises(InputError, match="needs pairs such as 1=A,2=B"):
        LogReading(verdict_map="1=A,2=")


def swapped_pairs(n: int) -> finegold.judges.JudgeLog:
    """A judge names the first position in both orders of 7 of 10 pairs, and one answer in the others."""
    rows: list[tuple[Any, ...]] = []
    for item in range(n):
        rows += [
            (item, "j", "A", "original"),
            (item, "j", "A" if item % 10 < 7 else "B", "swapped"),
        ]
    return log_of(*rows, columns="item judge verdict order")


@kills(LOGS, "or n.sum() < FEWEST_PAIRS):", "or n.sum() < 0):")
@kills(LOGS, "n.sum() < FEWEST_PAIRS", "n.sum() <= FEWEST_PAIRS")
def test_contradictions_are_pointed_out_from_twenty_pairs_in_both_orders() -> None:
    noted = [any("swapped pairs" in note for note in swapped_pairs(n).notes) for n in (19, 20)]
    assert noted == [False, True]


@kills(LOGS, "        n_unknown += 1\n", "        n_unknown += 0\n")
def test_truths_of_items_that_the_log_does_not_have_are_counted_or_refused() -> None:
    log = log_of((1, "j", "good"), (2, "j", "bad"), columns="item judge verdict")
    known = with_gold(log, {1: "good", 7: "bad"})
    assert "1 gold truths belong to no item of the log" in known.notes[-1]
    with pytest.raises(InputError, match="none of the 1 gold truths belongs to an item"):
        with_gold(log, {7: "bad"})


@kills(SCORES, "if known.sum() < MIN_GOLD:", "if known.sum() <= MIN_GOLD:")
def test_ten_truths_are_enough_for_an_accuracy_and_nine_are_not() -> None:
    for n, shown in ((9, False), (10, True)):
        rows = [(item, "j", "good" if item % 3 else "bad", "good") for item in range(n)]
        (score,) = finegold.judges.assess(log_of(*rows)).scores
        assert (score.accuracy.value == score.accuracy.value) is shown


@kills(
    SCORES,
    "failed=share_of(calls[j] - n_used[j], calls[j])",
    "failed=share_of(calls[j] - n_used[j], n_used[j])",
)
@kills(
    ANSWERS,
    "np.where(known & (answer != MISSING), credit, np.nan)",
    "np.where(known, credit, np.nan)",
)
def test_calls_that_failed_are_counted_and_are_not_wrong_answers() -> None:
    rows = [(item, "j", "" if item < 4 else "good", "good") for item in range(20)]
    log = log_of(*rows)
    (score,) = finegold.judges.assess(log).scores
    assert (score.failed.value, score.accuracy.value) == (pytest.approx(0.2), 1.0)
    assert np.isnan(merge(log).credit[:4]).all()


@kills(ANSWERS, "stdtrit(max(n - 1, 1), 0.975)", "stdtrit(max(n, 1), 0.975)")
def test_an_interval_from_three_items_has_two_degrees_of_freedom() -> None:
    assert interval(0.5, 0.5, 0.01, 3, 0.0, 1.0).high == pytest.approx(
        0.5 + 0.01 * stdtrit(2, 0.975)
    )


# ---- Predictions of models

VOTES = Annotations.from_arrays(
    [1, 1, 2, 2, 3], list("abaab"), ["x", "x", "y", "y", "z"], repeated="all"
)


def probabilities(*given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FinegoldWarning)
        return read_predictions(given, VOTES).probabilities[0]


@kills(PREDICTIONS, "<= MAX_SUM_ERROR", "<= 2 * MAX_SUM_ERROR")
def test_probabilities_may_miss_one_by_two_hundredths_and_are_normalised() -> None:
    assert probabilities([1], [[0.5, 0.3, 0.219]])[0] == pytest.approx(
        np.array([0.5, 0.3, 0.219]) / 1.019
    )
    with pytest.raises(InputError, match=r"sum to 1\.021, not to 1"):
        probabilities([1], [[0.5, 0.3, 0.221]])


@kills(
    PREDICTIONS,
    "(len(model.tasks), len(known)), 1 / len(codes))",
    "(len(model.tasks), len(known)), 0.0)",
)
@kills(PREDICTIONS, "ordered[:, codes] = given / sums[:, None]", "ordered[:, codes] = given")
def test_a_model_says_nothing_of_a_class_that_it_does_not_know() -> None:
    expected = np.array([0.509, 0.51, 0.5095]) / 1.5285
    assert probabilities([1], [[0.509, 0.51]], ["x", "y"])[0] == pytest.approx(expected)


@kills(PREDICTIONS, "if (codes == code).sum() > 1:", "if (codes == code).sum() > 2:")
def test_two_columns_of_one_class_are_refused() -> None:
    votes = replace(VOTES, hygiene=replace(VOTES.hygiene, normalise=True))
    with pytest.raises(InputError, match='two columns are the class "x"'):
        read_predictions(([1], [[0.5, 0.3, 0.2]], ["x", "X ", "y"]), votes)


@kills(COMBINING, "* (1 - SURE_OF_ANSWERS) / (K - 1)", "* (1 - SURE_OF_ANSWERS) / K")
def test_an_answer_without_a_probability_counts_nine_tenths() -> None:
    p = read_predictions(pl.DataFrame({"task": [1, 2], "label": ["x", "y"]}), VOTES).probabilities[
        0
    ]
    assert p[0].tolist() == [1, 0, 0]
    assert np.exp(combining._logs(p, np.full((3, 3), [0.4, 0.4, 0.2])))[0] == pytest.approx(
        [0.9, 0.05, 0.05]
    )


def crowd(n: int = 60, gold: int = 0) -> tuple[Annotations, Any]:
    """Three annotators who are right on 4 of 5 tasks; the truths."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n)
    task, who = np.indices((n, 3)).reshape(2, -1)
    label = np.where(rng.random(len(task)) < 0.8, truth[task], 1 - truth[task])
    return Annotations.from_arrays(
        task, who, label, gold={i: int(truth[i]) for i in range(gold)}
    ), truth


@kills(COMBINING, "bounds=[(LEAST_WEIGHT, None)]", "bounds=[(None, None)]")
def test_a_model_that_is_always_wrong_is_given_hardly_any_weight_and_none_below_zero() -> None:
    votes, truth = crowd(gold=30)
    wrong = np.eye(2)[1 - truth] * 0.8 + 0.1
    result = finegold.aggregate(votes, predictions=(range(60), wrong))
    assert result.combined is not None
    assert result.combined.records[0].weight == pytest.approx(combining.LEAST_WEIGHT)


@kills(COMBINING, "accuracy = np.clip(accuracy, 0.0, 1.0)  # rounding", "pass")
def test_an_accuracy_above_one_by_rounding_does_not_hide_the_correlation_of_others() -> None:
    task, who = np.indices((40, 3)).reshape(2, -1)
    label = np.zeros(len(task), int)
    posterior = np.column_stack([np.repeat([0.9, 0.2], 20), np.repeat([0.1, 0.8], 20)])
    alone = combining._correlation((task, who, label), posterior, 3)
    sure = np.vstack([posterior, [np.nextafter(1, 2), 0.0]])
    more = (np.append(task, 40), np.append(who, 3), np.append(label, 0))
    assert combining._correlation(more, sure, 4) == pytest.approx(alone)
    assert alone > 0.1


@kills(COMBINING, "if known.sum() <= PRIOR_TASKS:", "if known.sum() < PRIOR_TASKS:")
def test_a_model_of_ten_tasks_is_not_ignored_and_one_of_eleven_may_be() -> None:
    of_votes = np.eye(2)[np.arange(30) % 2]
    for n, ignored in ((10, False), (11, True)):
        p = np.zeros((30, 2))
        p[:n] = np.eye(2)[np.arange(n) // 2 % 2]  # right on every second task
        assert (combining._kappa(p, of_votes) < combining.LEAST_KAPPA) is ignored


@kills(COMBINING, "of_votes = alone.posterior", "of_votes = result.posterior")
@kills(COMBINING, "replace(votes, gold=np.full_like(votes.gold, MISSING))", "votes")
def test_weights_are_learned_from_votes_that_have_not_seen_the_truths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    votes, truth = crowd(gold=30)
    seen = []
    plain = combining.fit
    monkeypatch.setattr(
        combining, "fit", lambda method, some: seen.append(some.gold) or plain(method, some)
    )
    given = range(60), np.eye(2)[truth] * 0.8 + 0.1
    found = finegold.aggregate(votes, predictions=given)
    assert (seen[0] == MISSING).all()
    unseen = replace(finegold.aggregate(crowd()[0]), annotations=votes)
    assert np.allclose(
        found.posterior, combining.combine(unseen, read_predictions(given, votes)).posterior
    )


@kills(COMBINING, "posterior[fixed] = np.eye(votes.n_classes)[votes.gold[fixed]]", "pass")
def test_known_truths_stay_certain_beside_predictions() -> None:
    votes, truth = crowd(gold=5)
    said = np.where(
        np.arange(60) < 5, 1 - truth, truth
    )  # right but for the tasks with known truths
    result = finegold.aggregate(votes, predictions=(range(60), np.eye(2)[said] * 0.8 + 0.1))
    assert (result.posterior[:5] == np.eye(2)[truth[:5]]).all()


@kills(
    COMBINING,
    "logs = np.log(np.maximum(probabilities[known], LEAST_PROBABILITY))",
    "logs = np.log(probabilities[known])",
)
def test_a_model_that_is_certain_rules_nothing_out() -> None:
    votes, truth = crowd()
    certain = np.eye(2)[truth]
    certain[0] = 0.6, 0.4  # without this, they would be answers without probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        assert (finegold.aggregate(votes, predictions=(range(60), certain)).posterior > 0).all()


# ---- Tables and archives


@kills("results/tables.py", 'share > 0.5, "majority"', 'share >= 0.5, "majority"')
def test_a_task_on_which_half_of_the_votes_differ_is_disputed() -> None:
    votes = Annotations.from_arrays(
        [1, 1, 2, 2, 2, 3, 3], list("abcabab"), list("xyxxyyy"), repeated="all"
    )
    assert training_table(finegold.aggregate(votes, "mv"), "torch")["consensus"].to_list() == [
        "disputed",
        "majority",
        "unanimous",
    ]


@kills("results/tables.py", 'f"p({name})" if name in taken else name', "name")
def test_a_class_that_is_called_like_a_column_gets_another_name() -> None:
    assert distinct(["x", "task"], {"task"}) == ["x", "p(task)"]


@kills("methods/lookup.py", "(kind is not bool and isinstance(value, bool))", "False")
def test_a_saved_truth_value_is_no_number_of_a_setting() -> None:
    result = finegold.aggregate(VOTES, "ds")
    with pytest.raises(
        InputError, match="the model has max_iterations = True, which ds cannot use"
    ):
        method_of(replace(result, settings={**result.settings, "max_iterations": True}))
