"""The pages in a real browser: a lead's week by mouse and keys, reviewers on a phone, and nothing wrong for axe-core.

With FINEGOLD_PICTURES=FOLDER the pictures of docs/guides/studio_week.md are written there.
"""

import csv
import hashlib
import os
import re
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import expect

from finegold.studio import security
from finegold.studio.serve import STATIC
from tests.studio.worlds import CLASSES, share_right, truths, votes
from tests.support.browser import fits_the_width, new_page
from tests.support.hostile import HOSTILE, RUNS
from tests.support.studio_helpers import OPTION, studio_in_thread

PICTURES = os.environ.get("FINEGOLD_PICTURES")
PREACT_HTM = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"
# words of methods that a lead does not know
JARGON = re.compile(
    r"\b(anchored|temperature|log.?odds|log scale|sweeps?|prototypes?|posterior)\b", re.I
)
VIOLATIONS = """async () => (await axe.run()).violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`))"""


def test_the_vendored_script_is_the_one_that_was_published_and_its_licences_are_kept():
    vendor = STATIC / "vendor"
    assert hashlib.sha256((vendor / "preact-htm.js").read_bytes()).hexdigest() == PREACT_HTM
    assert {"LICENSE-htm", "LICENSE-preact", "README.md"} < {path.name for path in vendor.iterdir()}
    assert "htm 3.1.1" in (vendor / "README.md").read_text()


def test_the_pages_load_nothing_of_others_and_their_words_are_plain():
    for path in (*STATIC.glob("js/*.js"), *STATIC.glob("*.html"), *STATIC.glob("*.css")):
        text = path.read_text()
        assert not re.search(r"(src|href|from|import)\s*[=(]?\s*[\"']https?://", text), path
        assert not JARGON.search(re.sub(r"//.*", "", text)), (path, JARGON.search(text))
        assert "innerHTML =" not in text
        assert path.suffix != ".js" or max(map(len, text.splitlines())) <= 120


@pytest.fixture(scope="module")
def axe():
    try:
        return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
        say("axe-playwright-python is not installed; see pyproject.toml")


class Lead:
    """The page of the lead, beside what the project file says."""

    def __init__(self, page, studio):
        self.page, self.studio, self.project, self.n = page, studio, None, 0

    def open(self, path, sign):
        self.page.goto(f"{self.studio.address}/#/p/{self.project}/{path}")
        self.page.wait_for_selector(sign)

    def picture(self, name):
        self.page.wait_for_timeout(250)
        self.n += 1
        assert fits_the_width(self.page), name
        assert not OPTION.search(self.page.inner_text("main")), name
        if PICTURES:
            path = Path(PICTURES) / f"{self.n:02}_{name}.png"
            self.page.screenshot(path=path, animations="disabled")

    def idle(self):
        self.studio.settled(self.project)
        expect(self.page.locator("#job")).to_have_count(0)


def figure(page, words):
    """The number above these words."""
    place = page.locator(".figures > div", has=page.locator(f"dt:text-is('{words}')"))
    return int(place.locator("dd").inner_text().replace(",", ""))


def test_a_lead_reads_repairs_judges_measures_accepts_and_exports(browser, tmp_path):
    truth, later = truths(120, 3), truths(150, 3)
    dirt = "".join(f"{t},zoe,hatefull,\n" for t in (1, 2))
    (tmp_path / "monday.csv").write_text(votes(truth, 3, right=0.95, hard=1) + dirt)
    more = votes({t: later[t] for t in range(121, 151)}, 5, right=0.95, hard=1)
    (tmp_path / "tuesday.csv").write_text(more + "121,zoe,offensve,\n122,zoe,hateful,\n")
    with studio_in_thread(tmp_path) as studio, new_page(browser, 1440) as page:
        lead = Lead(page, studio)
        page.goto(studio.link)
        page.wait_for_selector("#drop")
        lead.picture("start")
        page.click("#folder li:has-text('monday.csv') >> text=Open")
        page.wait_for_selector("#take")
        lead.project = studio.good("GET", "/api/projects")[0]["id"]
        expect(page.locator(".preview")).to_contain_text("What somebody wrote as post 1")
        lead.picture("draft")
        page.click("#take")

        # what was read, and what is misspelled
        expect(page.locator("#found")).to_contain_text(
            "482 votes by 7 annotators on 120 tasks, 4 classes"
        )
        page.click("#use-near")
        page.click("#use-table")
        expect(page.locator("#found")).to_contain_text("3 classes")
        expect(page.locator("#aliases")).to_contain_text("hatefull → hateful")
        lead.idle()
        lead.picture("read")

        # a file that arrives, repaired on the proposal itself
        page.click("#add >> text=tuesday.csv")
        expect(page.locator("#arrival")).to_contain_text("“offensve” may be a misspelled offensive")
        lead.picture("arrival")
        page.click("#repair-spelling")
        expect(page.locator("#arrival")).not_to_contain_text("misspelled")
        page.click("#take")
        expect(page.locator("#found")).to_contain_text("150 tasks, 3 classes")
        lead.idle()

        # labels: nothing is measured, so no share is said
        lead.open("labels", "#next-steps")
        expect(page.locator("#measured")).to_contain_text("not measured yet")
        assert figure(page, "tasks") == 150
        lead.picture("labels")
        page.click("#tasks tbody tr >> nth=0")
        page.wait_for_selector("#task .votes")
        lead.picture("task")
        page.keyboard.press("Escape")
        expect(page.locator("#task")).to_have_count(0)
        page.check("#tasks thead input")
        expect(page.locator("#bulk")).to_contain_text("50 tasks chosen")
        page.click("#bulk >> text=None")
        page.click("summary:has-text('Votes')")
        page.check("text=tied votes")
        tied = studio.at(lead.project, "GET", "/tasks?mark=tied&most=1")["total"]
        expect(page.locator(".pager")).to_contain_text(str(tied))

        # judge by keys
        page.click("#to-judge")
        page.wait_for_selector("#judging .choice")
        lead.picture("judge")
        for n in range(6):
            task = page.get_attribute("#judging", "data-task")
            page.keyboard.press(str(1 + CLASSES.index(later[int(task)])))
            expect(page.locator("#judge-words")).to_contain_text(f"{n + 1} judged")
        page.keyboard.press("u")
        expect(page.locator("#judge-words")).to_contain_text("5 judged")
        page.keyboard.press("s")
        page.wait_for_timeout(200)
        assert len(studio.truths(lead.project)) == 5
        page.click("#exit")
        expect(page.locator("#stale")).to_contain_text("5 truths came after these labels")
        page.click("#refit")
        expect(page.locator("#stale")).to_have_count(0)

        # measure: two people share a sample, one of them on a phone
        lead.open("people?tab=reviewers", "#invite-name")
        links = {}
        for name in ("Kim", "Lou"):
            page.fill("#invite-name", name)
            page.click("#make-link")
            expect(page.locator("#invite")).to_contain_text(f"Send this link to {name}")
            links[name] = page.input_value("#invite-link")
        lead.picture("people")
        lead.open("measure", "#draw-sample")
        page.fill("#sample-n", "140")
        for name in links:
            page.check(f'input[data-name="{name}"]')
        lead.picture("draw")
        page.click("#draw-sample")
        expect(page.locator("#next-step")).to_have_text("Check 140 more tasks.")
        sample = studio.at(lead.project, "GET", "/samples")[0]["id"]
        wrong = review_on_a_phone(browser, studio, links["Kim"], later)
        studio.check(lead.project, sample, later.get, "Kim")
        studio.check(lead.project, sample, later.get, "Lou")
        lead.picture("running")
        if studio.at(lead.project, "GET", "/samples")[0]["disagreements"]:
            page.click(f'.disagreement >> text="{later[wrong]}"')
        page.wait_for_selector("#measured")
        said = studio.at(lead.project, "GET", "/summary")["measured"]
        true = share_right(studio.labels(lead.project), later)
        assert said["low"] <= true <= said["high"]
        share = f"{100 * said['estimate']:.1f} %"
        expect(page.locator("#measured")).to_have_text(share)
        page.click("#accept-them")
        expect(page.locator("#accepted")).to_contain_text("accepted unchecked")
        lead.picture("measured")
        lead.open("labels", "#measured")
        expect(page.locator("#measured")).to_have_text(share)
        assert figure(page, "accepted") == studio.at(lead.project, "GET", "/samples")[0]["accepted"]
        lead.picture("labels_measured")
        page.click("summary:has-text('Classes and confusions')")
        page.wait_for_selector("#classes .plot")
        page.click(".tabs >> text=People")
        page.click("#annotators tbody tr >> nth=0")
        page.wait_for_selector(".panel .matrix")
        lead.picture("annotators")
        page.click(".tabs >> text=Export")
        expect(page.locator("#quality")).to_contain_text(share)
        lead.picture("export")
        with page.expect_download() as loading:
            page.click("text=Download the sheet")
        assert loading.value.suggested_filename == "sheet.xlsx"


def review_on_a_phone(browser, studio, link, truth):
    """Kim checks three tasks, the first wrongly, and is told when the link is gone. Return the first task."""
    with new_page(browser, 420) as phone:
        phone.goto(link)
        phone.wait_for_selector("#judging")
        assert phone.locator(".tabs").count() == 0
        phone.click("text=Random sample")
        expect(phone.locator("#judge-words")).to_contain_text("0 of")
        first = None
        for n in range(3):
            task = int(phone.get_attribute("#judging", "data-task"))
            right = truth[task]
            if first is None:
                first, right = task, next(name for name in CLASSES if name != right)
            expect(phone.locator("#judging .content")).to_contain_text(f"post {task}")
            assert fits_the_width(phone)
            phone.click(f'.choice:has(span:text-is("{right}"))')
            expect(phone.locator("#judge-words")).to_contain_text(f"{n + 1} of")
        if PICTURES:
            phone.screenshot(path=Path(PICTURES) / "phone.png")
        project = studio.good("GET", "/api/projects")[0]["id"]
        studio.good("DELETE", f"/api/projects/{project}/people?name=Kim")
        expect(phone.locator("body")).to_contain_text("no longer valid")
        phone.reload()
        expect(phone.locator("body")).to_contain_text("Ask the lead for a new link")
    return first


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project in which something of everything happened."""
    folder = tmp_path_factory.mktemp("finished")
    truth = truths(60)
    with studio_in_thread(folder) as studio:
        project = studio.open("posts.csv", votes(truth).encode())
        sample = studio.at(project, "POST", "/samples", json={"n": 20})["id"]
        studio.check(project, sample, truth.get)
        for task in (1, 2, 3):
            studio.judge(project, task, truth[task])
        studio.judge(project, 5, None, kind="note", text="What about this?")
        studio.fit(project)
        studio.draft(project, "more.csv", b"task,annotator,label\n1,zoe,hatefull\n")
        studio.at(project, "PATCH", json={"guidelines": "# Rules\n\n- *irony* counts"})
        sets = [f"{t},w{w},{'a;b' if (t + w) % 3 else 'c'}" for t in range(20) for w in range(3)]
        table = "\n".join(["task,annotator,label", *sets, ""]).encode()
        studio.sets = studio.open("sets.csv", table, multi=True)
        studio.project = project
        yield studio


@pytest.mark.parametrize(
    ("width", "scheme"), [(1440, "light"), (1024, "dark"), (420, "light"), (420, "dark")]
)
def test_nothing_is_wrong_with_any_page(browser, finished, axe, width, scheme):
    studio, wrong = finished, {}
    pages = {
        "read": ".draft .preview",
        "labels": "#tasks tbody tr",
        "labels/2": "#task .votes",
        "people": "#annotators tbody tr",
        "people?tab=reviewers": "#people",
        "measure": "#samples",
        "export": "#exports",
        "judge": "#judging .choice",
    }
    found = {f"p/{studio.project}/{path}": sign for path, sign in pages.items()}
    found |= {f"p/{studio.sets}/labels": "#tasks tbody tr", f"p/{studio.sets}/judge": ".choice.box"}
    found |= {"": "#projects", "help": "kbd"}
    with new_page(browser, width, color_scheme=scheme) as page:
        page.goto(studio.link)
        page.wait_for_selector("#projects")
        for path, sign in found.items():
            page.goto(f"{studio.address}/#/{path}")
            page.wait_for_selector(sign)
            page.wait_for_timeout(200)
            page.evaluate(axe)
            broken = page.evaluate(VIOLATIONS)
            wrong[path] = broken + ([] if fits_the_width(page) else ["it is wider than the screen"])
    assert {path: each for path, each in wrong.items() if each} == {}


def test_enter_judges_nothing_while_several_classes_match(browser, tmp_path):
    rows = [f"{t},{w},class {(t * 7 + (w == 'a')) % 200}" for t in range(400) for w in "ab"]
    with studio_in_thread(tmp_path) as studio, new_page(browser) as page:
        table = "\n".join(["task,annotator,label", *rows, ""]).encode()
        project = studio.open("many.csv", table)
        page.goto(studio.link)
        page.wait_for_selector("#projects")
        page.goto(f"{studio.address}/#/p/{project}/judge")
        box = page.locator(".answers input[type=search]")
        box.fill("class 1")
        box.press("Enter")
        expect(page.locator(".answers")).to_contain_text("go on typing")
        assert studio.truths(project) == {}
        box.fill("class 199")
        box.press("Enter")
        expect(page.locator("#judge-words")).to_contain_text("1 judged")
        assert list(studio.truths(project).values()) == ["class 199"]


def test_each_role_of_a_log_of_judges_is_shown_and_changed(browser, tmp_path):
    verdicts = ("pass", "fail")
    rows = [
        f"{n},{judge},{verdicts[(n + k) % 3 == 0]},{verdicts[n % 2]},{prompt}"
        for n in range(30)
        for k, judge in enumerate(("gpt", "claude"))
        for prompt in ("strict", "kind")
    ]
    (tmp_path / "log.csv").write_text("\n".join(["item,judge,verdict,mark,prompt", *rows, ""]))
    with studio_in_thread(tmp_path) as studio, new_page(browser) as page:
        project = studio.create()
        studio.draft(project, "log.csv")
        page.goto(studio.link)
        page.wait_for_selector("#projects")
        page.goto(f"{studio.address}/#/p/{project}/read")
        reading = page.locator("#log-reading")
        expect(reading).to_contain_text("judge + prompt 2 x 2")
        expect(reading).to_contain_text("not usedmark")
        page.select_option("#column-gold", "mark")
        expect(reading).to_contain_text("mark 30 of 30")
        page.select_option("#column-annotator", "judge")
        page.select_option("#column-criterion", "prompt")
        expect(page.locator(".draft")).to_contain_text("The log has 2 criteria")
        page.fill("#log-question", "kind")
        page.press("#log-question", "Enter")
        expect(reading).to_contain_text("prompt kind")
        page.click("#take")
        expect(page.locator("#found")).to_contain_text("60 votes by 2 annotators on 30 tasks")
        # another column for a role of a log that is used
        page.click("text=How it is read")
        page.fill("#log-question", "strict")
        page.press("#log-question", "Enter")
        expect(reading).to_contain_text("prompt strict")
        page.click("#again")
        studio.settled(project)
        chosen = studio.at(project, "GET", "/sources")[0]["reading"]["judges"]
        assert chosen == {"criterion": "prompt", "question": "strict"}


def hostile_tables(folder):
    """Votes, texts, drafts and pictures in which every name is an attack."""
    classes, everything = HOSTILE[::4], "\n\n".join(HOSTILE)

    def write(name, head, rows):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])

    votes = [
        (f"{task}{n}", HOSTILE[(n + w) % 40], classes[(n + w * (n % 3)) % 10], everything, task)
        for n, task in enumerate(HOSTILE)
        for w in range(3)
    ]
    write("votes.csv", ("task", "annotator", "label", f"text {HOSTILE[0]}", HOSTILE[6]), votes)
    rows = [(f"{task}{n}", *HOSTILE[1:13]) for n, task in enumerate(HOSTILE)]
    write("texts.csv", ("task", *HOSTILE[1:13]), rows)
    write("draft.csv", HOSTILE[:12], [HOSTILE[k : k + 12] for k in range(0, 28)])
    (folder / "pictures").mkdir()
    for name in ("x.png", "x.svg", "x.html"):
        (folder / "pictures" / name).write_text(f"<svg onload=top.hit=1>{everything}</svg>")
    rows = [(f"{task}{n}", "pictures/x.png", "pictures/x.svg") for n, task in enumerate(HOSTILE)]
    write("pictures.csv", ("task", HOSTILE[9], HOSTILE[10]), rows)


@pytest.mark.parametrize("has_policy", [True, False])
def test_names_and_texts_that_look_like_markup_run_nothing(
    browser, tmp_path, monkeypatch, has_policy
):
    """Without the policy, nothing but the escaping of the pages stands in their way."""
    if not has_policy:
        monkeypatch.delitem(security.HEADERS, "content-security-policy")
    hostile_tables(tmp_path)
    name, everything = HOSTILE[9], "\n\n".join([*HOSTILE, *(f"- **{one}**" for one in HOSTILE)])
    with studio_in_thread(tmp_path) as studio, new_page(browser) as page:
        project = studio.create(name)
        columns = {"task": "task", "annotator": "annotator", "label": "label"}
        studio.add(project, "votes.csv", **columns)
        for table in ("texts.csv", "pictures.csv"):
            source = studio.draft(project, table, kind="items")["id"]
            studio.take(project, source, task="task")
        studio.draft(project, "draft.csv")
        change = {"guidelines": everything, "blind": False, "name": "".join(HOSTILE)[:200]}
        studio.at(project, "PATCH", json=change)
        tasks = [
            row["name"] for row in studio.at(project, "GET", "/tasks?sort=task&most=50")["rows"]
        ]
        assert len(tasks) == 40
        for words in HOSTILE:
            studio.judge(project, tasks[0], None, kind="note", text=words)
            studio.at(project, "POST", "/people", json={"name": words})
        studio.at(project, "POST", "/samples", json={"n": 10})
        answer = page.goto(studio.link)
        assert ("content-security-policy" in answer.headers) == has_policy
        page.wait_for_selector("#projects")
        ran = {}
        for path, sign, opened in (
            ("", "#projects", None),
            (f"p/{project}/read", ".draft .preview", None),
            (f"p/{project}/labels", "#tasks tbody tr", None),
            (f"p/{project}/labels/0", "#task .votes", ".thumb"),
            (f"p/{project}/people", "#annotators", "#annotators tbody button.plain"),
            (f"p/{project}/people?tab=reviewers", "#people tbody tr >> nth=39", None),
            (f"p/{project}/measure", "#samples", None),
            (f"p/{project}/export", "#exports", None),
            (f"p/{project}/judge", ".choice", None),
        ):
            page.goto(f"{studio.address}/#/{path}")
            page.wait_for_selector(sign)
            page.evaluate(
                "document.querySelectorAll('details').forEach((one) => (one.open = true))"
            )
            if opened is not None:
                page.locator(opened).first.evaluate("(one) => one.click()")
            page.wait_for_timeout(500)
            ran[path] = page.evaluate(RUNS)
        assert {path: found for path, found in ran.items() if found} == {}
