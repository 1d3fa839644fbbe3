"""Saved models are checked when they are read: crafted and damaged ones are refused in a sentence."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.lookup import REGISTRY, method_class
from tests.support.archives import pack, unpack
from tests.support.cli_helpers import refusal_of

DAMAGED = "is not a result saved by Finegold, or it is damaged; make one with finegold aggregate"
CSV = "task,annotator,label\n" + "".join(
    f"t{t},{w},{y}\n" for t, w, y in zip(*sample_votes(n_tasks=40), strict=True)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    (place / "votes.csv").write_text(CSV)
    for method, settings in (("ds", {}), ("ptbcc", {})):
        finegold.aggregate(place / "votes.csv", method, **settings).save(
            place / f"{method}.finegold"
        )
    gold = {"t1": ["0", "2"], "t2": []}
    finegold.aggregate(place / "votes.csv", multi=True, gold=gold).save(place / "sets.finegold")
    return place


@pytest.fixture
def crafted(folder, tmp_path):
    """A model of ds, or another, with one array replaced (None: left out), or entries of the manifest."""

    def make(arrays=(), model="ds", **entries):
        manifest, kept = unpack((folder / f"{model}.finegold").read_bytes())
        for name, change in dict(arrays).items():
            kept[f"{name}.npy"] = change(kept[f"{name}.npy"]) if callable(change) else change
        path = tmp_path / "crafted.finegold"
        path.write_bytes(
            pack(
                {**manifest, **entries},
                {name: kept[name] for name in kept if kept[name] is not None},
            )
        )
        return path

    return make


def with_first(value, dtype=None):
    """The same array with another first value."""

    def change(values):
        values = values.astype(dtype or values.dtype)
        values.reshape(-1)[0] = value
        return values

    return change


BAD_ARRAYS = {
    "negative annotators": {"votes.annotator": with_first(-1, "i4")},
    "annotators that do not exist": {"votes.annotator": with_first(200)},
    "annotators that 32 bits cannot hold": {"votes.annotator": with_first(2**32, "u8")},
    "gold that is short": {"gold": lambda gold: gold[:-1]},
    "gold that is no class": {"gold": with_first(7)},
    "gold of floats": {"gold": lambda gold: gold.astype(float)},
    "negative classes": {"votes.cell_class": with_first(-1, "i1")},
    "classes that do not exist": {"votes.cell_class": with_first(3)},
    "a class twice in a task": {"votes.cell_class": lambda classes: classes * 0},
    "tasks without cells": {"votes.cells_per_task": with_first(0)},
    "too many cells in a task": {"votes.cells_per_task": with_first(200)},
    "votes that are too many": {"votes.votes_per_cell": with_first(2**63, "u8")},
    "annotators that are missing": {"votes.annotator": None},
    "a posterior with NaN": {"posterior": with_first(np.nan)},
    "a negative posterior": {"posterior": with_first(-0.5)},
    "a posterior of one class less": {
        "posterior": lambda posterior: np.full((len(posterior), 2), 0.5)
    },
    "a posterior of 16-bit floats": {"posterior": lambda posterior: posterior.astype(np.float16)},
    "a posterior of objects": {"posterior": np.array([{}], dtype=object)},
    "parameters with NaN": {"known.confusion": with_first(np.nan)},
    "matrices of too few annotators": {"known.confusion": lambda confusion: confusion[1:]},
    "steps without iterations": {"steps": with_first(np.nan)},
    "shares of classes that are missing": {"known.class_prior": None},
}


@pytest.mark.parametrize("arrays", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_arrays_that_compiled_code_must_not_see_are_refused(crafted, arrays):
    with pytest.raises(InputError, match=DAMAGED):
        finegold.load(crafted(arrays))


@pytest.mark.parametrize(
    "entries",
    [
        {"task_names": ["t1"]},
        {"task_names": ["t1"] * 40},
        {"task_names": [*(f"t{i:02}" for i in range(39)), None]},
        {"counts": {"votes": 3}},
        {"hygiene": {}},
        *({"gold_sets": sets, "model": "sets"} for sets in ([[-1]], [], [["x"]])),
    ],
    ids=str,
)
def test_manifests_that_do_not_fit_are_refused(crafted, entries):
    with pytest.raises(InputError, match=DAMAGED):
        finegold.load(crafted(**entries))


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "auto"])
def test_models_of_every_method_pass(name, tmp_path):
    votes = Annotations.from_arrays(*sample_votes(n_tasks=30))
    made = method_class(name)()
    result = fit(made, votes)
    result.save(tmp_path / "m.finegold")
    again = finegold.load(tmp_path / "m.finegold")
    assert np.array_equal(again.posterior, result.posterior)


def test_what_was_done_besides_the_method_is_kept(folder, tmp_path):
    before = finegold.load(folder / "ds.finegold")
    made = replace(before, known_annotators=1, temperature=2.0)
    made.save(tmp_path / "m.finegold")
    again = finegold.load(tmp_path / "m.finegold")
    assert (again.known_annotators, again.temperature) == (1, 2.0)
    assert again.settings == before.settings
    assert again.all_settings == before.settings | {"prior": 1, "calibrated": 2.0}


def test_every_cut_of_a_model_is_refused(folder, tmp_path):
    data, path = (folder / "ds.finegold").read_bytes(), tmp_path / "cut.finegold"
    for end in range(0, len(data), 97):
        path.write_bytes(data[:end])
        with pytest.raises(InputError, match=DAMAGED):
            finegold.load(path)
    assert DAMAGED in refusal_of("next-votes", path)


@pytest.mark.parametrize("method", ["ds", "sets"])
@pytest.mark.parametrize(
    "wrong", [np.array([{}, None]), np.zeros((2, 2, 2, 2), "U3"), b"", np.array(-7j)]
)
def test_arrays_of_another_kind_or_size_are_refused(folder, tmp_path, method, wrong):
    manifest, arrays = unpack((folder / f"{method}.finegold").read_bytes())
    path = tmp_path / "m.finegold"
    for name in arrays:
        path.write_bytes(pack(manifest, {**arrays, name: wrong}))
        with pytest.raises(InputError, match=DAMAGED):
            finegold.load(path)


def test_a_small_file_cannot_fill_the_memory(folder, tmp_path):
    manifest, arrays = unpack((folder / "ds.finegold").read_bytes())
    path = tmp_path / "bomb.finegold"
    path.write_bytes(pack(manifest, arrays, zipfile.ZIP_DEFLATED))
    with pytest.raises(InputError, match=DAMAGED):
        finegold.load(path)
