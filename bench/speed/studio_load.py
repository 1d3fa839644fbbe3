"""The studio under load: a million votes, twenty reviewers who judge at once for a minute, and idle connections.

    python -m bench.speed.studio_load --tasks 200000 --reviewers 20 --seconds 60

Each reviewer has an event stream open, asks for the next task and judges it, as the page does. Printed are latencies
(p50, p99), memory before and after, and whether every confirmed judgement is in the project file after a kill.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

from tests.support.studio_helpers import Client, running


def memory(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=200_000)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--idle", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    generator = np.random.default_rng(0)
    task = np.repeat(np.arange(asked.tasks), 5)
    truth = generator.integers(0, 4, asked.tasks)
    right = generator.random(len(task)) < 0.7
    label = np.where(right, truth[task], generator.integers(0, 4, len(task)))
    votes = pl.DataFrame(
        {"task": task, "annotator": generator.integers(0, 2000, len(task)), "label": label}
    )
    with tempfile.TemporaryDirectory() as folder:
        votes.write_csv(Path(folder) / "votes.csv")
        with running(folder, "votes.csv") as studio, studio.client() as client:
            began = time.perf_counter()
            client.take(1, client.at(1, "GET", "/sources")[0]["id"])
            print(f"read and fitted {len(votes):,} votes in {time.perf_counter() - began:.1f} s")
            client.next(1)
            before, asking, judging, confirmed = memory(studio.process.pid), [], [], []
            end = time.monotonic() + asked.seconds

            def review(who: str) -> None:
                with (
                    Client(studio.address) as own,
                    own.stream("GET", "/api/projects/1/events") as news,
                ):
                    reader = threading.Thread(target=drain, args=(news,), daemon=True)
                    reader.start()
                    with Client(studio.address) as page:
                        while time.monotonic() < end:
                            start = time.perf_counter()
                            name = page.next(1, who, most=2)["tasks"][0]["name"]
                            middle = time.perf_counter()
                            assert page.judge(1, name, str(truth[name]), who=who).status_code == 200
                            judging.append(time.perf_counter() - middle)
                            asking.append(middle - start)
                            confirmed.append(name)
                            # a person looks at a task for a second
                            time.sleep(1)

            people = [
                threading.Thread(target=review, args=(f"p{n}",)) for n in range(asked.reviewers)
            ]
            idle = [Client(studio.address) for _ in range(asked.idle)]
            streams = [each.stream("GET", "/api/projects/1/events") for each in idle]
            for stream in streams:
                stream.__enter__()
            for person in people:
                person.start()
            for person in people:
                person.join()
            for name, values in (("next task", asking), ("judgement", judging)):
                p99 = statistics.quantiles(values, n=100)[98]
                print(
                    f"{name}: p50 {1000 * statistics.median(values):.0f} ms, p99 {1000 * p99:.0f} ms"
                )
            print(
                f"memory {before:,.0f} -> {memory(studio.process.pid):,.0f} MiB; {len(confirmed):,} judged"
            )
            studio.kill()
        with running(folder, "votes.csv") as studio, studio.client() as client:
            kept = client.truths(1)
            print(
                f"{len(set(confirmed) - kept.keys())} of {len(confirmed):,} confirmed judgements lost"
            )


def drain(news: object) -> None:
    """Read an event stream until it ends."""
    try:
        for _ in news.iter_lines():  # type: ignore[attr-defined]
            pass
    except Exception:
        return


if __name__ == "__main__":
    main()
