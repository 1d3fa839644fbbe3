# %% [markdown]
# # A panel of LLM judges
#
# Six judges of three families compare two answers to each prompt. They fail now and then, they prefer the answer that
# stands first, they are asked in both orders, twice each, and judges of one family err alike. The panel is simulated,
# so that the truth is known in the end; everything else is what you would do with verdicts of your own.
#
# Run it with `python examples/llm_judges.py`, or cell by cell in an editor that knows `# %%`.

# %%
import warnings
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import finegold
from finegold.insight.calibration import calibration
from finegold.insight.correlation import correlated_annotators

N_PROMPTS, ORDERS, REPEATS = 400, ("AB", "BA"), 2
SKILL = {
    **{"gpt-4o": 0.8, "gpt-4o-mini": 0.75, "gpt-4.1": 0.8},
    **{"claude-3-opus": 0.85, "claude-3-haiku": 0.8},
    "llama-3-70b": 0.75,
}
FOLLOWS = 0.7  # how often a judge sees a prompt as its family does
PREFERS_FIRST = 0.15  # how often a judge takes the first answer, whatever it says
FAILS = 0.04  # time-outs, refusals, text that is no verdict


# %%
def simulate_panel(seed: int = 0) -> tuple[pl.DataFrame, dict[str, str]]:
    """A row a call, as a log would have it: prompt, judge, order, verdict (first, second or error); and the truths."""
    rng = np.random.default_rng(seed)
    better = rng.integers(2, size=N_PROMPTS)  # 0: A, 1: B
    views: dict[str, np.ndarray] = {}
    rows = []
    for judge, skill in SKILL.items():
        own = np.where(rng.random(N_PROMPTS) < skill, better, 1 - better)
        family = views.setdefault(judge.split("-")[0], own)
        view = np.where(rng.random(N_PROMPTS) < FOLLOWS, family, own)
        for order, _ in product(ORDERS, range(REPEATS)):
            place = view if order == "AB" else 1 - view
            place = np.where(rng.random(N_PROMPTS) < PREFERS_FIRST, 0, place)
            verdict = np.where(
                rng.random(N_PROMPTS) < FAILS, "error", np.array(["first", "second"])[place]
            )
            rows += [(f"prompt-{i}", judge, order, text) for i, text in enumerate(verdict.tolist())]
    calls = pl.DataFrame(rows, schema=["prompt", "judge", "order", "verdict"], orient="row")
    return calls, {f"prompt-{i}": "AB"[k] for i, k in enumerate(better.tolist())}


calls, truth = simulate_panel()
print(calls.head(3))

# %% [markdown]
# ## From calls to votes
#
# A verdict names a place; a vote names an answer. A failed call is no vote: leave its label empty, and never make a
# class of it.


# %%
def with_labels(calls: pl.DataFrame) -> pl.DataFrame:
    """The answer that each verdict means: order AB has A first."""
    place = pl.col("verdict").replace_strict({"first": 0, "second": 1}, default=None)
    return calls.with_columns(label=pl.col("order").str.slice(place, 1))


calls = with_labels(calls)
print(f"{calls['label'].null_count()} of {calls.height} calls failed")

# %% [markdown]
# ## Repeats and swaps
#
# With `repeated="majority"` each judge has one vote on a prompt, whatever its calls said in either order; who is torn
# has not voted. With `repeated="all"` every call would count as a vote, and the judge's own habits as evidence.

# %%
reading = {"task": "prompt", "annotator": "judge", "label": "label"}
# calls that failed and repeats are meant to be left out
warnings.filterwarnings("ignore", "left out")
votes = finegold.read(calls, repeated="majority", **reading)
every_call = finegold.agreement(calls, repeated="all", **reading)
print(votes)
print(f"judges agree with themselves in {every_call.self_agreement:.0%} of the repeats,")
print(f"and with each other by alpha {every_call.alpha:.2f}")

for judge in SKILL:
    mine = calls.filter(judge=judge).drop_nulls("label")
    print(
        f"{judge:<15} takes the first answer in {(mine['verdict'] == 'first').mean():.0%} of the calls"
    )

# %% [markdown]
# ## Labels, and the vote beside them

# %%
result = finegold.aggregate(votes)
print(result)
print(
    f"{len(result.flips())} labels against the majority vote, {len(result.contested())} contested"
)
print(result.annotators().select("judge", "n_votes", "accuracy", "agreement"))

# %% [markdown]
# ## Do they err alike?

# %%
panel = correlated_annotators(result)
print(f"{len(panel.weights)} judges are worth {panel.effective:.1f} independent ones")
for warning in panel.warnings:
    print("-", warning)
print(panel.pairs().head(4))

# %% [markdown]
# ## A few truths
#
# Fifty prompts that people have judged tell how far the probabilities can be believed, and which method to take.

# %%
gold = dict(list(truth.items())[:50])
judged = calibration(result, gold)
print(
    f"sure {judged.confidence:.0%}, right {judged.accuracy:.0%}: temperature {judged.temperature:.1f}"
)

# %% [markdown]
# ## And in truth?
#
# What only a simulation can tell: how often each way of counting is right, and how sure it is, over ten such panels.


# %%
def ways(calls: pl.DataFrame) -> dict[str, finegold.Result]:
    """The same calls, counted in several ways."""
    votes = finegold.read(calls, repeated="majority", **reading)
    by_family = calls.with_columns(judge=pl.col("judge").str.split("-").list.first())
    answered = calls.filter(pl.col("order") == "AB", pl.col("label").is_not_null())
    first = answered.unique(["prompt", "judge"], keep="first", maintain_order=True)
    return {
        "vote, first order, first call": finegold.aggregate(first, "mv", **reading),
        "vote, merged": finegold.aggregate(votes, "mv"),
        "vote, merged by family": finegold.aggregate(
            by_family, "mv", repeated="majority", **reading
        ),
        "anchored, merged": finegold.aggregate(votes, "anchored"),
        "anchored, merged by family": finegold.aggregate(
            by_family, "anchored", repeated="majority", **reading
        ),
        "ptbcc, every call a vote": finegold.aggregate(calls, "ptbcc", repeated="all", **reading),
        "ptbcc, merged": finegold.aggregate(votes, "ptbcc"),
        "ptbcc, merged by family": finegold.aggregate(
            by_family, "ptbcc", repeated="majority", **reading
        ),
        "ds, merged": finegold.aggregate(votes, "ds"),
    }


def figures(found: finegold.Result, truth: dict[str, Any]) -> tuple[float, float]:
    """How often it is right (a tie by half), and how sure it is."""
    known = found.posterior[
        np.arange(len(found.label_codes)), ["AB".index(truth[task]) for task in found.task_names]
    ]
    return float(np.where(found.tied, 0.5, known > 0.5).mean()), float(found.confidence.mean())


panels = [simulate_panel(seed) for seed in range(10)]
measured = [
    {name: figures(found, truth) for name, found in ways(with_labels(c)).items()}
    for c, truth in panels
]
print(f"{'':<32}right   sure")
for name in measured[0]:
    right, sure = np.mean([one[name] for one in measured], axis=0)
    print(f"{name:<32}{right:.3f}  {sure:.3f}")
