"""Makes docs/reference/methods.md from the docstrings of the methods and docs/reference/equations:
python tools/make_methods.py
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY, method_class

ROOT = Path(__file__).parents[1]
EQUATIONS = ROOT / "docs" / "reference" / "equations"
SECTION = re.compile(r"(?m)^(?:Args|Examples):\n")
PARAMETER = re.compile(r"(?m)^    (\w+)(?: \(.*?\))?: (.*\n(?:        .*\n)*)")
CITATION = re.compile(
    r"(?s)[A-Z][\w.-]*(?: [A-Z][\w.-]*)*(?:,|:| et al).*\b(?:19|20)\d\d\b"
)  # authors, then a year
USUAL = (
    "Stop when no probability of a class changes by more than this in a sweep.",
    "Stop when no probability of a class changes by more than this in a sweep. With 0, all iterations are made.",
    "The largest number of sweeps.",
)
FIRST = tuple(
    dict.fromkeys((DEFAULT_METHOD, "ptbcc", "hds"))
)  # then the others, in the order of the registry
HEAD = f"""# The methods

Names are those of `finegold aggregate --method`, classes those of `finegold`. Every class has `fit`, `fit_predict`,
`predict` and `predict_proba`; `finegold.aggregate(votes, name)` does the same.

**Which one when?** [Choosing](../evidence/choosing.md) has the figures behind this list, from 80 real data sets.

- You do not know yet, also with two votes per task or few tasks: `{DEFAULT_METHOD}`, the default. It was the best on
  average with two, three and all votes, and its probabilities were the best.
- Crowds whose members differ in skill and cast many votes each: `{DEFAULT_METHOD}`; try `hds`, too.
- Panels of language models: `{DEFAULT_METHOD}` for probabilities. `glad` had a point more accuracy, but its
  probabilities are far too high.
- Labelling functions: `{DEFAULT_METHOD}`. Methods with a free confusion matrix per annotator (`ds`, `ibcc`, `hds`)
  lost ten points and more there.
- You have some truths: give them as gold (`--gold`), and let `finegold evaluate --truth` compare methods on others.
- You want to see kinds of annotators, or compare with the paper: `ptbcc`.

A fit stops when no probability of a class changes by more than `tolerance` in a sweep, or after `max_iterations`
sweeps. The defaults are what we recommend for work; the settings of the paper's tables are in
[the reproduction](../evidence/reproduction.md). [Costs](../evidence/costs.md) says what each method takes.

In the equations, *i* is a task, *j* an annotator, *k* and *l* are classes; *y* is a vote, *z* the truth, *φ* its
probability. *W*<sub>i</sub> are those who voted on *i*, *N*<sub>j</sub> the tasks that *j* voted on, *d* is how many
votes a task has, *T*, *W* and *K* how many tasks, annotators and classes there are. E is the mean under the posterior,
ψ the digamma function, [ ] is 1 where the condition holds and else 0.

All methods learn from gold truths, except: GOLDLESS. What these maximise never falls: BOUNDED.

| method | class | in one line |
|---|---|---|
"""
FOOT = "\nThis page is made from the docstrings by `python tools/make_methods.py`.\n"


def page() -> str:
    classes = {
        name: method_class(name)
        for name in (*FIRST, *(name for name in REGISTRY if name not in FIRST))
    }
    rows = "".join(_row(name, made) for name, made in classes.items())
    goldless = ", ".join(f"`{name}`" for name, made in classes.items() if not made.takes_gold)
    bounded = ", ".join(f"`{name}`" for name, made in classes.items() if made.has_objective)
    head = HEAD.replace("GOLDLESS", goldless).replace("BOUNDED", bounded)
    return head + rows + "".join(_section(name, made) for name, made in classes.items()) + FOOT


def _row(name: str, made: type[Method]) -> str:
    line = inspect.getdoc(made).splitlines()[0].rstrip(".")  # type: ignore[union-attr]
    return f"| `{name}` | `{made.__name__}` | {line} |\n"


def _section(name: str, made: type[Method]) -> str:
    text = f"{inspect.getdoc(made)}\n"
    words = SECTION.split(text)[0]
    module = inspect.getdoc(sys.modules[made.__module__]) or ""
    path = EQUATIONS / f"{name}.md"
    if not path.is_file():
        raise FileNotFoundError(
            f"write the equations of {name} into {path}, then run python tools/make_methods.py"
        )
    equations = path.read_text("utf-8").strip()
    cited = [" ".join(part.split()) for part in module.split("\n\n") if CITATION.match(part)]
    source = f"\nSource: {cited[0]}\n" if cited else ""
    return f"\n## `{name}`: {made.__name__}\n\n{words.strip()}\n\n{equations}\n\n{_settings(made, text)}\n{source}"


def _settings(made: type[Method], text: str) -> str:
    """The settings with their values, and what the docstring says of each unless it is the usual."""
    said = {name: " ".join(words.split()) for name, words in PARAMETER.findall(text)}
    lines, usual = [], []
    for name, value in made().settings.items():
        if said.get(name, "").startswith("Has no effect"):
            continue
        if said.get(name) in USUAL:
            usual.append(f"`{name} = {value!r}`")
        else:
            lines.append(f"- `{name} = {value!r}`: {said[name]}")
    return (
        "\n".join(["Settings:", "", *lines, *([f"- {', '.join(usual)}"] if usual else [])])
        if lines or usual
        else ""
    )


if __name__ == "__main__":
    (ROOT / "docs" / "reference" / "methods.md").write_text(page(), encoding="utf-8")
