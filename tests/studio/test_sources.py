"""What arrives in a project: files are looked at first, read in their order, and repaired without losing anything."""

import json

import polars as pl

from tests.studio.worlds import CLASSES, truths, votes
from tests.support.studio_helpers import refused, wait_until


def table(*rows, head="task,annotator,label"):
    return "\n".join([head, *rows, ""]).encode()


DIRTY = table(
    *(f"{t},{w},{'cat' if t % 2 else 'dog'}" for t in range(40) for w in "abc"),
    *(f"{t},d,Cat" for t in range(1, 9, 2)),
    "1,e,dgo",
    "2,e,xx",
)


def facts_of(studio, project):
    return studio.at(project, "GET")["fit"]["facts"]


def classes_of(studio, project):
    return {name for name, _ in facts_of(studio, project)["classes"]}


def sources(studio, project):
    return studio.at(project, "GET", "/sources")


def test_a_first_file_is_a_draft_with_its_rows_until_it_is_taken(studio):
    project = studio.create()
    seen = studio.draft(project, "votes.csv", votes(truths(30)).encode())
    assert (seen["kind"], seen["state"], seen["problem"]) == ("votes", "draft", None)
    assert seen["reading"] == {"task": "task", "annotator": "annotator", "label": "label"}
    assert seen["preview"]["columns"] == ["task", "annotator", "label", "text"]
    assert studio.at(project, "GET")["shown"] is None
    state = studio.take(project, seen["id"])
    facts = state["fit"]["facts"]
    assert (facts["n_votes"], facts["n_tasks"], facts["n_annotators"]) == (120, 30, 6)
    assert sources(studio, project)[0]["is_used"] is True


def test_columns_that_are_not_found_are_asked_for_and_a_failed_reading_says_how_to_repair_it(
    studio,
):
    project = studio.create()
    seen = studio.draft(project, "odd.csv", table("1,x,cat", "2,y,dog", head="a,b,c"))
    assert set(seen["preview"]["open"]) == {"task", "annotator", "label"}
    named = {"task": "a", "annotator": "b", "label": "c"}
    assert studio.take(project, seen["id"], reading=named)["fit"]["facts"]["n_votes"] == 2
    project = studio.create()
    seen = studio.draft(project, "bad.csv", table("1,x,cat", ",y,dog"))
    job = studio.take(project, seen["id"])["job"]
    assert job["state"] == "failed"
    assert job["message"].startswith("bad.csv, row 2")
    assert str(studio.folder) not in job["message"]


def test_several_files_of_one_judge_each_are_one_project(studio):
    project, truth = studio.create(), truths(40)
    for name in ("gpt", "claude", "llama"):
        rows = [
            f"{t},{label if (t + len(name)) % 5 else 'offensive'}" for t, label in truth.items()
        ]
        seen = studio.draft(project, f"{name}.csv", table(*rows, head="task,label"))
        assert (seen["kind"], seen["reading"]["one_annotator"]) == ("votes", name)
        studio.at(project, "PATCH", f"/sources/{seen['id']}", json={"state": "in"})
    studio.settled(project)
    assert facts_of(studio, project)["n_votes"] == 120
    names = [row["annotator"] for row in studio.at(project, "GET", "/annotators")["rows"]]
    assert sorted(names) == ["claude", "gpt", "llama"]


def test_what_arrives_is_compared_with_what_is_there_before_it_is_taken(studio):
    truth = truths(50)
    project = studio.open("monday.csv", votes(truth).encode())
    known = {row.split(",")[0]: row.split(",") for row in votes(truth).splitlines()[1:]}
    same = known["7"]
    other = next(label for label in CLASSES if label != same[2])
    changed = known["8"]
    rows = [f"7,{same[1]},{same[2]}", f"8,{changed[1]},{min({*CLASSES} - {changed[2]})}"]
    rows += ["60,zoe,hateful", "61,zoe,", f"9,zoe,{other}"]
    seen = studio.draft(project, "tuesday.csv", table(*rows))
    proposal = seen["proposal"]
    wanted = {"votes": 4, "new": 2, "repeated": 1, "changed": 1, "new_tasks": 1, "missing": 1}
    assert {name: proposal[name] for name in wanted} == wanted
    assert proposal["new_annotators"] == ["zoe"]
    assert proposal["examples"][0]["task"] == "8"
    before = facts_of(studio, project)
    after = studio.take(project, seen["id"])["fit"]["facts"]
    assert after["n_votes"] == before["n_votes"] + 2
    assert after["n_tasks"] == 51
    # the newer vote of a person on a task counts
    exported = studio.get(f"/api/projects/{project}/export/votes.csv").text
    assert f"\n8,{changed[1]},{rows[1].split(',')[2]}" in exported
    assert f"\n8,{changed[1]},{changed[2]}" not in exported


def test_dirt_of_tuesday_is_repaired_on_the_proposal_itself(studio):
    project = studio.open("monday.csv", votes(truths(50)).encode())
    rows = [f"{t},zoe,{'hatefull' if t % 2 else 'offensive'}" for t in range(1, 21)]
    seen = studio.draft(project, "tuesday.csv", table(*rows))
    assert seen["proposal"]["new_classes"] == ["hatefull"]
    assert seen["proposal"]["near"] == {"hatefull": "hateful"}
    alias = json.dumps({"alias": seen["proposal"]["near"]})
    path = f"/sources/{seen['id']}"
    again = studio.at(project, "GET", path, params={"reading": alias})
    assert again["proposal"]["new_classes"] == []
    studio.take(project, seen["id"], reading=json.loads(alias))
    assert classes_of(studio, project) == set(CLASSES)


def test_reading_again_keeps_spellings_merges_judgements_samples_and_the_fits_before(studio):
    """Spelling tables and merges were lost (21 -> 6 classes -> 20), and fits were dropped without a question."""
    project = studio.open("votes.csv", DIRTY)
    assert classes_of(studio, project) == {"cat", "Cat", "dog", "dgo", "xx"}
    source = sources(studio, project)[0]["id"]
    spelled = {"alias": {"Cat": "cat", "dgo": "dog"}, "missing": ["xx"]}
    studio.take(project, source, reading=spelled)
    assert classes_of(studio, project) == {"cat", "dog"}
    studio.judge(project, 3, "dog")
    sample = studio.at(project, "POST", "/samples", json={"n": 20})["id"]
    studio.check(project, sample, lambda task: "cat" if int(task) % 2 else "dog")
    fits = len(studio.at(project, "GET", "/fits"))
    # another option of the same file, without a word about spellings
    studio.take(project, source, reading={"repeated": "last"})
    assert classes_of(studio, project) == {"cat", "dog"}
    assert sources(studio, project)[0]["reading"]["alias"] == spelled["alias"]
    assert studio.truths(project) == {3: "dog"}
    assert studio.at(project, "GET", "/samples")[0]["done"] == 20
    assert len(studio.at(project, "GET", "/fits")) >= fits
    assert studio.at(project, "GET", "/summary")["measured"]["n_checks"] == 20
    # a file that arrives later is spelled in the same way
    studio.add(project, "more.csv", table("50,a,Cat", "50,b,dgo", "51,a,xx", "51,b,cat"))
    assert classes_of(studio, project) == {"cat", "dog"}


def test_a_finding_counts_the_classes_that_it_names_and_labels_come_back_with_numbers_as_numbers(
    studio,
):
    """It said that 8 classes of 5 have several spellings; ids became text in the sheet with labels."""
    names = ["cat", "Cat", "dog", "DOG", "cow"]
    rows = [f"{t},{w},{names[(t + w) % 5]}" for t in range(40) for w in range(4)]
    project = studio.open("votes.csv", table(*rows))
    (finding,) = facts_of(studio, project)["findings"]
    assert finding["text"].startswith("5 classes look like 3")
    sheet = studio.get(f"/api/projects/{project}/export/with_labels.xlsx").content
    assert pl.read_excel(sheet).get_column("task").dtype.is_integer()
    # of 120 texts, the 20 that have a task and the 100 that have none are counted apart
    texts = table(*(f"{t},text {t}" for t in range(20, 140)), head="task,text")
    proposal = studio.draft(project, "texts.csv", texts)["proposal"]
    assert [proposal[name] for name in ("matched", "without", "unmatched")] == [20, 20, 100]


def test_people_are_merged_without_merging_classes(studio):
    rows = [f"{t},{'Ann' if t % 2 else 'ann'},{'Cat' if t < 10 else 'cat'}" for t in range(20)]
    rows += [f"{t},bob,cat" for t in range(20)]
    project = studio.open("votes.csv", table(*rows))
    assert facts_of(studio, project)["n_annotators"] == 3
    source = sources(studio, project)[0]["id"]
    studio.take(project, source, reading={"people": {"Ann": "ann"}})
    facts = facts_of(studio, project)
    assert (facts["n_annotators"], facts["n_classes"]) == (2, 2)


def test_labels_beside_earlier_ones_have_another_name(studio):
    rows = [f"{t},{w},cat,old" for t in range(6) for w in "ab"]
    head = "task,annotator,label,finegold_label"
    project = studio.open("again.csv", table(*rows, head=head), label="label")
    answer = studio.get(f"/api/projects/{project}/export/with_labels.csv")
    first, row, *_ = answer.text.splitlines()
    assert first == f"{head},finegold_label_new,finegold_confidence"
    assert row.startswith("0,a,cat,old,cat,")


def test_an_annotator_is_excluded_and_counted_again(studio):
    project = studio.open("votes.csv", votes(truths(40)).encode())
    before = facts_of(studio, project)
    studio.at(project, "PATCH", json={"excluded": ["bo"]})
    state = studio.settled(project)
    names = [row["annotator"] for row in studio.at(project, "GET", "/annotators")["rows"]]
    assert "bo" not in names
    rows = studio.get(f"/api/projects/{project}/export/votes.csv").text.splitlines()[1:]
    assert state["fit"]["facts"]["n_votes"] == len(rows) < before["n_votes"]
    studio.at(project, "PATCH", json={"excluded": []})
    assert studio.settled(project)["fit"]["facts"]["n_votes"] == before["n_votes"]


def test_a_source_that_is_taken_out_leaves_the_votes_as_they_were(studio):
    project = studio.open("monday.csv", votes(truths(40)).encode())
    before = studio.get(f"/api/projects/{project}/export/votes.csv").text
    source = studio.add(project, "more.csv", table("1,zoe,hateful", "90,zoe,hateful"))
    assert facts_of(studio, project)["n_tasks"] == 41
    studio.take(project, source, state="out")
    assert studio.get(f"/api/projects/{project}/export/votes.csv").text == before
    assert [each["name"] for each in sources(studio, project)] == ["monday.csv"]


def test_texts_come_from_a_table_or_a_folder_of_images_and_belong_to_tasks_by_their_ids(studio):
    project = studio.open("votes.csv", table(*(f"p{t},{w},cat" for t in range(6) for w in "ab")))
    rows = [f"p{t},Title {t},cat" for t in range(8)]
    seen = studio.draft(project, "texts.csv", table(*rows, head="id,title,label"))
    assert seen["kind"] == "items"
    proposal = seen["proposal"]
    # 2 ids belong to no task: not the number of rows that do
    assert (proposal["matched"], proposal["without"], proposal["unmatched"]) == (6, 0, 2)
    # what looks like a label is not shown to people who judge
    assert proposal["fields"] == ["title"]
    studio.take(project, seen["id"])
    assert studio.next(project)["tasks"][0]["content"][0]["text"].startswith("Title ")
    found = studio.at(project, "GET", "/tasks?search=title 3")
    assert [row["task"] for row in found["rows"]] == ["p3"]
    images = studio.folder / "pictures"
    images.mkdir()
    for t in range(3):
        (images / f"p{t}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (studio.folder / "secret.png").write_bytes(b"no")
    studio.add(project, "pictures")
    task = studio.at(project, "GET", "/tasks/0")
    item = next(each for each in task["content"] if each["kind"] == "image")
    assert studio.get(item["href"]).headers["content-type"] == "image/png"
    assert studio.get(f"/api/projects/{project}/tasks/0/media/9").status_code == 404
    refused(
        studio.get(f"/api/projects/{project}/tasks/5/media/0"),
        404,
        "There is no such image or sound",
    )
    nothing = studio.draft(project, "other.csv", table("zz,x", head="id,title"), kind="items")
    answer = studio.patch(f"/api/projects/{project}/sources/{nothing['id']}", json={"state": "in"})
    refused(answer, 422, "These texts cannot be used", "tasks are called p0")


def test_known_truths_of_a_file_teach_and_people_are_right_where_they_differ(studio):
    project = studio.open(
        "votes.csv", table(*(f"{t},{w},cat" for t in range(9) for w in "ab"), "1,c,dog")
    )
    studio.judge(project, 1, "dog")
    rows = ["1,cat", "2,dog", "3,bird", "77,dog"]
    seen = studio.draft(project, "truth.csv", table(*rows, head="task,truth"))
    assert seen["kind"] == "truths"
    wanted = {"used": 2, "without_votes": 1, "unknown_classes": ["bird"]}
    assert {name: seen["proposal"][name] for name in wanted} == wanted
    studio.take(project, seen["id"])
    assert studio.truths(project) == {1: "dog", 2: "dog", "77": "dog"}
    studio.fit(project)
    assert studio.labels(project)[2] == "dog"
    # truths of tasks whose votes come later are used then
    studio.add(project, "more.csv", table("77,a,cat", "77,b,cat"))
    assert studio.labels(project)[77] == "dog"
    studio.take(project, seen["id"], state="out")
    assert studio.truths(project) == {1: "dog"}


def test_predictions_of_a_model_are_combined_with_the_votes_and_label_tasks_without_votes(studio):
    truth = truths(60)
    project = studio.open("votes.csv", votes(truth).encode())
    names = ",".join(CLASSES)
    rows = [
        ",".join([str(t), *(str(0.9 if name == truth[t] else 0.05) for name in CLASSES)])
        for t in range(1, 61)
    ]
    rows += ["99,0.9,0.05,0.05"]
    seen = studio.draft(project, "model.csv", table(*rows, head=f"task,{names}"))
    assert seen["kind"] == "predictions"
    assert (seen["proposal"]["n_tasks"], seen["proposal"]["n_without_votes"]) == (60, 1)
    studio.take(project, seen["id"])
    page = studio.at(project, "GET", "/tasks?mark=predicted")
    assert [row["task"] for row in page["rows"]] == ["99"]
    assert studio.at(project, "GET", f"/tasks/{page['rows'][0]['at']}")["predictions"]


def test_sets_of_labels_are_judged_with_several_classes_and_measured_as_whole_sets(studio):
    topics = ["art", "food", "war"]
    truth = {t: [name for k, name in enumerate(topics) if (t >> k) & 1] for t in range(64)}
    rows = []
    for t, options in truth.items():
        for w in range(4):
            said = [name for name in topics if (name in options) != ((t + w) % 9 == 0)]
            rows.append(f"{t},w{w},{';'.join(said) or 'none'}")
    project = studio.open("sets.csv", table(*rows), multi=True, missing=[])
    queue = studio.next(project)
    assert queue["is_sets"] is True
    task = queue["tasks"][0]["name"]
    refused(studio.judge(project, task, "art"), 422, "There is no such class", "list of all")
    assert studio.judge(project, task, ["war", "art"]).status_code == 200
    assert studio.truths(project)[task] == ["art", "war"]
    studio.fit(project)
    assert studio.labels(project)[task] == "art, war"
    sample = studio.at(project, "POST", "/samples", json={"n": 20})["id"]
    names = studio.next(project, sample=sample)["classes"]
    studio.check(project, sample, lambda t: [n for n in names if n in (truth[t] or ["none"])])
    said = studio.at(project, "GET", "/summary")["measured"]
    assert said["n_checks"] == 20
    assert studio.get(f"/api/projects/{project}/export/sheet.csv").status_code == 200
    assert "<section" in studio.get(f"/api/projects/{project}/sections/options").text


def test_a_workbook_has_sheets_and_an_export_of_a_tool_is_recognised(studio, tmp_path):
    frame = pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]})
    frame.write_excel(tmp_path / "book.xlsx", worksheet="Round 1")
    project = studio.create()
    seen = studio.draft(project, "book.xlsx", (tmp_path / "book.xlsx").read_bytes())
    assert seen["preview"]["format"] == "Excel sheet"
    assert studio.take(project, seen["id"])["fit"]["facts"]["n_votes"] == 3
    exported = studio.get(f"/api/projects/{project}/export/with_labels.xlsx").content
    (tmp_path / "back.xlsx").write_bytes(exported)
    # ids that are numbers stay numbers
    assert pl.read_excel(tmp_path / "back.xlsx")["task"].dtype == pl.Int64
    choice = {"from_name": "topic", "to_name": "text", "type": "choices"}
    said = [{**choice, "value": {"choices": ["A"]}}]
    votes_of = [{"completed_by": who, "result": said} for who in (1, 2)]
    tasks = [{"id": t, "data": {"text": f"t{t}"}, "annotations": votes_of} for t in range(3)]
    project = studio.create()
    seen = studio.draft(project, "tasks.json", json.dumps(tasks).encode())
    assert seen["preview"]["is_export"] is True
    assert studio.take(project, seen["id"])["fit"]["facts"]["n_votes"] == 6
    assert studio.get(f"/api/projects/{project}/export/predictions.json").json()[0]["predictions"]


def test_a_job_can_be_cancelled_and_another_method_chosen(studio):
    project = studio.open("votes.csv", votes(truths(40)).encode())
    endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
    studio.at(project, "POST", "/fits", json=endless)
    wait_until(lambda: studio.at(project, "GET")["job"]["step"])
    studio.good("DELETE", f"/api/projects/{project}/job")
    assert studio.settled(project)["job"]["state"] == "cancelled"
    first = studio.at(project, "GET")["shown"]
    state = studio.fit(project, "ds")
    assert state["fit"]["method"] == "ds"
    assert studio.at(project, "PATCH", json={"shown": first})["shown"] == first
    refused(studio.patch(f"/api/projects/{project}", json={"shown": 999}), 409)
    for wanted in (
        {"method": "ptbcc", "settings": {"n_prototypes": "three"}},
        {"method": "ptbcc", "settings": {"nothing": 1}},
        {"method": "x"},
    ):
        refused(studio.post(f"/api/projects/{project}/fits", json=wanted), 422)


def test_numbers_and_ordered_classes_are_shown_on_their_scale_and_marked_texts_named(studio):
    rows = [(t, who, 3 * t + k + t % 3) for t in range(30) for k, who in enumerate("abc")]
    table = "task,annotator,label\n" + "".join(f"{t},{who},{n}.5\n" for t, who, n in rows)
    project = studio.open("scores 1.csv", table.encode())
    command = studio.at(project, "GET", "/summary")["command_for_numbers"]
    assert command == "finegold numbers 'scores 1.csv' -o values.csv --report report.html"
    for name in ("scores", "raters"):
        shown = studio.get(f"/api/projects/{project}/sections/{name}").text
        assert shown.lstrip().startswith(f'<section id="{name}"')
    table = "task,annotator,label\n" + "".join(f"{t},{who},{n % 3}\n" for t, who, n in rows)
    project = studio.open("stars.csv", table.encode(), ordered=["0", "1", "2"])
    assert studio.at(project, "GET", "/summary")["command_for_numbers"] is None
    shown = studio.get(f"/api/projects/{project}/sections/scores").text
    assert "on a scale from 0 to 2" in shown
    assert 'id="scores"' in studio.get(f"/api/projects/{project}/export/report.html").text
    span = {"type": "labels", "value": {"start": 0, "end": 1, "labels": ["A"]}}
    tasks = [
        {"id": 1, "data": {"text": "x"}, "annotations": [{"completed_by": 1, "result": [span]}]}
    ]
    project = studio.create()
    seen = studio.draft(project, "tasks.json", json.dumps(tasks).encode())
    state = studio.take(project, seen["id"])
    assert "run finegold spans tasks.json" in state["job"]["message"]
