"""The votes of a project: all sources read in their order and merged. A later vote of an annotator
on a task counts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.studio.problems import rename_files
from finegold.studio.reading import Reading, near_spellings, read_votes
from finegold.studio.services import JobState, Services
from finegold.studio.store import Row
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, match, text_of, to_list
from finegold.votes.hygiene import examine_votes
from finegold.votes.labels import find_look_alikes, spelled_alike
from finegold.votes.merging import merge

# what all sources of votes of a project share
SHARED = ("alias", "normalise", "missing", "classes", "ordered", "multi", "repeated", "people")
# kinds of findings that concern a file, not all votes together
OF_A_FILE = (
    *("merged", "no vote", "no answer", "dates", "headers", "ids", "alias"),
    *("gold tasks", "gold classes", "gold codes"),
)
MAX_EXAMPLES = 20
# files that were read, in memory
MAX_PARTS = 6


def vote_sources(services: Services, project: int) -> list[Row]:
    """Return the sources of votes in their order."""
    return services.store.rows(
        "SELECT * FROM source WHERE project = ? AND kind = 'votes' AND state = 'in' ORDER BY id",
        project,
    )


def key_of(services: Services, project: int) -> dict[str, Any]:
    """Return what the votes of a project depend on."""
    sources = [[row["id"], row["reading"], row["blob"]] for row in vote_sources(services, project)]
    return {"sources": sources, "excluded": services.store.project(project)["excluded"]}


def votes_of(
    services: Services, project: int, job: JobState | None = None, *, without: int | None = None
) -> Annotations:
    """Return the votes of a project, `without` one of its sources.

    Votes of the shown result are not read again if its sources are the first of those here.
    """
    rows = [row for row in vote_sources(services, project) if row["id"] != without]
    if not rows:
        raise InputError("there are no votes; add a file with votes first")
    key = key_of(services, project)
    key["sources"] = [each for each in key["sources"] if each[0] != without]
    votes, n_known = _known_votes(services, project, rows, key)
    for row in rows[n_known:]:
        part = read_part(services, row, job)
        votes = part if votes is None else _join(votes, part, Reading(**row["reading"]))
    assert votes is not None
    people = {
        spelling: name
        for row in rows
        for spelling, name in (row["reading"].get("people") or {}).items()
    }
    if n_known < len(rows) and (people or key["excluded"]):
        votes = recode(votes, people=people, without=key["excluded"])
    return votes


def _known_votes(
    services: Services, project: int, rows: Sequence[Row], key: dict[str, Any]
) -> tuple[Annotations | None, int]:
    """Return the votes of the shown result, and of how many sources they are; None if they are not
    the first sources.
    """
    fit = services.store.row(
        "SELECT id, facts FROM fit WHERE id = (SELECT shown FROM project WHERE id = ?)", project
    )
    known = (fit and fit["facts"] and fit["facts"].get("key")) or {}
    sources = known.get("sources", [])
    is_prefix = sources and sources == key["sources"][: len(sources)]
    has_gold = any(row["facts"].get("has_gold") for row in rows)
    if not is_prefix or has_gold or known["excluded"] != key["excluded"] or fit is None:
        return None, 0
    votes = services.loaded.of(project, fit["id"]).votes
    unknown = np.full_like(votes.gold, MISSING)
    return replace(votes, gold=unknown, gold_sets=()), len(sources)


def read_part(services: Services, row: Row, job: JobState | None = None) -> Annotations:
    """Read the votes of one source."""
    kept, key = services.parts, json.dumps([row["id"], row["reading"], row["blob"]])
    if key not in kept:
        path = services.files.path_of(row)

        def watch(progress: Any) -> None:
            if job is not None:
                job.rows, job.expected = progress.rows, progress.expected
                services.jobs.report(job)

        with services.loaded.loading(row["project"]):
            try:
                kept[key] = read_votes(path, Reading(**row["reading"]), watch)
            except InputError as error:
                names = {f"{path.parent}/": "", path.name: row["name"]}
                raise rename_files(error, names) from error
        while len(kept) > MAX_PARTS:
            del kept[next(iter(kept))]
    return kept[key]


def _join(votes: Annotations, new: Annotations, options: Reading) -> Annotations:
    """Return both sets of votes, whose labels are examined together."""
    if votes.multi != new.multi:
        raise InputError("some files have sets of labels, and others have single labels")
    joined = merge(votes, new, repeated="last")
    findings = []
    if options.normalise and not joined.multi:
        names = to_list(joined.class_names)
        order = np.argsort(-joined.votes_per_class, kind="stable").tolist()
        same = spelled_alike([text_of(names[code]) for code in order], [])
        joined = recode(joined, classes=same)
    elif not joined.multi:
        findings = find_look_alikes(joined.class_names, joined.votes_per_class)
    findings += examine_votes(joined, options.repeated)
    before = [finding for finding in joined.hygiene.findings if finding.kind in OF_A_FILE]
    return replace(joined, hygiene=replace(joined.hygiene, findings=[*before, *findings]))


def recode(
    votes: Annotations,
    *,
    people: Mapping[str, str] | None = None,
    classes: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
) -> Annotations:
    """Return the votes with other names of annotators and classes, without those of some
    annotators.
    """
    task, who, label = votes.votes()

    def renamed(names: Names, meant: Mapping[str, Any]) -> tuple[Names, Any]:
        values = to_list(names)
        texts = [text_of(meant.get(text_of(value), value)) for value in values]
        known = {text_of(value): value for value in values}
        kept = [text for text in known if text in set(texts)]
        kept += [text for text in dict.fromkeys(texts) if text not in known]
        # names that are new take their place in the order
        kept = sorted(kept) if len(kept) > sum(text in known for text in kept) else kept
        place = {text: code for code, text in enumerate(kept)}
        codes = np.array([place[text] for text in texts], np.int32)
        return Names([known.get(text, text) for text in kept]), codes

    everyone, new_who = renamed(votes.annotator_names, people or {})
    every_class, new_label = renamed(votes.class_names, classes or {})
    left_out = np.array([text_of(name) in set(without) for name in to_list(everyone)], np.bool_)
    who = new_who[who]
    counted = ~left_out[who]
    if not counted.any():
        raise InputError("no votes are left: every annotator is excluded")
    known = np.flatnonzero(votes.gold != MISSING)
    truths = votes.gold[known]
    made = Annotations.from_codes(
        task[counted],
        who[counted],
        new_label[label][counted],
        votes.task_names,
        everyone,
        every_class,
        gold=(known.astype(np.int32), truths if votes.multi else new_label[truths]),
        repeated="all" if votes.multi else "last",
    )
    kept = ("unlabelled", "counts", "hygiene", "columns", "multi", "gold_sets")
    return replace(made, **{name: getattr(votes, name) for name in kept})


def with_truths(votes: Annotations, truths: Mapping[Any, Any]) -> tuple[Annotations, int]:
    """Return votes with truths that people or files gave, besides those of their own file, and how
    many were used.
    """
    codes = match(truths, votes.task_names)
    labels = to_list(votes.class_names)
    place = {text_of(label): code for code, label in enumerate(labels)}
    gold, sets, n_used = votes.gold.copy(), list(votes.gold_sets), 0
    for code, truth in zip(codes.tolist(), truths.values(), strict=True):
        wanted = [place.get(text_of(each)) for each in (truth if votes.multi else [truth])]
        if code == MISSING or None in wanted:
            continue
        n_used += 1
        if votes.multi:
            options = tuple(sorted(each for each in wanted if each is not None))
            if options not in sets:
                sets.append(options)
            gold[code] = sets.index(options)
        else:
            gold[code] = int(wanted[0] or 0)
    return replace(votes, gold=gold, gold_sets=tuple(sets)), n_used


def compare(before: Annotations | None, new: Annotations) -> dict[str, Any]:
    """Return what votes that arrive would change: what is new, repeated and changed."""
    task, who, label = new.votes()
    names = [to_list(each) for each in (new.task_names, new.annotator_names, new.class_names)]
    facts: dict[str, Any] = {
        "votes": new.n_votes,
        "tasks": new.n_tasks,
        "annotators": new.n_annotators,
        "missing": new.counts.missing,
        "has_gold": bool((new.gold != MISSING).any()),
    }
    if before is None:
        return facts
    texts = [text_of(name) for name in to_list(before.class_names)]
    in_before = [
        match(own, theirs).astype(np.int64)
        for own, theirs in zip(
            names, (before.task_names, before.annotator_names, before.class_names), strict=True
        )
    ]
    pair = ["task", "who"]
    old = pl.DataFrame(dict(zip([*pair, "class"], before.votes(), strict=True))).cast(pl.Int64)
    here = pl.DataFrame({"task": in_before[0][task], "who": in_before[1][who]}).cast(pl.Int64)
    found = here.join(old.unique(pair, keep="first"), on=pair, how="left", maintain_order="left")
    earlier = found["class"].fill_null(MISSING).to_numpy()
    is_changed = (earlier != MISSING) & (earlier != in_before[2][label])
    unknown = [text_of(names[2][code]) for code in np.flatnonzero(in_before[2] == MISSING)]
    unknown = [name for name in unknown if name]
    return facts | {
        "new": int((earlier == MISSING).sum()),
        "repeated": int((earlier != MISSING).sum() - is_changed.sum()),
        "changed": int(is_changed.sum()),
        "new_tasks": int((in_before[0] == MISSING).sum()),
        "new_annotators": [
            text_of(names[1][code])
            for code in np.flatnonzero(in_before[1] == MISSING)[:MAX_EXAMPLES]
        ],
        "new_classes": unknown,
        "near": near_spellings(unknown, texts),
        "examples": [
            {
                "task": text_of(names[0][task[place]]),
                "annotator": text_of(names[1][who[place]]),
                "before": texts[earlier[place]],
                "after": text_of(names[2][label[place]]),
            }
            for place in np.flatnonzero(is_changed)[:MAX_EXAMPLES].tolist()
        ],
    }
