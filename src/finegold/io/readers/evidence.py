"""Whether columns that share labels are plainly votes: their names, how they are filled, and whether they agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.io.readers.columns import ANNOTATORS, bare_name
from finegold.votes.encoding import MISSING

__all__ = ["doubt_names", "doubt_values", "is_derived", "names_people", "names_tasks"]

Matrix = NDArray[np.int32]  # [rows, columns] codes of the labels, MISSING where there is none

MODELS = (
    "gpt chatgpt claude llama gemini gemma mistral mixtral qwen deepseek palm bard bert roberta deberta vicuna falcon "
    "grok command sonnet opus haiku phi"
)
PEOPLE = re.compile(
    rf"({'|'.join(ANNOTATORS.split())}|ann|anno|annot|expert|crowd|llm|human|person|lf|{'|'.join(MODELS.split())})"
    r"([\W_\d]|$)|[abdeghj-pruw]{1,2}[\W_]?\d{0,4}$|\d+$",
    re.IGNORECASE,
)
DERIVED_WORDS = (
    "majority consensus final aggregated aggregate adjudicated adjudication gold truth truelabel agreed agreement mode "
    "expected target reference correct resolved mv ds"
)
FEATURE_WORDS = (
    "count counts num number total sum mean avg average median min max std score scores prob probability percent pct "
    "ratio rate length len size width height weight age year month day date time duration hour price cost amount "
    "distance lat lon latitude longitude input output option opt choice matching feature feat var variable col column "
    "field flag is has type version group gender sex country city state region x y z id url path code rank position "
    "before after pre post top pred prediction predicted diagnosis symptom test"
)
DERIVED, FEATURES = frozenset(DERIVED_WORDS.split()), frozenset(FEATURE_WORDS.split())
FEATURE = re.compile(
    r"(input|output|answer|model|option|choice|response)[\W_]+\w+|model[ab]|[xyzfvc]\d+|pc\d+|n[\W_].*"
)
TASKS = re.compile(
    r"(q|question|item|task|prompt|image|img|sentence|text|doc|stimulus|case|example|t|s)[\W_]*\d+$", re.IGNORECASE
)
YES_NO = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f"})

MOST_CLASSES = 30
FEW_CLASSES = 5  # are a small set, however few the votes
MOST_NUMBERS = 11  # 0 to 10; more different numbers are measurements
FEW_ROWS = 5  # say nothing about agreement
SOME_ROWS = 10  # are needed where only agreement speaks for votes
CHANCE, CLEAR = 0.05, 0.2  # kappa


def is_derived(name: Any) -> bool:
    """Return whether the name says that a column was made of votes: majority, final_label, consensus."""
    return not DERIVED.isdisjoint(_parts(name))


def names_people(name: Any) -> bool:
    return PEOPLE.match(str(name).strip()) is not None and not _names_feature(name)


def names_tasks(name: Any) -> bool:
    text = str(name).strip()
    return not names_people(name) and (TASKS.match(text) is not None or "?" in text or len(text.split()) > 2)


def doubt_names(columns: Sequence[Any], is_transposed: bool) -> str:
    """Return why the names may not be those of annotators (or of tasks, if the table is transposed)."""
    features = [str(column) for column in columns if _names_feature(column)]
    if features:
        return f"{_some(features)} may be features of the tasks"
    tasks = [str(column) for column in columns if names_tasks(column)]
    if is_transposed:
        return "" if len(tasks) * 2 >= len(columns) else f"{_some(columns)} may be features of people"
    return f"{_some(tasks)} may be tasks and not annotators" if tasks else ""


def doubt_values(codes: Matrix, classes: Sequence[str], people: int, is_transposed: bool) -> str:
    """Return why the values may be no votes. `people` is the number of columns whose names are those of annotators."""
    votes = codes.T if is_transposed else codes
    filled = int((codes != MISSING).sum())
    numbers = _numbers(classes)
    if _are_measurements(numbers):
        return "the numbers look like measurements"
    if len(classes) > MOST_CLASSES or (len(classes) > FEW_CLASSES and len(classes) * 3 > filled):
        return f"{len(classes):,} different values are no small set of classes"
    if _shared(codes, len(classes)) * 2 < filled:
        return "the columns have too few values in common"
    if not is_transposed and numbers is not None and _same_sums(codes, numbers):
        return "every row has the same sum, so the columns may be counts or shares"
    if is_transposed or people == codes.shape[1]:
        return ""
    return _doubt_filling(codes) or _doubt_agreement(votes, classes, people)


def _doubt_filling(codes: Matrix) -> str:
    fill = (codes != MISSING).mean(axis=0)
    usual = np.median(fill)
    alike = (fill >= usual / 2) & (fill <= usual * 2)
    return "" if alike.mean() > 0.5 else "some columns are full and others nearly empty"


def _doubt_agreement(votes: Matrix, classes: Sequence[str], people: int) -> str:
    """Columns with plain names need no agreement; with other names they have to agree more than by chance."""
    rows, kappa = _kappa(votes, len(classes))
    if rows >= FEW_ROWS and kappa < (CHANCE if rows >= SOME_ROWS else -0.1):
        return "the columns agree no more than by chance"
    plain = people * 2 >= votes.shape[1]
    if not plain and (rows < SOME_ROWS or kappa < CLEAR or YES_NO.issuperset(map(str.casefold, classes))):
        return "the names of the columns do not say that they are annotators"
    return ""


def _kappa(votes: Matrix, n_classes: int) -> tuple[int, float]:
    """Return the number of rows with two or more votes, and Fleiss' kappa of these rows."""
    counts = np.stack([(votes == code).sum(axis=1) for code in range(n_classes)], axis=1).astype(float)
    total = counts.sum(axis=1)
    counts, total = counts[total > 1], total[total > 1]
    if not len(total):
        return 0, 0.0
    observed = ((counts * (counts - 1)).sum(axis=1) / (total * (total - 1))).mean()
    expected = ((counts.sum(axis=0) / total.sum()) ** 2).sum()
    return len(total), 1.0 if expected == 1 else float((observed - expected) / (1 - expected))


def _shared(codes: Matrix, n_classes: int) -> int:
    """Return the number of cells with a class that two or more columns have."""
    per_class = np.array([(codes == code).sum(axis=0) for code in range(n_classes)])
    return int(per_class[(per_class > 0).sum(axis=1) > 1].sum())


def _same_sums(codes: Matrix, numbers: NDArray[np.float64]) -> bool:
    whole = codes[(codes != MISSING).all(axis=1)]
    if len(whole) < 3 or len(np.unique(whole, axis=0)) < 2:
        return False
    sums = numbers[whole].sum(axis=1)
    return bool(np.ptp(sums) < 1e-6 * max(1.0, abs(sums[0])))


def _numbers(classes: Sequence[str]) -> NDArray[np.float64] | None:
    try:
        return np.array([float(name) for name in classes])
    except ValueError:
        return None


def _are_measurements(numbers: NDArray[np.float64] | None) -> bool:
    if numbers is None:
        return False
    return len(np.unique(numbers)) > MOST_NUMBERS or bool((numbers * 2 % 1 != 0).any())


def _names_feature(name: Any) -> bool:
    text = str(name).strip().casefold()
    return FEATURE.fullmatch(text) is not None or not FEATURES.isdisjoint(_parts(name))


def _parts(name: Any) -> list[str]:
    """Split a name into words: final_label, finalLabel -> final, label."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return [*re.split(r"[\W_\d]+", words.casefold()), bare_name(name)]


def _some(names: Sequence[Any], most: int = 6) -> str:
    return ", ".join(map(str, names[:most])) + (", ..." if len(names) > most else "")
