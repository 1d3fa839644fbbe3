"""What matches the paper, what does not, and why, as far as it is known."""

from __future__ import annotations

from paper.outcomes import Results
from paper.printed import METHODS, SENTI, TABLE_2, TABLE_4
from paper.tables import cells_of_table_5, implied_senti

# the paper prints four digits, and three in Table 2
ROUNDING = 0.00005 + 1e-9
ROUNDING_OF_TABLE_2 = 0.0005 + 1e-9
# how much PTBCC's accuracy on Senti may change with its settings
SENTI_RANGE = 0.005

WHY_MEAN = {
    "tiremge": (
        "the authors' public program does not reach it either: its ten-set mean is .6601 at the"
        " last step (and .6782 at its best step, which is chosen by looking at the truth), so Senti"
        " would have to be 1.14, or .958. Most of the gap is Web: .587, against MV's .731"
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
    "ibcc": "expectation propagation as in the Infer.NET program, up to the order of its messages",
    "catd": "ties are broken at random; this is the mean over seeds, the paper shows one run",
    "ebcc": (
        "random restarts: the seed decides which one has the best bound (these are means over"
        " seeds, with fewer restarts on the largest data sets, as marked)"
    ),
    "glad": (
        "conjugate gradients that stop early are not reproducible to the last digit across programs"
    ),
}
WHY_S = WHY_MEAN | {
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
WHY_TABLE_2 = {
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


def matches(results: Results) -> list[str]:
    """Return a sentence for each table or figure about what agrees."""
    lines = []
    exact = [
        f"{METHODS[method]} {TABLE_4[method].S}"
        for method, mean in results.means.items()
        if mean.test and mean.eleven and mean.test.S == TABLE_4[method].S
    ]
    if exact:
        lines.append(
            f"Table 4: the rank sums S of {len(exact)} methods agree exactly: {', '.join(exact)}."
        )
    if results.fills_senti:
        fixed = [
            implied_senti(ours, paper)
            for _, _, ours, paper in cells_of_table_5(results)
            if ours.seeds == 1
        ]
        lines.append(
            f"Table 5: in the {len(fixed)} cells without randomness, the paper's means imply a"
            f" Senti accuracy between {min(fixed):.3f} and {max(fixed):.3f}; the published one is"
            " .866 (f = 5, m = 1.35, |S| = 2)."
        )
    for name, words in CASE_WORDS.items():
        if name in results.cases:
            case = results.cases[name]
            right = " and ".join(f"{matrix.diagonal().mean():.2f}" for matrix in case.prototypes)
            lines.append(
                f"{words} Here the mean accuracies of the prototypes are {right}, and prototype 1"
                f" has a mean share of {case.weights[:, 0].mean():.0%} among annotators."
            )
    return lines


def mismatches(results: Results) -> list[str]:
    """Return a sentence for each number that differs by more than rounding."""
    lines = []
    for method, printed in TABLE_2.items():
        score = results.scores.get(method, {}).get("val5")
        if score and abs(score.accuracy - printed) > ROUNDING_OF_TABLE_2:
            why = WHY_TABLE_2.get(method, UNKNOWN)
            lines.append(
                f"Table 2, {METHODS[method]}: {score.accuracy:.4f} instead of {printed}: {why}."
            )
    lines += [
        f"Table 3, {votes.info.title}: the counts {votes.counts} are not the paper's"
        f" {votes.info.counts}."
        for votes in results.data.values()
        if votes.counts != votes.info.counts
    ]
    return [*lines, *_of_table_4(results), *_of_table_5(results), *_of_figure_5(results)]


def _of_table_4(results: Results) -> list[str]:
    lines = []
    for method, mean in results.means.items():
        paper, why = TABLE_4[method].mean, WHY_MEAN.get(method, UNKNOWN)
        about = f"Table 4, mean of {METHODS[method]}"
        if mean.eleven is not None and abs(mean.eleven - paper) > ROUNDING:
            lines.append(f"{about}: {mean.eleven:.4f} instead of {paper:.4f}: {why}.")
        elif mean.eleven is None and results.fills_senti:
            lines.append(
                f"{about}: {mean.present:.4f} over ten data sets, no mean over eleven (paper:"
                f" {paper:.4f}): {why}."
            )
    for method, mean in results.means.items():
        printed, test = TABLE_4[method].S, mean.test
        if test and (mean.eleven or results.fills_senti) and printed != test.S:
            lines.append(
                f"Table 4, rank sum S of {METHODS[method]}: {test.S:g} over {test.data_sets} data"
                f" sets instead of {printed} over eleven: {WHY_S.get(method, UNKNOWN)}."
            )
    return lines


def _of_table_5(results: Results) -> list[str]:
    """Compare random cells by their spread and, without Senti, the others by the implied Senti."""
    lines = []
    for what, value, ours, paper in cells_of_table_5(results):
        if ours.eleven is None:
            continue
        apart, allowed, why = abs(ours.eleven - paper), ROUNDING, UNKNOWN
        if ours.seeds > 1:
            allowed = 2 * ours.spread
            why = f"{ours.seeds} seeds with a spread of {ours.spread:.4f}; the paper gives no seed"
        elif results.fills_senti:
            apart = abs(implied_senti(ours, paper) - SENTI["ptbcc"].accuracy)
            allowed = SENTI_RANGE
        if apart > allowed:
            lines.append(
                f"Table 5, {what} = {value}: {ours.eleven:.4f} instead of {paper:.4f}: {why}."
            )
    return lines


def _of_figure_5(results: Results) -> list[str]:
    if set(results.means) != set(METHODS):
        return []
    own, rows = results.scores["ptbcc"], results.scores.values()
    ranks = [
        1 + sum(row[name].seconds < own[name].seconds for row in rows) for name in results.data
    ]
    return [
        "Figure 5: in the paper MV is the fastest, then BWA, and PTBCC third most of the time."
        f" Here PTBCC's rank is between {min(ranks)} and {max(ranks)} of {len(METHODS)}: all"
        " methods are vectorised or compiled here, from which the others benefit as well."
    ]
