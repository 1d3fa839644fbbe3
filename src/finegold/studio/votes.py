"""The votes of a project: all sources read in their order and merged. A later vote of an annotator
on a task counts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.studio.problems import rename_files
from finegold.studio.reading import near_spellings, read_votes
from finegold.studio.services import Job, Project
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


def vote_sources(project: Project) -> list[Row]:
    return project.rows(
        "SELECT * FROM source WHERE project = ? AND kind = 'votes' AND state = 'in' ORDER BY id"
    )


def is_ordered(project: Project) -> bool:
    return any(row["reading"].get("ordered") for row in vote_sources(project))


def version_of(source: Row) -> list[Any]:
    """Return what the votes of a source depend on."""
    return [source["id"], source["reading"], source["blob"]]


def key_of(project: Project) -> dict[str, Any]:
    """Return what the votes of a project depend on."""
    sources = [version_of(row) for row in vote_sources(project)]
    return {"sources": sources, "excluded": project.row["excluded"]}


def votes_of(project: Project, job: Job | None = None) -> Annotations:
    votes: Annotations | None = None
    people: dict[str, str] = {}
    for row in vote_sources(project):
        part = read_part(project, row, job)
        votes = part if votes is None else _join(votes, part, row["reading"])
        people |= row["reading"].get("people") or {}
    if votes is None:
        raise InputError("there are no votes; add a file with votes first")
    excluded = project.row["excluded"]
    return recode(votes, people=people, without=excluded) if people or excluded else votes


def read_part(project: Project, row: Row, job: Job | None = None) -> Annotations:
    kept, key = project.services.parts, json.dumps(version_of(row))
    if key not in kept:
        path = project.files.path_of(row)

        def watch(n_rows: int) -> None:
            if job is not None:
                job.rows = n_rows
                project.services.jobs.report(job)

        with project.services.loaded.loading(project.id):
            try:
                kept[key] = read_votes(path, row["reading"], watch)
            except InputError as error:
                names = {f"{path.parent}/": "", path.name: row["name"]}
                raise rename_files(error, names) from error
        while len(kept) > MAX_PARTS:
            del kept[next(iter(kept))]
    return kept[key]


def _join(votes: Annotations, new: Annotations, options: Row) -> Annotations:
    """Return both sets of votes, whose labels are examined together."""
    if votes.multi != new.multi:
        raise InputError("some files have sets of labels, and others have single labels")
    joined = merge(votes, new, repeated="last")
    findings = []
    if options.get("normalise") and not joined.multi:
        names = to_list(joined.class_names)
        order = np.argsort(-joined.votes_per_class, kind="stable").tolist()
        same = spelled_alike([text_of(names[code]) for code in order], [])
        joined = recode(joined, classes=same)
    elif not joined.multi:
        findings = find_look_alikes(joined.class_names, joined.votes_per_class)
    findings += examine_votes(joined, options.get("repeated", "first"))
    before = [finding for finding in joined.hygiene.findings if finding.kind in OF_A_FILE]
    return replace(joined, hygiene=replace(joined.hygiene, findings=[*before, *findings]))


def recode(
    votes: Annotations,
    *,
    people: Mapping[str, str] | None = None,
    classes: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
) -> Annotations:
    """Return votes with other names of annotators and classes, without those of some annotators."""
    task, who, label = votes.votes()
    everyone, new_who = _rename(votes.annotator_names, people or {})
    every_class, new_label = _rename(votes.class_names, classes or {})
    who = new_who[who]
    counted = np.array([text_of(name) not in set(without) for name in to_list(everyone)])[who]
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


def _rename(names: Names, meant: Mapping[str, Any]) -> tuple[Names, Any]:
    """Return names in their order, sorted where there are new ones, and the new code of each."""
    known = {text_of(value): value for value in to_list(names)}
    texts = [text_of(meant.get(text, text)) for text in known]
    used = set(texts)
    kept = [text for text in known if text in used] if used <= known.keys() else sorted(used)
    place = {text: code for code, text in enumerate(kept)}
    codes = np.array([place[text] for text in texts], np.int32)
    return Names([known.get(text, text) for text in kept]), codes


def with_truths(votes: Annotations, truths: Mapping[Any, Any]) -> tuple[Annotations, int]:
    """Return votes with truths besides those of their own file, and how many were used."""
    codes = match(truths, votes.task_names)
    place = {text_of(label): code for code, label in enumerate(to_list(votes.class_names))}
    gold, sets, n_used = votes.gold.copy(), list(votes.gold_sets), 0
    for code, truth in zip(codes.tolist(), truths.values(), strict=True):
        options = [place.get(text_of(each), -1) for each in (truth if votes.multi else [truth])]
        if code == MISSING or -1 in options:
            continue
        n_used += 1
        if votes.multi:
            options = sorted(options)
            if tuple(options) not in sets:
                sets.append(tuple(options))
            gold[code] = sets.index(tuple(options))
        else:
            gold[code] = options[0]
    return replace(votes, gold=gold, gold_sets=tuple(sets)), n_used


def compare(before: Annotations, new: Annotations) -> dict[str, Any]:
    """Return what votes that arrive would change: what is new, repeated and changed."""
    task, who, label = new.votes()
    names = [to_list(each) for each in (new.task_names, new.annotator_names, new.class_names)]
    known = (before.task_names, before.annotator_names, before.class_names)
    in_before = [
        match(own, theirs).astype(np.int64) for own, theirs in zip(names, known, strict=True)
    ]
    texts = [text_of(name) for name in to_list(before.class_names)]
    pair = ["task", "who"]
    old = pl.DataFrame(dict(zip([*pair, "class"], before.votes(), strict=True))).cast(pl.Int64)
    here = pl.DataFrame({"task": in_before[0][task], "who": in_before[1][who]}).cast(pl.Int64)
    found = here.join(old.unique(pair, keep="first"), on=pair, how="left", maintain_order="left")
    earlier = found["class"].fill_null(MISSING).to_numpy()
    is_changed = (earlier != MISSING) & (earlier != in_before[2][label])
    unknown = [text_of(names[2][code]) for code in np.flatnonzero(in_before[2] == MISSING)]
    unknown = [name for name in unknown if name]
    new_people = np.flatnonzero(in_before[1] == MISSING)[:MAX_EXAMPLES]
    return {
        "votes": new.n_votes,
        "missing": new.counts.missing,
        "new": int((earlier == MISSING).sum()),
        "repeated": int((earlier != MISSING).sum() - is_changed.sum()),
        "changed": int(is_changed.sum()),
        "new_tasks": int((in_before[0] == MISSING).sum()),
        "new_annotators": [text_of(names[1][code]) for code in new_people],
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
