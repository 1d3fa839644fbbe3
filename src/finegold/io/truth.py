"""Read known truths, which either teach a method (gold) or judge it (evaluation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from finegold.errors import InputError, Placeholder, use, warn_user
from finegold.io import columns as roles
from finegold.io.columns import LABEL, TASK, TRUTH, candidates
from finegold.io.diagnosis import explain_lost_columns
from finegold.io.tables import open_table
from finegold.results.data import ResultData
from finegold.votes import labels as spelling
from finegold.votes.annotations import Annotations, warn_of_unused_gold
from finegold.votes.encoding import (
    MISSING,
    Coded,
    Codes,
    Encoder,
    Names,
    integer_names,
    listed,
    match,
    text_of,
    to_list,
)
from finegold.votes.hygiene import Finding, Hygiene, warn_of
from finegold.votes.key import Key, key_of_codes, make_key

# tasks without votes that a warning names
NAMED = 3
# fewer gold truths may well be of classes without votes
FEW_GOLD = 5
# the first columns of labels that Finegold wrote, behind the tasks
OWN_COLUMNS = ["label", "confidence", "n_votes", "tied"]


class GoldColumn(str):
    """The name of a column with the gold truths, which is never taken for a path."""


class Truth(NamedTuple):
    """Distinct tasks and their truths."""

    task: Names
    truth: Names


def read_truth(
    truth: Any,
    *,
    task: str | None = None,
    label: str | None = None,
    missing: Sequence[Any] | None = None,
    prefix: str = "truth-",
    what: str = "truth",
) -> Truth:
    """Read the truth of each task: of a table with a column of tasks and one of truths, of task ->
    class, or of a series indexed by task.

    The truths are in the column called truth, gold or ground truth, or else in one that is called as
    columns of votes are. `prefix` is that of the options that name the columns, empty if there are
    none, and `what` the name of the values in messages.
    """
    if isinstance(truth, Truth):
        return truth
    if isinstance(truth, GoldColumn):
        raise InputError(
            f'a column cannot hold the gold of such a file, but "{truth}" was named; leave it out'
        )
    if isinstance(truth, Mapping) or (hasattr(truth, "items") and not hasattr(truth, "columns")):
        words = spelling.fold_words(missing)
        known = [
            (name, meant) for name, meant in truth.items() if not spelling.is_missing(meant, words)
        ]
        return Truth(Names([name for name, _ in known]), Names([meant for _, meant in known]))
    try:
        opened = open_table(truth)
        columns = opened.columns
        own = [label] if label else candidates(columns, TRUTH) or candidates(columns, LABEL)
        if task is None and not candidates(columns, TASK):
            if list(columns[1:5]) == OWN_COLUMNS:
                task = columns[0]
            elif len(columns) == 2 and len(own) == 1 and own[0] in columns:
                (task,) = (column for column in columns if column != own[0])
        role = TRUTH if label is None and candidates(columns, TRUTH) else LABEL
        by_role = {
            replace(TASK, option=f"{prefix}task" if prefix else ""): task,
            replace(role, name=what, option=f"{prefix}label" if prefix else ""): label,
        }
        try:
            with roles.columns_of(opened):
                by_task, by_truth = roles.find_columns(columns, by_role)
        except roles.LostColumnsError as error:
            raise explain_lost_columns(error, opened) from None
        encoder = Encoder(["task"], opened.is_text, opened.backend)
        for batch in opened.batches({"task": by_task, "truth": by_truth}, lists=[by_truth]):
            encoder.add(batch)
        coded = encoder.finish()
        is_text, where = opened.is_text, opened.where
        return one_per_task(coded["task"], coded["truth"], missing, is_text, where, what)
    except InputError as error:
        # options of reading concern the votes and not the truths
        error.remedies = tuple(
            each
            for each in error.remedies
            if all(name.split("_")[0] in ("truth", "labels") for name in each.options)
        )
        raise


def one_per_task(
    tasks: Coded,
    truths: Coded,
    missing: Sequence[Any] | None,
    is_text: bool,
    where: Callable[[int], str],
    what: str = "truth",
) -> Truth:
    """Return the truth of each task of a table in which a task may have several rows."""
    truths = spelling.drop_missing(truths, missing)
    if is_text:
        truths = integer_names(truths)
    rows = np.flatnonzero(truths.codes != MISSING)
    lost = rows[tasks.codes[rows] == MISSING]
    if lost.size:
        remedy = use(text="fill in the task or remove the row")
        raise InputError(f"there is a {what} but no task", where(int(lost[0])), [remedy])
    truth_of = np.full(len(tasks.names), MISSING, dtype=np.int32)
    truth_of[tasks.codes[rows]] = truths.codes[rows]
    wrong = rows[truth_of[tasks.codes[rows]] != truths.codes[rows]]
    if wrong.size:
        row, names = int(wrong[0]), to_list(truths.names)
        task = tasks.codes[row]
        problem = (
            f"task {to_list(tasks.names)[task]!r} has the {what} {names[truths.codes[row]]!r} here"
            f" and {names[truth_of[task]]!r} in another row"
        )
        raise InputError(problem, where(row), [use(text="keep one of them")])
    known = np.flatnonzero(truth_of != MISSING)
    return Truth(tasks.names[known], truths.names[truth_of[known]])


def gold_column(gold: Any, columns: Sequence[Any]) -> Any:
    """Return the column of the votes' own table with the gold truths, if they are there."""
    role = replace(TRUTH, option="gold")
    if isinstance(gold, GoldColumn) or (isinstance(gold, str) and gold in columns):
        return roles.named_column(columns, str(gold), role)
    if gold is not True:
        return None
    matches = candidates(columns, TRUTH)
    if not matches:
        remedies = [use(gold=Placeholder("NAME"), text="to name it")]
        remedies.append(use(text="give a file of truths"))
        raise InputError(
            f"there is no gold column among {roles.list_names(columns)}", remedies=remedies
        )
    return roles.the_only(matches, role)


def gold_codes(
    truth: Truth, truths: Codes, names: Names, votes: Sequence[Codes], normalise: bool = False
) -> tuple[tuple[Codes, Codes], list[Any]]:
    """Return tasks with votes and their truths as codes, and the names of the other tasks."""
    codes = spelling.match_ids(to_list(truth.task), names, normalise)
    is_used = (codes != MISSING) & np.isin(codes, votes[0][votes[2] != MISSING])
    return (codes[is_used], truths[is_used]), to_list(truth.task[np.flatnonzero(~is_used)])


def find_unused_gold(
    n_unused: int, n_truths: float = np.inf, gold: Any = None, task: Any = None
) -> list[Finding]:
    """Report truths of tasks without votes; if these are most, show how each side writes ids."""
    text = f"{n_unused:,} gold truths belong to tasks without votes and are not used"
    if n_unused * 2 > n_truths:
        text += f": {_sides('gold has', gold, task)}; check that ids are written alike"
    return [Finding("gold tasks", text)]


def find_unvoted_gold(truths: list[Any], labels: Names) -> list[Finding]:
    """Report that most of several truths are classes that nobody voted for."""
    codes = match(truths, labels)
    new = [truths[place] for place in np.flatnonzero(codes == MISSING).tolist()]
    if len(new) < FEW_GOLD or len(new) * 2 <= len(truths) or not len(labels):
        return []
    text = f"{len(new):,} of {len(truths):,} gold truths are classes that nobody voted for: "
    text += _sides("gold has", new[0], to_list(labels[:1])[0])
    remedy = use("if they mean the same", alias=Placeholder("FILE"))
    return [Finding("gold classes", text, (remedy,))]


def _sides(what: str, own: Any, voted: Any) -> str:
    """Write what each side has: the gold has 't0', the votes have 0."""
    return f"the {what} {own!r}, the votes have {voted!r}"


def match_truth(
    votes: Annotations | ResultData,
    truth: Any,
    *,
    task: str | None = None,
    label: str | None = None,
) -> Key:
    """Match known truths, or the code of the true class of each task (negative: unknown), to the
    tasks and classes of votes or of a result, to judge labels by them.

    Truths are spelled like the classes if the votes were read with `normalise` or `alias`.
    """
    if isinstance(truth, Key):
        return truth
    is_array = isinstance(truth, np.ndarray) and truth.dtype.kind in "iu"
    if is_array and truth.shape == (len(votes.task_names),):
        return key_of_codes(truth, votes.class_names)
    tasks, truths = map(to_list, read_truth(truth, task=task, label=label))
    annotations = votes.annotations if isinstance(votes, ResultData) else votes
    rules = Hygiene() if annotations is None else annotations.hygiene
    truths = spelling.as_classes(truths, votes.class_names, rules.normalise, rules.alias)
    if rules.normalise:
        codes = spelling.match_ids(tasks, votes.task_names, normalise=True)
        known = votes.task_names.take(codes).to_list()
        tasks = [name if own is None else own for name, own in zip(tasks, known, strict=True)]
    key = make_key(tasks, truths, votes.task_names, votes.class_names)
    of_file = f" in {truth}" if isinstance(truth, str | Path) else ""
    if not key.n_known:
        _refuse_unvoted(key.n_unmatched, of_file, tasks, votes)
    _report_new_classes(key, of_file)
    # the truths of unlabelled tasks are no surprise
    is_new = match(key.unmatched, votes.unlabelled) == MISSING
    unknown = [key.unmatched[row] for row in np.flatnonzero(is_new).tolist()]
    if n := len(unknown):
        text = "1 truth belongs to a task" if n == 1 else f"{n:,} truths belong to tasks"
        named = listed(unknown, NAMED)
        warn_user(f"{text} without votes and cannot be used{of_file}: {named}")
    return key


def _report_new_classes(key: Key, of_file: str) -> None:
    """Warn of truths that are no classes of the votes; refuse them if they are all."""
    known = len(key.class_names) - key.n_new_classes
    alike = spelling.look_alikes(key.class_names[known:], key.class_names[:known])
    if not known or not (alike or key.n_unvoted * 2 > key.n_known):
        return
    if alike:
        sides = listed((f"{text} looks like {name}" for text, name in alike.items()), NAMED)
        remedies = [use("when the votes are read", normalise=True), use(text="write classes alike")]
    else:
        sides = _sides("truths have", key.class_names[known], key.class_names[0])
        alias, when = Placeholder("FILE"), "if they mean the same"
        remedies = [use(when, alias=alias, text="when the votes are read")]
    if key.n_unvoted == key.n_known:
        problem = f"none of the {key.n_known:,} truths{of_file} is a class of the votes: {sides}"
        raise InputError(problem, "", remedies)
    text = f"{key.n_unvoted:,} of {key.n_known:,} truths{of_file} are classes that nobody voted for"
    warn_user(f"{text}: {sides}", remedies)


def _refuse_unvoted(
    n_truths: int, of_file: str, tasks: list[Any], votes: Annotations | ResultData
) -> NoReturn:
    voted = to_list(votes.task_names[:1])[0]
    sides = f" ({_sides('truths have', tasks[0], voted)})" if tasks else ""
    raise InputError(
        f"none of the {n_truths:,} truths{of_file} belongs to a task with votes; check that the"
        f" tasks have the same names as in the votes{sides}"
    )


def with_gold(annotations: Annotations, gold: Any) -> Annotations:
    """Return the annotations with these gold truths instead of their own."""
    if annotations.multi:
        annotations, findings = add_gold_sets(annotations, gold)
        warn_of(findings)
        return annotations
    tasks, truths = map(to_list, read_truth(gold, prefix=""))
    key = make_key(tasks, truths, annotations.task_names, annotations.class_names)
    if key.n_unvoted:
        classes = to_list(annotations.class_names)
        remedy = use(classes=Placeholder("CLASSES"), text="when the annotations are read")
        problem = f"{key.n_unvoted:,} gold truths are not among the classes {classes}"
        raise InputError(problem, remedies=[remedy])
    warn_of_unused_gold(key.n_unmatched)
    counts = replace(annotations.counts, gold_unused=key.n_unmatched)
    return replace(annotations, gold=key.codes, counts=counts)


# Votes that are sets of labels


class TruthSets(NamedTuple):
    """The true sets of some tasks."""

    # positions among the tasks of the votes
    task: list[int]
    sets: list[set[str]]
    # truths of tasks without votes
    n_unused: int


def match_sets(
    votes: Annotations, truth: Any, *, task: str | None = None, label: str | None = None
) -> TruthSets:
    """Match known sets to the tasks of votes, spelled as the options of the votes."""
    tasks, cells = map(to_list, read_truth(as_texts(truth), task=task, label=label))
    codes = match(tasks, votes.task_names)
    options = to_list(votes.class_names)[:-1]
    rules, known = votes.hygiene, set(options)
    voted = [text_of(cells[row]) for row in np.flatnonzero(codes != MISSING).tolist()]
    chosen = [spelling.known_options(cell, known) for cell in voted]
    sets = [{*spelling.as_classes(one, options, rules.normalise, rules.alias)} for one in chosen]
    of_file = f" in {truth}" if isinstance(truth, str | Path) else ""
    if not sets:
        _refuse_unvoted(len(cells), of_file, tasks, votes)
    true = sorted(set().union(*sets))
    if true and known.isdisjoint(true):
        sides = _sides("truths have", true[0], options[0] if options else "none")
        raise InputError(
            f"none of the {len(sets):,} truths{of_file} holds an option of the votes: {sides}"
        )
    return TruthSets(codes[codes != MISSING].tolist(), sets, int((codes == MISSING).sum()))


def add_gold_sets(votes: Annotations, gold: Any) -> tuple[Annotations, list[Finding]]:
    """Return the votes with these known sets, without options that nobody chose or listed."""
    truths, findings = match_sets(votes, gold), list[Finding]()
    code_of = {name: code for code, name in enumerate(to_list(votes.class_names)[:-1])}
    if new := sorted(set().union(*truths.sets) - code_of.keys()):
        text = f"gold truths have {len(new):,} options that nobody chose, such as {new[0]!r}"
        remedy = use(classes=Placeholder("A,B,C"), text="to list all options")
        findings.append(Finding("gold options", f"{text}, which are not used", (remedy,)))
    sets = [tuple(sorted(code_of[name] for name in own if name in code_of)) for own in truths.sets]
    distinct = {codes: number for number, codes in enumerate(sorted(set(sets)))}
    gold_of = np.full(votes.n_tasks, MISSING, np.int32)
    gold_of[truths.task] = [distinct[codes] for codes in sets]
    if truths.n_unused:
        findings += find_unused_gold(truths.n_unused)
    counts = replace(votes.counts, gold_unused=truths.n_unused)
    return replace(votes, gold=gold_of, gold_sets=tuple(distinct), counts=counts), findings


def as_texts(truth: Any) -> Any:
    """Write lists and sets of a mapping as text."""
    if not isinstance(truth, Mapping):
        return truth
    is_set = (list, tuple, set, frozenset)
    return {
        task: spelling.as_cell(sorted(cell, key=str)) if isinstance(cell, is_set) else cell
        for task, cell in truth.items()
    }
