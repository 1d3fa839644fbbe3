"""How files are read in the studio: declared options, repairs of errors, findings, and the choice of spellings."""

import ast
import re
from pathlib import Path

import pytest
from xlsxwriter import Workbook

import finegold
from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.options import ReadOptions
from finegold.options import options_of
from finegold.studio.problems import rename_files, words_of
from finegold.studio.reading import Reading, advice_on, choices_that_repair
from tests.support.studio_helpers import OPTION, refused

FLAG = re.compile(r"(?<![\w-])--[a-z]")
KEYWORD = re.compile(r"\b[a-z_]+=(?!=)")  # an argument of Python, such as header=0
DIRTY = "task,worker,label\n" + "".join(
    f"t{i},{worker},{label}\n"
    for i in range(6)
    for worker, label in (("ann", "cat"), ("bob", "Cat"), ("eve", "NA" if i < 2 else "dog"))
)


def has_words_of_programs(text):
    return OPTION.search(text) or KEYWORD.search(text)


# Declared once


def test_the_request_and_the_form_have_every_declared_option(studio):
    declared = options_of(ReadOptions, "studio")
    listed = {option["name"]: option for option in studio.good("GET", "/api/reading")}
    assert list(listed) == list(declared)
    for name, option in declared.items():
        assert Reading.model_fields[name].description == listed[name]["help"] == option.help
        assert listed[name]["choices"] == list(option.choices)
    for choice in declared["repeated"].choices:
        assert Reading(repeated=choice).repeated == choice
    project = studio.upload("v.csv", DIRTY.encode())
    for wrong in (
        {"repeated": "never"},
        {"header": -1},
        {"header": 1001},
        {"normalise": "maybe"},
        {"layout": "wide"},
    ):
        assert studio.put(f"/api/projects/{project}/votes", json=wrong).status_code == 422, wrong


# Errors are data


def texts_of_the_code(folder):
    """All texts of a folder's modules but docstrings and declarations of options, with x in place of values."""
    paths = [
        path
        for path in (Path(finegold.__file__).parent / folder).rglob("*.py")
        if path.name != "options.py"
    ]
    for path in sorted(paths):
        tree = ast.parse(path.read_text())
        bodies = [
            node.body
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        ]
        docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    part.value if isinstance(part, ast.Constant) else "x" for part in node.values
                )
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in docs
            ):
                yield node.value


@pytest.mark.parametrize("folder", ["io", "votes", "methods", "fitting", "insight", "studio"])
def test_no_text_that_pages_show_names_an_option(folder):
    texts = [text for text in texts_of_the_code(folder) if "\n" not in text and FLAG.search(text)]
    assert [text for text in texts if "inspect " not in text] == []  # another program


@pytest.mark.parametrize(
    ("remedy", "choices"),
    [
        (
            use(layout="wide", task="id", annotator=["a", "b"]),
            {"shape": "wide", "task": "id", "columns": ["a", "b"]},
        ),
        (
            use(layout="transposed", annotator="who", task=["q1", "q2"]),
            {"shape": "transposed", "annotator": "who", "columns": ["q1", "q2"]},
        ),
        (use(header=False, label="3"), {"header": 0, "label": "3"}),
        (leave_out("layout"), {"shape": "long", "columns": None}),
        (leave_out("header", "separator"), {"header": 1, "separator": None}),
        (use(missing=[-1]), {"missing": ["-1"]}),
        (use("if they are classes", missing=[]), None),
        (use(label=Placeholder("NAME")), None),
        (use(query="SELECT 1"), None),
        (use(repeated="never"), None),
        (Remedy(text="save it as UTF-8"), None),
    ],
    ids=str,
)
def test_a_remedy_becomes_choices_of_the_form(remedy, choices):
    assert choices_that_repair(InputError("x", remedies=[remedy])) == choices
    later = InputError("x", remedies=[use(table="of a database"), remedy])
    assert choices_that_repair(later) == choices  # what the form does not have is passed over


def test_pages_show_the_problem_with_remedies_that_need_no_option_and_advice_with_buttons():
    restore = Remedy(text="restore it from a backup")
    error = InputError(
        "it is damaged", "/scratch/a.csv", [restore, use(project=Placeholder("FILE"))]
    )
    assert words_of(error) == "/scratch/a.csv: it is damaged; restore it from a backup"
    assert (
        words_of(rename_files(error, {"/scratch/": ""}))
        == "a.csv: it is damaged; restore it from a backup"
    )
    remedies = [
        use("if they are classes", missing=[]),
        use("if another column names the annotators", annotator=Placeholder("NAME")),
        use(table="t"),
        Remedy(text="check that they are written alike"),
    ]
    assert advice_on(remedies) == [
        {"words": "if they are classes", "choices": {"missing": []}},
        {
            "words": "if another column names the annotators, choose “Annotator”, then read again",
            "choices": None,
        },
        {"words": "check that they are written alike", "choices": None},
    ]


# Files that need a choice


def workbook(path):
    with Workbook(path) as book:
        for name, rows in {
            "votes": [["task", "worker", "label"], [1, "a", "x"]],
            "notes": [["about"], ["b"]],
        }.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)


LATIN = "task,worker,label\n1,André,café\n1,Zoë,café\n2,André,thé\n".encode("cp1252")
TITLE = b"My survey\n\ntask,worker,label\n1,a,cat\n2,a,dog\n"
BARE = "".join(
    f"t{i},w{j},{'cat' if i % 2 or j == i % 5 else 'dog'}\n" for i in range(12) for j in range(3)
).encode()
TWICE = b"task,worker,label\n1,a,cat\n1,a,dog\n"
LABELS = b"task,worker,label\n1,a,cat\n1,b,NA\n"
MANY = ("task,worker,label\n" + "".join(f"t{i},ann,x{i}\n" for i in range(10_050))).encode()


def preview(studio, project, **layout):
    found = studio.at(project, "GET", "/preview", params=layout)
    assert not has_words_of_programs(found["problem"] or "")
    return found


@pytest.mark.parametrize(
    ("name", "body", "layout", "n_votes"),
    [
        ("latin.csv", LATIN, {"encoding": "latin-1"}, 3),
        ("title.csv", TITLE, {"header": 3}, 2),
        ("odd.csv", b"task*worker*label\n1*a*cat\n2*a*dog\n", {"separator": "*"}, 2),
        ("bare.csv", BARE, {"header": 0, "task": "1", "annotator": "2", "label": "3"}, 36),
    ],
)
def test_what_a_file_needs_is_asked_for_and_chosen(studio, name, body, layout, n_votes):
    project = studio.upload(name, body)
    plain = {
        key: value for key, value in layout.items() if key in ("encoding", "header", "separator")
    }
    before = preview(studio, project)
    if not before["problem"]:
        failed = studio.read(project, **before["guess"])
        assert failed["job"]["state"] == "failed"
        assert not has_words_of_programs(failed["failure"])
        before["repair"] = failed["job"]["repair"]
    if "separator" not in layout:
        assert before["repair"].items() >= plain.items()
    after = preview(studio, project, **plain)
    assert after["problem"] is None
    state = studio.read(project, **{**after["guess"], **layout})
    assert (state["job"]["state"], state["failure"]) == ("done", None), state["job"]["message"]
    assert state["fits"][0]["facts"]["n_votes"] == n_votes
    assert preview(studio, project)["problem"] is None  # the choice is remembered


@pytest.mark.parametrize(
    ("body", "reading"),
    [
        (b"a\n", {}),
        (b"\x00\x01\x02\x03", {}),
        (b"task,worker,label\n,a,cat\n", {}),
        (b"task,worker,label\n1,,cat\n", {}),
        (b"task,worker,label\n1,a,\n", {}),
        (b"x,y,z\n1,a,cat\n", {}),
        (b"x,y,z\n1,a,cat\n", {"task": "nowhere"}),
        (BARE, {"header": 7}),
        (TITLE, {"header": 0}),
        (LATIN, {"encoding": "no-such-encoding"}),
        (LATIN, {"encoding": "utf-16"}),
        (LABELS, {"separator": "two words"}),
        (LABELS, {"format": "no-such-tool"}),
        (LABELS, {"format": "label-studio"}),
        (LABELS, {"sheet": "first"}),
        (LABELS, {"question": "mood"}),
        (LABELS, {"include": ["predictions"]}),
        (LABELS, {"gold": "nowhere"}),
        (LABELS, {"gold_marks": True}),
        (LABELS, {"classes": ["dog"]}),
        (LABELS, {"alias": {"cat": "lion"}, "classes": ["cat"]}),
        (LABELS, {"shape": "wide", "columns": ["nowhere"]}),
        (LABELS, {"shape": "wide", "task": "label", "columns": ["task", "worker"]}),
        (LABELS, {"shape": "transposed", "columns": ["nowhere"]}),
        (LABELS, {"shape": "judges"}),
        (LABELS, {"shape": "judges", "judges": {"order": "worker"}}),
        (TWICE, {"repeated": "error"}),
        (MANY, {}),
        (b"task,a,b,c\n1,cat,dog,cat\n2,dog,dog,cat\n", {"shape": "long", "task": "task"}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_no_error_of_the_form_has_words_of_the_command_line_or_of_python(studio, body, reading):
    project = studio.upload("v.csv", body)
    preview(studio, project)
    state = studio.read(project, **reading)
    shown = [state["failure"] or "", *state["job"]["warnings"]]
    for fit in state["fits"]:
        for finding in fit["facts"]["hygiene"]["findings"]:
            shown += [finding["text"], *(advice["words"] for advice in finding["advice"])]
    assert not [text for text in shown if has_words_of_programs(text)]


def test_truths_come_from_a_file_whose_columns_can_be_chosen(studio, project):
    truths = f"/api/projects/{project}/truths"
    answer = refused(studio.post(f"{truths}?name=t.csv", content=b"a,b\n1,cat\n2,dog\n"), 422)
    assert (answer["columns"], has_words_of_programs(answer["detail"])) == (["a", "b"], None)
    found = studio.good(
        "POST", f"{truths}?name=t.csv&task=a&label=b", content=b"a,b\n1,cat\n2,dog\n999,cat\n3,x\n"
    )
    assert (found["read"], found["used"], found["without_votes"], found["unknown_classes"]) == (
        4,
        2,
        1,
        ["x"],
    )
    assert studio.gold(project) == {1: "cat", 2: "dog"}
    (studio.folder / "truth.csv").write_text("task,truth\n1,owl\n5,owl\n")
    assert studio.good("POST", f"{truths}?name=truth.csv")["used"] == 1  # what people said stays
    assert studio.post(f"{truths}?name=../truth.csv").status_code == 404
    studio.good("DELETE", f"{truths}?name=t.csv")
    assert studio.gold(project) == {5: "owl"}


# Findings and spellings


def opened(studio, **reading):
    project = studio.upload("v.csv", DIRTY.encode())
    return project, facts_of(studio.read(project, **reading))


def facts_of(state):
    assert state["job"]["state"] == "done", state["job"]
    return next(fit["facts"] for fit in state["fits"] if fit["id"] == state["base"])


def classes(facts):
    return dict(facts["hygiene"]["classes"])


def test_findings_are_part_of_the_project_before_any_fit(studio):
    project, facts = opened(studio)
    found = facts["hygiene"]
    assert found["no_vote"] == {"NA": 2}
    assert classes(facts) == {"cat": 6, "Cat": 6, "dog": 4}
    assert [(one["kind"], one["groups"]) for one in found["findings"]] == [
        ("spellings", [[["Cat", 6], ["cat", 6]]])
    ]
    assert studio.settled(project)["job"]["warnings"] == [
        "3 classes look like 2: Cat (6) = cat (6)"
    ]


@pytest.mark.parametrize(
    ("reading", "classes_of_file", "posted", "classes_of_all"),
    [
        (
            {"normalise": True},
            {"Cat": 12, "dog": 4},
            ["CAT", "Dog.", "bird", "Bird"],
            {"Cat": 13, "dog": 5, "bird": 2},
        ),
        (
            {"alias": {"Cat": "cat"}},
            {"cat": 12, "dog": 4},
            ["Cat", "DOG"],
            {"cat": 13, "dog": 4, "DOG": 1},
        ),
        (
            {"classes": ["dog", "cat", "Cat", "owl"]},
            *(
                {"cat": 6, "Cat": 6, "dog": 4, "owl": 0},
                ["owl"],
                {"cat": 6, "Cat": 6, "dog": 4, "owl": 1},
            ),
        ),
    ],
)
def test_what_was_chosen_of_spellings_and_classes_is_kept_and_used_for_posted_votes(
    studio, reading, classes_of_file, posted, classes_of_all
):
    project, facts = opened(studio, **reading)
    assert classes(facts) == classes_of_file
    studio.post_votes(
        project, *(("t9", f"w{number}", label) for number, label in enumerate(posted))
    )
    state = studio.fit(project, "mv")
    facts = facts_of(state)
    assert classes(facts) == classes_of_all
    found = [one["groups"] for one in facts["hygiene"]["findings"] if one["kind"] == "spellings"]
    if "alias" in reading:  # posted votes that are spelled otherwise are reported
        assert found == [[[["dog", 4], ["DOG", 1]]]]
    assert facts_of(studio.read(project, **state["reading"]))["hygiene"]["alias"] == reading.get(
        "alias", {}
    )
    studio.post_votes(project, ("t9", "zoe", "fox"))
    if "classes" in reading:
        job = studio.fit(project, "mv")["job"]
        assert (
            job["message"]
            == "the posted label 'fox' is not among the classes dog, cat, Cat, owl; remove its batch"
        )


def test_a_project_of_posted_votes_only_can_merge_spellings(studio):
    project = studio.good("POST", "/api/projects", json={"name": "posted"})["id"]
    studio.post_votes(project, ("t1", "ann", "cat"), ("t1", "bob", "Cat"), ("t1", "eve", "cat"))
    assert classes(facts_of(studio.fit(project, "mv"))) == {"cat": 2, "Cat": 1}
    assert classes(facts_of(studio.read(project, normalise=True))) == {"cat": 3}
    studio.post_votes(project, ("t2", "ann", "CAT"))
    assert classes(facts_of(studio.fit(project, "mv"))) == {"cat": 4}
    batch = studio.at(project, "GET", "/posted")[0]["id"]
    studio.at(project, "DELETE", f"/posted/{batch}")
    assert classes(facts_of(studio.settled(project))) == {"cat": 3}
