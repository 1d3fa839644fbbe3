"""Judging through the HTTP interface: undo, skipped tasks, tasks sent back, notes, reviewers, content that is kept."""

import json
from contextlib import contextmanager

from finegold.studio.gold import set_truth
from finegold.studio.services import Holds

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def queue(studio, project, who=""):
    return studio.at(project, "GET", "/next", headers={"x-finegold-reviewer": who})


def first(studio, project, who=""):
    return queue(studio, project, who)["tasks"][0]["name"]


def act(studio, project, what, task, who="", **more):
    return studio.at(
        project,
        "POST",
        f"/{what}",
        json={"task": task, **more},
        headers={"x-finegold-reviewer": who},
    )


def undo(studio, project, who=""):
    return studio.at(project, "POST", "/undo", json={}, headers={"x-finegold-reviewer": who})[
        "action"
    ]


def test_undo_takes_back_a_skip_and_then_the_judgements_before_and_gives_them_back_to_their_reviewers(
    studio, project
):
    one = first(studio, project)
    act(studio, project, "gold", one, label="cat")
    act(studio, project, "gold", one, label="dog")
    two = first(studio, project)
    act(studio, project, "skip", two)
    assert first(studio, project) not in (one, two)
    undone = undo(studio, project)
    assert (undone["kind"], undone["task"]) == ("skip", two)
    assert studio.gold(project) == {one: "dog"}
    assert first(studio, project) == two
    assert undo(studio, project)["task"] == one
    assert studio.gold(project) == {one: "cat"}
    undo(studio, project)
    assert studio.gold(project) == {}
    assert studio.post(f"/api/projects/{project}/undo", json={}).status_code == 409
    act(studio, project, "gold", 1, "ann", label="cat")
    act(studio, project, "gold", 1, "bob", label="dog")
    undo(studio, project, "bob")
    found = studio.at(project, "GET", "/gold")
    assert [(one["label"], one["reviewer"]) for one in found] == [("cat", "ann")]


def test_skipped_tasks_are_remembered_and_come_last(studio, project):
    task = first(studio, project, "ann")
    act(studio, project, "skip", task, "ann")
    found = queue(studio, project, "ann")
    assert (found["skipped"], task in [one["name"] for one in found["tasks"]]) == (1, False)
    assert first(studio, project, "bob") == task  # a skip is the reviewer's own
    for name in range(300):
        if name != task:
            act(studio, project, "gold", name, label="cat")
    assert [
        one["name"] for one in queue(studio, project, "ann")["tasks"]
    ] == []  # bob has it on his screen
    act(studio, project, "gold", task, "bob", label="cat")
    undo(studio, project, "bob")
    studio.services.holds.hold(project, "bob", None)
    assert [one["name"] for one in queue(studio, project, "ann")["tasks"]] == [task]


def test_nobody_is_handed_a_task_that_was_judged_while_the_next_one_was_chosen(
    studio, project, monkeypatch
):
    """As with ten reviewers at once: the first judges a task and holds another while the second waits."""
    one, two = (task["name"] for task in queue(studio, project, "ann")["tasks"][:2])
    choosing = studio.services.holds.choosing

    @contextmanager
    def wait_for_turn():
        set_truth(studio.services.store, project, one, "cat", reviewer="ann")
        studio.services.holds.hold(project, "ann", two)
        with choosing:
            yield

    monkeypatch.setattr(studio.services.holds, "choosing", wait_for_turn())
    assert first(studio, project, "bob") not in (one, two)


def test_a_task_that_was_sent_back_returns_when_it_has_more_votes(studio, project):
    task = first(studio, project)
    act(studio, project, "send_back", task)
    found = queue(studio, project)
    assert (found["sent_back"], found["tasks"][0]["name"] == task) == (1, False)
    text = studio.get(f"/api/projects/{project}/export/sent_back.csv").text
    assert [line.split(",")[0] for line in text.splitlines()] == ["task", str(task)]
    studio.post_votes(project, (task, "new0", "cat"), (task, "new1", "dog"))
    studio.fit(project, "mv")
    assert task in [one["name"] for one in studio.at(project, "GET", "/next?most=100")["tasks"]]
    undo(studio, project)
    assert queue(studio, project)["sent_back"] == 0


def test_two_reviewers_get_different_tasks_and_judge_under_their_names(studio, project):
    ann, bob = first(studio, project, "ann"), first(studio, project, "bob")
    assert ann != bob
    assert first(studio, project, "ann") == ann
    act(studio, project, "gold", ann, "ann", label="cat")
    act(studio, project, "gold", bob, "J%C3%BCrgen", label="dog")
    who = {one["task"]: one["reviewer"] for one in studio.at(project, "GET", "/gold")}
    assert who == {ann: "ann", bob: "Jürgen"}
    assert undo(studio, project, "ann")["task"] == ann  # bob's action was later, but is his
    assert studio.gold(project) == {bob: "dog"}
    text = studio.get(f"/api/projects/{project}/export/judgements.csv").text
    head, row = [line.split(",") for line in text.splitlines()]
    assert head == ["task", "truth", "label_then", "reviewer", "at", "note"]
    assert (row[:2], row[3]) == ([str(bob), "dog"], "Jürgen")
    text = studio.get(f"/api/projects/{project}/export/judgements.jsonl").text
    assert json.loads(text.splitlines()[0])["reviewer"] == "Jürgen"


def test_a_task_is_held_for_ten_minutes(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    holds = Holds()
    holds.hold(1, "ann", "task")
    for seconds, held in ((0, ["task"]), (599, ["task"]), (600, [])):
        now[0] = 1000.0 + seconds
        assert holds.by_others(1, "bob") == held
    now[0] = 1000.0
    assert holds.by_others(1, "ann") == holds.by_others(2, "bob") == []


def test_notes_and_the_agreement_of_reviewers_with_the_labels(studio, project):
    task = queue(studio, project, "ann")["tasks"][0]
    rows = studio.at(project, "GET", "/tasks", params={"sort": "task", "most": 4})["rows"]
    for row in rows[:3]:
        act(studio, project, "gold", row["at"], "ann", label=row["label"])
    other = next(name for name in ("cat", "dog") if name != rows[3]["label"])
    act(studio, project, "gold", rows[3]["at"], "ann", label=other)
    assert studio.at(project, "GET", "/reviewers") == [
        {"reviewer": "ann", "judged": 4, "compared": 4, "agreed": 3}
    ]
    studio.fit(project, "ds")  # the labels are the truths now, and prove nothing
    act(studio, project, "gold", rows[3]["at"], "ann", label=rows[3]["label"])
    assert studio.at(project, "GET", "/reviewers")[0]["agreed"] == 4
    headers = {"x-finegold-reviewer": "ann"}
    studio.at(project, "PUT", "/note", json={"task": 0, "text": "a cat?"}, headers=headers)
    assert studio.at(project, "GET", "/tasks/0")["note"] == "a cat?"
    assert studio.at(project, "GET", "/gold")[0]["note"] == "a cat?"
    studio.at(project, "PUT", "/note", json={"task": 0, "text": " "})
    assert studio.at(project, "GET", "/tasks/0")["note"] == ""
    assert task["note"] == ""


def test_a_refit_is_offered_only_when_there_is_something_to_learn(studio, project):
    def to_learn(project):
        return queue(studio, project)["to_learn"]

    body = b"task,worker,label,gold\n1,ann,cat,cat\n1,bob,dog,cat\n2,ann,dog,\n2,bob,dog,\n"
    known = studio.upload("votes.csv", body)  # whose truths are nothing to learn
    assert studio.read(known, gold="gold")["job"]["state"] == "done"
    act(studio, project, "gold", 1, label="cat")
    assert to_learn(project) == 1
    for each in (project, known):
        studio.fit(each, "ds")
        assert to_learn(each) == 0
        act(studio, each, "gold", 1, label="dog")  # as many truths as before, but another one
        assert to_learn(each) == 1
        undo(studio, each)
        assert to_learn(each) == 0


def test_the_next_task_needs_one_result_in_memory(studio, project):
    studio.fit(project, "ds")
    workspace = studio.services.workspace
    workspace._loaded.clear()
    act(studio, project, "gold", 1, label="cat")
    assert queue(studio, project)["to_learn"] == 1
    assert len(workspace._loaded) == 1


TABLE = (
    "task,worker,label,text,picture,page\n7,x,cat,It purrs,images/7.png,http://a.example/7\n"
    "8,y,dog,it barks,../secret.png,https://a.example/8.jpg?size=2\n9,y,dog,woof,.hidden/9.png,note.txt\n"
)


def content(studio, project, at):
    found = studio.at(project, "GET", f"/tasks/{at}/content")
    return [(one["name"], one["kind"], one["href"], one["is_remote"]) for one in found]


def test_content_is_kept_when_the_source_is_gone_and_media_come_only_from_the_folder(studio):
    for place in ("images/7.png", ".hidden/9.png", "../secret.png"):
        path = studio.folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(PIXEL)
    (studio.folder / "page.csv").write_text(TABLE)
    project = studio.create("page.csv")
    studio.read(project, **studio.at(project, "GET", "/preview")["guess"])
    (studio.folder / "page.csv").rename(studio.folder / "moved.csv")
    picture = f"/api/projects/{project}/tasks/0/media/1"
    assert content(studio, project, 0) == [
        ("text", "text", None, False),
        ("picture", "image", picture, False),
        ("page", "link", "http://a.example/7", True),
    ]
    assert content(studio, project, 1)[1:] == [
        ("picture", "text", None, False),
        ("page", "image", "https://a.example/8.jpg?size=2", True),
    ]
    assert [one[1] for one in content(studio, project, 2)] == ["text", "text", "text"]
    assert studio.get(picture).content == PIXEL
    assert studio.get(picture).headers["content-type"] == "image/png"
    (studio.folder / "link.png").symlink_to(studio.folder / "../secret.png")
    outside = ("../secret.png", ".hidden/9.png", str(studio.folder / "../secret.png"), "link.png")
    for path in (*outside, "moved.csv", "images"):
        studio.at(project, "PATCH", json={"template": f"{path}\nmarkdown: images/7.png"})
        for place in (0, 1, 2):
            answer = studio.get(f"/api/projects/{project}/tasks/0/media/{place}")
            assert answer.status_code == 404, path
    studio.at(project, "PATCH", json={"template": "Is it a cat?\nimages/{task}{page}\n{text}"})
    shown = studio.at(project, "GET", "/tasks/0/content")
    assert [one["text"] for one in shown] == [
        "Is it a cat?",
        "images/7http://a.example/7",
        "It purrs",
    ]


def test_other_servers_are_asked_for_images_only_after_consent(studio, project):
    assert studio.at(project, "GET")["remote"] is False
    for consents, images in ((None, "'self'"), (True, "*"), (False, "'self'")):
        studio.at(project, "PATCH", json={"remote": consents})
        policy = studio.get("/").headers["content-security-policy"]
        assert f"img-src {images} data:;" in policy
        assert "script-src 'self'" in policy


def test_tasks_to_judge_blindly_come_without_votes_and_labels(studio, project):
    studio.fit(project, "ds")
    assert studio.at(project, "GET")["blind"] is True  # as new projects are
    (hidden, *_), n_open = queue(studio, project)["tasks"], queue(studio, project)["left"]
    assert {name for name, value in hidden["row"].items() if value} <= {"code", "task", "n_votes"}
    assert (hidden["probabilities"], hidden["predictions"]) == ([], [])
    assert studio.at(project, "PATCH", json={"blind": False})["blind"] is False
    assert studio.at(project, "PATCH", json={"name": "new"})["blind"] is False  # the switch is kept
    shown = queue(studio, project)
    assert (shown["tasks"][0]["name"], shown["left"]) == (hidden["name"], n_open)
    assert len(shown["tasks"][0]["row"]["votes"]) == 5
