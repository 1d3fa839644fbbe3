"""The paper, reproduced: with quick methods here; the complete run takes minutes."""

import csv
import json
import shutil

import numpy as np
import pytest

import finegold
from finegold.paper import document, figures, fits
from finegold.paper import reproduce as output
from finegold.paper.reproduce import reproduce
from tests.support.cli_helpers import DATASETS, refusal_of, succeed, write
from tests.support.data_sets import ACCURACY

TEN = ["val7", "aircr", "cf", "fact", "ms", "dog", "face", "adult", "val5", "web"]
PTBCC = [0.31, 0.822934, 0.893333, 0.901042, 0.794286, 0.824040, 0.655822, 0.771772, 0.56, 0.819450]
MV = [
    0.2025,
    0.810849,
    0.882222,
    0.901910,
    0.704214,
    0.822181,
    0.636701,
    0.758258,
    0.351667,
    0.730651,
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The ten data sets without Senti, wherever it is."""
    absent = [name for name in TEN if not (DATASETS / name / "label.csv").is_file()]
    if absent:
        pytest.skip(
            f"{', '.join(absent)} not in ../shared/datasets; put the data sets there to run this"
        )
    folder = tmp_path_factory.mktemp("data")
    for name in TEN:
        (folder / name).symlink_to(DATASETS / name)
    return folder


@pytest.fixture(scope="module")
def out(data, tmp_path_factory):
    """Tables and figures by two methods."""
    folder = tmp_path_factory.mktemp("out") / "paper"
    options = ["--method", "ptbcc", "--method", "mv", "--jobs", 1, "--data", data, "--out", folder]
    result = succeed(
        "reproduce", "--only", "table2,table3", "table4", "figure2", "figure3", "figure5", *options
    )
    assert "absent data sets: senti" in result.stderr
    return folder


@pytest.fixture(scope="module")
def results(out):
    return json.loads((out / "results.json").read_text())


def test_accuracies_are_those_of_the_issue(results):
    for method, expected in {"ptbcc": PTBCC, "mv": MV}.items():
        assert [results["accuracy"][method][name] for name in TEN] == pytest.approx(
            expected, abs=5e-7
        )


def test_senti_is_filled_with_its_published_accuracies_and_marked(results, out):
    assert results["absent"] == ["senti"]
    assert results["means"]["ptbcc"]["senti"] == "published"
    assert results["means"]["ptbcc"]["present"] == pytest.approx(np.mean(PTBCC), abs=1e-6)
    assert results["means"]["ptbcc"]["eleven"] == pytest.approx((sum(PTBCC) + 0.866) / 11, abs=1e-6)
    assert "published 0.8660" in (out / "reproduction.html").read_text()


def test_the_test_against_mv_is_the_papers(results):
    found = results["wilcoxon"]["ptbcc"]
    assert found["S"] == 7
    assert found["p"] == pytest.approx(0.0093, abs=5e-5)
    assert found["stars"] == "**"
    assert found["data_sets"] == 11


def test_every_part_has_its_files(out):
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    drawn = {f"reproduction/figure{n}.{kind}" for n in (2, 3, 5) for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in ("table2", "table3", "table4", "accuracy", "times")}
    assert names == {"reproduction.html", "reproduction.md", "results.json", *drawn, *tables}


def test_tables_put_the_paper_beside_finegold(out):
    with (out / "table4.csv").open(newline="") as file:
        mv, ptbcc = csv.DictReader(file)
    assert float(ptbcc["paper mean"]) == 0.7472
    assert float(ptbcc["Finegold mean"]) == pytest.approx(0.7472, abs=5e-5)
    assert (ptbcc["paper S"], ptbcc["S"]) == ("7", "7")
    assert float(mv["mean of 10 present"]) == pytest.approx(np.mean(MV), abs=1e-6)


def test_table_3_counts_the_files(out):
    with (out / "table3.csv").open(newline="") as file:
        rows = {row["Data set"]: row for row in csv.DictReader(file)}
    assert rows["Adult"]["labels"] == "89799"
    assert {row["against the paper"] for row in rows.values()} == {"same as the paper"}


def test_the_page_needs_no_other_file(out):
    page = (out / "reproduction.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "http" not in page


def test_rank_sums_and_p_are_the_papers_for_the_accuracies_of_the_original_programs():
    """METHODS.md, section 14: eight rank sums agree exactly, GLAD's comes out as 31."""
    with ACCURACY.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] != "senti"]
    values = {
        m: [float(r["accuracy"]) for r in rows if r["method"].lower() == m] for m in fits.METHODS
    }
    mv = [*values["mv"], fits.SENTI["mv"].accuracy]
    for method in ("catd", "ds", "ibcc", "cbcc", "bwa", "ebcc", "fgbcc", "ptbcc"):
        found, row = (
            fits.compare([*values[method], fits.SENTI[method].accuracy], mv),
            fits.TABLE_4[method],
        )
        assert (found.S, found.stars) == (row.S, row.stars)
        assert found.p == pytest.approx(row.p, abs=5.1e-5)
    assert fits.compare([*values["glad"], fits.SENTI["glad"].accuracy], mv).S == 31


def test_equal_accuracies_do_not_count_and_rounding_breaks_no_tie():
    found = fits.compare([0.3, 0.5, 0.7], [0.2, 0.5, 0.8])
    assert found.n == 2
    assert found.S == 1.5  # differences of +0.1 and -0.1 share ranks 1 and 2
    assert fits.compare([0.5], [0.5]) == (0.0, 1.0, 0)


@pytest.fixture
def with_stand_in(data, tmp_path):
    """All eleven: votes of the shape of Senti, drawn at random, in its place."""
    shutil.copytree(data, tmp_path / "data", symlinks=True)
    folder = tmp_path / "data" / "senti"
    folder.mkdir()
    rng = np.random.default_rng(0)
    n_tasks, n_annotators, n_truths, n_classes, n_labels = finegold.paper.datasets.data_set(
        "senti"
    ).counts
    truth = rng.integers(n_classes, size=n_tasks)
    task = np.sort(np.append(np.arange(n_tasks), rng.integers(n_tasks, size=n_labels - n_tasks)))
    # Consecutive annotators: nobody votes twice on a task.
    annotator = np.arange(n_labels) % n_annotators
    label = np.where(
        rng.random(n_labels) < 0.7, truth[task], rng.integers(n_classes, size=n_labels)
    )
    np.savetxt(
        folder / "label.csv",
        np.c_[task, annotator, label],
        "%d",
        ",",
        header="item,worker,label",
        comments="",
    )
    np.savetxt(
        folder / "truth.csv",
        np.c_[:n_truths, truth[:n_truths]],
        "%d",
        ",",
        header="item,truth",
        comments="",
    )
    return tmp_path / "data"


def test_a_stand_in_for_senti_is_refused_unless_allowed_and_then_is_in_all_means(
    with_stand_in, tmp_path
):
    options = ["--only", "table3,table4", "--method", "ptbcc", "--jobs", 1]
    options += ["--data", with_stand_in, "--out", tmp_path / "out"]
    message = refusal_of("reproduce", *options)
    assert "31e16268ae71c0af" in message
    assert "--allow-unverified" in message
    assert not (tmp_path / "out").exists()
    taken = succeed("reproduce", *options, "--allow-unverified")
    assert "NOT VERIFIED" in taken.stderr
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (found["absent"], found["unverified"]) == ([], ["senti"])
    for method, ten in {"ptbcc": PTBCC, "mv": MV}.items():
        accuracy = found["accuracy"][method]["senti"]
        assert accuracy > 0.9
        assert found["means"][method]["eleven"] == pytest.approx(
            (sum(ten) + accuracy) / 11, abs=1e-6
        )
        assert found["means"][method]["senti"] == "measured"
    assert found["wilcoxon"]["ptbcc"]["data_sets"] == 11
    page = (tmp_path / "out" / "reproduction.html").read_text()
    assert "NOT VERIFIED: senti" in page
    assert "same as the paper" in page


def small(data, folder, *names):
    for name in names:
        (folder / name).symlink_to(data / name)
    return folder


def test_the_ablation_varies_f_m_and_prototypes_with_ten_seeds_where_it_is_random(
    data, tmp_path, monkeypatch
):
    for value in "4567":  # each would compile kernels of its own
        monkeypatch.delitem(fits.ABLATION["|S|"], value)
    found, _ = reproduce(
        small(data, tmp_path, "val5"), tmp_path / "out", only=["table5"], workers=1
    )
    assert found.ablation["f"]["5"] == found.ablation["m"]["1.35"] == found.ablation["|S|"]["2"]
    assert found.ablation["f"]["5"].mean == pytest.approx(0.56)
    assert {value: cell.seeds for value, cell in found.ablation["|S|"].items()} == {
        "2": 1,
        "3-Ran": 1,
        "3": 10,
    }
    assert found.ablation["|S|"]["3"].spread > 0.001
    assert len({cell.mean for row in found.ablation.values() for cell in row.values()}) > 5
    assert (
        found.ablation["f"]["5"].eleven is None
    )  # one data set of eleven: nothing to compare with the paper


def test_several_processes_find_what_one_finds(data, tmp_path):
    """Ties of CATD are broken by lot: the seed must reach the worker."""
    folder = small(data, tmp_path, "val5", "aircr")
    jobs = [fits.make_fit("catd", name, seed=seed) for name in ("val5", "aircr") for seed in (0, 3)]
    options = {"verified": True, "sizes": {"val5": 1, "aircr": 2}}
    one, two = (fits.run_fits(jobs, str(folder), workers=workers, **options) for workers in (1, 2))
    assert {j: o.accuracy for j, o in one.items()} == {j: o.accuracy for j, o in two.items()}
    assert len(one) == 4


def test_a_fit_that_is_asked_for_twice_is_one_job():
    assert fits.make_fit("ptbcc", "val5", f=5.0, n_prototypes=2) == fits.make_fit("ptbcc", "val5")
    assert fits.make_fit("ptbcc", "val5", f=4.0) != fits.make_fit("ptbcc", "val5")


def test_all_eleven_methods_are_run_on_every_data_set():
    there = fits.check_methods(None)
    assert len(there) == 11
    jobs = fits.plan_fits(list(fits.PARTS), there, TEN)
    assert {(j.method, j.data) for j in jobs} == {(m, name) for m in there for name in TEN}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "table9"], "the paper has no part 'table9'"),
        (["--method", "hds"], "hds is not among the paper's methods"),
        (["--data", "."], "none of the paper's data sets"),
    ],
)
def test_what_is_not_there_is_named(arguments, words, tmp_path):
    assert words in refusal_of(
        "reproduce", "--out", tmp_path / "out", "--data", tmp_path, *arguments
    )
    assert not (tmp_path / "out").exists()


def test_a_missing_matplotlib_is_named_before_the_work_and_tables_do_without(
    monkeypatch, data, tmp_path
):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    folder = small(data, tmp_path, "val5")
    with pytest.raises(finegold.InputError, match=r"pip install 'finegold\[paper\]'"):
        reproduce(folder, tmp_path / "out")
    _, files = reproduce(folder, tmp_path / "out", only=["table3"])
    assert files[0].exists()


def test_a_failure_while_writing_leaves_the_old_files(tmp_path):
    out = tmp_path / "out"
    output._write_files({"a.txt": b"old", "b/c.txt": b"old"}, out)
    write(tmp_path / "out" / "d", "a file where a folder should be")
    with pytest.raises(finegold.OutputError):
        output._write_files({"a.txt": b"new", "a.txt/x": b"new"}, out)
    assert (out / "a.txt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_output_that_cannot_be_is_refused_before_the_work(data, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "finegold.paper.reproduce.run_fits", lambda *_, **__: pytest.fail("the work has begun")
    )
    taken = write(tmp_path / "taken", "x")
    for out, words in {taken: "is a file", taken / "out": "cannot be created"}.items():
        assert words in refusal_of("reproduce", "--data", data, "--out", out, "--only", "table2")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_text_is_escaped_on_both_pages():
    table = document.Table("t", "<b>", ["a|b", "difference"], [["<script>", 0.25]], ["x & y"])
    page = document.to_html("<i>", [document.Heading("<u>"), "<p>", table], {})
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "+0.2500" in page
    markdown = document.to_markdown("t", [table], "f")
    assert r"a\|b" in markdown


def test_every_method_has_a_look_of_its_own_in_colour_and_in_grey():
    looks = figures.LOOKS
    assert list(looks) == list(fits.METHODS)
    assert len({(look.marker, look.dashes) for look in looks.values()}) == len(looks)
    grey = {
        m: np.dot([int(look.colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114])
        for m, look in looks.items()
    }
    pairs = [(round(grey[m] / 12), look.hatch) for m, look in looks.items()]
    assert len(set(pairs)) == len(looks)
    assert min(grey, key=grey.get) == "ptbcc"
