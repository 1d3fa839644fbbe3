"""auto: the votes decide; it says what it chose and why; it is not fooled by groups who copy."""

import numpy as np
import pytest

from karat import Annotations, InputError, load, simulate
from karat.checks.laws import sample_votes
from karat.dependence import dependence, independent
from karat.engines.local import LocalEngine
from karat.hidden import TEMPERATURES, Hidden, add_tempered, hide, sample_tasks, stack, temper
from karat.knowledge import CHOOSING
from karat.methods import auto
from karat.methods.auto import Auto
from karat.methods.ds import DS
from karat.methods.hpt import HPT
from karat.methods.mv import MajorityVote
from karat.methods.ptbcc import PTBCC
from karat.metrics import accuracy, log_loss
from karat.shares import MARGIN, margin_of, shares_of
from karat.solve import fit
from tests.conftest import DATA_SETS
from tests.test_dependence import crowd, panel


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes())


def unlike_crowd(seed=0):
    """Few annotators with many votes each, every one with confusions of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=500)
    alpha = 3 * (0.6 * np.eye(3) + 0.4 / 3)
    matrices = np.array([[rng.dirichlet(row) for row in alpha] for _ in range(7)])
    task, annotator = np.nonzero(np.ones((500, 7)))
    label = (matrices[annotator, truth[task]].cumsum(axis=1) < rng.random((3500, 1))).sum(axis=1)
    return Annotations.from_arrays(task, annotator, label), truth


def test_prototypes_stay_where_nothing_predicts_clearly_better():
    votes = simulate(300, 100, 4, votes_per_task=5, annotator_concentration=0.2, seed=1).annotations
    result = fit(Auto(calibrate=False), votes)
    assert result.settings["chosen"] == {"ptbcc": 1.0}
    assert np.array_equal(result.posterior, fit(PTBCC(), votes).posterior)
    assert "ptbcc was used" in result.notes[0]


@pytest.mark.parametrize(
    ("lead", "margin", "stays"), [(-0.1, 0.03, True), (0.02, 0.03, True), (0.05, 0.03, False), (0.05, 0.08, True)]
)
def test_a_small_lead_is_not_enough_even_where_it_is_certain(lead, margin, stays):
    p = np.exp(-1 + np.array([0.0, lead, -0.5]))[:, None, None] * np.ones((3, len(TEMPERATURES), 5000))
    hidden = Hidden(["ptbcc", "hds", "mv"], p, np.ones(5000))
    assert hidden.lead("hds", "ptbcc")[0] == pytest.approx(lead)
    assert (shares_of(hidden, 5.0, margin) == {"ptbcc": 1.0}) is stays
    assert shares_of(hidden, 2.0, margin) != {"ptbcc": 1.0}


def test_more_is_asked_of_a_panel_some_of_whom_seem_to_err_together():
    assert margin_of(5.0, 5, n_groups=1) > MARGIN
    assert margin_of(5.0, 5, n_groups=0) == MARGIN
    assert margin_of(5.0, 8, n_groups=1) == MARGIN  # not a panel: who votes on a task varies
    assert margin_of(20.0, 20, n_groups=1) == MARGIN


def test_a_quarter_of_a_blend_is_the_plain_vote_at_least():
    p = np.ones((3, len(TEMPERATURES), 100)) * np.array([0.2, 0.9, 1e-6])[:, None, None]
    hidden = Hidden(["ptbcc", "hds", "mv"], p, np.ones(100))
    assert shares_of(hidden, 5.0) == pytest.approx({"hds": 0.75, "mv": 0.25})
    more = Hidden(["ptbcc", "mv", "hds"], p, np.ones(100))
    assert shares_of(more, 5.0) == pytest.approx({"mv": 1.0})
    few = Hidden(["ptbcc", "hds", "mv"], p[:, :, :40], np.ones(40))
    assert shares_of(few, 5.0) == {"ptbcc": 1.0}


def test_matrices_of_their_own_are_not_tried_where_they_have_far_more_numbers_than_votes():
    rng = np.random.default_rng(0)
    truth, task = rng.integers(60, size=300), np.repeat(np.arange(300), 4)
    label = np.where(rng.random(1200) < 0.8, truth[task], rng.integers(60, size=1200))
    result = fit(Auto(), Annotations.from_arrays(task, rng.integers(300, size=1200), label, repeated="all"))
    assert {one.name for one in result.choice.candidates} == {"ptbcc", "mv"}
    assert any("too few votes for so many classes" in note for note in result.notes)


def test_a_large_lead_is_not_enough_where_it_may_be_chance():
    values = np.tile([3.1, -2.9], 200)
    p = np.exp(-9 + np.stack([np.zeros(400), values]))[:, None] * np.ones((1, len(TEMPERATURES), 1))
    hidden = Hidden(["ptbcc", "hds"], p, np.ones(400))
    lead, error = hidden.lead("hds", "ptbcc")
    assert MARGIN < lead < 2 * error
    assert shares_of(hidden, 5.0) == {"ptbcc": 1.0}


def test_matrices_of_their_own_are_chosen_where_annotators_differ():
    votes, truth = unlike_crowd()
    result = fit(Auto(), votes)
    chosen = result.settings["chosen"]
    assert sum(chosen.get(name, 0) for name in ("hpt", "hds", "hds flat", "ds")) > 0.6
    assert accuracy(result.posterior, truth) > accuracy(fit(PTBCC(), votes).posterior, truth)


def test_every_candidate_has_a_score_with_its_error_and_a_share():
    result = fit(Auto(), unlike_crowd()[0])
    assert "blend" in result.notes[0]
    candidates = result.choice.candidates
    assert result.choice.hidden_votes == 3500
    assert {one.name for one in candidates} == set(auto.CANDIDATES)
    assert [one.score for one in candidates] == sorted((one.score for one in candidates), reverse=True)
    assert all(one.score < 0 < one.error < 1 for one in candidates)
    assert {one.name: one.share for one in candidates if one.share} == result.settings["chosen"]


def test_a_part_that_did_not_converge_is_named():
    result = fit(Auto(max_iterations=2), unlike_crowd()[0])
    assert not result.converged
    assert "stopped at max_iterations = 2" in result.stopped


def test_a_group_that_copies_is_named_and_does_not_win():
    votes, truth = crowd(n_tasks=600, n_annotators=12, votes=12, copiers=5, seed=3)
    result, vote = fit(Auto(), votes), fit(MajorityVote(), votes)
    assert any("5 annotators in 1 group agree more" in note and "count less" in note for note in result.notes)
    assert accuracy(result.posterior, truth) > accuracy(vote.posterior, truth) + 0.05


def test_two_who_know_the_truth_are_not_taken_for_copies():
    """They agree more than prototypes explain; but what they say predicts the votes of others."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=1000)
    right = rng.random((1000, 6)) < [0.95, 0.95, 0.45, 0.45, 0.45, 0.45]
    answers = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=(1000, 6))) % 3)
    votes = Annotations.from_arrays(*np.nonzero(np.ones((1000, 6))), answers.ravel())
    assert dependence(votes, fit(PTBCC(), votes).posterior).n_groups == 1
    result = fit(Auto(), votes)
    assert not any("agree more" in note for note in result.notes)
    assert accuracy(result.posterior, truth) > 0.93


def test_a_panel_with_a_large_family_is_not_worse_than_the_vote():
    found = []
    for seed in range(4):
        votes, truth = panel([0, 0, 0, 1, 1, 2], seed=seed)
        result = fit(Auto(), votes)
        assert any("5 annotators in 2 groups agree more" in note for note in result.notes)
        found.append(accuracy(result.posterior, truth) - accuracy(fit(MajorityVote(), votes).posterior, truth))
    assert np.mean(found) > -0.005


def test_with_few_votes_per_task_half_of_the_blend_is_even():
    p = np.ones((6, len(TEMPERATURES), 100)) * np.array([0.9, *[1e-6] * 5])[:, None, None]
    shares = shares_of(Hidden(list(auto.CANDIDATES), p, np.ones(100)), 2.0)
    even = 0.75 / 7  # half to one, an eighth to each of four; then the vote is raised to a quarter
    assert shares == pytest.approx({"ptbcc": 4 * even, "hpt": even, "hds": even, "ds": even, "mv": 0.25})


def test_a_temperature_lowers_the_log_loss_and_keeps_the_labels():
    votes, truth = unlike_crowd(seed=2)
    plain, tempered = fit(Auto(calibrate=False), votes), fit(Auto(), votes)
    assert tempered.settings["temperature"] in TEMPERATURES
    assert log_loss(tempered.posterior, truth) <= log_loss(plain.posterior, truth) + 1e-9
    assert (tempered.label == plain.label).mean() > 0.98


def test_the_posterior_is_the_blend_of_the_posteriors(votes):
    votes, _ = unlike_crowd()
    result = fit(Auto(calibrate=False), votes)
    shares = result.settings["chosen"]
    assert sum(shares.values()) == pytest.approx(1)
    methods = {name: method(**settings) for name, (method, settings) in auto.CANDIDATES.items()}
    methods["ds"] = DS(max_iterations=500, tolerance=1e-3)
    parts = sum(share * fit(methods[name], votes).posterior for name, share in shares.items())
    assert np.allclose(result.posterior, parts)


def test_of_very_many_votes_the_best_candidate_is_used_alone(monkeypatch):
    votes, _ = unlike_crowd()
    monkeypatch.setattr(auto, "MOST_BLENDED", 3000)
    stages = set()
    result = fit(Auto(), votes, watch=lambda step: stages.add(step.stage))
    best = result.choice.candidates[0].name
    assert result.settings["chosen"] == {best: 1.0}
    assert stages == {"ptbcc", CHOOSING, best}
    assert result.notes[0].startswith(f"{best} was used, because it predicted hidden votes best; beyond 3,000 votes")
    alone = fit(Auto().candidate(best, independent(7), Auto().limits_on(3500)), votes)
    assert np.array_equal(result.posterior, temper(alone.posterior, result.settings["temperature"]))


def test_choosing_takes_few_sweeps_and_few_folds_where_matrices_are_large(monkeypatch):
    def choosing():
        steps = []
        fit(Auto(), unlike_crowd()[0], watch=steps.append)
        return [step.iteration for step in steps if step.stage == CHOOSING]

    five_folds = choosing().count(1)
    monkeypatch.setattr(auto, "ROUGH_SWEEPS", 3)
    monkeypatch.setattr(auto, "FEW_NUMBERS", 7 * 3**2 - 1)
    roughly = choosing()
    assert max(roughly) <= 2 * 3  # those of PTBCC, and HPT's after them
    assert roughly.count(1) * 5 == five_folds * 2


def test_the_parts_of_a_blend_are_fitted_roughly_where_votes_are_many():
    assert Auto().limits_on(auto.ROUGH_VOTES) == (Auto().tolerance, Auto().max_iterations)
    assert Auto().limits_on(auto.ROUGH_VOTES + 1) == (auto.ROUGHLY, Auto().max_iterations)
    assert Auto(tolerance=0.5).limits_on(auto.ROUGH_VOTES + 1).tolerance == 0.5


def test_hpt_goes_on_from_the_ptbcc_that_was_fitted_to_the_same_votes():
    """In every fold, and in the end: nobody sweeps PTBCC twice."""
    seen = []
    fit(Auto(folds=2), unlike_crowd()[0], watch=lambda step: seen.append(step) if step.iteration == 1 else None)
    names = [method for method, settings in auto.CANDIDATES.values() if method is not HPT]
    blended = len({step.stage for step in seen} - {CHOOSING, "ptbcc"})
    assert len(seen) - 1 - blended == 2 * len(names)


def test_posteriors_are_added_up_in_runs(monkeypatch):
    monkeypatch.setattr("karat.hidden.RUN", 7)
    rng = np.random.default_rng(0)
    one, other = rng.dirichlet(np.ones(3), size=20), rng.dirichlet(np.ones(3), size=20)
    kept = one.copy()
    total = add_tempered(add_tempered(None, one, 0.25, 2.0), other, 0.75, 2.0)
    assert np.array_equal(total, 0.25 * temper(one, 2.0) + 0.75 * temper(other, 2.0))
    assert np.array_equal(one, kept)
    whole = add_tempered(None, one, 1.0, 2.0)
    assert whole is one
    assert np.array_equal(whole, temper(kept, 2.0))


def test_without_a_task_of_two_votes_nothing_can_be_hidden():
    result = fit(Auto(), Annotations.from_arrays([0, 1, 2], [0, 1, 0], ["a", "b", "a"]))
    assert "No votes could be hidden" in result.notes[0]
    assert result.choice is None
    assert result.label.tolist() == ["a", "b", "a"]


def test_notes_and_choice_survive_saving(votes, tmp_path):
    result = fit(Auto(), votes)
    result.save(tmp_path / "model.karat")
    again = load(tmp_path / "model.karat")
    assert again.notes == result.notes
    assert again.settings["chosen"] == result.settings["chosen"]
    assert again.choice == result.choice
    assert again.choice is not None


def test_a_single_fold_is_refused():
    with pytest.raises(InputError, match="folds must be at least 2"):
        Auto(folds=1)


class Picky(LocalEngine):
    """An engine without kernels for two of the methods, that keeps in mind how many votes it was given."""

    def __init__(self):
        super().__init__(1)
        self.given = []

    def accept(self, method):
        if method.name in ("ds", "hds"):
            raise InputError(f"{method.name} cannot run here")

    def scatter(self, annotations, *, divisible=True):
        self.given.append(annotations.n_votes)
        super().scatter(annotations, divisible=divisible)


def test_candidates_that_an_engine_cannot_run_are_left_out_and_named():
    result = fit(Auto(), unlike_crowd()[0], engine=Picky())
    assert [one.name for one in sorted(result.choice.candidates, key=lambda one: one.name)] == ["hpt", "mv", "ptbcc"]
    assert any(note.endswith("left out: hds, hds flat, ds.") for note in result.notes)
    few = fit(Auto(), simulate(300, 100, 3, votes_per_task=2, seed=1).annotations, engine=Picky())
    assert set(few.settings["chosen"]) <= {"ptbcc", "hpt", "mv"}
    assert sum(few.settings["chosen"].values()) == pytest.approx(1)


def test_hidden_votes_are_scored_on_this_machine_whatever_the_engine():
    votes, engine = unlike_crowd()[0], Picky()
    result = fit(Auto(), votes, engine=engine)
    assert set(engine.given) == {votes.n_votes}
    assert len(engine.given) == len({"ptbcc", *result.settings["chosen"]})


def test_every_task_keeps_a_vote_and_every_other_vote_is_hidden_once(votes):
    seen = []

    def watch(rest):
        seen.append(rest)
        return fit(MajorityVote(), rest)

    hidden = hide(votes, {"mv": watch}, np.full(9, -1), np.ones(9), folds=5, seed=0)
    assert all(rest.n_tasks == votes.n_tasks for rest in seen)
    assert hidden.weight.size == votes.n_votes
    assert sum(votes.n_votes - rest.n_votes for rest in seen) == votes.n_votes


def test_votes_of_a_group_on_a_task_are_hidden_together(votes):
    group = np.array([0, 0, 0, 0, -1, -1, -1, -1, -1])

    def check(rest):
        task, annotator, _ = rest.votes()
        names = np.asarray(rest.annotator_names)[annotator]
        for i in np.unique(task):
            mine = set(annotators_of(votes, int(rest.task_names[i]))) & {0, 1, 2, 3}
            left = set(names[task == i].tolist()) & {0, 1, 2, 3}
            assert left in (set(), mine)
        return fit(MajorityVote(), rest)

    hide(votes, {"mv": check}, group, np.ones(9), folds=3, seed=1)


def annotators_of(votes, i):
    task, annotator, _ = votes.votes()
    return annotator[task == i].tolist()


def test_stacking_prefers_who_predicts_better():
    votes, _ = unlike_crowd()
    fits = {method.name: lambda rest, method=method: fit(method, rest) for method in (MajorityVote(), PTBCC())}
    hidden = hide(votes, fits, np.full(7, -1), np.ones(7), folds=2, seed=0)
    better, worse = sorted(hidden.names, key=lambda name: -hidden.score(name)[0])
    shares = stack(hidden)
    assert shares[better] > shares[worse]
    assert hidden.lead(better, worse)[0] > 0


def test_of_large_data_random_tasks_stand_for_all():
    votes, _ = unlike_crowd()
    some, code = sample_tasks(votes, 700, seed=0)
    assert some.n_votes <= 700
    assert some.n_votes > 600
    assert code.tolist() == list(range(7))


def test_tempering_keeps_the_order_of_the_classes():
    p = np.array([[0.9, 0.09, 0.01], [1.0, 0.0, 0.0]])
    assert np.allclose(temper(p, 2.0).sum(axis=1), 1)
    assert np.array_equal(np.argsort(temper(p, 2.0)), np.argsort(p))
    assert temper(p, 2.0)[0, 0] < 0.9


@pytest.mark.slow
def test_over_the_ten_data_sets_it_is_as_good_as_ptbcc(data_set):
    """The figure that makes it fit to be a default: mean accuracy at least .7353."""
    found = [data_set(name).accuracy(fit(Auto(), data_set(name).annotations).posterior) for name in DATA_SETS]
    assert np.mean(found) >= 0.7353
