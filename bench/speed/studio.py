"""The studio with a million tasks: how long until something is seen, how long a page takes, and how much memory.

python -m bench.speed.studio                       one million tasks, five million votes, 2,000 annotators
python -m bench.speed.studio --tasks 100000        fewer
python -m bench.speed.studio --no-keep             do not write bench/results/studio.json

Tasks have names of text, as in most files. Views are timed in headless Chromium, from the address to the picture; pages
of tables over HTTP, each kind of question a few times with another order or another word.
"""

from __future__ import annotations

import argparse
import itertools
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import polars as pl
from playwright.sync_api import Browser, sync_playwright

from bench.machine import keep

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]
PROMISES = {
    "first view": 2.0,
    "page of a table": 0.3,
    "next task to judge": 0.3,
    "memory, GiB": 3.0,
}
AGAIN = 5


class Studio:
    """`finegold studio`, started as users do."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "finegold", "studio", "votes.csv", "--no-browser"]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        found = re.match(r"(http://\S+?)/\?token=(\S+)", self.link)
        assert found, "the studio did not start"
        headers = {"authorization": f"Bearer {found[2]}"}
        self.client = httpx.Client(base_url=found[1], headers=headers, timeout=600)
        self._wait_until_up()

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(path, params=query)
        answer.raise_for_status()
        return answer.json()

    def wait(self) -> None:
        """Until the job is over."""
        while (job := self.get("/api/projects/1")["job"])["state"] in ("queued", "running"):
            time.sleep(0.05)
        assert job["state"] == "done", job

    def memory(self, name: str) -> float:
        """VmRSS (now) or VmHWM (the most so far), in GiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 2**20  # type: ignore[index]

    def end(self) -> None:
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def _wait_until_up(self) -> None:
        while True:
            try:
                self.client.get("/api/folder")
                return
            except httpx.TransportError:
                time.sleep(0.05)


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        make_votes(Path(folder), options.tasks, options.annotators)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        figures = measure(Path(folder), browser)
        browser.close()
    for name, value in figures.items():
        print(f"{name:<44} {value:8.3f}")
    if options.keep:
        keep("studio", {"tasks": options.tasks, "annotators": options.annotators, **figures})
    broken = [name for name, most in PROMISES.items() if figures[name] > most]
    sys.exit(f"promised, but not kept: {', '.join(broken)}" if broken else 0)


def measure(folder: Path, browser: Browser) -> dict[str, float]:
    studio = Studio(folder)
    found = {
        "read the votes": timed(
            lambda: (studio.client.put("/api/projects/1/votes", json={}), studio.wait())
        )
    }
    found["fit the default"] = timed(
        lambda: (studio.client.post("/api/projects/1/fits", json={}), studio.wait())
    )
    found["memory after the fit, GiB"] = studio.memory("VmRSS")
    found |= {
        f"view: {name}": view(browser, studio, name)
        for name in ("overview", "tasks", "annotators", "judge")
    }
    pages = {name: slowest(studio, questions) for name, questions in kinds_of_pages().items()}
    found |= {f"page: {name}": seconds for name, seconds in pages.items()}
    found["next task to judge"] = statistics.median(judge_one(studio) for _ in range(AGAIN))
    found["memory, GiB"] = studio.memory("VmHWM")
    studio.end()
    found["page of a table"] = max(pages.values())
    again = Studio(folder)  # nothing is in memory yet
    found["first view"] = view(browser, again, "overview")
    found["first view: memory, GiB"] = again.memory("VmHWM")
    again.end()
    return found


def kinds_of_pages() -> dict[str, list[dict[str, Any]]]:
    return {
        "sorted": [
            {"sort": sort, "descending": down}
            for sort, down in itertools.product(
                ("task", "label", "confidence", "n_votes"), (True, False)
            )
        ],
        "deep": [{"sort": "confidence", "first": first} for first in (0, 250_000, 999_000)],
        "filtered": [{"doubt": doubt, "label": 1} for doubt in ("contested", "flipped", "tied")],
        "searched": [{"search": word} for word in ("image-0012", "99", "nothing")],
    }


def slowest(studio: Studio, questions: list[dict[str, Any]]) -> float:
    """The slowest question, by the median of several askings: the first makes the order, as for a user."""
    return max(
        statistics.median(
            timed(lambda q=q: studio.get("/api/projects/1/tasks", **q)) for _ in range(AGAIN)
        )
        for q in questions
    )


def judge_one(studio: Studio) -> float:
    """Judge the task at the head of the queue, and ask for the next one."""
    queue = studio.get("/api/projects/1/next", most=2)
    truth = {"task": queue["tasks"][0]["name"], "label": queue["classes"][0]}

    def judge() -> None:
        studio.client.post("/api/projects/1/gold", json=truth).raise_for_status()
        studio.get("/api/projects/1/next", most=2)

    return timed(judge)


def view(browser: Browser, studio: Studio, name: str) -> float:
    """From the address to the picture, in a browser that has seen nothing yet."""
    ready = {
        "overview": ".tiles",
        "tasks": "#tasks tr.open",
        "annotators": "#annotators tr.open",
        "judge": "#judging",
    }
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.link)  # signs in, and goes to the project
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(f"{studio.link.split('/?')[0]}/#/p/1/{name}")
    page.wait_for_selector(ready[name], timeout=120_000)
    seconds = time.perf_counter() - began
    context.close()
    return seconds


def timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def make_votes(folder: Path, n_tasks: int, n_annotators: int) -> None:
    """Five votes a task."""
    command = [
        sys.executable,
        "-m",
        "finegold",
        "simulate",
        "--out",
        str(folder / "made"),
        "--format",
        "parquet",
    ]
    sizes = [
        f"--tasks={n_tasks}",
        f"--annotators={n_annotators}",
        "--classes=4",
        "--votes-per-task=5",
    ]
    subprocess.run([*command, *sizes], check=True, capture_output=True)
    votes = pl.scan_parquet(folder / "made" / "votes.parquet")
    names = pl.format("image-{}", pl.col("task").cast(pl.String).str.zfill(7))
    votes.with_columns(task=names).sink_csv(folder / "votes.csv")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--annotators", type=int, default=2_000)
    parser.add_argument("--no-keep", dest="keep", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
