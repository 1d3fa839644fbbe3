"""The figures of next.py as a page: what `finegold next` does, a table, and the curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["write_page"]

Floats = NDArray[np.float64]

NEAR = 0.005  # half a point of accuracy
COLOURS = {"random": "#8c8c8c", "next": "#7a0c2e"}

TEXT = """# Where to spend the next vote

`finegold next MODEL` ranks tasks by the expected gain of one more vote, counts the tasks that need none, and lists
annotators to retrain or drop. The model is a file saved with `finegold aggregate --save`. Fold in new votes with
`finegold update`, then make the next plan.

```console
$ finegold aggregate votes.csv --method ptbcc --save model.finegold -o labels.csv
...
$ finegold next model.finegold --budget 3 --annotators annotators.csv
Ask about (3)

  task   label   confidence   n votes    gain
 ─────────────────────────────────────────────
   190   cat          0.441         5   0.278
...

Look after (8)

  annotator   advice    n votes   accuracy   why
 ─────...
         17   drop           34      0.377   right in 23% to 54% of 34 votes, where 74% is usual; ...
          5   retrain        50      0.380   right in 25% to 51% of 50 votes, where 74% is usual; votes dog in ...
...
3 tasks to ask about, ... safe
annotators: ... to drop, ... to retrain (--annotators OUT lists all)
```

`-o OUT` writes all tasks to ask about, `--safe-tasks OUT` those that need no further vote (`--safe P` sets the required
probability), `--available A,B` sets who can vote next, and `--json` prints everything for programs. In Python:

```python
import finegold

plan = finegold.aggregate("votes.csv", "ptbcc").next(budget=3)
print(plan.tasks().columns, len(plan.tasks()), plan.annotators()["advice"].to_list()[:2])
```

```text
['task', 'label', 'confidence', 'n_votes', 'gain'] 3 ['drop', 'retrain']
```

## What the gain is

A label drawn from the posterior of a task is right with a probability that is the sum of its squared probabilities. The
gain is the expected increase of this probability by one more vote, averaged over who may vote next and what they would
vote. Everybody who has not voted on the task may vote next, with a probability proportional to their number of votes so
far. The model predicts their votes (`Result.predict`). The probability that the most probable label is right would be a
simpler measure, but it does not change if one vote cannot overturn the label although two could, so that nearly all
tasks would have the same gain.

For tasks with few votes, the probabilities of the methods are too high, because they treat the parameters of annotators
as certain. So the gain is computed for the square root of the posterior. Without that, *ms* below needed 73 % of the
votes instead of {ms}.

A task is safe if its label has at least the probability `--safe` (default .95), or if its truth is known. On the
sample, which was simulated from its model, ptbcc finds 240 of 300 tasks safe, and 98 % of them are right. The default
method, `anchored`, gives lower probabilities to tasks with few votes: with the five votes of the sample no label
reaches .95. With `--safe 0.8` it finds 157 tasks safe, and 99 % of them are right. If known truths show that the
probabilities are too low (`finegold trust --truth`: a best temperature below 1), use a lower value.

An annotator is listed if even the upper end of the interval of their accuracy is below the median of all annotators.
The advice is to drop them if chance explains their votes (chi-squared, p > .05) or if their vote is worth less than a
tenth of a usual one; otherwise to retrain them, with their most frequent confusion. Annotators with fewer than ten
votes are not listed.

## What it saves

The votes of the ten data sets are revealed a batch at a time ({steps} batches) in the order that `finegold next` asks
for them, and in random order. All of it is done with PTBCC, which is fitted after every batch. Means of {seeds}
seeds. "All votes" is the accuracy of PTBCC on all of them; the columns say what share of the votes is needed until
that accuracy is first reached, and until the mean of the seeds stays within half a point of it.
Made by `python bench/next.py`.

{table}

![accuracy against votes spent](next.svg)

{why}
"""


def write_page(kept: dict[str, Any], folder: Path) -> None:
    figures = kept["figures"]
    found = {name: _figures(figures, name) for name in figures["full"]}
    _plot(figures, folder / "next.svg")
    seeds = max(row["seed"] for row in figures["curves"]) + 1
    ms = f"{found['ms']['next']:.0%}".replace("%", " %") if "ms" in found else "fewer"
    page = TEXT.format(steps=figures["steps"], seeds=seeds, table=_table(found), why=_why(found), ms=ms)
    (folder / "next.md").write_text(page)


def _curves(figures: dict[str, Any], name: str, kind: str) -> tuple[Floats, Floats]:
    """Shares of the votes, and the accuracies of every seed."""
    rows = [row for row in figures["curves"] if row["data"] == name and row["kind"] == kind]
    votes = np.array(rows[0]["votes"])
    return votes / votes[-1], np.array([row["accuracy"] for row in rows])


def _figures(figures: dict[str, Any], name: str) -> dict[str, float]:
    full = figures["full"][name]
    found: dict[str, float] = {"full": full}
    for kind in ("random", "next"):
        share, accuracy = _curves(figures, name, kind)
        found[kind] = float(np.mean([share[np.argmax(row >= full - 1e-9)] for row in accuracy]))
        stays = np.flatnonzero(accuracy.mean(axis=0) < full - NEAR)
        found[f"{kind} near"] = float(share[stays[-1] + 1]) if stays.size else float(share[0])
    rows = [row for row in figures["curves"] if row["data"] == name and row["kind"] == "next"]
    found["votes"] = rows[0]["votes"][-1]
    found["lost"], found["spent"] = (float(np.mean([row[what] for row in rows])) for what in ("lost", "spent"))
    then = int(np.argmax(share >= figures["look_at"]))
    found["missing"] = full - float(accuracy[:, then].mean())
    found["won"] = found["lost"] - found["missing"] * figures["truths"][name]
    return found


def _table(found: dict[str, dict[str, float]]) -> str:
    head = "| data | votes | all votes | random | next | fewer | half a point: random | next | fewer |"
    lines = [head, "|---" * 9 + "|"]
    for name, of in found.items():
        reach = [_percent(of["random"]), _percent(of["next"]), _percent(1 - of["next"] / of["random"])]
        near = [
            _percent(of["random near"]),
            _percent(of["next near"]),
            _percent(1 - of["next near"] / of["random near"]),
        ]
        cells = [name, format(of["votes"], ",.0f"), format(of["full"], ".4f"), *reach, *near]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _why(found: dict[str, dict[str, float]]) -> str:
    """Where the saving is small: how far the labels are from those of all votes."""
    short = {name: of for name, of in found.items() if 1 - of["next"] / of["random"] < 0.25}
    lines = [
        "Where fewer than a quarter are saved, the votes are just enough for the accuracy that they give. The table",
        "compares the labels after three quarters of the votes, in the order of `finegold next`, with those of all.",
        "They differ both ways: some tasks are not right yet, others are right that the last votes will turn wrong. Of",
        "the first, some have no vote left to reveal, where a plan without that limit would go on asking; the others",
        "are doubtful tasks that wait for their last votes.",
        "",
        "| data | not right yet | without a vote left | right, but not with all votes | accuracy missing, points |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {of['lost']:.1f} | {of['spent']:.1f} | {of['won']:.1f} | {100 * of['missing']:.1f} |"
            for name, of in short.items()
        ),
    ]
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _plot(figures: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "finegold"  # the same figures make the same file
    import matplotlib.pyplot as plt

    names = list(figures["full"])
    columns = min(len(names), 5)
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.3 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        axis.axhline(figures["full"][name], color="black", linewidth=0.6, linestyle=":")
        for kind, colour in COLOURS.items():
            share, accuracy = _curves(figures, name, kind)
            axis.plot(100 * share, accuracy.mean(axis=0), color=colour, label=kind)
            axis.fill_between(
                100 * share, accuracy.min(axis=0), accuracy.max(axis=0), color=colour, alpha=0.15, linewidth=0
            )
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
    axes[0, 0].legend(fontsize=7, frameon=False)
    figure.supxlabel("votes revealed, %", fontsize=9)
    figure.supylabel("accuracy", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
