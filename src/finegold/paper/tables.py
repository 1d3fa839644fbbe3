"""The paper's tables, with each number of the paper, the reproduced one and the difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finegold.paper.datasets import COUNTS
from finegold.paper.document import DIFFERENCE, Table
from finegold.paper.fits import (
    ABLATION,
    METHODS,
    SENTI,
    TABLE_2,
    TABLE_4,
    TIREMGE_PROGRAM,
    Ablated,
    Results,
)


def table_2(results: Results) -> Table:
    rows = []
    for method, paper in TABLE_2.items():
        score = results.scores.get(method, {}).get("val5")
        ours = score.accuracy if score else None
        rows.append(
            [METHODS[method], paper, ours, _less(ours, paper), score.note if score else "not run"]
        )
    header = ["Method", "paper", "Finegold", DIFFERENCE, "note"]
    return Table(
        "table2", "Table 2. Accuracy of MV and confusion-matrix-based methods on Val5", header, rows
    )


def table_3(results: Results) -> Table:
    """Table 3: the counts in the files, and how they differ from the paper's."""
    rows: list[list[Any]] = []
    for votes in results.data.values():
        apart = [have - want for have, want in zip(votes.counts, votes.info.counts, strict=True)]
        state = (
            "same as the paper"
            if not any(apart)
            else f"differs by {', '.join(f'{a:+,}' for a in apart)}"
        )
        checked = "yes" if votes.verified else "NO: not the paper's file"
        rows.append([votes.info.title, *votes.counts, votes.info.domain, state, checked])
    header = ["Data set", *COUNTS, "domain", "against the paper", "checksums"]
    notes = [f"Absent: {', '.join(results.absent)}."] if results.absent else []
    return Table(
        "table3", "Table 3. Statistics of the data sets, counted in the files", header, rows, notes
    )


def table_4(results: Results) -> Table:
    n = len(results.data)
    header = [
        "Method",
        "paper mean",
        "Finegold mean",
        DIFFERENCE,
        "Senti",
        f"mean of {n} present",
        "paper S",
        "S",
    ]
    header += [
        f"S {DIFFERENCE}",
        "paper p",
        "p",
        f"p {DIFFERENCE}",
        "paper sig.",
        "sig.",
        "sets tested",
    ]
    rows: list[list[Any]] = []
    for method in (method for method in METHODS if method in results.means):
        paper, mean = TABLE_4[method], results.means[method]
        test, comparable = mean.test, mean.eleven is not None
        senti = (
            f"{mean.senti} {SENTI[method].accuracy:.4f}"
            if mean.senti in ("published", "implied")
            else mean.senti
        )
        row = [
            METHODS[method],
            paper.mean,
            mean.eleven,
            _less(mean.eleven, paper.mean),
            senti or "none",
            mean.present,
        ]
        row += [paper.S, _whole(test.S) if test else None]
        row += [
            _whole(_less(test.S, paper.S)) if test and comparable else None,
            paper.p,
            test.p if test else None,
        ]
        row += [_less(test.p, paper.p) if test and comparable else None]
        rows.append([*row, paper.stars, test.stars if test else "", mean.tested if test else None])
    notes = [
        (
            "S: sum of the ranks of the data sets where the method is below MV. p: one-sided"
            " Wilcoxon signed-rank test, exact. Sig.: * below 0.1, ** below 0.01."
        ),
        *_senti_notes(results),
    ]
    title = "Table 4. Mean accuracy, and the one-sided Wilcoxon signed-rank test against MV"
    return Table("table4", title, header, rows, notes)


def _senti_notes(results: Results) -> list[str]:
    if results.unverified:
        names = ", ".join(results.unverified)
        return [
            f"NOT VERIFIED: {names}. These files differ from the paper's, and every mean includes"
            " them."
        ]
    if "senti" in results.data:
        return []
    if not results.fills_senti:
        return [
            "Data sets are absent, so means and tests cover those present and cannot be compared"
            " with the paper."
        ]
    return [
        "Senti is absent here. Finegold's mean is over the ten data sets measured and one value"
        " that Finegold did NOT measure: 'published' was reported by a public run of that method;"
        " 'implied' follows from the paper's mean and the ten accuracies of the method's original"
        " program. With an implied value, the mean is a check of the ten measured ones only."
    ]


def table_5(results: Results) -> Table:
    rows: list[list[Any]] = []
    for what, value, ours, paper in _cells(results):
        implied = _senti_accuracy(ours, paper) if results.fills_senti else None
        spread, difference = ours.spread if ours.seeds > 1 else None, _less(ours.eleven, paper)
        rows.append(
            [
                f"{what} = {value}",
                paper,
                ours.eleven,
                difference,
                spread,
                ours.seeds,
                ours.mean,
                implied,
            ]
        )
    header = ["PTBCC with", "paper", "Finegold", DIFFERENCE, "spread", "seeds"]
    header += ["mean of those present", "Senti implied"]
    notes = [
        "Spread: standard deviation of the mean over seeds. 3-Ran: a third prototype whose entries"
        " are all 1/|K|."
    ]
    if results.unverified:
        notes += _senti_notes(results)
    if results.fills_senti:
        notes.append(
            f"Senti is absent: Finegold's column uses PTBCC's published {SENTI['ptbcc'].accuracy}"
            " for every setting, which is its value for f = 5, m = 1.35, |S| = 2 only. 'Senti"
            " implied' follows from the paper's mean."
        )
    return Table(
        "table5", "Table 5. Mean accuracy of PTBCC with varied f, m and |S|", header, rows, notes
    )


def accuracy_table(results: Results) -> Table:
    """The numbers behind Figure 2; the paper does not print them."""
    header, rows = _by_method(results, list(results.data), "accuracy")
    sets: dict[tuple[str, str], list[str]] = {}
    for method, row in results.scores.items():
        for name in sorted(row):
            if row[name].note:
                sets.setdefault((METHODS[method], row[name].note), []).append(name)
    notes = sorted(
        f"{method} on {', '.join(names)}: {note}." for (method, note), names in sets.items()
    )
    return Table(
        "accuracy",
        "Accuracy by method and data set",
        header,
        rows,
        [" ".join(notes)] if notes else [],
    )


def times_table(results: Results) -> Table:
    """The numbers behind Figure 5."""
    header, rows = _by_method(results, by_size(results), "seconds")
    notes = [
        "One thread, compiled code loaded, the shortest of five where a fit takes milliseconds;"
        " several fits ran at a time. Where accuracies are means over seeds: the median of one"
        " fit's time."
    ]
    return Table("times", "Seconds of one fit, data sets by number of labels", header, rows, notes)


def _by_method(
    results: Results, names: list[str], figure: str
) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the rows of a table of all methods on these data sets."""
    scores = {method: [row.get(name) for name in names] for method, row in results.scores.items()}
    rows = [
        [METHODS[method], *(each and getattr(each, figure) for each in row)]
        for method, row in scores.items()
    ]
    return ["Method", *(results.data[name].info.title for name in names)], rows


TABLES = {"table2": table_2, "table3": table_3, "table4": table_4, "table5": table_5}


def by_size(results: Results) -> list[str]:
    return sorted(results.data, key=lambda name: results.data[name].annotations.n_votes)


def _less(ours: float | None, paper: float | None) -> float | None:
    return None if ours is None or paper is None else ours - paper


def _whole(value: float | None) -> float | int | None:
    """Return a rank sum as an integer unless differences are tied."""
    return int(value) if value is not None and float(value).is_integer() else value


# the paper prints four digits
ROUNDING = 0.00005 + 1e-9
# Table 2 has three digits
PRINTED_2 = 0.0005 + 1e-9
# how much PTBCC's accuracy on Senti may change with its settings
SENTI_RANGE = 0.005

WHY_MEAN = {
    "tiremge": (
        "the authors' public program does not reach it either: its ten-set mean is"
        f" {TIREMGE_PROGRAM} at the last step (and .6782 at its best step, which is chosen by"
        " looking at the truth), so Senti would have to be 1.14, or .958. Most of the gap is Web:"
        " .587, against MV's .731"
    ),
    "fgbcc": (
        "with the public value for Senti, .885, the mean is .7176; the paper's implies .884, one"
        " task in 1,000"
    ),
    "bwa": (
        "the public value for Senti, .890, has three digits; the paper's mean implies .8905, half a"
        " task in 1,000"
    ),
    "cbcc": (
        "the paper used an Infer.NET program with its own random start and order of messages. That"
        " program gives a ten-set mean of .6687 and S = 51; a port, which this method follows,"
        " .6800 and 39. Most of the gap is Web, .706 against about .79, then Dog"
    ),
    "ibcc": (
        "expectation propagation as in the Infer.NET program, up to the order of its messages (Web)"
    ),
    "catd": "ties are broken at random; this is the mean over seeds, the paper shows one run",
    "ebcc": (
        "random restarts: the seed decides which one has the best bound (these are means over"
        " seeds, with fewer restarts on the largest data sets, as marked)"
    ),
    "glad": (
        "conjugate gradients that stop early are not reproducible to the last digit across programs"
    ),
}
WHY_S = {
    "ebcc": (
        "37 with the accuracies of the original program. It depends on Web and Adult, where"
        " restarts end in different optima depending on the seed"
    ),
    "tiremge": "it is below MV on most data sets here and in the authors' program, see its mean",
    "glad": (
        "31 with the original program too: four of its differences from MV are below .003, and"
        " gradients that stop early are not reproducible at that level, so neither are their signs"
        " and ranks"
    ),
}
WHY_2 = {
    "cbcc": (
        "this is the mean over random starts; the paper shows one run of an Infer.NET program with"
        " its own start"
    ),
    "ebcc": (
        "a single run on 100 tasks without ties gives a whole number of hundredths, so the paper's"
        " .331 must be a mean over runs, as ours is"
    ),
}
UNKNOWN = "the reason is not known"
# The paper prints no numbers in these figures, but describes what they show.
CASE_WORDS = {
    "val5": (
        "Figure 3, Val5: the paper says that prototype 1 confuses other classes with class 3,"
        " mostly class 4, that prototype 2 is more often right, and that annotators are spread,"
        " with slightly more weight on prototype 1."
    ),
    "ms": (
        "Figure 4, MS: the paper says that prototype 1 is right in all classes, prototype 2 votes"
        " at random, and most annotators follow prototype 1."
    ),
}


def mismatches(results: Results) -> list[str]:
    """Return one line for each number that differs by more than rounding."""
    if results.unverified:
        return [
            f"Nothing is compared here: {', '.join(results.unverified)} are not the paper's files."
        ]
    lines = []
    for method, printed in TABLE_2.items() if "table2" in results.parts else ():
        score = results.scores.get(method, {}).get("val5")
        if score and abs(score.accuracy - printed) > PRINTED_2:
            why = WHY_2.get(method, UNKNOWN)
            lines.append(
                f"Table 2, {METHODS[method]}: {score.accuracy:.4f} instead of {printed}: {why}."
            )
    lines += [
        f"Table 3, {votes.info.title}: the counts {votes.counts} are not the paper's"
        f" {votes.info.counts}."
        for votes in results.data.values()
        if votes.counts != votes.info.counts
    ]
    for method, mean in results.means.items():
        paper, why = TABLE_4[method].mean, WHY_MEAN.get(method, UNKNOWN)
        if mean.eleven is not None and abs(mean.eleven - paper) > ROUNDING:
            lines.append(
                f"Table 4, mean of {METHODS[method]}: {mean.eleven:.4f} instead of {paper:.4f}:"
                f" {why}."
            )
        if mean.eleven is None and results.fills_senti:
            words = (
                f"{mean.present:.4f} over ten data sets, no mean over eleven (paper: {paper:.4f})"
            )
            lines.append(f"Table 4, mean of {METHODS[method]}: {words}: {why}.")
    for method, mean in results.means.items():
        rank_sum = TABLE_4[method].S
        if mean.test and (mean.eleven or results.fills_senti) and rank_sum != mean.test.S:
            why = WHY_S.get(method) or WHY_MEAN.get(method, UNKNOWN)
            words = (
                f"{mean.test.S:g} over {mean.tested} data sets instead of {rank_sum} over eleven"
            )
            lines.append(f"Table 4, rank sum S of {METHODS[method]}: {words}: {why}.")
    # Random rows are compared with their spread; without Senti, the others by the implied accuracy
    # on Senti.
    for what, value, ours, paper in _cells(results):
        if ours.eleven is None:
            continue
        apart, allowed = abs(ours.eleven - paper), 2 * ours.spread if ours.seeds > 1 else ROUNDING
        if results.fills_senti and ours.seeds == 1:
            apart, allowed = (
                abs(_senti_accuracy(ours, paper) - SENTI["ptbcc"].accuracy),
                SENTI_RANGE,
            )
        if apart > allowed:
            random = (
                f"{ours.seeds} seeds with a spread of {ours.spread:.4f}; the paper gives no seed"
            )
            why = random if ours.seeds > 1 else UNKNOWN
            lines.append(
                f"Table 5, {what} = {value}: {ours.eleven:.4f} instead of {paper:.4f}: {why}."
            )
    if "figure5" in results.parts and set(results.means) == set(METHODS):
        own, rows = results.scores["ptbcc"], results.scores.values()
        ranks = [
            1 + sum(row[name].seconds < own[name].seconds for row in rows) for name in results.data
        ]
        lines.append(
            "Figure 5: in the paper MV is the fastest, then BWA, and PTBCC third most of the time."
            f" Here PTBCC's rank is between {min(ranks)} and {max(ranks)} of {len(METHODS)}: all"
            " methods are compiled here, from which CATD, DS and IBCC benefit most; GLAD is not"
            " the slowest for the same reason."
        )
    return lines


def matches(results: Results) -> list[str]:
    """Return one line per table about what agrees."""
    if results.unverified:
        return []
    lines = []
    exact = [
        m
        for m, mean in results.means.items()
        if mean.test and mean.eleven and mean.test.S == TABLE_4[m].S
    ]
    if exact:
        named = ", ".join(f"{METHODS[m]} {TABLE_4[m].S}" for m in exact)
        lines.append(f"Table 4: the rank sums S of {len(exact)} methods agree exactly: {named}.")
    if results.ablation and results.fills_senti:
        fixed = [
            _senti_accuracy(ours, paper) for _, _, ours, paper in _cells(results) if ours.seeds == 1
        ]
        lines.append(
            f"Table 5: in the {len(fixed)} cells without randomness, the paper's means imply a"
            f" Senti accuracy between {min(fixed):.3f} and {max(fixed):.3f}; the published one is"
            " .866 (f = 5, m = 1.35, |S| = 2)."
        )
    for name in (name for name in CASE_WORDS if name in results.cases):
        prototypes, weights = results.cases[name]
        right = " and ".join(f"{p.diagonal().mean():.2f}" for p in prototypes)
        lines.append(
            f"{CASE_WORDS[name]} Here the mean accuracies of the prototypes are {right}, "
            f"and prototype 1 has a mean share of {weights[:, 0].mean():.0%} among annotators."
        )
    return lines


def _cells(results: Results) -> Iterator[tuple[str, str, Ablated, float]]:
    """Yield what was varied in Table 5, its value, our figures and the paper's."""
    for what, row in results.ablation.items():
        for value, ours in row.items():
            yield what, value, ours, ABLATION[what][value]


def _senti_accuracy(ours: Ablated, paper: float) -> float:
    """Return the accuracy on Senti that the paper's mean implies."""
    return 11 * paper - 10 * ours.mean
