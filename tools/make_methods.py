"""Makes docs/methods.md from docs/equations and the docstrings of the methods: python tools/make_methods.py"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from finegold.methods.lookup import SETTINGS, Method, method_class, paper_settings
from finegold.methods.registry import DEFAULT_METHOD, REGISTRY

EQUATIONS = Path(__file__).parents[1] / "docs" / "equations"
SECTION = re.compile(r"(?m)^(?:Parameters|Examples)\n-+\n")  # of numpydoc
PARAMETER = re.compile(r"(?m)^(\w+) : .*\n((?:    .*\n)+)")
FIRST = tuple(dict.fromkeys((DEFAULT_METHOD, "ptbcc", "hpt", "hds")))  # then the others, in the order of the registry
HEAD = f"""# The methods

Names are those of `finegold aggregate --method`, classes those of `finegold`. Every class has `fit`, `fit_predict` and
`fit_predict_proba`; `finegold.aggregate(votes, name)` does the same.

**Which one when?** [Choosing](choosing.md) has the figures behind this list, from 80 real data sets.

- You do not know yet: `{DEFAULT_METHOD}`, the default. It was the best on average, it was never three points below the
  majority vote, and its probabilities were the best.
- There are fewer than 100 tasks, or one or two votes per task: `mv`. No method can learn much about annotators there.
- Crowds whose members differ in skill and cast many votes each: `{DEFAULT_METHOD}`; try `hds`, too.
- Panels of language models: `{DEFAULT_METHOD}` for probabilities. `glad` had a point more accuracy, but its
  probabilities are far too high.
- Labelling functions: `{DEFAULT_METHOD}`. Methods with a free confusion matrix per annotator (`ds`, `ibcc`, `hds`)
  lost ten points and more there.
- You have some truths: give them as gold (`--gold`), and let `finegold evaluate --truth` compare methods on others.
- You want to see kinds of annotators, or compare with the paper: `ptbcc`.

The defaults are what we recommend for work; `finegold.paper.settings(name)` and `--paper` are the settings of the
paper's tables. [Costs](costs.md) says what each method takes.

In the equations, *i* is a task, *j* an annotator, *k* and *l* are classes; *y* is a vote, *z* the truth, *φ* its
probability. *W*<sub>i</sub> are those who voted on *i*, *N*<sub>j</sub> the tasks that *j* voted on, *d* is how many
votes a task has, *T*, *W* and *K* how many tasks, annotators and classes there are. E is the mean under the posterior,
ψ the digamma function, [ ] is 1 where the condition holds and else 0.

| method | class | in one line | gold truths | bound | the paper's row |
|---|---|---|---|---|---|
"""
FOOT = "\nThis page is made from the docstrings by `python tools/make_methods.py`.\n"


def page() -> str:
    classes = {name: method_class(name) for name in (*FIRST, *(name for name in REGISTRY if name not in FIRST))}
    rows = "".join(_row(name, made) for name, made in classes.items())
    return HEAD + rows + "".join(_section(name, made) for name, made in classes.items()) + FOOT


def _row(name: str, made: type[Method]) -> str:
    line = inspect.getdoc(made).splitlines()[0].rstrip(".")  # type: ignore[union-attr]
    gold = "kept, and teach it" if made.takes_gold else "no"
    bound = "never falls" if made.has_bound else ""
    return f"| `{name}` | `{made.__name__}` | {line} | {gold} | {bound} | {_paper(made)} |\n"


def _paper(made: type[Method]) -> str:
    """The settings of the paper's row that are not the defaults."""
    if made.name not in SETTINGS:
        return ""
    defaults = made().settings
    other = [f"{key}={value!r}" for key, value in paper_settings(made.name).items() if defaults[key] != value]
    return f"`{made.__name__}({', '.join(other)})`" if other else "as it is"


def _section(name: str, made: type[Method]) -> str:
    text, _, example = inspect.getdoc(made).partition(">>> ")  # type: ignore[union-attr]
    words = SECTION.split(text)[0]
    module = inspect.getdoc(sys.modules[made.__module__]) or ""
    path = EQUATIONS / f"{name}.md"
    if not path.is_file():
        raise FileNotFoundError(f"write the equations of {name} into {path}, then run python tools/make_methods.py")
    equations = path.read_text().strip()
    return (
        f"\n## `{name}`: {made.__name__}\n\n{words.strip()}\n\n{equations}\n\n"
        f"```pycon\n>>> {example.strip()}\n```\n\n{_settings(made, text)}\n\n"
        f'<details markdown="1"><summary>Source</summary>\n\n```text\n{module.strip()}\n```\n\n</details>\n'
    )


def _settings(made: type[Method], text: str) -> str:
    """The settings with their values, and what the docstring says of each."""
    values = ", ".join(f"`{key} = {value!r}`" for key, value in made().settings.items())
    said = [f"- `{name}`: {' '.join(words.split())}" for name, words in PARAMETER.findall(text)]
    return "\n".join([f"Settings: {values}.", *([""] if said else []), *said])


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "methods.md").write_text(page())
