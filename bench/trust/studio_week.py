"""A week with the studio on real data: is the number that it shows right after each refit?

    python -m bench.trust.studio_week ../shared/datasets ../shared/real --seeds 3

Of each set with at least 250 known truths and at most 3,000 tasks: the votes are read, 100 random tasks are checked by
two people who share 20 of them, then 30 tasks of the queue are judged and the labels computed again, five times. People
are right, or answer at random in a tenth of the cases (`--wrong 0.1`). After each fit the measured share and its interval
are compared with the share of right labels, which is computed here from the export and the known truths.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import polars as pl

from tests.support.studio_helpers import studio_in_thread

LEAST_TRUTHS, MOST_TASKS, CHECKS, JUDGED, REFITS = 250, 3000, 100, 30, 5


def find_sets(folders: list[str]) -> list[Path]:
    """Return the folders with a table of votes and one of truths."""
    found = [path.parent for folder in folders for path in Path(folder).glob("*/truth.csv*")]
    return sorted(path for path in found if list(path.glob("label.csv*")))


def read_set(folder: Path) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """Return votes of tasks with a known truth, and the truths; None if there are too few or too many."""
    tables = [
        pl.read_csv(next(folder.glob(name)), infer_schema=False)
        for name in ("label.csv*", "truth.csv*")
    ]
    votes, truth = (
        table.rename(dict(zip(table.columns, names, strict=False)))
        for table, names in zip(
            tables, (["task", "annotator", "label"], ["task", "truth"]), strict=True
        )
    )
    truths = dict(zip(truth["task"], truth["truth"], strict=True))
    votes = (
        votes.select("task", "annotator", "label")
        .drop_nulls()
        .filter(pl.col("task").is_in(list(truths)))
    )
    tasks, classes = set(votes["task"]), set(votes["label"])
    known = {task: label for task, label in truths.items() if task in tasks and label in classes}
    votes = votes.filter(pl.col("task").is_in(list(known)))
    return (votes, known) if LEAST_TRUTHS <= len(known) <= MOST_TASKS else None


def week(
    votes: pl.DataFrame, truth: dict[str, str], wrong: float, seed: int
) -> list[tuple[float, float, float, float]]:
    """Return what was true, and what the studio said, after the first fit and each refit."""
    source, classes = random.Random(seed), sorted(set(votes["label"]))
    rows = []

    def answer(task: object) -> str:
        right = truth[str(task)]
        return source.choice(classes) if source.random() < wrong else right

    with tempfile.TemporaryDirectory() as folder, studio_in_thread(Path(folder)) as studio:
        votes.write_csv(Path(folder) / "votes.csv")
        project = studio.open("votes.csv", missing=[], normalise=False)
        people = ["ann", "bob"]
        wanted = {"n": CHECKS, "auditors": people, "seed": seed}
        sample = studio.at(project, "POST", "/samples", json=wanted)["id"]
        for who in people:
            studio.check(project, sample, answer, who)
        for one in studio.at(project, "GET", "/samples")[0]["disagreements"]:
            label = truth[str(one["task"])]
            studio.judge(project, one["task"], label, kind="settle", sample=sample)
        for number in range(REFITS + 1):
            if number:
                for _ in range(JUDGED):
                    tasks = studio.next(project, "ann")["tasks"]
                    if not tasks:
                        break
                    studio.judge(project, tasks[0]["name"], answer(tasks[0]["name"]), who="ann")
                assert studio.fit(project)["job"]["state"] == "done"
            labels = studio.labels(project)
            true = sum(label == truth[str(task)] for task, label in labels.items()) / len(labels)
            said = studio.at(project, "GET", "/summary")["measured"]
            rows.append((true, said["estimate"], said["low"], said["high"]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()
    held, total, widths = 0, 0, 0.0
    print("| set | tasks | true | said | interval | held |\n|---|---|---|---|---|---|")
    for folder in find_sets(asked.folders):
        if asked.only and folder.name not in asked.only:
            continue
        found = read_set(folder)
        for seed in range(asked.seeds if found else 0):
            rows = week(*found, asked.wrong, seed)
            inside = [low <= true <= high for true, _, low, high in rows]
            true, said = (" ".join(f"{100 * row[k]:.0f}" for row in rows) for k in (0, 1))
            spans = " ".join(f"{100 * row[2]:.0f}–{100 * row[3]:.0f}" for row in rows)
            cells = [folder.name, f"{len(found[1]):,}", true, said, spans]
            print(f"| {' | '.join(cells)} | {sum(inside)} of {len(rows)} |", flush=True)
            held, total = held + sum(inside), total + len(rows)
            widths += sum(high - low for _, _, low, high in rows)
    print(f"\n{held} of {total} held; mean width {100 * widths / max(total, 1):.1f} points")


if __name__ == "__main__":
    main()
