"""What confidences were worth on real data: the table, and the surfaces that quote it."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import finegold
from finegold.insight import expected_accuracy
from finegold.insight.expected import WITHOUT_EFFECT, expected_of, in_words
from finegold.methods import anchored
from finegold.methods.lookup import method_class
from finegold.methods.measured import BINS, CONSTANTS, METHOD, SAMPLE_CONFIDENCE, SETTINGS, SUBSETS
from finegold.methods.registry import DEFAULT_METHOD
from finegold.report.views.quality import quality
from tests.support.animals import VOTES
from tests.support.cli_helpers import run
from tests.support.report_helpers import report_of


@pytest.fixture(scope="module")
def sample():
    return finegold.aggregate(VOTES)


def votes_on(n_tasks):
    rng = np.random.default_rng(3)
    task = np.repeat(np.arange(n_tasks), 3)
    return finegold.Annotations.from_arrays(task, np.tile([0, 1, 2], n_tasks), rng.integers(0, 2, len(task)))


def test_the_table_belongs_to_the_method_as_it_is(sample):
    """If it fails: python bench/real_confidence.py --write."""
    settings = method_class(DEFAULT_METHOD)().settings
    assert METHOD == DEFAULT_METHOD
    assert {name: value for name, value in settings.items() if name not in WITHOUT_EFFECT} == SETTINGS
    assert {name: getattr(anchored, name) for name in CONSTANTS} == CONSTANTS
    assert sample.confidence.mean() == pytest.approx(SAMPLE_CONFIDENCE, abs=1e-7)


def test_settings_without_effect_have_none(sample):
    assert np.array_equal(finegold.aggregate(VOTES, METHOD, seed=7, tolerance=0.5).posterior, sample.posterior)


def test_accuracy_never_falls_with_confidence():
    assert all(one <= other for before, after in pairwise(BINS) for one, other in zip(before, after, strict=True))
    found = [expected_accuracy(confidence) for confidence in np.linspace(0, 1, 101)]
    assert all(0 <= one.low <= one.mean <= one.high <= 1 for one in found)
    assert all(one <= other for before, after in pairwise(found) for one, other in zip(before, after, strict=True))


def test_one_label_has_the_figures_of_its_bin_and_lies_between_two_bins_by_its_confidence():
    for row in BINS:
        assert expected_accuracy(row[0]) == pytest.approx(row[1:])
    below, above = BINS[3], BINS[4]
    between = expected_accuracy((below[0] + above[0]) / 2)
    assert between == pytest.approx(np.mean([below[1:], above[1:]], axis=0))
    assert expected_accuracy(0.0) == expected_accuracy(BINS[0][0])
    assert expected_accuracy(1.0) == expected_accuracy(BINS[-1][0])


def test_many_labels_have_the_mean_and_few_labels_a_wider_range():
    confidence = [BINS[2][0], BINS[5][0], BINS[5][0]]
    many, few = expected_accuracy(confidence * 100_000), expected_accuracy(confidence)
    assert many == pytest.approx(np.average([BINS[2][1:], BINS[5][1:]], axis=0, weights=[1, 2]), abs=1e-4)
    assert few.mean == pytest.approx(many.mean)
    error = 1.2816 * np.sqrt(many.mean * (1 - many.mean) / 3)
    assert few.low == pytest.approx(many.mean - np.hypot(many.mean - many.low, error), abs=1e-4)
    assert few.high == pytest.approx(min(many.mean + np.hypot(many.high - many.mean, error), 1.0), abs=1e-4)


def test_only_labels_that_the_default_found_have_an_expected_accuracy(sample):
    gold = {0: "cat", 1: "cat"}
    taught = finegold.aggregate(VOTES, gold=gold)
    assert expected_of(taught) == expected_accuracy(taught.confidence[taught.gold < 0])
    assert expected_of(finegold.aggregate(VOTES, seed=7, method=METHOD)) == expected_of(sample)
    assert expected_of(finegold.aggregate(VOTES, "mv")) is None
    assert expected_of(finegold.aggregate(VOTES, METHOD, vote_share=0.6)) is None
    assert expected_of(replace(sample, temperature=2.0)) is None
    assert expected_of(replace(sample, gold=np.zeros_like(sample.gold))) is None


def test_the_headline_is_the_range_for_the_default_only(sample):
    found, expected = quality(sample), expected_of(sample)
    assert (found.expected_low, found.expected, found.expected_high) == (expected.low, expected.mean, expected.high)
    low, high = round(100 * expected.low), round(100 * expected.high)
    assert found.headline == f"{low} to {high} of 100 labels are expected to be right"
    assert found.sentences[0].startswith(in_words(expected))
    assert f"80 real data sets, {low} to {high} % of labels with this confidence were right" in in_words(expected)
    other = quality(finegold.aggregate(VOTES, "ptbcc"))
    assert other.headline.startswith("About ")
    assert not any("real data" in sentence for sentence in [*other.sentences, other.expected_by])


def test_few_tasks_bring_a_caution():
    result = finegold.aggregate(votes_on(20))
    [words] = result.notes
    _, low, high = SUBSETS[1]
    assert words.startswith(
        "Only 20 tasks: confidences are rough. In four of five random subsets of 20 tasks from 80 real "
    )
    assert f"between {-100 * low:.0f} points below and {100 * high:.0f} points above" in words
    assert words in quality(result).sentences
    assert "subsets of 50 tasks" in finegold.aggregate(votes_on(99)).notes[0]
    assert "Only 1 task: " in finegold.aggregate(votes_on(1)).notes[0]


@pytest.mark.parametrize(("n_tasks", "method"), [(100, METHOD), (5000, METHOD), (20, "mv")])
def test_no_caution_with_enough_tasks_or_another_method(n_tasks, method):
    result = finegold.aggregate(votes_on(n_tasks), method)
    assert result.notes == []
    assert not any("Only" in sentence for sentence in quality(result).sentences)


def test_an_update_counts_all_tasks():
    more = finegold.Annotations.from_arrays([200, 200], [0, 1], [1, 1])
    assert "Only 21 tasks" in finegold.aggregate(votes_on(20)).update(more).notes[-1]
    assert not any("Only" in note for note in finegold.aggregate(votes_on(99)).update(more).notes)


def test_commands_say_the_same(sample, tmp_path):
    expected = expected_of(sample)
    told = run("aggregate", VOTES, "--json", "-o", tmp_path / "labels.csv")
    assert in_words(expected) in told.stderr
    assert json.loads(told.stdout)["expected_accuracy"] == pytest.approx(expected._asdict())
    told = run("trust", VOTES, "--json")
    assert json.loads(told.stdout)["expected_accuracy"] == pytest.approx(expected._asdict())
    assert in_words(expected) in run("trust", VOTES).stderr
    assert "real data" not in run("trust", VOTES, "--method", "mv").stderr


def test_trust_warns_of_few_tasks(tmp_path):
    finegold.write_votes(votes_on(20), tmp_path / "votes.csv")
    assert "Only 20 tasks" in run("trust", tmp_path / "votes.csv").stderr


def test_the_report_shows_the_range_and_colours_bands_as_its_legend_does(sample, tmp_path):
    page = report_of(sample, tmp_path / "report.html")
    assert quality(sample).headline in page.words
    assert "by labels of similar confidence on real data" in page.words
    used = [number for number, band in enumerate(quality(sample).bands, 1) if band.n]
    assert used == [3, 4]
    bar = re.findall(r'<span class="band-(\d)" style', (tmp_path / "report.html").read_text())
    assert [int(number) for number in bar] == used
