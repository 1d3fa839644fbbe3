"""Estimators as scikit-learn users expect them."""

import pandas as pd
import pytest

import finegold
from finegold import InputError, NotFittedError
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


def test_truths_may_be_called_y():
    assert finegold.PTBCC().fit(VOTES, {"t1": "dog"}).labels_.to_dict() == {
        "t1": "dog",
        "t2": "dog",
    }


def test_further_votes_are_predicted_and_scored_together_with_those_of_the_fit():
    model = finegold.DS().fit(VOTES[:3])
    assert model.predict(VOTES[3:]).to_dict() == {"t2": "dog"}
    shown = model.predict_proba(VOTES[3:])
    assert (shown.index.tolist(), shown.columns.tolist()) == (["t2"], ["cat", "dog"])
    assert model.labels_.to_dict() == {"t1": "cat"}
    assert model.score(VOTES[3:], {"t1": "cat", "t2": "cat"}) == 0.5
    assert model.score(None, {"t1": "cat"}) == 1.0


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
