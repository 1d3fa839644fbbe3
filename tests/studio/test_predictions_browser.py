"""A person adds predictions of a model in a real browser: an error, what was read, labels, what the model is worth."""

import pytest
from playwright.sync_api import expect

from tests.studio.test_predictions import MODEL, probabilities
from tests.support.browser import chromium, studio_page  # noqa: F401  # the fixtures "browser" and "page"
from tests.support.studio_helpers import studio_in_thread

expect.set_options(timeout=20_000)


@pytest.fixture
def studio(tmp_path):
    with studio_in_thread(tmp_path) as client:
        client.project = client.read_sample(tmp_path)
        (tmp_path / "bert.csv").write_text(MODEL)
        yield client


def test_from_a_file_of_probabilities_to_labels(page, studio, tmp_path):
    bad = tmp_path / "elsewhere" / "bad.csv"
    bad.parent.mkdir()
    bad.write_text(probabilities([1]).replace("owl", "elk"))
    page.goto(f"{studio.address}/#/p/{studio.project}/columns")
    page.set_input_files("#predictions-file", bad)
    expect(page.locator("#predictions .note.bad")).to_contain_text('bad.csv: the column "elk" is not a class')
    page.select_option("#predictions-name", "bert.csv")
    expect(page.locator("#models-read")).to_contain_text(
        "predicts 250 of 300 tasks with votes, and 2 tasks without votes"
    )
    expect(page.locator("#models-read")).to_contain_text("mean confidence 85.0 %; classes: cat, dog, fox, owl")
    expect(page.locator("#predictions .note.bad")).to_have_count(0)
    page.click("#label-them")
    expect(page.locator("#models li")).to_have_count(1, timeout=180_000)
    expect(page.locator("#models li")).to_contain_text("of 250 tasks with votes (claims 85 %); weight")
    page.click("#models a")
    expect(page.locator("#tasks tbody tr")).to_have_count(2)
    expect(page.locator("#tasks tbody tr").first).to_contain_text("predictions only")
    page.click("#tasks tbody tr >> nth=0")
    expect(page.locator("#task")).to_contain_text("This task has no votes")
    expect(page.locator("#task dl")).to_contain_text("fox (85.0 %)")
    expect(page.locator("#task .note")).to_have_count(1)
    page.goto(f"{studio.address}/#/p/{studio.project}/columns")
    page.click("#models-read button")
    expect(page.locator("#models-read")).to_have_count(0)


def test_a_fit_that_the_predictions_make_fail_says_so_on_the_overview(page, studio):
    studio.post(f"/api/projects/{studio.project}/predictions?name=bert.csv")
    studio.good("PUT", f"/api/projects/{studio.project}/votes", json={"alias": {"owl": "cat"}})
    studio.settled(studio.project)
    page.goto(f"{studio.address}/#/p/{studio.project}/columns")
    page.click("#label-them")
    expect(page.locator(".note.bad")).to_contain_text("bert.csv: two columns are the class", timeout=180_000)
