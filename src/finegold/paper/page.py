"""Build the page from the results: tables, figures and mismatches."""

from __future__ import annotations

from finegold.paper import tables
from finegold.paper.document import Block, Heading, Items, Picture, Table, Text
from finegold.paper.mismatches import matches, mismatches
from finegold.paper.results import Results

__all__ = ["TITLE", "blocks"]

TITLE = "The PTBCC paper, reproduced by Finegold"
CAPTIONS = {
    "figure2": "Figure 2. Accuracy of each method on each data set; the dashed line is the mean of the bars. "
    "The axes do not begin at zero.",
    "figure3": "Figure 3. Prototype confusion matrices and the annotators' distribution over them, learned from Val5.",
    "figure4": "Figure 4. Prototype confusion matrices and the annotators' distribution over them, learned from MS.",
    "figure5": "Figure 5. Time of one fit, data sets in the order of their number of labels.",
}


def blocks(results: Results, drawn: set[str], command: str) -> list[Block]:
    return [
        *_head(results, command),
        *_honest(results),
        *_tables(results),
        *_figures(results, drawn),
        *_machine(results),
    ]


def _head(results: Results, command: str) -> list[Block]:
    what = (
        "Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator Prototype Learning for "
        "Multi-Class Annotation Aggregation. AAAI 2026. Everything below was computed from the votes by this command:"
    )
    there = ", ".join(votes.info.title for votes in results.data.values())
    return [Text(what), Items([command]), Text(f"Data sets present: {there}."), *_remarks(results)]


def _remarks(results: Results) -> list[Block]:
    return [Items([remark[0].upper() + remark[1:] + "." for remark in results.remarks])] if results.remarks else []


def _honest(results: Results) -> list[Block]:
    """Return the section about what matches the paper, which comes first."""
    good, bad = matches(results), mismatches(results)
    found: list[Block] = [Heading("What matches and what does not")]
    if good:
        found += [Items(good)]
    if bad:
        found += [Items(bad)] if results.unverified else [Text("Differences beyond rounding:"), Items(bad)]
    elif results.means or results.ablation:
        found += [Text("Every number that can be compared agrees with the paper up to rounding.")]
    found += [
        Text(
            "The paper prints no numbers in its figures, so Figures 2 to 5 can only be compared by eye. "
            "Times depend on the machine: the paper's had two virtual processors and programs in several languages."
        )
    ]
    return found


def _tables(results: Results) -> list[Block]:
    wanted: list[Block] = []
    if "table2" in results.parts and "val5" in results.data:
        wanted.append(tables.table_2(results))
    if "table3" in results.parts:
        wanted.append(tables.table_3(results))
    if "table4" in results.parts:
        wanted.append(tables.table_4(results))
    if "table5" in results.parts:
        wanted.append(tables.table_5(results))
    return [Heading("Tables"), *wanted] if wanted else []


def _figures(results: Results, drawn: set[str]) -> list[Block]:
    found: list[Block] = []
    if results.means:
        found += _with("figure2", drawn, tables.accuracy_table(results))
    found += [block for part in ("figure3", "figure4") for block in _with(part, drawn)]
    if results.means:
        found += _with("figure5", drawn, tables.times_table(results))
    return [Heading("Figures and the numbers behind them"), *found] if found else []


def _with(part: str, drawn: set[str], *more: Table) -> list[Block]:
    return [*([Picture(part, CAPTIONS[part])] if part in drawn else []), *more]


def _machine(results: Results) -> list[Block]:
    return [Heading("Machine"), Items([f"{name}: {value}" for name, value in results.machine.items()])]
