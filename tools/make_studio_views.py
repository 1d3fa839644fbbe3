"""Makes a picture of every view of the studio, light and dark, wide and narrow: python tools/make_studio_views.py

Needs what make_screenshots.py needs. The pictures are in images/studio, and studio_views.md shows them.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from make_screenshots import CHROMIUM, FLAGS, IMAGES, SAMPLE, started
from playwright.sync_api import Browser, Page, sync_playwright

PLACE = IMAGES / "studio"
SHAPES = [(scheme, width) for scheme in ("light", "dark") for width in (1440, 1024, 420)]
QUALITY = 72  # of the JPEG files
SURE = 0.8  # probability that the model of the sample gives to its class

# The address of each view in the project, what shows that it is there, and what is clicked then.
VIEWS = {
    "votes": ("columns", "#models-read", ""),
    "method": ("method", "#fits", ""),
    "overview": ("overview", "#models", ""),
    "tasks": ("tasks", "#tasks tr.open", "#tasks tr.open >> nth=0"),
    "annotators": ("annotators", "#annotators tr.open", "#annotators tr.open >> nth=0"),
    "classes": ("classes", "h1:has-text('Classes')", ""),
    "judge": ("judge", "#judging", ""),
    "measure": ("measure", "#measured", ""),
    "people": ("people", "#people", ""),
    "export": ("export", ".exports", ""),
}


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        views_of_votes(browser, Path(folder) / "votes")
        view_of_judges(browser, Path(folder) / "judges")
        browser.close()


def views_of_votes(browser: Browser, folder: Path) -> None:
    folder.mkdir()
    shutil.copy(SAMPLE / "votes.csv", folder)
    write_predictions(folder / "model.csv")
    with started(folder) as link:
        address, _, token = link.partition("/?token=")
        with httpx.Client(
            base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60
        ) as client:
            client.put("/api/projects/1/votes", json={}).raise_for_status()
            wait(client)
            client.post("/api/projects/1/predictions?name=model.csv").raise_for_status()
            client.post("/api/projects/1/fits", json={}).raise_for_status()
            wait(client)
            check_a_sample(client)
        for scheme, width in SHAPES:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(link)
            page.wait_for_selector("#main *")
            for name, (view, ready, click) in VIEWS.items():
                page.goto(f"{address}/#/p/1/{view}")
                page.wait_for_selector(ready)
                if click:
                    page.click(click)
                    page.wait_for_selector(".beside .judge-name")
                take(page, name, scheme, width)
            page.goto(f"{address}/#/")
            page.wait_for_selector("#drop")
            page.locator("main small", has_text="is stored in").evaluate("one => one.remove()")
            take(page, "start", scheme, width)
            page.close()


def check_a_sample(client: httpx.Client) -> None:
    """Two people check tasks that were drawn at random, and disagree on the first."""
    tokens = [
        client.post("/api/projects/1/people", json={"name": name}).json()["token"]
        for name in ("Kim", "Lou")
    ]
    drawn = client.post(
        "/api/projects/1/audit", json={"n": 40, "auditors": ["Kim", "Lou"], "overlap": 0.2}
    )
    drawn.raise_for_status()
    with (SAMPLE / "truth.csv").open(newline="") as file:
        truths = {row[0]: row[1] for row in csv.reader(file)}
    classes, wrong = drawn.json()["classes"], 0
    for place, token in enumerate(tokens):
        headers = {"authorization": f"Bearer {token}"}
        while task := client.get("/api/projects/1/audit/next", headers=headers).json()["task"]:
            truth = truths.get(str(task["name"]), classes[0])
            label = (
                next(name for name in classes if name != truth) if place and not wrong else truth
            )
            wrong += place
            answer = {"task": task["name"], "label": label}
            client.post(
                "/api/projects/1/audit/answers", json=answer, headers=headers
            ).raise_for_status()


def view_of_judges(browser: Browser, folder: Path) -> None:
    command = ["simulate", "--judges", "6", "--tasks", "400", "--seed", "2", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "finegold", *command], check=True)
    with started(folder, "log.csv") as link:
        for scheme, width in SHAPES:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(link)
            if (scheme, width) == SHAPES[0]:
                page.click("#read")
            page.wait_for_selector("#chart-judge-ranking svg", timeout=120_000)
            take(page, "judges", scheme, width)
            page.close()


def wait(client: httpx.Client) -> None:
    """Until the job is over."""
    while client.get("/api/projects/1").json()["job"]["state"] in ("queued", "running"):
        pass


def take(page: Page, name: str, scheme: str, width: int) -> None:
    page.wait_for_function("() => !document.querySelector('.spin')", timeout=60_000)
    page.screenshot(path=PLACE / f"{name}-{scheme}-{width}.jpg", type="jpeg", quality=QUALITY)


def write_predictions(path: Path) -> None:
    """A model that knows the truth of most tasks of the sample, and of ten tasks without votes."""
    with (SAMPLE / "truth.csv").open(newline="") as file:
        truths = [row[:2] for row in csv.reader(file)][1:]
    classes = sorted({truth for _, truth in truths})
    rows = [
        (task, truth if place % 8 else classes[0]) for place, (task, truth) in enumerate(truths)
    ]
    rows += [(str(1000 + place), classes[place % len(classes)]) for place in range(10)]
    rest = (1 - SURE) / (len(classes) - 1)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["task", *classes])
        out.writerows(
            [task, *(SURE if name == said else rest for name in classes)] for task, said in rows
        )


if __name__ == "__main__":
    main()
