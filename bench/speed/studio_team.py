"""Two leads and ten reviewers use one studio at the same time: is any judgement lost, and does memory grow?

python -m bench.speed.studio_team                    two minutes on 20,000 tasks
python -m bench.speed.studio_team --seconds 20       shorter
python -m bench.speed.studio_team --no-keep          do not write bench/results/studio_team.json

Every person has an open event stream. Reviewers judge, skip, write notes and undo; leads look at all pages, add votes,
refit and export the sheet. At the end the studio is killed and started again, and each judgement that was confirmed is
compared with the project file. The script ends with an error if one is missing or changed, if two reviewers were handed
the same task, if a request failed, or if the memory of the last quarter exceeds that of the second by a tenth.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from bench.machine import keep
from bench.speed.studio import Studio, make_votes

PAGES = (
    "",
    "/results",
    "/tasks?sort=n_votes",
    "/annotators",
    "/results/annotators",
    "/next",
    "/gold",
    "/people",
)
GROWTH = 1.1  # of the memory, at most
FITS_EVERY = 20  # seconds


class Team:
    """What all people did, and what went wrong."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address, self.end = address, time.monotonic() + seconds
        self.confirmed: dict[str, dict[Any, Any]] = {}  # by reviewer: task -> label
        self.handed: Counter[Any] = Counter()
        self.wrong: list[str] = []
        self.waits: dict[str, list[float]] = {"next": [], "judge": [], "page": []}
        self.n_events = 0

    def client(self, token: str, name: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} | (
            {"x-finegold-reviewer": name} if name else {}
        )
        return httpx.Client(base_url=self.address, headers=headers, timeout=120)

    def ask(self, client: httpx.Client, kind: str, method: str, path: str, **more: Any) -> Any:
        began = time.perf_counter()
        answer = client.request(method, f"/api/projects/1{path}", **more)
        self.waits[kind].append(time.perf_counter() - began)
        if answer.status_code >= 300:
            self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            return None
        return (
            answer.json()
            if answer.content and "json" in answer.headers["content-type"]
            else answer.content
        )

    def listen(self, token: str) -> None:
        with self.client(token) as client, client.stream("GET", "/api/projects/1/events") as stream:
            for line in stream.iter_lines():
                self.n_events += line.startswith("data:")
                if time.monotonic() > self.end:
                    return

    def review(self, token: str, name: str) -> None:
        source, mine = random.Random(name), self.confirmed.setdefault(name, {})
        with self.client(token) as client:
            while time.monotonic() < self.end:
                queue = self.ask(client, "next", "GET", "/next?most=2")
                if queue is None or not queue["tasks"]:
                    continue
                task, luck = queue["tasks"][0]["name"], source.random()
                if luck < 0.05:
                    self.ask(client, "judge", "POST", "/skip", json={"task": task})
                    continue
                if luck < 0.1:
                    self.ask(
                        client,
                        "judge",
                        "PUT",
                        "/note",
                        json={"task": task, "text": f"{name} looked at it"},
                    )
                label = source.choice(queue["classes"])
                given = self.ask(
                    client,
                    "judge",
                    "POST",
                    "/gold",
                    json={"task": task, "label": label, "before": None},
                )
                if given is None:
                    continue
                self.handed[task] += 1
                mine[task] = label
                if luck > 0.95 and self.ask(
                    client, "judge", "POST", "/undo", json={"action": given["action"]}
                ):
                    del mine[task]
                    self.handed[task] -= 1

    def lead(self, token: str, name: str) -> None:
        source, n, next_fit = random.Random(name), 0, time.monotonic()
        with self.client(token, name) as client:
            while time.monotonic() < self.end:
                self.ask(client, "page", "GET", source.choice(PAGES))
                n += 1
                if n % 20 == 0:
                    rows = f"task,annotator,label\nnew-{name}-{n},worker,{source.randrange(4)}\n"
                    address = f"/arrivals?name={name}-{n}.csv&take=true"
                    self.ask(client, "page", "POST", address, content=rows.encode())
                if n % 30 == 0:
                    self.ask(client, "page", "GET", "/export/sheet.csv")
                if time.monotonic() > next_fit:
                    next_fit += FITS_EVERY
                    self.ask(client, "page", "POST", "/fits", json={})


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        make_votes(Path(folder), options.tasks, 200)
        figures, wrong = measure(Path(folder), options.seconds)
    for name, value in figures.items():
        print(f"{name:<40} {value:10.3f}")
    if options.keep:
        keep(
            "studio_team",
            {"tasks": options.tasks, "seconds": options.seconds, **figures, "wrong": wrong},
        )
    sys.exit("\n".join(wrong[:20]) if wrong else 0)


def measure(folder: Path, seconds: float) -> tuple[dict[str, float], list[str]]:
    studio = Studio(folder)
    studio.client.put("/api/projects/1/votes", json={})
    studio.wait()
    for method in (
        "ds",
        "ptbcc",
        "anchored",
    ):  # what is kept in memory is there before the people come
        studio.client.post("/api/projects/1/fits", json={"method": method})
        studio.wait()
        for path in (*PAGES, "/export/sheet.csv"):
            studio.client.get(f"/api/projects/1{path}")
    owner = studio.client.headers["authorization"].split()[1]
    names = [f"reviewer {n}" for n in range(1, 11)]
    invite = "/api/projects/1/people"
    tokens = {
        name: studio.client.post(invite, json={"name": name}).json()["token"] for name in names
    }
    team = Team(str(studio.client.base_url), seconds)
    threads = [threading.Thread(target=team.review, args=(tokens[name], name)) for name in names]
    threads += [
        threading.Thread(target=team.lead, args=(owner, name)) for name in ("lead 1", "lead 2")
    ]
    listeners = [
        threading.Thread(target=team.listen, args=(token,), daemon=True)
        for token in (*tokens.values(), owner)
    ]
    for thread in (*threads, *listeners):
        thread.start()
    memory = []
    while time.monotonic() < team.end:
        time.sleep(min(2, seconds / 20))
        memory.append(studio.memory("VmRSS"))
    for thread in threads:
        thread.join()
    quarter = len(memory) // 4
    second, last = max(memory[quarter : 2 * quarter]), max(memory[-quarter:])
    if last > GROWTH * second:
        team.wrong.append(f"memory grew from {second:.2f} to {last:.2f} GiB")
    if twice := [task for task, n in team.handed.items() if n > 1]:
        team.wrong.append(
            f"{len(twice)} tasks were judged by two reviewers who had not seen each other's truth"
        )
    studio.process.kill()
    studio.process.wait(60)
    again = Studio(folder)
    kept = {
        (row["reviewer"], row["task"]): row["label"] for row in again.get("/api/projects/1/gold")
    }
    given = {
        (name, task): label for name, mine in team.confirmed.items() for task, label in mine.items()
    }
    lost = [
        f"{key}: {label!r} became {kept.get(key)!r}"
        for key, label in given.items()
        if kept.get(key) != label
    ]
    again.end()
    figures = {
        "judgements": len(given),
        "judgements that were lost or changed": len(lost),
        "judgements that nobody gave": len(kept.keys() - given.keys()),
        "events": team.n_events,
        "memory, second quarter, GiB": second,
        "memory, last quarter, GiB": last,
    }
    for kind, waits in team.waits.items():
        figures |= {f"{kind}: requests": len(waits), f"{kind}: median, s": statistics.median(waits)}
        figures[f"{kind}: 99 %, s"] = statistics.quantiles(waits, n=100)[98]
    return figures, [*team.wrong, *lost]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--no-keep", dest="keep", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
