"""Small changes to the code, each with the test that fails because of it.

    python -m tests.mutants            apply each change to a copy of the code and run its test
    python -m tests.mutants anchored   only those whose file or test has this word

A test that passes with its change sees nothing: the run then ends with 1. Tests register their changes by `kills`, or
are named in OTHERS. `tests/project/test_survivors.py` checks that the code still has every line that is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T", bound=Callable[..., object])


class Mutant(NamedTuple):
    """A change of one line, and the test that sees it."""

    file: str  # in src/finegold
    line: str
    changed: str
    test: str


FAULTS, JUDGING = "tests/system/test_faults.py", "tests/studio/test_judging.py"
MOVES = f"{FAULTS}::test_a_list_of_moves_that_is_not_whole_or_not_ours_moves_nothing"
OTHERS = [
    Mutant("system/files.py", "temporary.parent == final.parent and ", "", MOVES),
    Mutant("system/files.py", "all(_is_temporary_of(*move) for move in moves) and ", "", MOVES),
    Mutant("system/files.py", "if all(_read_list(one) == (moves, lists) for one in lists):", "if True:", MOVES),
    Mutant("studio/tables.py", '"probabilities": [], ', "",
           f"{JUDGING}::test_tasks_to_judge_blindly_come_without_votes_and_labels"),
    Mutant("studio/gold.py", "WHERE project = ? AND reviewer = ?\", project, name", "WHERE project = ?\", project",
           "tests/studio/test_reading.py::test_truths_come_from_a_file_whose_columns_can_be_chosen"),
    Mutant("studio/security.py", "        if not name:\n            return False\n", "",
           "tests/studio/test_security.py::test_a_request_without_a_host_is_sent_away_wherever_the_studio_listens"),
]  # fmt: skip

# Of checks: each constant halved, a stratum that is wrong, another tail, a step more or less in a sequence.
CHECKS, CERTIFY, CONSTANTS = (f"tests/{name}.py::test_" for name in (
    "insight/test_certify", "api/test_certify", "insight/test_constants_insight"))  # fmt: skip
EIGHT = f"{CHECKS}there_are_eight_strata_with_two_checks_or_more_in_each"
STRATA = f"{CHECKS}strata_have_equal_sums_of_uncertainty_and_no_confidence_is_believed_beyond_5_and_95_percent"
EFFECTIVE = f"{CHECKS}the_effective_number_of_checks_is_smoothed_by_two_checks_of_the_confidence"
EXACT = f"{CHECKS}one_stratum_has_the_exact_interval"
SEQUENCE = f"{CHECKS}sets_are_tested_from_the_first_on_until_one_fails"
TAIL = f"{CHECKS}labels_are_accepted_by_strata_as_by_an_exact_test_of_one_tail"
FEWEST = (
    f"{CHECKS}fewer_than_59_checks_certify_nothing_at_5_percent_and_fewer_than_149_at_2_percent"
)
WORLDS = f"{CHECKS}ways_to_be_wrong_have_a_shift_and_a_slope_of_spread_one"
SPREADS = "SHIFT_SPREAD, SLOPE_SPREAD = 1.0, 1.0"
STEPS = "range(plan.first - 1, plan.last)"
TOO_MANY = "> allowed_errors(int(inside.sum()), risk, certainty):\n            "
OTHERS += [Mutant("insight/certify.py", *change) for change in (
    ("CERTAINTY = 0.95", "CERTAINTY = 0.475", FEWEST),
    ("N_STRATA = 8", "N_STRATA = 4", EIGHT),
    ("LEAST, MOST = 0.05, 0.95", "LEAST, MOST = 0.025, 0.95", STRATA),
    ("LEAST, MOST = 0.05, 0.95", "LEAST, MOST = 0.05, 0.475", STRATA),
    ("PRIOR_CHECKS = 2.0", "PRIOR_CHECKS = 1.0", EFFECTIVE),
    ("GRID = 20 ", "GRID = 10 ", f"{CHECKS}the_nested_sets_grow_by_5_percent_in_order_of_confidence"),
    ("N_WORLDS = 400", "N_WORLDS = 200", WORLDS),
    (SPREADS, SPREADS.replace("= 1.0", "= 0.5"), WORLDS),
    (SPREADS, SPREADS.replace(", 1.0", ", 0.5"), WORLDS),
    ("SLOPE_SPREAD**-2", "0.5", f"{CHECKS}the_recalibration_is_the_most_probable_one"),
    ("return max(min(N_STRATA, n // 2), 1)", "return max(min(N_STRATA, n), 1)", EIGHT),
    ("uncertainty = np.sqrt(c * (1 - c))", "uncertainty = c * (1 - c)", STRATA),
    ("middle = np.cumsum(uncertainty) - uncertainty / 2", "middle = np.cumsum(uncertainty) / 2", STRATA),
    ("weight = sizes[used] / sizes[used].sum()", "weight = np.full(used.sum(), 1 / used.sum())", EFFECTIVE),
    ("int(sizes[stratum] - checks[stratum]), left)", "left)", f"{CHECKS}strata_are_checked_alike_as_far_as_they_go"),
    ("n - hits + 1, alpha / 2)", "n - hits + 1, alpha)", EXACT),
    ("n - hits, 1 - alpha / 2)", "n - hits, 1 - alpha)", EXACT),
    ("confidence[top], 2 * alpha)", "confidence[top], alpha)", TAIL),
    ("confidence[top], 2 * alpha)", "confidence[top], 4 * alpha)", TAIL),
    ("(share >= 0.5)", "(share >= 0.25)", f"{CHECKS}the_first_union_of_strata_has_half_of_the_tasks"),
    ("n, risk) <= 1 - certainty)", "n, risk) <= 2 * (1 - certainty))", FEWEST),
    (STEPS, "range(plan.first, plan.last)", SEQUENCE),
    (STEPS, "range(plan.first - 1, plan.last + 1)", SEQUENCE),
    ("inside = rank < ends[number]", "inside = rank <= ends[number]", SEQUENCE),
    (f"{TOO_MANY}break", f"{TOO_MANY}continue", SEQUENCE),
    ("wrong[inside].sum()) > allowed", "wrong[inside].sum()) >= allowed",
     f"{CHECKS}an_error_too_many_ends_the_sequence"),
)]  # fmt: skip
OTHERS += [
    Mutant("api/certify.py", "LEAST_FOR_PART = 20", "LEAST_FOR_PART = 10",
           f"{CERTIFY}a_class_gets_an_interval_from_twenty_checks_on"),
    Mutant("api/certify.py", "best.gain > best.standard_error", "best.gain > best.standard_error / 2",
           f"{CERTIFY}another_method_is_better_by_more_than_a_standard_error"),
    Mutant("api/job.py", "MIN_GOLD = 25", "MIN_GOLD = 12",
           f"{CERTIFY}from_25_truths_on_gold_sets_the_temperature_of_the_default_only"),
    Mutant("kernels/anchored.py", "GOLD_WEIGHT = 20.0", "GOLD_WEIGHT = 10.0",
           f"{CERTIFY}gold_counts_twenty_times_in_the_default"),
    Mutant("insight/majority.py", "TIED_SHARE = 0.3", "TIED_SHARE = 0.15",
           f"{CONSTANTS}ties_are_warned_of_from_30_percent_of_the_tasks_on"),
    Mutant("insight/measures.py", "MIN_TASKS = 100", "MIN_TASKS = 50",
           f"{CONSTANTS}agreement_has_an_interval_from_a_hundred_tasks_on"),
    Mutant("insight/expected.py", "map(exact_interval, hits.tolist(), n.tolist())",
           "map(exact_interval, hits.tolist(), (n + 1).tolist())",
           f"{CONSTANTS}the_interval_of_a_share_of_right_labels_is_exact"),
]  # fmt: skip
MUTANTS = list(OTHERS)


def kills(file: str, line: str, changed: str) -> Callable[[T], T]:
    """Register a change that the decorated test sees."""

    def register(test: T) -> T:
        module = test.__module__.replace(".", "/")
        MUTANTS.append(Mutant(file, line, changed, f"{module}.py::{test.__name__}"))
        return test

    return register


def register_all() -> None:
    """Import the tests that register their changes."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "\n@kills(" in path.read_text("utf-8"):
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def main(words: list[str]) -> int:
    register_all()
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        for mutant in MUTANTS:
            if words and not any(word in mutant.file + mutant.test for word in words):
                continue
            path = source / "finegold" / mutant.file
            text = path.read_text()
            path.write_text(text.replace(mutant.line, mutant.changed))
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.test],
                cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, check=False,
            )  # fmt: skip
            path.write_text(text)
            survived += done.returncode != 1
            said = {0: "SURVIVED", 1: "seen"}.get(
                done.returncode, f"pytest ended with {done.returncode}"
            )
            print(
                f"{said:9} {mutant.file}: {mutant.line.strip()} -> {mutant.changed.strip() or 'nothing'}",
                flush=True,
            )
    return int(survived > 0)


if __name__ == "__main__":
    from tests.mutants import main as run  # the module that the tests register with, not __main__

    raise SystemExit(run(sys.argv[1:]))
