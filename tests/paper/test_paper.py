"""The paper, computed anew: with quick methods and small data sets here; all of it takes minutes."""

import csv
import http.server
import json
import re
import threading

import numpy as np
import pytest

from paper import __main__ as program
from paper import data, fits, outcomes, page, printed
from tests.support.cli_helpers import DATASETS
from tests.support.data_sets import ACCURACY

TEN = ["val7", "aircr", "cf", "fact", "ms", "dog", "face", "adult", "val5", "web"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two data sets, wherever they are."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("ms", "val5"):
        if not (DATASETS / name / "label.csv").is_file():
            pytest.skip(f"{name} is not in ../shared/datasets; put it there to run this")
        (folder / name).symlink_to(DATASETS / name)
    return folder


@pytest.fixture(scope="module")
def out(small, tmp_path_factory):
    """What majority vote and PTBCC give, with three seeds and fewer values in Table 5."""
    folder = tmp_path_factory.mktemp("out") / "paper"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "ABLATION_SEEDS", 3)
        # each number of prototypes compiles kernels of its own
        for value in "4567":
            patch.delitem(printed.TABLE_5["|S|"], value)
        words = ["--data", str(small), "--out", str(folder), "--methods", "mv", "--jobs", "1"]
        assert program.main(words) == 0
    return folder


@pytest.fixture(scope="module")
def results(out):
    return json.loads((out / "results.json").read_text())


def test_accuracies_are_those_of_the_paper(results):
    assert results["accuracy"] == {
        "mv": pytest.approx({"ms": 0.704214, "val5": 0.351667}, abs=5e-7),
        "ptbcc": pytest.approx({"ms": 0.794286, "val5": 0.56}, abs=5e-7),
    }
    assert set(results["absent"]) == {*data.DATA_SETS} - {"ms", "val5"}
    assert results["means"]["ptbcc"]["eleven"] is None


def test_every_table_and_figure_has_its_files(out):
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    drawn = {f"reproduction/figure{n}.{kind}" for n in (2, 3, 4, 5) for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in (*(f"table{n}" for n in (2, 3, 4, 5)), "accuracy", "times")}
    assert names == {"reproduction.html", "reproduction.md", "results.json", *drawn, *tables}
    written = (out / "reproduction.html").read_text()
    assert written.count("data:image/png;base64,") == 4
    # what is drawn may hold these letters by chance
    assert "http" not in re.sub(r"base64,[^\"]*", "", written)


def test_tables_put_the_paper_beside_finegold(out):
    with (out / "table2.csv").open(newline="") as file:
        (mv,) = csv.DictReader(file)
    assert (float(mv["paper"]), float(mv["Finegold"])) == (0.352, pytest.approx(0.351667, abs=1e-6))
    with (out / "table3.csv").open(newline="") as file:
        assert {row["against the paper"] for row in csv.DictReader(file)} == {"same as the paper"}


def test_the_ablation_varies_f_m_and_prototypes_with_seeds_where_it_is_random(results):
    f, m, s = (results["ablation"][what] for what in ("f", "m", "|S|"))
    assert f["5"] == m["1.35"] == s["2"]
    assert f["5"]["mean"] == pytest.approx((0.56 + 0.794286) / 2, abs=1e-6)
    assert {value: cell["seeds"] for value, cell in s.items()} == {"2": 1, "3-Ran": 1, "3": 3}
    assert s["3"]["spread"] > 0.001
    assert len({cell["mean"] for row in (f, m, s) for cell in row.values()}) > 5


def test_rank_sums_and_p_are_the_papers_for_the_accuracies_of_the_original_programs():
    """METHODS.md, section 14: eight rank sums agree exactly, GLAD's comes out as 31."""
    with ACCURACY.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] != "senti"]
    values = {
        method: [float(row["accuracy"]) for row in rows if row["method"].lower() == method]
        for method in printed.METHODS
    }
    mv = [*values["mv"], printed.SENTI["mv"].accuracy]
    for method in ("catd", "ds", "ibcc", "cbcc", "bwa", "ebcc", "fgbcc", "ptbcc"):
        found = outcomes.compare([*values[method], printed.SENTI[method].accuracy], mv)
        row = printed.TABLE_4[method]
        assert (found.S, found.stars) == (row.S, row.stars)
        assert found.p == pytest.approx(row.p, abs=5.1e-5)
    assert outcomes.compare([*values["glad"], printed.SENTI["glad"].accuracy], mv).S == 31


def test_equal_accuracies_do_not_count_and_rounding_breaks_no_tie():
    # differences of +0.1 and -0.1 share ranks 1 and 2
    assert outcomes.compare([0.3, 0.5, 0.7], [0.2, 0.5, 0.8]).S == 1.5
    assert outcomes.compare([0.5], [0.5]) == outcomes.Comparison(0.0, 1.0, 1, 0)


def test_senti_is_filled_with_its_published_accuracy_if_nothing_else_is_absent():
    votes = dict.fromkeys(TEN)
    scores = {
        method: {name: outcomes.Score(value, 0, 1, 0, 0, "") for name in TEN}
        for method, value in {"mv": 0.7, "ptbcc": 0.8, "tiremge": 0.6}.items()
    }
    found = outcomes.Results(votes, ["senti"], scores)
    ptbcc = outcomes._mean(found, "ptbcc")
    assert (ptbcc.senti, ptbcc.test.data_sets) == ("published", 11)
    assert ptbcc.eleven == pytest.approx((8 + 0.866) / 11)
    assert outcomes._mean(found, "tiremge").eleven is None


def test_several_processes_find_what_one_finds(small):
    """Ties of CATD are broken by lot: the seed must reach the worker."""
    jobs = [fits.make_fit("catd", name, seed=seed) for name in ("val5", "ms") for seed in (0, 3)]
    found = dict(fits.run_all(jobs, small, {"val5": 1, "ms": 2}, workers=2))
    assert {job: outcome.accuracy for job, outcome in found.items()} == {
        job: fits.run(job, small).accuracy for job in jobs
    }


def test_settings_of_the_paper_make_no_fit_of_their_own():
    assert fits.make_fit("ptbcc", "val5", f=5.0, n_prototypes=2) == fits.Fit("ptbcc", "val5")
    assert fits.make_fit("ptbcc", "val5", f=4.0) != fits.Fit("ptbcc", "val5")
    assert printed.make_method("ds").settings["max_iterations"] == 20
    jobs = fits.plan(printed.METHODS, TEN)
    assert {(job.method, job.data) for job in jobs} == {
        (m, n) for m in printed.METHODS for n in TEN
    }


@pytest.mark.parametrize("name", TEN)
def test_every_data_set_has_the_counts_of_the_paper(name):
    if name not in data.present(DATASETS):
        pytest.skip(f"{name} is not in ../shared/datasets; put it there to run this")
    loaded = data.load(name, DATASETS)
    assert loaded.counts == loaded.info.counts


def test_another_file_is_refused_with_both_checksums_and_the_remedy(small, tmp_path, capsys):
    (tmp_path / "val5").mkdir()
    votes = (small / "val5" / "label.csv").read_bytes()
    (tmp_path / "val5" / "label.csv").write_bytes(votes.replace(b"0,0,4", b"0,0,3"))
    (tmp_path / "val5" / "truth.csv").write_bytes((small / "val5" / "truth.csv").read_bytes())
    assert program.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "val5" / "label.csv") in said
    assert data.DATA_SETS["val5"].checksums["label.csv"] in said
    assert f"python -m paper.data {tmp_path} val5" in said


def test_a_truth_that_nobody_voted_for_is_a_class(tmp_path, monkeypatch):
    (tmp_path / "val5").mkdir()
    (tmp_path / "val5" / "label.csv").write_text("item,worker,label\n1,a,x\n1,b,x\n2,a,y\n2,b,x\n")
    (tmp_path / "val5" / "truth.csv").write_text("item,truth\n1,x\n2,z\n")
    monkeypatch.setitem(data.DATA_SETS["val5"].__dict__, "checksums", {})
    loaded = data.load("val5", tmp_path)
    assert loaded.counts == (2, 2, 2, 3, 4)
    assert loaded.truth.tolist() == [0, 2]
    assert (loaded.annotations.gold == -1).all()


@pytest.fixture
def served(small, tmp_path, monkeypatch):
    """The data sets on a web site, and the registry with its address; what it answers instead."""
    lies = {}

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **more):
            super().__init__(*args, directory=str(small), **more)

        def do_GET(self):
            if self.path.rpartition("/")[2] not in lies:
                return super().do_GET()
            self.send_response(200)
            self.end_headers()
            return self.wfile.write(lies[self.path.rpartition("/")[2]])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/val5"
        addresses = {file: f"{address}/{file}" for file in data.FILES}
        monkeypatch.setitem(data.DATA_SETS["val5"].__dict__, "addresses", addresses)
        yield lies
        server.shutdown()


def test_a_data_set_is_fetched_and_a_file_with_another_checksum_is_not_kept(served, tmp_path):
    served["truth.csv"] = b"item,truth\n0,1\n"
    with pytest.raises(ValueError, match=r"SHA256 hash of downloaded file"):
        data.fetch("val5", tmp_path)
    assert data.present(tmp_path) == []
    served.clear()
    data.fetch("val5", tmp_path)
    assert data.load("val5", tmp_path).info.name == "val5"


def test_without_data_and_network_the_message_says_what_is_expected(tmp_path, monkeypatch, capsys):
    def unreachable(name, folder):
        raise OSError("no network")

    monkeypatch.setattr(program, "fetch", unreachable)
    assert program.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "web cannot be fetched: no network" in said
    assert "val5/label.csv" in said


def test_text_is_escaped_on_both_pages(tmp_path):
    table = page.Table("t", "<b>", [{"a|b": "<script>", "difference": 0.25}], ["x & y"])
    page.write(tmp_path, "p", "<i>", [page.Heading("<u>"), "<p>", ["*one*"], table], {})
    html, markdown = ((tmp_path / f"p.{kind}").read_text() for kind in ("html", "md"))
    for text in ("&lt;i&gt;", "&lt;u&gt;", "<p>&lt;p&gt;</p>", "&lt;script&gt;", "+0.2500"):
        assert text in html
    assert "<script>" not in html
    assert r"a\|b" in markdown
    assert r"- \*one\*" in markdown


def test_every_method_has_a_look_of_its_own_in_colour_and_in_grey():
    looks = printed.LOOKS
    assert len({(look.marker, look.dashes) for look in looks.values()}) == len(looks)
    grey = {
        m: np.dot([int(look.colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114])
        for m, look in looks.items()
    }
    assert len({(round(grey[m] / 12), look.hatch) for m, look in looks.items()}) == len(looks)
    assert min(grey, key=grey.get) == "ptbcc"
