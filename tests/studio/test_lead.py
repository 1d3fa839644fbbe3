"""What a lead of a labelling team does in a week: add votes and texts, measure, invite people, export one sheet."""

import re
import subprocess
import sys
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import polars as pl
import pytest
from playwright.sync_api import expect
from click.testing import CliRunner

from finegold.cli.app import app
from finegold.errors import OutputError
from finegold.studio.measure import is_shared, tasks_for
from finegold.studio.reading import near_spellings
from finegold.studio.serve import install_shortcut
from tests.studio.test_week import posts, texts, votes
from tests.support.browser import new_page
from tests.support.studio_helpers import WAIT, get, refused, studio_in_thread

COLUMNS = {"task": "Post No.", "annotator": "Annotator", "label": "Verdict"}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d4944415478da63fcffff3f030005fe02fea735819f0000000049454e44ae426082"
)


@pytest.fixture(scope="module", name="studio")
def lead_studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lead")
    (folder / "monday.csv").write_text(votes(range(1, 61), 1))
    (folder / "texts.csv").write_text(texts(range(1, 81)))
    (folder / "images").mkdir()
    for task in (1, 2, 999):
        (folder / "images" / f"{task}.png").write_bytes(PNG)
    with studio_in_thread(folder, reviewers=("ann",)) as client:
        yield client


@pytest.fixture(name="project")
def new_project(studio):
    return studio.open("monday.csv", **COLUMNS)


def add(studio, project, text, **params):
    address = f"/api/projects/{project}/arrivals"
    return studio.post(address, params={"name": "more.csv", **params}, content=text.encode())


# Votes arrive


def test_votes_are_compared_with_those_that_are_there_before_they_are_taken(studio, project):
    row, repeated = (studio.folder / "monday.csv").read_text().splitlines()[1:3]
    first = row.split(",")
    other = next(name for name in ("hateful", "offensive") if name != first[2])
    rows = [f"{first[0]},{first[1]},{other}", repeated, "500,new,hatefull", "501,new,"]
    text = "\n".join(["Post No.,Annotator,Verdict", *rows])
    seen = add(studio, project, text).json()
    assert (seen["votes"], seen["new"], seen["changed"], seen["repeated"], seen["missing"]) == (
        3,
        1,
        1,
        1,
        1,
    )
    assert (seen["new_tasks"], seen["new_annotators"], seen["new_classes"]) == (1, 1, ["hatefull"])
    assert seen["near"] == {"hatefull": "hateful"}
    assert seen["examples"] == [
        {"task": first[0], "annotator": first[1], "before": first[2], "after": other}
    ]
    assert (studio.at(project, "GET", "/posted"), studio.at(project, "GET")["n_waiting"]) == ([], 0)


def test_votes_that_wait_are_compared_too_and_the_last_arrival_is_undone(studio, project):
    before = studio.at(project, "GET")["fits"][0]["facts"]["n_votes"]
    text = "Post No.,Annotator,Verdict,Text\n70,ada,hateful,A new post\n"
    batch = add(studio, project, text, take=True).json()["batch"]
    assert add(studio, project, text).json()["repeated"] == 1
    assert studio.fit(project, "mv")["fits"][-1]["facts"]["n_votes"] == before + 1
    tasks = studio.at(project, "GET", "/tasks", params={"search": "70"})
    assert [row["text"] for row in tasks["rows"]] == ["A new post"]
    studio.at(project, "DELETE", f"/posted/{batch}")
    assert studio.settled(project)["fits"][-1]["facts"]["n_votes"] == before
    assert studio.at(project, "GET", "/items") == []


def test_pasted_rows_need_no_header_and_a_file_needs_the_columns(studio, project):
    for text in (
        "70\tada\thateful\n71\tbo\toffensive",
        "Post No.;Annotator;Verdict\n70;ada;hateful\n71;bo;offensive",
    ):
        seen = add(studio, project, text, pasted=True).json()
        assert (seen["new"], seen["new_tasks"], seen["new_annotators"]) == (2, 2, 0)
    refused(add(studio, project, "x,y\n1,2\n"), 422, detail="Post No., Annotator, Verdict")


def test_only_rare_names_that_differ_in_a_letter_or_two_are_near():
    near = near_spellings(
        ["hatefull", "hatful", "offensvie", "cat"], ["hateful", "offensive", "bat"]
    )
    assert near == {"hatefull": "hateful", "hatful": "hateful", "offensvie": "offensive"}
    assert near_spellings(["grade 10"], ["grade 11"]) == {}


# Texts and images


def test_texts_of_a_second_table_are_joined_by_the_id_of_the_task(studio, project):
    place = f"/api/projects/{project}/items"
    found = studio.good("POST", place, params={"name": "texts.csv"})
    assert (found["task"], found["matched"], found["without"], found["unmatched"]) == (
        "Post No.",
        60,
        0,
        20,
    )
    assert studio.good("GET", place) == []
    studio.good("POST", place, params={"name": "texts.csv", "take": True})
    images = studio.good("POST", place, params={"name": "images", "take": True})
    assert (images["matched"], images["without"], images["unmatched"]) == (2, 58, 1)
    shown = studio.at(project, "GET", "/tasks/0/content")
    assert [f"{item['name']}: {item['kind']}" for item in shown] == [
        "Text: text",
        "Priority: text",
        "images: image",
    ]
    assert studio.get(shown[2]["href"]).content == PNG
    studio.good("DELETE", f"{place}/{studio.good('GET', place)[0]['id']}")
    assert [item["name"] for item in studio.at(project, "GET", "/tasks/0/content")] == ["images"]


def test_of_tables_and_templates_only_what_belongs_to_tasks_and_is_no_vote_is_used(studio, project):
    items = f"/api/projects/{project}/items"
    answer = studio.post(items, params={"name": "other.csv"}, content=b"id,text\nx9,hello\n")
    assert "tasks are called 1" in refused(answer, 422, detail="it has x9")["detail"]
    body = b"Post No.,Text,label,gold\n1,hello,hateful,hateful\n"
    assert studio.good("POST", items, params={"name": "t.csv"}, content=body)["fields"] == ["Text"]
    answer = studio.patch(f"/api/projects/{project}", json={"template": "{nonexistent}"})
    refused(answer, 422, "There is no field {nonexistent}")
    assert (
        studio.get(
            f"/api/projects/{project}/tasks/0/content", params={"template": "{x}"}
        ).status_code
        == 422
    )


def test_html_of_a_task_neither_runs_nor_loads_anything(browser, studio, project):
    asked = []  # of another server

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    foreign = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    Thread(target=foreign.serve_forever, daemon=True).start()
    image = f"<img src='http://127.0.0.1:{foreign.server_port}/x.png'>"
    html = f"<b id='bold'>fat</b>{image}<script>parent.document.title = 'run'</script>"
    body = f'Post No.,Page\n1,"{html}"\n'
    studio.at(
        project, "POST", "/items", params={"name": "pages.csv", "take": True}, content=body.encode()
    )
    studio.at(project, "PATCH", json={"template": "html: {Page}"})
    with new_page(browser) as page:
        page.goto(studio.link)
        page.wait_for_selector("#drop")
        page.goto(f"{studio.address}/#/p/{project}/tasks/0")
        frame = page.frame_locator("#task iframe")
        expect(frame.locator("#bold")).to_have_text("fat")
        assert page.get_attribute("#task iframe", "sandbox") == ""
        assert "run" not in page.title()
        page.wait_for_timeout(300)  # the image would be loaded now
    foreign.shutdown()
    foreign.server_close()
    assert not asked


# Measure


def test_auditors_share_the_tasks_and_all_check_some_of_them():
    plan = type("Plan", (), {"rows": [(str(task), 0, 0) for task in range(100)]})
    audit = {"plan": plan, "auditors": ["a", "b"], "overlap": 0.2}
    first, second = (tasks_for(audit, who) for who in ("a", "b"))
    assert len(set(first) & set(second)) == sum(is_shared(place, 0.2) for place in range(100)) == 20
    assert (len(first), len(second), len({*first, *second})) == (60, 60, 100)
    assert tasks_for(audit, "c") == []
    assert len(tasks_for({**audit, "auditors": []}, "anybody")) == 100


def test_a_random_sample_is_checked_blindly_and_its_answers_are_the_measurement(studio, project):
    studio.fit(project, "anchored")
    place = f"/api/projects/{project}/audit"
    assert studio.good("GET", place) is None
    assert studio.get(f"{place}/next").status_code == 409
    studio.good("POST", place, json={"n": 30, "seed": 3})
    truths = posts(range(1, 61))
    for done in range(30):
        next_ = studio.good("GET", f"{place}/next")
        row, name = next_["task"]["row"], next_["task"]["name"]
        assert (next_["done"], row["label"], row["votes"], next_["task"]["probabilities"]) == (
            done,
            "",
            [],
            [],
        )
        studio.good("POST", f"{place}/answers", json={"task": name, "label": truths[name]})
    studio.good("POST", f"{place}/undo")
    assert studio.good("GET", place)["next_step"] == "Check 1 more task."
    task = studio.good("GET", f"{place}/next")["task"]["name"]
    studio.good("POST", f"{place}/answers", json={"task": task, "label": truths[task]})
    found = studio.good("GET", place)
    assert (found["done"], found["n"], found["certificate"]["accuracy"]["checked"]) == (30, 30, 30)
    labels = {
        row["task"]: row["label"] for row in studio.at(project, "GET", "/tasks?most=500")["rows"]
    }
    share = sum(labels[str(number)] == truth for number, truth in truths.items()) / 60
    assert (
        found["certificate"]["accuracy"]["low"] <= share <= found["certificate"]["accuracy"]["high"]
    )
    assert (
        "measured on 30 random tasks"
        in studio.at(project, "GET", "/results")["quality"]["headline"]
    )
    studio.good("POST", f"{place}/teach")
    assert len(studio.at(project, "GET", "/gold")) == 30
    studio.fit(project, "anchored")
    later = studio.good("GET", place)  # the fit that was measured is replaced; what was found stays
    assert (later["certificate"], later["is_current"]) == (found["certificate"], False)
    assert "measured" not in studio.at(project, "GET", "/results")["quality"]["headline"]
    assert studio.post(
        f"{place}/answers", json={"task": 99999, "label": "hateful"}
    ).status_code in (404, 409)


# People


def invited(studio, project, name):
    token = studio.at(project, "POST", "/people", json={"name": name})["token"]
    return httpx.Client(
        base_url=studio.address, headers={"authorization": f"Bearer {token}"}, timeout=WAIT
    ), token


def test_who_was_invited_sees_one_project_and_judges_until_the_link_is_revoked(studio, project):
    other = studio.good("POST", "/api/projects", json={"name": "secret"})["id"]
    client, token = invited(studio, project, "Kim")
    with client:
        assert client.get("/api/me").json() == {"reviewer": "Kim", "is_owner": False}
        assert [one["id"] for one in client.get("/api/projects").json()] == [project]
        assert client.get(f"/api/projects/{other}").status_code == 404
        assert client.get(f"/api/projects/{other}/events").status_code == 404
        assert client.get("/api/folder").json()["files"] == []
        assert client.get(f"/api/projects/{project}/people").status_code == 403
        assert client.post(f"/api/projects/{project}/people", json={"name": "x"}).status_code == 403
        task = client.get(f"/api/projects/{project}/next").json()["tasks"][0]["name"]
        client.post(
            f"/api/projects/{project}/gold", json={"task": task, "label": "hateful"}
        ).raise_for_status()
        person = studio.at(project, "GET", "/people")[0]
        assert (person["name"], person["judged"], person["checked"]) == ("Kim", 1, 0)
        stored = b"".join(path.read_bytes() for path in studio.folder.glob("test.studio*"))
        assert token.encode() not in stored
        with client.stream("GET", f"/api/projects/{project}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("data:")
            studio.at(project, "DELETE", "/people?name=Kim")
            assert "event: gone" in list(lines)  # the stream ends at once
        assert client.get("/api/me").status_code == 401
    assert get(f"{studio.address}/?token={token}").status_code == 401
    assert studio.gold(project) == {task: "hateful"}


def test_a_second_link_of_a_person_replaces_the_first(studio, project):
    first, _ = invited(studio, project, "Lou")
    second, _ = invited(studio, project, "Lou")
    with first, second:
        assert (first.get("/api/me").status_code, second.get("/api/me").status_code) == (401, 200)
    other = studio.good("POST", "/api/projects", json={"name": "another"})["id"]
    assert studio.post(f"/api/projects/{other}/people", json={"name": "Lou"}).status_code == 409


# One sheet


def test_the_sheet_has_one_row_per_task_with_what_was_decided(studio, project, tmp_path):
    studio.at(project, "POST", "/items", params={"name": "texts.csv", "take": True})
    studio.judge(project, 3, "hateful")
    studio.at(project, "POST", "/send_back", json={"task": 5})
    studio.at(project, "PUT", "/note", json={"task": 5, "text": "=unclear"})
    rows = pl.read_csv(studio.get(f"/api/projects/{project}/export/sheet.csv").content)
    assert rows.columns == [
        "Post No.",
        "Text",
        "Priority",
        "label",
        "confidence",
        "decision",
        "reviewer",
        "note",
    ]
    assert rows["Post No."].to_list() == list(range(1, 61))
    decided = rows.select("label", "confidence", "decision").rows()
    assert (decided[2], decided[4][2]) == (("hateful", 1.0, "judged"), "sent back")
    path = tmp_path / "sheet.xlsx"
    path.write_bytes(studio.get(f"/api/projects/{project}/export/sheet.xlsx?votes=true").content)
    text = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    assert 'state="frozen"' in text
    assert '<autoFilter ref="A1:M61"/>' in text
    widths = [float(width) for width in re.findall(r'<col [^>]*width="([\d.]+)"', text)]
    assert widths[1] > 40 > 15 > widths[0]
    assert pl.read_excel(path).columns[3:8] == [
        f"vote of {name}" for name in ("ada", "bo", "cyd", "dev", "eli")
    ]
    for name in ("judgements.csv", "gold.csv", "sent_back.csv", "labels.csv"):
        assert studio.get(f"/api/projects/{project}/export/{name}").text.startswith("Post No.,"), (
            name
        )
    assert "'=unclear" in studio.get(f"/api/projects/{project}/export/sent_back.csv").text


# The icon


def test_an_icon_starts_the_studio_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    home, folder = tmp_path / "home", tmp_path / "my data"
    folder.mkdir()
    entry = install_shortcut(folder, home, "linux")
    text = entry.read_text()
    assert f"Path={folder}\n" in text
    assert f'Exec="{sys.executable}" "-m" "finegold" "studio"\n' in text
    start = install_shortcut(folder, home, "darwin") / "Contents" / "MacOS" / "studio.command"
    assert f"cd '{folder}' && exec {sys.executable} -m finegold studio\n" in start.read_text()
    assert start.stat().st_mode & 0o111
    seen = {}
    monkeypatch.setattr(subprocess, "run", lambda command, **more: seen.update(more["env"]))
    assert install_shortcut(folder, home, "win32").name == "Finegold Studio.lnk"
    assert seen["FINEGOLD_FOLDER"] == str(folder)
    with pytest.raises(OutputError, match="line break"):
        install_shortcut(tmp_path / "a\nb", home, "linux")


def test_the_icon_is_made_by_one_command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["studio", "--install-shortcut"])
    assert done.exit_code == 0, done.output
    if sys.platform == "linux":
        assert (tmp_path / "applications" / "finegold-studio.desktop").is_file()
