"""No message in the browser names options of the command line, and each choice that it asks for can be made there."""

import ast
from pathlib import Path

import pytest
from xlsxwriter import Workbook

import finegold
from finegold.errors import InputError
from finegold.studio.wording import in_browser, repair_of
from tests.support.studio_helpers import OPTION, studio_in_thread


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder) as client:
        yield client


def texts_with_options():
    """All texts in the code that readers and methods may say, with values in place of {}."""
    found = set()
    for folder in ("io", "votes", "methods", "fitting", "engines", "report/views", "studio", "insight"):
        for path in sorted((Path(finegold.__file__).parent / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
                    found.add("".join(parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
    return sorted(text for text in found if OPTION.search(text) and "\n" not in text)


def test_no_text_of_the_code_keeps_its_options():
    texts = texts_with_options()
    assert len(texts) > 60
    for text in texts:
        said = in_browser(f"v.csv: something was found; {text}")
        assert said.startswith("v.csv: something was found"), text
        assert not OPTION.search(said), (text, said)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "a.studio is damaged; restore it from a backup, or start with another --project",
            "a.studio is damaged; restore it from a backup",
        ),
        (
            "It may be wide, but there is doubt; if it is, use --wide (wide=True in Python)",
            "It may be wide, but there is doubt",
        ),
        ("two questions: a, b; choose one with --question NAME; more", "two questions: a, b; more"),
        ("--missing and --keep-missing contradict each other", "these choices cannot be combined; change one of them"),
        ("row 7 of a--b.csv has no label", "row 7 of a--b.csv has no label"),
    ],
)
def test_only_the_clauses_with_options_are_left_out(said, shown):
    assert in_browser(said) == shown


def test_options_become_choices():
    wide = InputError("x", {"--wide": "", "--task": "id", "--annotator": "ann,bob"})
    assert repair_of(wide) == {"shape": "wide", "task": "id", "columns": ["ann", "bob"]}
    rows = InputError("x", {"--format": "transposed", "--annotator": "who", "--task": "q1,q2"})
    expected = {"shape": "transposed", "annotator": "who", "columns": ["q1", "q2"], "format": None}
    assert repair_of(rows) == expected
    assert repair_of(InputError("x", {"--no-header": "", "--label": "3"})) == {"header": 0, "label": "3"}
    assert repair_of(InputError("x")) is None


def workbook(path):
    with Workbook(path) as book:
        for name, rows in {"votes": [["task", "worker", "label"], [1, "a", "x"]], "notes": [["about"], ["b"]]}.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)


LATIN = "task,worker,label\n1,André,café\n1,Zoë,café\n2,André,thé\n".encode("cp1252")
TITLE = b"My survey\n\ntask,worker,label\n1,a,cat\n2,a,dog\n"
BARE = b"1,a,cat\n1,b,cat\n2,a,dog\n2,b,cat\n"


def preview(studio, project, **layout):
    found = studio.good("GET", f"/api/projects/{project}/preview", params=layout)
    assert not OPTION.search(found["problem"] or "")
    return found


@pytest.mark.parametrize(
    ("name", "body", "layout", "n_votes"),
    [
        ("latin.csv", LATIN, {"encoding": "latin-1"}, 3),
        ("title.csv", TITLE, {"header": 3}, 2),
        ("odd.csv", b"task*worker*label\n1*a*cat\n2*a*dog\n", {"separator": "*"}, 2),
        ("bare.csv", BARE, {"header": 0, "task": "1", "annotator": "2", "label": "3"}, 4),
    ],
)
def test_what_a_file_needs_is_asked_for_and_chosen(studio, name, body, layout, n_votes):
    project = studio.good("POST", f"/api/uploads?name={name}", content=body)["id"]
    plain = {key: value for key, value in layout.items() if key in ("encoding", "header", "separator")}
    before = preview(studio, project)
    if not before["problem"]:
        studio.good("PUT", f"/api/projects/{project}/votes", json=before["guess"])
        failed = studio.settled(project)
        assert failed["job"]["state"] == "failed"
        assert not OPTION.search(failed["failure"])
        before["repair"] = failed["job"]["repair"]
    if "separator" not in layout:
        assert before["repair"].items() >= plain.items()
    after = preview(studio, project, **plain)
    assert after["problem"] is None
    studio.good("PUT", f"/api/projects/{project}/votes", json={**after["guess"], **layout})
    state = studio.settled(project)
    assert (state["job"]["state"], state["failure"]) == ("done", None), state["job"]["message"]
    assert state["fits"][0]["facts"]["n_votes"] == n_votes
    assert preview(studio, project)["problem"] is None  # the choice is remembered


def test_the_sheet_of_a_workbook_is_chosen(studio):
    workbook(studio.folder / "book.xlsx")
    project = studio.good("POST", "/api/projects", json={"file": "book.xlsx"})["id"]
    before = preview(studio, project)
    assert before["sheets"] == ["votes", "notes"]
    assert "holds the sheets" in before["problem"]
    after = preview(studio, project, sheet="votes")
    assert after["columns"] == ["task", "worker", "label"]
    studio.good("PUT", f"/api/projects/{project}/votes", json=after["guess"])
    assert studio.settled(project)["job"]["state"] == "done"


def test_truths_come_from_a_file_whose_columns_can_be_chosen(studio):
    project = studio.read_sample(studio.folder)
    truths = f"/api/projects/{project}/truths"
    refused = studio.post(f"{truths}?name=t.csv", content=b"a,b\n1,cat\n2,dog\n")
    assert refused.status_code == 422
    assert refused.json()["columns"] == ["a", "b"]
    assert not OPTION.search(refused.json()["detail"])
    found = studio.good("POST", f"{truths}?name=t.csv&task=a&label=b", content=b"a,b\n1,cat\n2,dog\n999,cat\n3,x\n")
    assert (found["read"], found["used"], found["without_votes"], found["unknown_classes"]) == (4, 2, 1, ["x"])
    assert studio.gold(project) == {1: "cat", 2: "dog"}
    (studio.folder / "truth.csv").write_text("task,truth\n1,owl\n5,owl\n")
    assert studio.good("POST", f"{truths}?name=truth.csv")["used"] == 1  # what people said stays
    assert studio.post(f"{truths}?name=../truth.csv").status_code == 404
    studio.good("DELETE", f"{truths}?name=t.csv")
    assert studio.gold(project) == {5: "owl"}


def test_the_overview_names_no_options_and_the_sample_is_one_click_away(studio):
    project = studio.good("POST", "/api/sample")["id"]
    studio.good("PUT", f"/api/projects/{project}/votes", json={})
    studio.settled(project)
    quality = studio.good("GET", f"/api/projects/{project}/results")["quality"]
    assert quality["n_tasks"] == 300
    assert not OPTION.search(" ".join(quality["sentences"]))
