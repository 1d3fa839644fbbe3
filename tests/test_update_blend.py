"""New votes folded into a blend of methods: into each of its parts, with the shares and the temperature of the fit."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import karat
from karat import Annotations, InputError
from karat.checks.laws import sample_votes
from karat.engines.local import LocalEngine
from karat.hidden import Hidden, temper
from karat.merging import merge
from karat.methods import auto, method_of
from karat.methods.auto import Auto
from karat.methods.ds import DS
from karat.methods.hds import HDS
from karat.methods.mv import MajorityVote
from karat.methods.ptbcc import PTBCC
from karat.solve import fit
from karat.trust.reliability import calibration
from karat.updating import _look_again, _renumbered, _taken_out
from tests.test_update import cut, same_votes

SHARES = {"ptbcc": 0.3, "hpt": 0.2, "hds": 0.15, "hds flat": 0.15, "ds": 0.1, "mv": 0.1}
WEIGHTS = np.array([1.0, 0.3, 0.3, 1, 1, 0.5, 1, 1, 1])


@pytest.fixture(scope="module")
def parts():
    """In no order, so that new votes are of old tasks, too."""
    order = np.random.default_rng(0).permutation(len(sample_votes(n_tasks=120)[0]))
    return cut([column[order] for column in sample_votes(n_tasks=120)], 60)


@pytest.fixture(scope="module")
def blend(parts):
    """All candidates have a share, and the blend a temperature, whatever the votes say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "shares_of", lambda *_: SHARES)
        patch.setattr(Hidden, "temperature", lambda *_: 2.0)
        return fit(Auto(), parts[0])


def test_the_plain_vote_does_not_speak_for_annotators_however_large_its_share(parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "shares_of", lambda *_: {"hds": 0.3, "ds": 0.1, "mv": 0.6})
        result = fit(Auto(), parts[0])
    for one in (result, result.update(parts[1])):
        assert one.knowledge is one.parts["hds"].knowledge
        assert one.steps[-1].iteration > 1
        expected = (0.3 * one.parts["hds"].knowledge.confusion[5] + 0.1 * one.parts["ds"].knowledge.confusion[5]) / 0.4
        assert np.allclose(one.confusion(5), expected)


def blended(result, posteriors):
    temperature = result.settings["temperature"]
    return sum(result.parts[name].share * temper(one, temperature) for name, one in posteriors.items())


def test_a_blend_keeps_its_parts_and_nothing_of_theirs_has_the_size_of_the_tasks(blend, parts):
    assert {name: part.share for name, part in blend.parts.items()} == pytest.approx(SHARES)
    fits = {name: fit(method_of(part), parts[0]).posterior for name, part in blend.parts.items()}
    assert np.allclose(blended(blend, fits), blend.posterior, atol=2e-3)
    for part in blend.parts.values():
        arrays = [getattr(part.knowledge, name) for name in ("class_prior", "prototypes", "weights", "confusion")]
        assert all(array is None or 120 not in array.shape for array in [*arrays, *part.knowledge.more.values()])


def test_each_part_is_updated_as_it_would_be_alone(blend, parts):
    old, new, whole = parts
    updated = blend.update(new)
    same_votes(updated.annotations, whole)
    alone = {name: fit(method_of(part), old).update(new) for name, part in blend.parts.items()}
    expected = blended(blend, {name: one.posterior for name, one in alone.items()})
    touched, untouched = np.unique(new.task_names), np.setdiff1d(old.task_names, new.task_names)
    assert np.array_equal(updated.posterior[untouched], blend.posterior[untouched])
    assert np.abs(updated.posterior[touched] - expected[touched]).max() < 0.02
    assert np.abs(updated.posterior[touched] - blend.posterior[touched]).max() > 0.1
    for name, one in alone.items():
        assert np.allclose(updated.parts[name].knowledge.class_prior, one.knowledge.class_prior, atol=2e-3)


def test_an_update_comes_close_to_a_fit_that_blends_alike(blend, parts):
    updated = blend.update(parts[1])
    scratch = blended(blend, {name: fit(method_of(part), parts[2]).posterior for name, part in blend.parts.items()})
    assert (updated.label_codes != scratch.argmax(axis=1)).mean() < 0.05
    assert np.allclose(updated.posterior.sum(axis=1), 1)


def test_what_is_kept_is_said_and_updates_add_up(blend, parts):
    task, annotator, label = parts[1].votes()
    result = blend
    for some in (slice(0, 20), slice(20, 60)):
        names = parts[1].task_names[task[some]], parts[1].annotator_names[annotator[some]], label[some]
        result = result.update(Annotations.from_arrays(*names))
    assert result.notes[0].startswith("60 votes were folded in since the last fit")
    assert "its shares (ptbcc 30%, hpt 20%" in result.notes[0]
    assert "chooses anew" in result.notes[0]
    assert result.settings["chosen"] == blend.settings["chosen"]
    assert result.knowledge is result.parts["ptbcc"].knowledge
    same_votes(result.annotations, parts[2])


@pytest.mark.parametrize(
    "method",
    [PTBCC(), MajorityVote(), DS(), HDS(), HDS(class_prior="flat"), HDS(weights=WEIGHTS)],
    ids=["ptbcc", "mv", "ds", "hds", "flat", "weights"],
)
def test_posteriors_are_found_again_from_parameters_and_votes(parts, method):
    """The sums of all tasks, made of these posteriors and taken out, leave nothing."""
    result = fit(type(method)(**{**method.settings, "tolerance": 1e-7, "max_iterations": 3000}), parts[2])
    merged = merge(parts[2], Annotations.from_arrays(np.arange(120), ["new"] * 120, parts[2].gold * 0))
    method = method.welcome(merged.annotators.old, 10)
    memory = method.recall(replace(result, knowledge=_renumbered(result.knowledge, method, merged.annotators)))
    engine, again = LocalEngine(1), _look_again(result, merged)._replace(posterior=None)
    _, rest = _taken_out(method, engine, memory, again)
    assert np.abs(engine.posterior - result.posterior).max() < 0.02
    assert max(np.abs(field).max() for field in rest if isinstance(field, np.ndarray)) < 0.2


def test_a_loaded_blend_is_updated_to_the_same_bits_and_keeps_what_is_known_once(blend, parts, tmp_path):
    blend.save(tmp_path / "model")
    again = karat.load(tmp_path / "model")
    assert again.knowledge is again.parts["ptbcc"].knowledge
    assert np.array_equal(blend.update(parts[1]).posterior, again.update(parts[1]).posterior)
    with zipfile.ZipFile(tmp_path / "model") as archive:
        names = archive.namelist()
    assert "part.hds flat.known.confusion.npy" in names
    assert not any(name.startswith("part.ptbcc") for name in names)


def test_a_blend_of_an_earlier_karat_loads_and_says_why_it_needs_a_refit(blend, parts, tmp_path):
    blend.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive, zipfile.ZipFile(tmp_path / "old", "w") as older:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "manifest.json":
                content = json.dumps({k: v for k, v in json.loads(content).items() if k != "parts"}).encode()
            older.writestr(name, content)
    old = karat.load(tmp_path / "old")
    assert np.array_equal(old.posterior, blend.posterior)
    with pytest.raises(InputError, match=r"does not hold the parts of its blend.*add --refit"):
        old.update(parts[1])


def test_new_annotators_tasks_and_truths_are_welcome_and_new_classes_are_not(blend):
    result = blend.update(Annotations.from_arrays([999, 0], ["zoe", "zoe"], [1, 1]), gold={1: 2})
    assert result.labels().filter(result.labels()["task"] == 999)["label"].to_list() == [1]
    assert result.posterior[1].tolist() == [0, 0, 1]
    assert np.allclose(result.confusion("zoe").sum(axis=1), 1)
    with pytest.raises(InputError, match="does not know the label 7"):
        blend.update(Annotations.from_arrays([0], ["zoe"], [7]))


def test_weights_of_annotators_are_kept_and_votes_of_new_ones_count_in_full(parts):
    old, new, whole = parts
    method = HDS(weights=WEIGHTS)
    updated, scratch = fit(method, old).update(new), fit(method, whole)
    assert (updated.label_codes != scratch.label_codes).mean() < 0.05
    assert np.allclose(updated.knowledge.more["seen"].sum(axis=1), WEIGHTS * scratch.votes_per_annotator, rtol=1e-3)
    joined = Annotations.from_arrays([0, 1], [-1, 3], [0, 0])  # one who comes before all others
    assert fit(method, old).update(joined).settings["weights"].tolist() == [1, *WEIGHTS]
    assert fit(method, old).update(joined, refit=True).settings["weights"].tolist() == [1, *WEIGHTS]


def test_a_flat_prior_stays_flat(parts):
    result = fit(HDS(class_prior="flat"), parts[2])
    against = Annotations.from_arrays(np.arange(120), ["new"] * 120, np.full(120, 2))  # shares of 0 and 1 fall
    assert result.update(against).knowledge.more["u"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("of_blend", [True, False])
def test_a_calibrated_model_stays_calibrated(blend, parts, of_blend):
    result = blend if of_blend else fit(PTBCC(), parts[0])
    truth = {int(task): int((label + (task % 3 == 0)) % 3) for task, label in enumerate(result.label_codes)}
    found = calibration(result, truth)
    assert found.temperature > 1.5
    touched = np.unique(parts[1].task_names)
    plain, tempered = (one.update(parts[1]).posterior[touched] for one in (result, found.apply(result)))
    assert np.abs(tempered - temper(plain, found.temperature)).max() < 0.02


def test_estimators_of_auto_learn_in_parts(parts):
    learner = karat.Auto().partial_fit(parts[0]).partial_fit(parts[1])
    same_votes(learner.result_.annotations, parts[2])
    assert learner.result_.parts
    assert "60 votes were folded in" in learner.result_.notes[0]
