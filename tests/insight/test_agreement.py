"""Agreement beyond chance: published examples, libraries that compute the same, and sums by hand."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold import Annotations, InputError
from finegold.votes.frames import to_polars
from tests.support.cli_helpers import json_of, run, succeed, write

_ = None

# K. Gwet, Handbook of Inter-Rater Reliability: four raters, twelve units, five categories, some ratings missing.
GWET = [
    [1, 1, _, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [_, 5, 5, 5],
    [_, _, 1, 1],
    [_, _, 3, _],
]


def annotations(rows, **more):
    """A row a task, a column an annotator."""
    votes = [(i, j, label) for i, row in enumerate(rows) for j, label in enumerate(row)]
    task, annotator, label = zip(*votes, strict=True)
    return Annotations.from_arrays(task, annotator, np.array(label, dtype=object), **more)


def counted(rows, classes):
    return np.array([[sum(label == c for label in row) for c in classes] for row in rows])


def test_the_published_coefficients_of_four_raters_with_missing_ratings():
    found = finegold.agreement(annotations(GWET))
    assert round(found.fleiss, 5) == 0.76117
    assert round(found.ac1, 5) == 0.77544
    assert round(found.alpha, 5) == 0.74342
    assert round(found.observed, 5) == 0.81818
    assert (found.n_tasks, found.n_votes, found.n_annotators) == (11, 40, 4)
    assert np.isnan(found.self_agreement)  # nobody voted twice on a task


VOTED = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=4),
    min_size=3,
    max_size=30,
)


@given(VOTED)
def test_the_libraries_agree(rows):
    found = finegold.agreement(annotations([["a"] * 4, *rows], classes=["a", "b", "c"]))
    counts = counted([["a"] * 4, *rows], "abc")
    n = counts[counts.sum(axis=1) > 1].sum(axis=0)
    if (n > 0).sum() < 2:
        assert np.isnan(found.alpha)
        return

    def alpha(counts):
        return krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")

    assert found.alpha == pytest.approx(alpha(counts))
    of_class = to_polars(found.classes())["alpha"].to_list()
    for c in np.flatnonzero((n > 0) & (n < n.sum())):
        rest = counts.sum(axis=1) - counts[:, c]
        assert of_class[c] == pytest.approx(alpha(np.column_stack([counts[:, c], rest])))


NUMBERS = st.lists(
    st.lists(st.sampled_from([1, 2, 5, None]), min_size=4, max_size=4), min_size=3, max_size=30
)


@given(NUMBERS, st.sampled_from(["ordinal", "interval"]))
def test_alpha_of_ordered_classes_and_of_numbers_is_that_of_the_library(rows, level):
    pairs = [row for row in rows if sum(label is not None for label in row) > 1]
    if len({label for row in pairs for label in row} - {None}) < 2:
        return
    expected = krippendorff.alpha(
        value_counts=counted(rows, [1, 2, 5]), value_domain=[1, 2, 5], level_of_measurement=level
    )
    assert finegold.agreement(
        annotations(rows, classes=[1, 2, 5]), level=level
    ).alpha == pytest.approx(expected)


# P. Shrout and J. Fleiss, Psychological Bulletin 86 (1979), table 2: six targets, four judges.
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_intraclass_correlation_is_the_published_one_and_missing_votes_do_not_bias_it():
    assert finegold.agreement(annotations(SHROUT), level="interval").icc == pytest.approx(
        0.29, abs=0.0005
    )
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        # variances 4 of tasks, 1 of annotators, 2 of errors
        y = rng.normal(0, 2, (150, 1)) + rng.normal(0, 1, 40) + rng.normal(0, 2**0.5, (150, 40))
        rows = np.where(rng.random(y.shape) < 0.15, y.round(2), np.nan)
        labels = [[None if np.isnan(x) else float(x) for x in row] for row in rows]
        found.append(finegold.agreement(annotations(labels), level="interval").icc)
    assert np.mean(found) == pytest.approx(4 / 7, abs=0.02)


# examples of irrCAC, of pingouin, and of J. Landis and G. Koch (1977): tasks by what two annotators said
DIAGNOSIS = [[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]]
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
SCLEROSIS = [[38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]]
WINE = [
    [1, 2, 0, 1],
    [1, 3, 3, 2],
    [3, 8, 1, 4],
    [6, 4, 3, 3],
    [6, 5, 5, 6],
    [7, 5, 6, 2],
    [8, 7, 7, 9],
    [9, 9, 9, 8],
]

# values and standard errors by irrCAC 0.4.4 (fleiss, ac1, ac2, alpha), statsmodels 0.15.0 (cohen), pingouin 0.7.0 (icc)
BY_OTHERS = [
    (GWET, "ordinal", "fleiss", 0.81794, None),
    (GWET, "ordinal", "ac2", 0.85874, None),
    (GWET, "interval", "fleiss", 0.86494, None),
    (GWET, "interval", "ac2", 0.91400, None),
    (GWET, "interval", "alpha", 0.84911, None),
    (SHROUT, "nominal", "ac1", -0.07692, 0.03135),
    (SHROUT, "ordinal", "ac2", 0.10843, 0.08130),
    (SHROUT, "interval", "ac2", 0.31511, 0.12219),
    (SHROUT, "interval", "alpha", 0.14731, None),
    (SHROUT, "interval", "icc", 0.28976, None),
    (WINE, "ordinal", "fleiss", 0.50587, 0.15403),
    (WINE, "interval", "ac2", 0.73405, 0.12212),
    (WINE, "interval", "alpha", 0.70688, None),
    (WINE, "interval", "icc", 0.72769, None),
    (DIAGNOSIS, "nominal", "fleiss", 0.43034, 0.04634),
    (DIAGNOSIS, "nominal", "ac1", 0.45616, 0.04355),
    (DIAGNOSIS, "nominal", "alpha", 0.43162, None),
    (DIAGNOSIS, "nominal", "cohen", 0.43150, 0.04597),
    (ABSTRACTORS, "nominal", "fleiss", 0.79624, 0.05935),
    (ABSTRACTORS, "nominal", "ac1", 0.84933, 0.04344),
    (ABSTRACTORS, "nominal", "cohen", 0.79641, 0.05891),
    (SCLEROSIS, "nominal", "cohen", 0.20794, 0.05046),
    (SCLEROSIS, "ordinal", "cohen", 0.37973, 0.05167),
    (SCLEROSIS, "interval", "cohen", 0.52458, 0.06006),
    (SCLEROSIS, "ordinal", "fleiss", 0.34847, 0.05978),
    (SCLEROSIS, "ordinal", "ac2", 0.46511, 0.05145),
    (SCLEROSIS, "interval", "fleiss", 0.49699, 0.06893),
    (SCLEROSIS, "interval", "ac2", 0.62209, 0.05548),
    (SCLEROSIS, "interval", "icc", 0.52626, None),
]  # fmt: skip


@pytest.mark.parametrize(("table", "level", "figure", "value", "error"), BY_OTHERS)
def test_figures_and_their_errors_are_those_of_other_libraries(table, level, figure, value, error):
    rows = table
    if table in (DIAGNOSIS, ABSTRACTORS, SCLEROSIS):
        cells = [(i, j, n) for i, row in enumerate(table, 1) for j, n in enumerate(row, 1)]
        rows = [[i, j] for i, j, n in cells for _ in range(n)]
    classes = sorted({label for row in rows for label in row} - {None})
    found = finegold.agreement(annotations(rows, classes=classes), level=level)
    assert getattr(found, figure) == pytest.approx(value, abs=6e-6)
    if error:
        # statsmodels divides by the number of tasks, and not by one less
        error *= (len(rows) / (len(rows) - 1)) ** 0.5 if figure == "cohen" else 1
        assert found.estimates[figure].error == pytest.approx(error, abs=6e-6)
    if len(rows) >= 100:
        low, high = found.interval(figure)
        assert (low, high) == pytest.approx(
            value + np.array([-1, 1]) * 1.96 * found.estimates[figure].error, abs=1e-4
        )


@pytest.mark.parametrize(
    ("level", "weights"), [("nominal", None), ("ordinal", "linear"), ("interval", "quadratic")]
)
def test_kappas_are_those_of_statsmodels_and_of_the_formulas(level, weights):
    from statsmodels.stats.inter_rater import cohens_kappa  # takes more than a second

    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, size=60)
    votes = np.clip(truth[:, None] + rng.integers(-1, 2, size=(60, 3)), 1, 5)
    kept = rng.random((60, 3)) < 0.8
    kept[:, 0] |= ~kept.any(axis=1)
    rows = [
        [int(v) if k else None for v, k in zip(*row, strict=True)]
        for row in zip(votes, kept, strict=True)
    ]
    found = finegold.agreement(annotations(rows, classes=[1, 2, 3, 4, 5]), level=level)
    kappas, shared = [], []
    for one, other, n, _, kappa in to_polars(found.pairs()).iter_rows():
        both = [(row[one], row[other]) for row in rows if None not in (row[one], row[other])]
        table = [[both.count((x, y)) for y in range(1, 6)] for x in range(1, 6)]
        assert n == len(both)
        assert kappa == pytest.approx(cohens_kappa(table, wt=weights, return_results=False))
        kappas.append(kappa)
        shared.append(n)
    assert found.cohen == pytest.approx(np.average(kappas, weights=shared))
    # Gwet's formulas, as printed
    x = np.arange(5)
    apart = np.abs(x[:, None] - x) / 4
    w = np.eye(5) if not weights else 1 - (apart if weights == "linear" else apart**2)
    r = counted(rows, range(1, 6))
    n = r.sum(axis=1)
    several = n >= 2
    agreed = ((r * (r @ w - 1)).sum(axis=1)[several] / (n * (n - 1))[several]).mean()
    pi = (r / n[:, None]).mean(axis=0)
    gwet = found.ac2 if weights else found.ac1
    chances = (pi @ w @ pi, w.sum() / 20 * (pi * (1 - pi)).sum())
    for value, chance in zip((found.fleiss, gwet), chances, strict=True):
        assert value == pytest.approx((agreed - chance) / (1 - chance))


def crowd(noise, seed, n_tasks=200, n_annotators=4):
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(9).integers(3, size=n_tasks)
    right = rng.random((n_tasks, n_annotators)) > noise
    return np.where(right, truth[:, None], rng.integers(3, size=right.shape))


def test_the_difference_of_two_agreements_is_paired_over_tasks():
    same, other = (annotations(crowd(0.3, seed).tolist()) for seed in (1, 2))
    found = to_polars(finegold.agreement(same).minus(finegold.agreement(same)))
    assert found["difference"].to_list() == [0] * 4
    assert found["p"].to_list() == [1] * 4
    clear = finegold.agreement(annotations(crowd(0.1, 3).tolist()))
    table = to_polars(clear.minus(finegold.agreement(other)))
    assert (table["low"] > 0).all()
    assert (table["p"] < 0.001).all()
    # pairs of crowds that are equally good differ significantly in about one of twenty cases
    crowds = [finegold.agreement(annotations(crowd(0.3, 10 + n).tolist())) for n in range(80)]
    pairs = zip(crowds[:40], crowds[40:], strict=True)
    p = [to_polars(one.minus(another))["p"].min() for one, another in pairs]
    assert np.mean(np.array(p) < 0.05) < 0.15
    with pytest.raises(InputError, match="no task in common"):
        clear.minus(finegold.agreement(Annotations.from_arrays(["x", "x"], [1, 2], [0, 1])))


def test_groups_of_annotators_are_compared_within_and_between(tmp_path):
    """Two teams read the guideline differently: class 1 is 2 for the second."""
    votes = crowd(0.1, 4, n_annotators=6)
    votes[:, 3:] = np.where(votes[:, 3:] == 1, 2, votes[:, 3:])
    team = {j: "first" if j < 3 else "second" for j in range(6)}
    found = to_polars(finegold.agreement(annotations(votes.tolist()), group=team).groups())
    rows = {(row["group_1"], row["group_2"]): row for row in found.to_dicts()}
    assert rows.keys() == {("first", "first"), ("first", "second"), ("second", "second")}
    between = rows["first", "second"]
    equal = (votes[:, :3, None] == votes[:, None, 3:]).mean()
    assert between["observed"] == pytest.approx(equal)
    assert between["high"] < rows["first", "first"]["low"]
    assert rows["second", "second"]["n_tasks"] == 200
    with pytest.raises(InputError, match="1 annotators have no group, such as 5"):
        finegold.agreement(annotations(votes.tolist()), group=dict.fromkeys(range(5), "x"))
    text = "task,worker,label,team\n" + "".join(
        f"{i},{j},{votes[i, j]},{team[j]}\n" for i in range(200) for j in range(6)
    )
    file = write(tmp_path / "votes.csv", text)
    assert json_of("agreement", file, "--group", "team")["groups"] == found.to_dicts()
    assert "Within and between groups" in succeed("agreement", file, "--group", "team").stdout
    other = write(tmp_path / "twice.csv", f"{text}0,0,1,second\n")
    assert "annotator 0 is in several groups: first, second" in run(
        "agreement", other, "--group", "team"
    ).stderr.replace("\n", " ")
    found = json_of("agreement", file, "--minus", file)["difference"]
    assert [row["difference"] for row in found] == [0] * 4


def test_a_level_or_a_figure_that_does_not_fit_is_said():
    names = annotations([["x", "y"], ["x", "x"]])
    with pytest.raises(InputError, match="needs classes that are numbers, not \\['x', 'y'\\]"):
        finegold.agreement(names, level="interval")
    with pytest.raises(InputError, match="level must be one of nominal, ordinal, interval, not"):
        finegold.agreement(names, level="ratio")
    with pytest.raises(InputError, match="cohen has no interval; alpha, fleiss, ac1 have"):
        finegold.agreement(names).interval("cohen")


def test_an_annotator_against_the_others_by_hand():
    """c agrees with half of a and b on the first task, with both on the second, with none on the third."""
    rows = [["x", "y", "x"], ["x", "x", "x"], ["y", "y", "x"], ["x", None, None]]
    table = to_polars(finegold.agreement(annotations(rows)).annotators())
    assert table["n_shared"].to_list() == [3, 3, 3]
    c = table.row(2, named=True)
    assert c["observed"] == pytest.approx(0.5)
    # c always says x; the others say x in 1/2, 1 and 0 of the cases: chance is 1 * 1/2
    assert c["kappa"] == pytest.approx(0.0)


def test_repeats_do_not_count_as_agreement_with_others():
    """ann says x three times on every task; with bob she agrees on half of them."""
    task = [0, 0, 0, 0, 1, 1, 1, 1]
    who = ["ann", "ann", "ann", "bob"] * 2
    votes = Annotations.from_arrays(task, who, list("xxyx") + list("xxxy"), repeated="all")
    found = finegold.agreement(votes)
    assert found.observed == 0.5
    assert found.n_votes == 4
    assert found.self_agreement == pytest.approx(4 / 6)  # one pair of three, and three of three


def test_what_cannot_be_told_is_nan():
    found = finegold.agreement(Annotations.from_arrays([1, 2], ["a", "b"], ["x", "y"]))
    assert np.isnan([found.alpha, found.fleiss, found.ac1, found.cohen, found.observed]).all()
    assert np.isnan(finegold.agreement(annotations([["x", "x"]] * 12)).alpha)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("alpha", "nominal"),
        ("alpha", "ordinal"),
        ("fleiss", "nominal"),
        ("fleiss", "interval"),
        ("ac1", "nominal"),
        ("ac2", "ordinal"),
        ("icc", "interval"),
    ],
)
def test_standard_errors_are_those_of_the_bootstrap(name, level):
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=150)
    rows = [
        [int(t) if rng.random() < 0.7 else int(rng.integers(3)) for _ in range(rng.integers(2, 6))]
        for t in truth
    ]
    found = finegold.agreement(annotations(rows), level=level)
    samples = ([rows[i] for i in rng.integers(150, size=150)] for _ in range(200))
    others = (finegold.agreement(annotations(some), level=level) for some in samples)
    drawn = [getattr(other, name) for other in others]
    assert found.estimates[name].error == pytest.approx(np.std(drawn), rel=0.2)
    low, high = found.interval(name)
    assert low < getattr(found, name) < high


def test_repeats_in_a_file_are_seen_unless_asked_otherwise(tmp_path):
    file = write(tmp_path / "votes.csv", "task,worker,label\n1,a,x\n1,a,y\n1,a,x\n1,b,x\n")
    assert finegold.agreement(file).self_agreement == pytest.approx(1 / 3)
    assert np.isnan(finegold.agreement(file, repeated="first").self_agreement)
    assert "repeated votes that agree" in run("agreement", file).stdout


CSV = "task,worker,label\n" + "".join(
    f"{i},{j},{v}\n" for i, r in enumerate(GWET) for j, v in enumerate(r) if v
)


def test_the_command_shows_and_writes_it_also_for_a_saved_model(tmp_path):
    file, a, p = write(tmp_path / "votes.csv", CSV), tmp_path / "a.csv", tmp_path / "p.csv"
    done = succeed("agreement", file, "--annotators", a, "--pairs", p)
    assert "Krippendorff's alpha" in done.stdout
    assert "0.743" in done.stdout
    assert a.read_text().startswith("worker,n_shared,observed,kappa\n0,9,")
    assert len(p.read_text().splitlines()) == 3
    succeed("aggregate", file, "--save", tmp_path / "model.finegold")
    plain, saved = (json_of("agreement", path) for path in (file, tmp_path / "model.finegold"))
    assert plain == saved
    assert round(plain["ac1"], 5) == 0.77544
    assert (len(plain["classes"]), plain["self_agreement"]) == (5, None)
