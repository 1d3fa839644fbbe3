"""The report: one file with all of a result, safe whatever the names are."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.errors import FinegoldWarning
from finegold.methods.lookup import make_method
from finegold.methods.registry import REGISTRY
from finegold.report.views import view
from finegold.report.views.tasks import doubts
from tests.support.report_helpers import EVIL, SAMPLE, evil_votes, report_of, votes_of

SECTIONS = ["quality", "reading", "tasks", "annotators", "prototypes", "classes", "trust", "record"]
CHARTS = {"confidence", "ranking", "annotators", "balance", "confusion", "change"}


@pytest.fixture(scope="module")
def sample():
    return finegold.aggregate(SAMPLE / "votes.csv", "ptbcc")


@pytest.fixture(scope="module")
def page(sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return report_of(
        sample,
        path,
        truth=SAMPLE / "truth.csv",
        title="animals",
        command="finegold report animals.csv",
    )


@pytest.fixture(scope="module")
def evil_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    truth = {f"task 00{EVIL}": f"class 0{EVIL}", f"task 01{EVIL}": f"nobody's{EVIL}"}
    return report_of(
        finegold.aggregate(evil_votes(), "ptbcc"), path, truth=truth, title=EVIL, command=EVIL
    )


def test_the_sections_answer_the_questions_in_order(page):
    assert [section["id"] for section in page.all("section")] == SECTIONS
    for words in (
        "94.3 % of the checked labels are right, by 300 known truths.",
        "21 tasks: they are expected to include about 4.6 of the 11 wrong labels.",
        "30 of 30 annotators are better than always voting for the most frequent class (30 %)",
        "fox is confused with dog in 30 % of the votes",
        "alpha of 0.40",
        "converged after 53 iterations",
        "finegold report animals.csv",
    ):
        assert words in page.words
    assert page.charts.keys() == CHARTS | {
        "annotator", "bound", "calibration", "mixtures", "prototype-1", "prototype-2",
    }  # fmt: skip


def test_screen_readers_find_landmarks_headings_captions_and_words_for_charts(page):
    for landmark in ("header", "nav", "main", "footer"):
        assert len(page.all(landmark)) == 1
    assert len(page.all("h1")) == 1
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert {section["aria-labelledby"] for section in page.all("section")} <= ids
    assert len(page.all("table")) == len(page.all("caption"))
    plots = [attributes for _, attributes in page.elements if "data-chart" in attributes]
    assert {plot["data-chart"] for plot in plots} == set(page.charts)
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 30 for plot in plots)


def test_the_file_needs_nothing_else_and_loads_nothing(page):
    for name in ("link", "img", "iframe", "object", "base", "form[action]"):
        assert page.all(name) == []
    assert all("src" not in attributes for _, attributes in page.elements)
    assert all(attributes["href"].startswith("#") for attributes in page.all("a"))
    style = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(
        meta["content"] for meta in page.all("meta") if "Policy" in meta.get("http-equiv", "")
    )
    assert "default-src 'none'" in policy
    for script in page.scripts[2:]:  # after two islands of data; nothing but these two can run
        assert (
            f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
            in policy
        )
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_names_from_the_data_are_text_and_nothing_else(evil_page, page):
    assert len(evil_page.all("script")) == len(page.all("script")) == 4
    assert evil_page.all("img") == []
    attributes = {name for _, found in evil_page.elements for name in found}
    assert not {name for name in attributes if name.startswith("on")}
    shown = [f"annotator 0{EVIL}", f"class 0{EVIL}", f"{EVIL} · Finegold report"]
    shown += [row.task for row in view(finegold.aggregate(evil_votes(), "ptbcc")).tasks.rows]
    assert len(shown) > 3
    assert all(name in evil_page.text for name in shown)
    assert EVIL not in evil_page.source
    assert "\u2028" not in "".join(evil_page.scripts)


def test_charts_keep_the_schema_of_vega_lite(page):
    import altair
    import jsonschema

    schema = json.loads(
        (Path(altair.__file__).parent / "vegalite/v6/schema/vega-lite-schema.json").read_text(
            "utf-8"
        )
    )
    check = jsonschema.Draft7Validator(schema)
    for name, chart in page.charts.items():
        config = {
            **chart["config"],
            "background": "white",
        }  # null is not in the schema, but has a meaning
        assert not list(check.iter_errors({**chart, "datasets": {}, "config": config})), name


def test_names_from_the_data_are_values_of_charts_never_fields_or_expressions(evil_page):
    for chart in evil_page.charts.values():
        without_data = json.dumps({key: value for key, value in chart.items() if key != "datasets"})
        assert "alert" not in without_data
        assert "http" not in without_data
    assert "alert" in json.dumps(evil_page.charts)


@pytest.mark.parametrize("method", REGISTRY)
def test_every_method_has_a_report_that_says_what_is_absent(method, tmp_path):
    votes = votes_of(a="xxxy", b="yyxy", c="xyxx", d="zzyz", e="zzzz", f="xyzx", g="yyyy", h="zxzz")
    result = finegold.aggregate(votes, make_method(method, {"max_iterations": 5}))
    found = report_of(result, tmp_path / "report.html")
    assert [section["id"] for section in found.all("section")] == SECTIONS
    assert ("prototype-1" in found.charts) == (result.learned.prototypes is not None)
    assert ("does not learn prototypes. PTBCC does" in found.words) == (
        result.learned.prototypes is None
    )
    has_matrices = result.learned.confusion is not None or result.learned.weights is not None
    assert ("annotator" in found.charts) == has_matrices
    assert ("does not learn confusion matrices of annotators" in found.words) != has_matrices


@pytest.mark.parametrize(
    "votes",
    [
        votes_of(a="x"),
        votes_of(a="xxx", b="xx"),
        votes_of(a="xy", b="yx"),
        votes_of(a="x", b="y", c="z"),
    ],
    ids=["one vote", "one class", "ties only", "one annotator"],
)
@pytest.mark.parametrize("method", ["ptbcc", "mv", "ds", "hds"])
def test_the_least_that_can_be_shown_is_shown(votes, method, tmp_path):
    found = report_of(finegold.aggregate(votes, method), tmp_path / "report.html", truth={"a": "x"})
    assert [section["id"] for section in found.all("section")] == SECTIONS
    assert "by 1 known truth" in found.words


def test_ten_thousand_tasks_stay_below_five_megabytes_and_what_is_cut_is_said(tmp_path):
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(10_000), 3)
    annotator = rng.integers(700, size=task.size)
    label = np.where(rng.random(task.size) < 0.6, task % 70, rng.integers(70, size=task.size))
    names = [f"a rather long name of task number {i:06d}" for i in task]
    result = finegold.aggregate(
        Annotations.from_arrays(names, annotator, label), finegold.PTBCC(max_iterations=2)
    )
    found = report_of(result, tmp_path / "report.html")
    assert len(found.source.encode()) < 5_000_000
    doubtful = int(doubts(result).any.sum())
    for words in (
        f"200 of {doubtful:,} shown, ordered by confidence, the least confident first; the rest is in the",
        "300 of 700 shown, ordered by expected accuracy: the 150 best and the 150 worst",
        "40 of 700 shown",
        "60 of 70 shown",
    ):
        assert words in found.words


def test_many_annotators_have_as_many_matrices_as_a_file_can_bear(sample):
    shown = view(sample).annotators.confusions
    assert len(shown.matrices) == shown.shown.total == 30
    rng = np.random.default_rng(2)
    votes = Annotations.from_arrays(
        np.repeat(np.arange(400), 5),
        rng.integers(100, size=2000),
        rng.permutation(np.repeat(np.arange(50), 40)),
    )
    shown = view(finegold.aggregate(votes, finegold.PTBCC(max_iterations=3))).annotators.confusions
    assert len(shown.matrices) == 24
    assert shown.shown.words.startswith(
        "24 of 100 shown, ordered by number of votes; the rest is in result.confusion"
    )


def test_a_model_without_votes_says_how_to_get_them(sample, tmp_path):
    found = report_of(
        replace(sample, annotations=None), tmp_path / "report.html", truth=SAMPLE / "truth.csv"
    )
    assert "94.3 % of the checked labels are right" in found.words
    assert "saved by an older version of Finegold" in found.words
    assert "prototype-1" in found.charts


def test_what_was_left_out_is_listed(sample, tmp_path):
    counts = replace(sample.counts, missing=7, left_out={"cancelled annotations": 3})
    found = report_of(replace(sample, counts=counts), tmp_path / "report.html")
    assert "votes without a label 7" in found.words
    assert "cancelled annotations 3" in found.words


def test_all_of_a_view_is_plain(sample):
    json.dumps(asdict(view(sample, SAMPLE / "truth.csv")), allow_nan=False)


def test_a_saved_result_has_the_same_report(sample, tmp_path):
    sample.save(tmp_path / "model.finegold")
    assert asdict(view(finegold.load(tmp_path / "model.finegold"))) == asdict(view(sample))


def test_truths_that_nobody_voted_for_are_wrong_and_named(tmp_path):
    result = finegold.aggregate(votes_of(a="xyx", b="yyy", c="xxx"))
    with pytest.warns(
        FinegoldWarning,
        match="1 truth belongs to a task without votes and cannot be used: elsewhere",
    ):
        found = report_of(
            result, tmp_path / "report.html", truth={"b": "y", "c": "w", "elsewhere": "x"}
        )
    assert "50.0 % of the checked labels are right, by 2 known truths" in found.words


def test_truths_of_other_tasks_are_refused(sample, tmp_path):
    with pytest.raises(InputError, match="none of the 1 truths belongs to a task with votes"):
        sample.report(tmp_path / "report.html", {"nowhere": "cat"})
    assert not (tmp_path / "report.html").exists()


def test_a_missing_library_is_named_with_its_remedy(sample, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(InputError, match=r"need vl_convert: pip install 'finegold\[report\]'"):
        sample.report(tmp_path / "report.html")
