"""Every registered method against every law, without anyone asking; and what all methods do alike."""

import numpy as np
import pytest

from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.checks import LAWS
from finegold.methods.ibcc import IBCC
from finegold.methods.lookup import REGISTRY, method_class

VARIANTS = {
    "expectation propagation": lambda: IBCC(inference="ep", max_iterations=40, tolerance=0),
}


@pytest.mark.parametrize("method", [*REGISTRY, *VARIANTS])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, method):
    law(VARIANTS.get(method) or method_class(method))


@pytest.mark.parametrize("name", ["bwa", "catd", "ds", "ebcc", "glad", "ibcc", "hds"])
def test_known_truths_teach_who_is_right(name):
    """Annotator 0 contradicts annotators 1 and 2; the truths of most tasks show that 0 is right."""
    task, annotator = np.repeat(np.arange(200), 3), np.tile([0, 1, 2], 200)
    label = np.where(annotator == 0, task % 2, 1 - task % 2)
    without = fit(method_class(name)(), Annotations.from_arrays(task, annotator, label), threads=1)
    votes = Annotations.from_arrays(task, annotator, label, gold={i: i % 2 for i in range(190)})
    assert (without.label != np.arange(200) % 2).all()
    assert (fit(method_class(name)(), votes, threads=1).label == np.arange(200) % 2).all()


@pytest.mark.parametrize("name", ["fgbcc", "ptbcc"])
def test_known_truths_teach_that_everybody_swaps_two_classes(name):
    task, annotator = np.divmod(np.arange(400), 4)
    for gold, right in (({}, 0), ({i: i % 2 for i in range(70)}, 1)):
        votes = Annotations.from_arrays(task, annotator, 1 - task % 2, gold=gold)
        assert (fit(method_class(name)(), votes).label == np.arange(100) % 2).mean() == right


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("anchored", {"vote_share": 1.5}, "vote_share"),
        *[
            ("bwa", settings, "must be positive")
            for settings in ({"a_v": 0}, {"lam": -1}, {"a_v": float("nan")})
        ],
        ("catd", {"alpha": 1.5}, "alpha must be between 0 and 1"),
        ("cbcc", {"n_communities": 0}, "n_communities"),
        *[
            ("ds", {"quality": value}, "quality must be between 0 and 1")
            for value in (0, 1, -0.5, float("nan"))
        ],
        *[("ebcc", {name: 0}, name) for name in ("n_subtypes", "n_restarts")],
        ("glad", {"tolerance": -1}, "tolerance"),
        ("hds", {"class_prior": "even"}, 'class_prior must be "votes" or "flat"'),
        ("ibcc", {"inference": "gibbs"}, 'inference must be "ep" or "vb"'),
        ("ibcc", {"max_iterations": 0}, "max_iterations must be at least 1"),
        *[
            ("ptbcc", {"n_prototypes": 0}, "n_prototypes"),
            ("ptbcc", {"f": -1.0}, "f must be positive"),
        ],
        *[("ptbcc", {"tolerance": -1.0}, "tolerance"), ("ptbcc", {"further": "random"}, "further")],
        ("ptbcc", {"max_iterations": 0}, "max_iterations"),
        ("tiremge", {"max_iterations": 0}, "max_iterations"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, settings, words):
    with pytest.raises(InputError, match=words):
        method_class(name)(**settings)
