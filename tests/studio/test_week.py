"""A lead's week with the studio, in a real browser: each sentence that she reads is compared with the project file.

With FINEGOLD_PICTURES=FOLDER the pictures of docs/guides/studio_week.md are written there.
"""

import os
import random
import re
from pathlib import Path

import polars as pl
from playwright.sync_api import expect

from tests.support.browser import fits_the_width, new_page
from tests.support.studio_helpers import running

CLASSES = ("hateful", "non-hateful", "offensive")
PEOPLE = ("ada", "bo", "cyd", "dev", "eli")
PICTURES = os.environ.get("FINEGOLD_PICTURES")


def posts(numbers):
    """The truth of each post."""
    source = random.Random(7)
    known = {number: CLASSES[source.randrange(3)] for number in range(1, 200)}
    return {number: known[number] for number in numbers}


def votes(numbers, seed, mistakes=()):
    """Rows of a table of votes: people are right in four of five cases."""
    source, rows = random.Random(seed), ["Post No.,Annotator,Verdict"]
    for number, truth in posts(numbers).items():
        for person in source.sample(PEOPLE, 4):
            said = truth if source.random() < 0.8 else source.choice(CLASSES)
            rows += [f"{number},{person},{said}"]
    return "\n".join([*rows, *mistakes]) + "\n"


def texts(numbers):
    words = "**what** somebody wrote, as long as posts are."
    rows = [f'{number},"Post number {number}: {words}",low' for number in numbers]
    return "\n".join(["Post No.,Text,Priority", *rows]) + "\n"


KEPT = [
    "/gold",
    "/audit",
    "/people",
    "/posted",
    "/items",
    "/results",
    "/tasks?most=500",
    "/annotators",
    "/reviewers",
]


def all_of(studio, project):
    """What the studio says about a project, apart from the last job, which is not kept."""
    seen = {path: studio.at(project, "GET", path) for path in KEPT}
    return seen | studio.at(project, "GET") | {"job": None}


class Lead:
    """The page of the lead, with the project that the store has."""

    def __init__(self, page, studio):
        self.page, self.studio, self.project, self.n = page, studio, None, 0

    def state(self):
        return self.studio.settled(self.project)

    def get(self, path):
        return self.studio.at(self.project, "GET", f"{path}")

    def open(self, view):
        self.page.goto(f"{self.studio.address}/#/p/{self.project}/{view}")
        self.page.wait_for_selector(f'.tabs [aria-current][href$="/{view}"]')

    def picture(self, name):
        """Every view fits the screen; with FINEGOLD_PICTURES it is kept."""
        self.n += 1
        assert fits_the_width(self.page), name
        if PICTURES:
            self.page.wait_for_timeout(300)
            self.page.evaluate("document.getElementById('toasts').replaceChildren()")
            name_file = "(one) => (one.textContent = 'finegold.studio')"
            self.page.evaluate(f"document.querySelectorAll('small code').forEach({name_file})")
            self.page.screenshot(
                path=Path(PICTURES) / f"{self.n:02}_{name}.png", animations="disabled"
            )

    def fitted(self, n_fits):
        """Wait until the fit is shown, and compare the counts of the first view with the store."""
        expect(self.page.locator(".pill")).to_have_count(0)
        now = self.state()
        facts = next(fit["facts"] for fit in now["fits"] if fit["id"] == now["shown"])
        for name, words in (("n_tasks", "tasks"), ("n_votes", "votes"), ("gold", "truths used")):
            tile = self.page.locator(".tile", has_text=re.compile(rf"^[\d,]+\s*{words}$"))
            expect(tile).to_have_text(re.compile(rf"^{facts[name]:,}\s*{words}$"))
        return facts


def said(page, selector, pattern):
    """Wait until an element says something, and return its numbers."""
    expect(page.locator(selector)).to_have_text(re.compile(pattern))
    return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", page.inner_text(selector))]


def judge_says_what_the_store_has(lead):
    """Every count of the page for judging, after each step."""
    queue, page = lead.get("/next?most=1"), lead.page
    expect(page.locator("#judged")).to_have_text(
        f"{queue['judged']} truth{'' if queue['judged'] == 1 else 's'}"
    )
    assert said(page, "#judge-words", "no truth")[0] == queue["left"]
    assert queue["judged"] == len(lead.get("/gold"))
    facts = lead.get("")["fits"][-1]["facts"]
    assert queue["left"] == facts["n_tasks"] - len({one["task"] for one in lead.get("/gold")})
    if queue["to_learn"]:
        expect(page.locator("#refit")).to_contain_text(f"Refit with {queue['to_learn']} new truth")
    elif queue["judged"]:
        expect(page.locator("#learned")).to_have_text("The result was fitted with all of them.")


def test_a_lead_reads_fixes_judges_measures_adds_votes_invites_exports_and_restarts(
    browser, tmp_path
):
    folder = tmp_path / "week"
    folder.mkdir()
    (folder / "monday.csv").write_text(votes(range(1, 101), 1, ["1,zoe,hatefull", "2,zoe,hateful"]))
    (folder / "tuesday.csv").write_text(votes(range(81, 121), 2))
    (folder / "texts.csv").write_text(texts(range(1, 121)))
    with running(folder) as process, process.client() as studio:
        project, before, sheet = walk(browser, studio, process.link, tmp_path)
        process.kill()
    # Monday again: the studio is started anew, and says what it said before.
    with running(folder) as process, process.client() as studio, new_page(browser, 1440) as page:
        assert all_of(studio, project) == before
        page.goto(process.link)
        page.click("a:has-text('Posts of the week')")
        lead = Lead(page, studio)
        lead.project = project
        lead.fitted(2)
        lead.open("judge")
        judge_says_what_the_store_has(lead)
        assert studio.get(f"/api/projects/{project}/export/sheet.csv").text == sheet


def walk(browser, studio, link, tmp_path):
    """The week; return the project, and what the studio says about it at the end."""
    with new_page(browser, 1440) as page:
        page.on(
            "dialog",
            lambda dialog: dialog.accept("Posts of the week" if dialog.type == "prompt" else None),
        )
        lead = Lead(page, studio)
        page.goto(link)

        # Monday: read, and repair what is misspelled.
        page.wait_for_selector("#drop")
        lead.picture("start")
        page.click("li:has-text('monday.csv') >> text=Open")
        page.wait_for_selector("#read")
        lead.project = studio.good("GET", "/api/projects")[0]["id"]
        for role, column in (
            ("task", "Post No."),
            ("annotator", "Annotator"),
            ("label", "Verdict"),
        ):
            page.select_option(f"#column-{role}", column)
        page.click("#read")
        expect(page.locator("#what-was-read")).to_contain_text("4 classes")
        facts = lead.state()["fits"][0]["facts"]
        assert said(page, "#what-was-read p >> nth=0", "votes")[:3] == [402, 6, 100]
        assert facts["n_votes"] == 402
        expect(page.locator("#spellings")).to_contain_text("“hatefull” may be a misspelled hateful")
        lead.picture("misspelled")
        page.click("#use-alias")
        expect(page.locator("#what-was-read")).to_contain_text("3 classes")

        # The texts lie in a second table.
        page.select_option("#item-name", "texts.csv")
        expect(page.locator("#matched")).to_contain_text(
            "100 tasks found; 20 rows belong to no task"
        )
        page.locator("#matched").scroll_into_view_if_needed()
        lead.picture("texts")
        page.click("#use-items")
        expect(page.locator("#items")).to_contain_text("120 rows")
        page.click("#label-them")
        lead.fitted(2)
        assert page.evaluate("window.scrollY") == 0  # the button was far down the page before
        lead.picture("overview")

        # A better name.
        page.click("#rename")
        expect(page.locator(".crumb")).to_contain_text("Posts of the week")
        assert lead.get("")["name"] == "Posts of the week"

        # How a task is shown, with an example, and an error for a field that there is not.
        lead.open("judge")
        expect(page.locator("#judging .content")).to_contain_text("what** somebody wrote")
        page.click("#judge-settings summary")
        page.fill("#template", "{nonexistent}")
        words = "There is no field {nonexistent}. The template can use {task}, {Text}"
        expect(page.locator("#template-preview")).to_contain_text(words)
        lead.picture("template_error")
        assert lead.get("")["template"] == ""
        page.fill("#template", "markdown: {Text}")
        expect(page.locator("#template-preview b")).to_have_text("what")
        page.locator("#template").dispatch_event("change")
        expect(page.locator("#judging .content b")).to_have_text("what")  # the task is drawn again
        lead.picture("template")

        # Judge by keys, send one back with a note.
        judge_says_what_the_store_has(lead)
        for n in range(7):
            page.keyboard.press("Escape")
            page.locator("#judging h2").click()
            page.keyboard.press("123"[n % 3])
            expect(page.locator("#judged")).to_contain_text(f"{n + 1} truth")
        judge_says_what_the_store_has(lead)
        page.fill("#note", "The picture is missing.")
        task = page.get_attribute("#judging", "data-task")
        page.click("#send-back")
        expect(page.locator("#aside")).to_contain_text("1 sent back")
        lead.picture("judged")
        page.click("#refit")
        expect(page.locator("#learned")).to_have_text("The result was fitted with all of them.")
        judge_says_what_the_store_has(lead)
        lead.open("tasks")
        page.select_option("#filter-judged", "back")
        expect(page.locator("#tasks tbody tr")).to_have_count(1)
        expect(page.locator("#tasks tbody tr")).to_contain_text(task)
        lead.picture("sent_back")

        # Wednesday: votes of Tuesday arrive.
        lead.open("columns")
        page.select_option("#arrival-name", "tuesday.csv")
        expect(page.locator("#take-votes")).to_be_visible()
        numbers = said(page, "#arrivals .note", "new")
        before = lead.state()["fits"][-1]["facts"]
        page.locator("#arrivals").scroll_into_view_if_needed()
        lead.picture("arrivals")
        page.click("#take-votes")
        expect(page.locator("#posted li")).to_have_count(1)
        batch = lead.get("/posted")[0]
        assert (batch["source"], batch["facts"]["votes"], batch["n_votes"]) == (
            "tuesday.csv",
            160,
            160,
        )
        new, changed = batch["facts"]["new"], batch["facts"]["changed"]
        assert numbers[:3] == [160, new, changed]
        assert batch["facts"]["new_tasks"] == 20
        expect(page.locator("#label-them")).to_have_text("Label them again")
        assert lead.get("")["n_waiting"] == 160
        lead.picture("added")
        page.click("#label-them")
        page.wait_for_selector(".tiles")
        expect(page.locator(".tiles")).to_contain_text("120")
        facts = lead.fitted(2)
        assert (facts["n_votes"], facts["n_tasks"]) == (before["n_votes"] + new, 120)
        lead.picture("refitted")

        # Thursday: two people measure the labels.
        lead.open("people")
        links = {}
        for name in ("Kim", "Lou"):
            page.fill("#invite-name", name)
            page.click("#make-link")
            expect(page.locator("#invite")).to_contain_text(f"Send this link to {name}")
            links[name] = page.input_value("#invite-link")
        lead.picture("people")
        lead.open("measure")
        page.fill("#audit-n", "20")
        page.fill("#audit-overlap", "50")
        for name in links:
            page.check(f'#draw input[data-name="{name}"]')
        lead.picture("draw")
        page.click("#draw-sample")
        expect(page.locator("#measure-state")).to_contain_text(
            "0 of 20 random tasks checked. Check 20 more tasks."
        )
        wrong = audit_of(browser, studio, lead, links)
        expect(page.locator("#agreement")).to_have_text(
            "They agree on 9 of 10 tasks that several checked (90 %)."
        )
        words = "19 of 20 random tasks checked. Settle 1 disagreement of the auditors."
        expect(page.locator("#measure-state")).to_have_text(words)
        lead.picture("disagreement")
        page.click(f'.disagreement >> text="{posts([int(wrong)])[int(wrong)]}"')
        expect(page.locator("#measure-state")).to_contain_text("20 of 20 random tasks checked.")
        audit = lead.get("/audit")
        expect(page.locator("#measured")).to_contain_text(audit["sentences"][0])
        low, high = (audit["certificate"]["accuracy"][side] for side in ("low", "high"))
        expect(page.locator("#measured .judge-name")).to_have_text(
            f"{100 * low:.1f} % to {100 * high:.1f} %"
        )
        lead.picture("measured")
        lead.open("overview")
        words = f"{100 * low:.1f} to {100 * high:.1f} of 100 labels are right, measured on 20 random tasks"
        expect(page.locator("h1")).to_have_text(words)
        expect(page.locator(".head")).not_to_contain_text("check a hundred")
        lead.picture("overview_measured")
        lead.open("measure")
        page.click("#teach")
        lead.open("judge")
        judge_says_what_the_store_has(lead)
        page.click("#refit")
        expect(page.locator("#learned")).to_be_visible()
        judge_says_what_the_store_has(lead)
        lead.open("measure")
        expect(page.locator("#measure-state")).to_contain_text(
            "Draw a new sample to measure them as they are now."
        )
        lead.open("people")
        expect(page.locator("#people tr:has-text('Kim')")).to_contain_text("15")
        page.click('[aria-label="Revoke Kim"]')
        expect(page.locator('[aria-label="Revoke Kim"]')).to_have_count(0)
        lead.picture("revoked")
        assert studio.get(links["Kim"], headers={"authorization": ""}).status_code == 401

        # Friday: one sheet.
        lead.open("export")
        page.check("#sheet-votes")
        lead.picture("export")
        with page.expect_download() as loading:
            page.click("text=sheet.xlsx")
        path = tmp_path / "sheet.xlsx"
        loading.value.save_as(path)
        sheet = pl.read_excel(path, infer_schema_length=None)
        people = [f"vote of {name}" for name in (*PEOPLE, "zoe")]
        decided = ["label", "confidence", "decision", "reviewer", "note"]
        assert sheet.columns == ["Post No.", "Text", "Priority", *people, *decided]
        assert sheet.height == 120
        assert sheet.filter(pl.col("note") == "The picture is missing.")["Post No."].cast(
            pl.String
        ).to_list() == [task]
        assert sheet.filter(pl.col("decision") == "judged").height == len(lead.get("/gold"))
        page.emulate_media(color_scheme="dark")
        lead.open("tasks")
        page.click("#tasks tbody tr >> nth=0")
        expect(page.locator("#task h2")).to_be_visible()
        lead.picture("dark")
        project = lead.project
    return (
        project,
        all_of(studio, project),
        studio.get(f"/api/projects/{project}/export/sheet.csv").text,
    )


def audit_of(browser, studio, lead, links):
    """Two people check their tasks by the truth; on one shared task the second is wrong. Return that task."""
    wrong, counts = None, {}
    for name, link in links.items():
        with new_page(browser, 420) as page:
            page.goto(link)
            page.wait_for_selector("#judging")
            page.goto(f"{studio.address}/#/p/{lead.project}/measure")
            page.wait_for_selector("#checking")
            assert page.locator(".tabs a").all_inner_texts() == ["Judge", "Measure"]
            for n in range(15):
                task = page.get_attribute("#checking", "data-task")
                truth = posts([int(task)])[int(task)]
                counts[task] = counts.get(task, 0) + 1
                if counts[task] == 2 and wrong is None:
                    wrong, truth = task, next(other for other in CLASSES if other != truth)
                if n == 3:
                    assert fits_the_width(page)
                    expect(page.locator("#checking .content")).to_contain_text("somebody wrote")
                    if PICTURES and name == "Kim":
                        page.screenshot(path=Path(PICTURES) / "auditor.png")
                page.click(f'#checking .choice:has-text("{truth}") >> nth=0')
                expect(page.locator("main")).to_contain_text(
                    f"You have checked {n + 1} of 15 tasks"
                )
            expect(page.locator("main")).to_contain_text("Everything is checked")
    return wrong
