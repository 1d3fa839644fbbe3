"""The week's walk for sets of labels, ordered classes, LLM judges and predictions: what the pages say is true."""

import io
import json
import random
import re

import polars as pl
import pytest
from playwright.sync_api import expect

import finegold
from tests.support.judge_log import simulate_log
from tests.studio.test_predictions import MODEL, probabilities
from tests.support.browser import first_view
from tests.support.exports_made import annotation, choices
from tests.support.studio_helpers import OPTION, SAMPLE, studio_in_thread

# The model of these tests has tasks without votes.
pytestmark = pytest.mark.filterwarnings("ignore:.*tasks have no votes:finegold.FinegoldWarning")
TOPICS = ("food", "sport", "war: cold")
PEOPLE = ("ada", "bo", "cyd")


def sets_of(tasks):
    """The true topics of each task: none, one or several."""
    return {task: {topic for k, topic in enumerate(TOPICS) if task >> k & 1} for task in tasks}


def votes_for_sets(tasks):
    """People leave out a topic now and then."""
    source, rows = random.Random(4), ["post,who,topics,text"]
    for task, topics in sets_of(tasks).items():
        for person in PEOPLE:
            chosen = [topic for topic in TOPICS if topic in topics and source.random() < 0.9]
            rows.append(f"p{task},{person},{';'.join(chosen) or '[]'},Text of post {task}")
    return "\n".join(rows) + "\n"


def ratings(tasks):
    source, rows = random.Random(5), ["item,rater,stars"]
    for task in tasks:
        rows += [
            f"i{task},{person},{min(5, max(1, 1 + task % 5 + source.randint(-1, 1)))}"
            for person in PEOPLE
        ]
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    (folder / "sets.csv").write_text(votes_for_sets(range(40)))
    (folder / "more.csv").write_text(votes_for_sets(range(40, 48)))
    (folder / "texts.csv").write_text(
        "post,picture\n" + "".join(f"p{task},Picture {task}\n" for task in range(50))
    )
    (folder / "stars.csv").write_text(ratings(range(40)))
    with studio_in_thread(folder, reviewers=("ann",)) as client:
        yield client


def export(studio, project, name, **query):
    answer = studio.get(f"/api/projects/{project}/export/{name}", params=query)
    assert answer.status_code == 200, answer.text
    return pl.read_csv(io.BytesIO(answer.content), infer_schema=False)


def open_view(page, studio, project, view):
    page.goto(f"{studio.address}/#/p/{project}/{view}")
    page.wait_for_selector(f'.tabs [aria-current][href$="/{view.split("/")[0]}"]')


def first_numbers(page, selector):
    return [
        int(number.replace(",", ""))
        for number in re.findall(r"\d[\d,]*", page.inner_text(selector))
    ]


@pytest.fixture
def lead(browser, studio):
    with first_view(browser, studio, 1440) as page:
        yield page
        assert not OPTION.search(page.inner_text("main"))


def test_sets_of_labels_are_read_judged_measured_added_and_exported_as_sets(lead, studio):
    project = studio.open("sets.csv", task="post", annotator="who", label="topics", multi=True)
    state = studio.at(project, "GET")
    assert state["options"] == sorted(TOPICS)
    facts = state["fits"][0]["facts"]
    assert (facts["n_tasks"], facts["n_votes"]) == (40 * 3, 40 * 3 * 3)
    open_view(lead, studio, project, "columns")
    words = "360 answers by 3 annotators to 120 questions, 2 classes."
    expect(lead.locator("#what-was-read p").first).to_have_text(words)
    words = "each task of the file is asked about 3 labels (food, sport, war: cold)"
    expect(lead.locator("#sets")).to_contain_text(words)

    # The text of a post is shown with each question about it, and is found by it.
    matched = studio.at(project, "POST", "/items", params={"name": "texts.csv", "take": True})
    assert (matched["matched"], matched["without"], matched["unmatched"]) == (40, 0, 10)
    found = studio.at(project, "GET", "/tasks", params={"search": "picture 39", "sort": "task"})[
        "rows"
    ]
    assert [row["task"] for row in found] == [f"p39: {topic}" for topic in sorted(TOPICS)]
    studio.fit(project, "ds")

    # Judge: the next fit uses it, and the sheet has the decision.
    open_view(lead, studio, project, "judge")
    expect(lead.locator("#judging .content")).to_contain_text("Text of post")
    task = lead.get_attribute("#judging", "data-task")
    lead.keyboard.press("2")
    expect(lead.locator("#judged")).to_have_text("1 truth")
    assert studio.gold(project) == {task: "yes"}
    assert first_numbers(lead, "#judge-words")[0] == 119
    post, option = task.split(": ", 1)
    sheet = export(studio, project, "sheet.csv", votes=True)
    assert sheet.columns[:3] == ["post", "text", "picture"]
    assert sheet.height == 40
    row = sheet.row(by_predicate=pl.col("post") == post, named=True)
    assert option in row["label"].split(";")
    assert row["decision"] == "judged, from the votes"
    votes = pl.read_csv(studio.folder / "sets.csv", infer_schema=False)
    said = votes.row(by_predicate=(pl.col("post") == "p7") & (pl.col("who") == "bo"), named=True)[
        "topics"
    ]
    vote = sheet.row(by_predicate=pl.col("post") == "p7", named=True)["vote of bo"]
    assert set(vote.split(";")) == set(said.split(";"))

    # The labels are those of the library, one row per post in all files.
    reading = {"task": "post", "annotator": "who", "label": "topics", "multi": True}
    result = finegold.aggregate(studio.folder / "sets.csv", "mv", **reading)
    studio.at(project, "PUT", f"/fits/{state['base']}/shown")
    labels = export(studio, project, "labels.csv")
    expected = {
        task: set(topics) for task, topics in zip(result.task_names, result.sets(), strict=True)
    }
    written = {row["post"]: row["labels"] or "" for row in labels.to_dicts()}
    assert {task: set(filter(None, text.split(";"))) for task, text in written.items()} == expected
    sure = dict(zip(result.task_names, result.confidence, strict=True))
    assert labels["confidence"].cast(float).to_list() == pytest.approx(
        [sure[task] for task in labels["post"]], abs=1e-4
    )
    beside = export(studio, project, "with_labels.csv")
    assert {row["post"]: row["finegold_label"] or "" for row in beside.to_dicts()} == written

    # A sample of the questions is measured.
    studio.at(project, "POST", "/audit", json={"n": 10, "seed": 1})
    truth = sets_of(range(48))
    for _ in range(10):
        asked = studio.at(project, "GET", "/audit/next")["task"]["name"]
        name, topic = asked.split(": ", 1)
        answer = "yes" if topic in truth[int(name[1:])] else "no"
        studio.at(project, "POST", "/audit/answers", json={"task": asked, "label": answer})
    open_view(lead, studio, project, "measure")
    expect(lead.locator("#measure-state")).to_contain_text("10 of 10 random tasks checked.")

    # More posts arrive.
    open_view(lead, studio, project, "columns")
    lead.select_option("#arrival-name", "more.csv")
    lead.click("#take-votes")
    expect(lead.locator("#posted li")).to_have_count(1)
    facts = studio.fit(project, "ds")["fits"][-1]["facts"]
    assert (facts["n_tasks"], facts["n_votes"]) == (48 * 3, 48 * 3 * 3)
    assert export(studio, project, "labels.csv").height == 48


def test_truths_of_sets_go_back_into_the_tool(studio):
    def task(number):
        topics = [topic for topic in TOPICS[:2] if topic in sets_of([number])[number]] or ["other"]
        votes = [annotation(who, choices("topic", *topics)) for who in (1, 2)]
        return {"id": number, "data": {"text": f"text {number}"}, "annotations": votes}

    project = studio.upload(
        "export.json", json.dumps([task(number) for number in range(1, 7)]).encode()
    )
    assert studio.read(project, multi=True)["job"]["state"] == "done"
    tasks = studio.at(project, "GET", "/export/predictions.json")
    found = {task["id"]: task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks}
    assert found[3] == ["food", "sport"]


def test_ordered_classes_keep_their_order_and_have_scores(lead, studio):
    order = ["1", "2", "3", "4", "5"]
    project = studio.open("stars.csv", label="stars", ordered=order[::-1])
    assert studio.at(project, "GET", "/results")["classes"] == order[::-1]
    project = studio.open("stars.csv", label="stars", ordered=order)
    studio.fit(project, "ds")
    open_view(lead, studio, project, "columns")
    lead.click("#more summary")
    expect(lead.locator("#option-ordered")).to_have_value(", ".join(order))
    open_view(lead, studio, project, "judge")
    assert [text.split("\n")[-1] for text in lead.locator(".choice").all_inner_texts()] == order
    lead.keyboard.press("5")
    expect(lead.locator("#judged")).to_have_text("1 truth")
    assert list(studio.gold(project).values()) == [5]
    labels, sheet = export(studio, project, "labels.csv"), export(studio, project, "sheet.csv")
    assert studio.at(project, "GET")["fits"][-1]["facts"]["n_classes"] == 5
    result = finegold.aggregate(studio.folder / "stars.csv", "ds", label="stars", ordered=order)
    expected = dict(zip(result.task_names, result.scores()["score"], strict=True))
    for table in (labels, sheet):
        assert {row["item"]: float(row["score"]) for row in table.to_dicts()} == pytest.approx(
            expected, abs=1e-3
        )
    studio.post_votes(project, ("i1", "new", 9))
    assert "is not among the classes 1, 2, 3, 4, 5" in studio.fit(project, "ds")["job"]["message"]


def measure(studio, project, truths, n):
    """Draw a sample and check it by the truths."""
    studio.at(project, "POST", "/audit", json={"n": n, "seed": 2})
    for _ in range(n):
        task = studio.at(project, "GET", "/audit/next")["task"]["name"]
        studio.at(project, "POST", "/audit/answers", json={"task": task, "label": truths[task]})
    audit = studio.at(project, "GET", "/audit")
    assert (audit["done"], audit["n"]) == (n, n)
    return audit["certificate"]["accuracy"]


def overview_says_what_was_measured(lead, studio, project, accuracy):
    open_view(lead, studio, project, "overview")
    low, high, n = (accuracy[name] for name in ("low", "high", "checked"))
    words = (
        f"{100 * low:.1f} to {100 * high:.1f} of 100 labels are right, measured on {n} random tasks"
    )
    expect(lead.locator("h1")).to_have_text(words)


def test_a_log_of_llm_judges_is_read_judged_measured_extended_and_exported(lead, studio):
    log = pl.DataFrame(simulate_log(4, 3, 60, seed=3).columns)
    truths = dict.fromkeys(range(60), "A")
    log.filter(pl.col("item") < 50).write_csv(studio.folder / "log.csv")
    log.filter(pl.col("item") >= 50).write_csv(studio.folder / "later.csv")
    project = studio.create("log.csv")
    lead.goto(f"{studio.address}/#/p/{project}/columns")
    lead.click("#read")
    lead.wait_for_selector("#judges")  # the view of judges opens by itself

    def judges_say_what_the_store_has():
        seen = studio.at(project, "GET", "/judges")
        open_view(lead, studio, project, "judges")
        words = f"4 judges are worth {seen['effective_judges']:.1f} independent"
        expect(lead.locator("h1")).to_contain_text(words)
        known = f"measured on {seen['n_gold']} known truth{'' if seen['n_gold'] == 1 else 's'};"
        expect(lead.locator(".head .muted")).to_contain_text(
            known if seen["by_gold"] else "Intervals have 95 %"
        )
        assert first_numbers(lead, ".head .muted")[:2] == [seen["n_failed"], seen["n_verdicts"]]
        return seen

    assert not judges_say_what_the_store_has()["by_gold"]
    assert studio.at(project, "GET")["fits"][0]["facts"]["n_tasks"] == 50
    for item in range(12):
        assert studio.judge(project, item, truths[item]).status_code == 200
    assert judges_say_what_the_store_has()["n_gold"] == 12
    studio.fit(project, "ds")
    overview_says_what_was_measured(lead, studio, project, measure(studio, project, truths, 10))
    seen = studio.at(project, "POST", "/arrivals", params={"name": "later.csv"})
    assert (seen["new_tasks"], seen["new_annotators"], seen["new_classes"]) == (10, 0, [])
    studio.at(project, "POST", "/arrivals", params={"name": "later.csv", "take": True})
    state = studio.fit(project, "ds")
    facts = next(fit["facts"] for fit in state["fits"] if fit["id"] == state["shown"])
    assert (facts["n_tasks"], facts["gold"]) == (60, 12)
    open_view(lead, studio, project, "measure")
    expect(lead.locator("#measure-state")).to_contain_text(
        "Draw a new sample to measure them as they are now."
    )
    sheet = export(studio, project, "sheet.csv")
    assert sheet.height == 60
    assert sheet.filter(pl.col("decision") == "judged").height == 12


def test_predictions_are_added_judged_measured_exported_and_removed(lead, studio, tmp_path):
    project = studio.read_sample(studio.folder)
    truths = finegold.aggregate(SAMPLE, "mv").labels()
    truths = dict(truths["task", "label"].iter_rows()) | {1001: "fox", 1002: "fox"}
    (studio.folder / "bert.csv").write_text(MODEL)
    bad = tmp_path / "bad.csv"
    bad.write_text(probabilities([1]).replace("owl", "elk"))
    open_view(lead, studio, project, "columns")
    lead.set_input_files("#predictions-file", bad)
    expect(lead.locator("#predictions .note.bad")).to_contain_text(
        'bad.csv: the column "elk" is not a class'
    )
    lead.select_option("#predictions-name", "bert.csv")
    models = lead.locator("#models-read")
    expect(models).to_contain_text(
        "predicts 250 of 300 tasks with votes, and 2 tasks without votes"
    )
    expect(models).to_contain_text("mean confidence 85.0 %; classes: cat, dog, fox, owl")
    expect(lead.locator("#predictions .note.bad")).to_have_count(0)
    lead.click("#label-them")
    expect(lead.locator("#models li")).to_have_count(1, timeout=180_000)
    expect(lead.locator("#models li")).to_contain_text(
        "of 250 tasks with votes (claims 85 %); weight"
    )
    lead.click("#models a")
    rows = lead.locator("#tasks tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("predictions only")
    rows.first.click()
    expect(lead.locator("#task")).to_contain_text("This task has no votes")
    expect(lead.locator("#task dl")).to_contain_text("fox (85.0 %)")
    expect(lead.locator("#task .note")).to_have_count(1)

    def overview_says_what_the_store_has(n_tasks):
        open_view(lead, studio, project, "overview")
        model = studio.at(project, "GET", "/results")["models"][0]
        words = (
            f"Right on about {100 * model['accuracy']:.0f} % of {model['n_tasks']} tasks with votes"
        )
        expect(lead.locator("#models")).to_contain_text(words)
        expect(lead.locator("#models")).to_contain_text(
            "2 tasks without votes were labelled from predictions only."
        )
        expect(lead.locator(".tile", has_text="tasks").first).to_contain_text(str(n_tasks))

    studio.fit(project, "ds")
    overview_says_what_the_store_has(300)
    assert studio.judge(project, 7, "cat").status_code == 200
    accuracy = measure(studio, project, truths, 12)
    overview_says_what_was_measured(lead, studio, project, accuracy)
    studio.post_votes(project, (300, 1, "owl"))
    assert studio.fit(project, "ds")["fits"][-1]["facts"]["n_tasks"] == 301
    overview_says_what_the_store_has(301)
    sheet = export(studio, project, "sheet.csv")
    decisions = dict(sheet["decision"].value_counts().iter_rows())
    assert decisions == {"judged": 1, "from predictions": 2, "from the votes": 300}
    assert dict(sheet["task", "label"].iter_rows())["1001"] == "fox"

    studio.read(project, alias={"owl": "cat"})
    open_view(lead, studio, project, "columns")
    lead.click("#label-them")  # the predictions do not fit any more
    expect(lead.locator(".note.bad")).to_contain_text(
        "bert.csv: two columns are the class", timeout=180_000
    )
    open_view(lead, studio, project, "columns")
    lead.click("#models-read button")
    expect(models).to_have_count(0)
