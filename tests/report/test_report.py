"""The report: one file with all of a result, safe whatever the names are."""

import base64
import hashlib
import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.methods.lookup import REGISTRY, make_method
from finegold.report.html import render_section
from finegold.report.sections import SECTIONS, Subject, sections_of
from finegold.report.sections.tasks import doubts, tasks
from tests.support.report_helpers import EVIL, SAMPLE, Page, evil_votes, report_of, votes_of

ALL = ["quality", "reading", "tasks", "annotators", "prototypes", "classes", "agreement", "record"]
SETS = ["options", "set-tasks", "set-annotators", "pairs", "record"]
FIGURES = {"voted", "confidence", "ranking", "balance", "confusion"}


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
    truth = {f"task 00{EVIL}": f"class 00{EVIL}", f"task 01{EVIL}": f"nobody's{EVIL}"}
    return report_of(
        finegold.aggregate(evil_votes(), "ptbcc"), path, truth=truth, title=EVIL, command=EVIL
    )


def test_the_sections_answer_the_questions_in_order(page):
    assert [section["id"] for section in page.all("section")] == ALL
    for words in (
        "94.3 % of the checked labels are right, by 300 known truths.",
        "21 tasks, whose labels are in doubt",
        "30 of 30 annotators are better than always voting for the most frequent class (30 %)",
        "fox is confused with dog in 30 % of the votes",
        "alpha of 0.40",
        "converged after 53 iterations",
        "finegold report animals.csv",
    ):
        assert words in page.words
    others = {"annotators", "calibration", "change", "objective"}
    prototypes = {"prototype-1", "prototype-2"}
    matrices = {name for name in page.figures if name.startswith("annotator-")}
    assert page.figures == FIGURES | others | prototypes | matrices
    assert len(matrices) == 30


def test_without_measurements_the_votes_come_first_and_with_a_certificate_its_accuracy(tmp_path):
    votes = votes_of(a="xxx", b="xxy", c="xy", d="y", e="yy")
    result = finegold.aggregate(votes, "mv")
    first = report_of(result, tmp_path / "a.html").words
    assert (
        "On 2 of 5 tasks all votes agree; on 1 most votes are for one class; on 1 the votes are"
        " tied; on 1 there is one vote. Votes alone do not show how many labels are right. Check 50"
        " tasks drawn at random to know (finegold sample)."
    ) in first
    assert "expected accuracy, " not in first
    share = {"estimate": 0.8, "low": 0.71, "high": 0.87, "checked": 90}
    measured = {"accuracy": share, "date": "2026-03-07T10:00:00", "method": "mv", "tasks": 5}
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(measured))
    words = report_of(result, tmp_path / "a.html", certificate=path, truth={"a": "x"}).words
    assert "80.0 % of the labels are right: between 71.0 % and 87.0 %, with 95 % certainty" in words
    assert "90 checks of a random sample, certified on 2026-03-07." in words
    assert "these labels may differ" not in words
    path.write_text(json.dumps(measured | {"tasks": 7}))
    other = report_of(result, tmp_path / "a.html", certificate=path).words
    assert "drawn from 7 labels of mv; these labels may differ" in other
    refused = (("{", "is not a certificate"), ("{}", "has no accuracy"), ("[]", "has no accuracy"))
    for text, complaint in refused:
        path.write_text(text)
        with pytest.raises(InputError, match=complaint):
            report_of(result, tmp_path / "a.html", certificate=path)


def test_screen_readers_find_landmarks_headings_captions_and_words_for_figures(page):
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.all(landmark)) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {section["aria-labelledby"] for section in page.all("section")} <= set(ids)
    assert len(page.all("table")) == len(page.all("caption"))
    plots = [found for found in page.all("svg") if "data-figure" in found]
    assert len(plots) == len(page.figures)
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 25 for plot in plots)
    bars = [found for found in page.all("svg") if "data-figure" not in found]
    assert all(bar["aria-hidden"] == "true" for bar in bars)


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
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy


def test_sections_have_neither_scripts_nor_inline_styles(sample, evil_page, page):
    assert sections_of(Subject(sample)) == ALL
    for name in ALL:
        section = render_section(name, Subject(sample))
        assert f'<section id="{name}"' in section
        assert "<script" not in section
    for found in (page, evil_page):
        attributes = {name for _, one in found.elements for name in one}
        assert not {name for name in attributes if name == "style" or name.startswith("on")}


def test_names_from_the_data_are_text_and_nothing_else(evil_page):
    assert len(evil_page.all("script")) == 1
    assert evil_page.all("img") == []
    assert EVIL not in evil_page.source
    rows = tasks(Subject(finegold.aggregate(evil_votes(), "ptbcc")))["rows"]
    shown = [f"annotator 00{EVIL}", f"class 00{EVIL}", f"{EVIL} · Finegold report"]
    assert rows
    assert all(name in evil_page.text for name in [*shown, *(row["task"] for row in rows)])


def test_figures_are_saved_as_files_that_need_no_styles_of_a_page(sample, tmp_path):
    found = report_of(sample, tmp_path / "report.html", svg=tmp_path / "figures")
    saved = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert saved == found.figures
    for path in (tmp_path / "figures").iterdir():
        source = path.read_text("utf-8")
        root = ElementTree.fromstring(source)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "fill: #3f74d1" in source
        assert "var(" not in source


@pytest.mark.parametrize("method", REGISTRY)
def test_every_method_has_a_report_that_leaves_out_what_is_absent(method, tmp_path):
    votes = votes_of(a="xxxy", b="yyxy", c="xyxx", d="zzyz", e="zzzz", f="xyzx", g="yyyy", h="zxzz")
    result = finegold.aggregate(votes, make_method(method, {"max_iterations": 5}))
    found = report_of(result, tmp_path / "report.html")
    has_prototypes = result.learned.prototypes is not None
    expected = [name for name in ALL if name != "prototypes" or has_prototypes]
    assert [section["id"] for section in found.all("section")] == expected
    assert {f"annotator-{j}" for j in range(4)} <= found.figures or not result.learned.has_matrices


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
@pytest.mark.parametrize("method", ["ptbcc", "mv"])
def test_the_least_that_can_be_shown_is_shown(votes, method, tmp_path):
    found = report_of(finegold.aggregate(votes, method), tmp_path / "report.html", truth={"a": "x"})
    assert found.figures >= FIGURES
    assert "by 1 known truth" in found.words
    assert "nan" not in found.source


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
    doubtful = int(np.any([*doubts(result).values()], axis=0).sum())
    for words in (
        f"200 of {doubtful:,} shown, ordered by confidence, the least confident first; the rest is in the",
        "300 of 700 shown, ordered by expected accuracy: the 150 best and the 150 worst",
        "40 of 700 shown",
        "60 of 70 shown",
    ):
        assert words in found.words


def test_sets_of_labels_have_sections_of_their_own(tmp_path):
    votes = finegold.read([("a", 1, "x,y"), ("a", 2, "x"), ("b", 1, "y")], multi=True)
    path = tmp_path / "report.html"
    finegold.aggregate(votes).report(path, truth={"a": "x,y"})
    found = Page(path)
    assert [section["id"] for section in found.all("section")] == SETS
    assert "Of 1 task with a known set" in found.words
    assert set(SETS) < set(SECTIONS)


def test_a_saved_result_has_the_same_report(sample, tmp_path):
    sample.save(tmp_path / "model.finegold")
    loaded = finegold.load(tmp_path / "model.finegold")
    for name in ALL:
        assert render_section(name, Subject(loaded)) == render_section(name, Subject(sample))


def test_a_missing_library_is_named_with_its_remedy(sample, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"need jinja2: pip install 'finegold\[report\]'"):
        sample.report(tmp_path / "report.html")
