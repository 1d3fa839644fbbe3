"""Estimators as scikit-learn users expect them."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import finegold
from finegold import InputError, NotFittedError
from finegold.methods import mv
from finegold.methods.lookup import REGISTRY

VOTES = pd.DataFrame(
    {
        "task": ["t1", "t1", "t1", "t2", "t2", "t2"],
        "worker": ["ann", "bob", "eve", "ann", "bob", "eve"],
        "label": ["cat", "cat", "dog", "dog", "dog", "dog"],
    }
)
CLASSES = sorted({home.partition(":")[2] for home in REGISTRY.values()})


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (lambda: finegold.PTBCC(), "PTBCC()"),
        (lambda: finegold.PTBCC(n_prototypes=3, seed=0), "PTBCC(n_prototypes=3)"),
        (lambda: finegold.IBCC(), "IBCC()"),
        (lambda: finegold.IBCC(wrong=2.0), "IBCC(wrong=2.0)"),
        (lambda: finegold.MajorityVote(), "MajorityVote()"),
        (lambda: finegold.DS(tolerance=1e-3), "DS(tolerance=0.001)"),
    ],
)
def test_repr_shows_the_changed_settings_only(made, shown):
    assert repr(made()) == shown
    assert repr(eval(f"finegold.{shown}")) == shown


@pytest.mark.parametrize("name", CLASSES)
def test_an_estimator_can_be_made_again_from_its_parameters(name):
    model = getattr(finegold, name)()
    params = model.get_params()
    again = getattr(finegold, name)(**params)
    assert again.get_params() == params == model.get_params(deep=False)
    assert repr(again) == repr(model) == f"{name}()"


def test_settings_can_be_changed_and_are_checked():
    model = finegold.PTBCC(seed=7)
    assert model.set_params(n_prototypes=3, e=2.0) is model
    assert (model.n_prototypes, model.e, model.seed) == (3, 2.0, 7)
    with pytest.raises(InputError, match="ptbcc has no setting n_prototype"):
        model.set_params(n_prototype=4)
    with pytest.raises(InputError, match="n_prototypes must be at least 1"):
        model.set_params(n_prototypes=0)
    assert repr(model) == "PTBCC(seed=7, n_prototypes=3, e=2.0)"


def test_a_setting_that_follows_another_follows_it_again_after_a_change():
    model = finegold.IBCC()
    other = next(one for one in ("ep", "vb") if one != model.inference)
    assert (
        model.set_params(inference=other).get_params()
        == finegold.IBCC(inference=other).get_params()
    )


def test_a_change_of_settings_keeps_what_was_fitted():
    model = finegold.PTBCC().fit(VOTES)
    result = model.result_
    assert model.set_params(seed=3).result_ is result


def test_votes_may_be_called_x_or_data_and_truths_y_or_gold():
    labels = finegold.PTBCC().fit(VOTES).labels_
    for model in (
        finegold.PTBCC().fit(X=VOTES),
        finegold.PTBCC().fit(data=VOTES),
        finegold.PTBCC().fit(VOTES, None),
    ):
        pd.testing.assert_series_equal(model.labels_, labels)
    truths = {"t1": "dog"}
    for model in (finegold.PTBCC().fit(VOTES, truths), finegold.PTBCC().fit(VOTES, gold=truths)):
        assert model.labels_.to_dict() == {"t1": "dog", "t2": "dog"}
    with pytest.raises(InputError, match="X and data mean the same"):
        finegold.PTBCC().fit(VOTES, data=VOTES)
    with pytest.raises(InputError, match="y and gold mean the same"):
        finegold.PTBCC().fit(VOTES, truths, gold=truths)


def test_partial_fit_takes_truths_too():
    model = finegold.PTBCC().partial_fit(VOTES[:3]).partial_fit(VOTES[3:], {"t1": "dog"})
    assert model.labels_.to_dict() == {"t1": "dog", "t2": "dog"}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("attribute", ["labels_", "probas_", "result_"])
def test_labels_before_the_fit_are_refused_in_one_sentence(name, attribute):
    model = getattr(finegold, name)()
    with pytest.raises(
        NotFittedError, match=rf"this {name} is not fitted yet; call fit\(votes\) first"
    ):
        getattr(model, attribute)
    assert not hasattr(model, attribute)  # as scikit-learn has it


@pytest.mark.parametrize("name", CLASSES)
def test_dir_shows_what_users_need(name):
    model = getattr(finegold, name)()
    shown = set(dir(model))
    assert shown == set(dir(type(model)))
    assert {
        "fit",
        "fit_predict",
        "partial_fit",
        "labels_",
        "probas_",
        "result_",
        "get_params",
        "seed",
    } <= shown
    assert (
        not {
            "sweep",
            "start",
            "begin",
            "expect",
            "knowledge",
            "keeps",
            "limits",
            "earlier",
            "_result",
        }
        & shown
    )
    hidden = {one for one in shown if one.startswith("_")} - set(dir(object))
    assert not hidden


def test_help_shows_settings_and_results_but_no_steps_of_the_fit():
    import pydoc

    page = pydoc.plain(pydoc.render_doc(finegold.PTBCC))
    assert "n_prototypes : int, default 2" in page
    assert re.search(r"\bfit\([\s|]*self,[\s|]*X", page)  # Python 3.13 writes a line per argument
    assert "sweep(" not in page


def test_a_method_that_was_registered_later_is_an_estimator(monkeypatch):
    monkeypatch.setitem(REGISTRY, "late", f"{__name__}:Late")
    try:
        assert issubclass(finegold.Late, Late)
        assert finegold.Late(seed=3).fit(VOTES).labels_.to_dict() == {"t1": "cat", "t2": "dog"}
        assert repr(finegold.Late(seed=3)) == "Late(seed=3)"
        assert "Late" in dir(finegold)
    finally:
        vars(finegold).pop("Late", None)


def test_a_class_does_not_load_the_optimisers_of_another_method():
    code = "import finegold, sys; finegold.PTBCC(); print('scipy.optimize' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class Late(mv.MajorityVote):
    """A method from outside."""

    name = "late"


@pytest.mark.parametrize("name", CLASSES)
def test_scikit_learn_clones_it_and_knows_whether_it_is_fitted(name):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.exceptions import NotFittedError as TheirError
    from sklearn.utils.validation import check_is_fitted

    model = getattr(finegold, name)(seed=5)
    copied = base.clone(model)
    assert type(copied) is type(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(TheirError):
        check_is_fitted(model)
    model._result = finegold.PTBCC().fit(VOTES).result_
    check_is_fitted(model)


def test_scikit_learn_clones_arrays():
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    prototypes = np.full((2, 2, 2), 0.5)
    copied = base.clone(finegold.PTBCC(prototypes=prototypes))
    assert copied.prototypes is not prototypes
    assert np.array_equal(copied.prototypes, prototypes)
    assert repr(copied).startswith("PTBCC(prototypes=array(")
