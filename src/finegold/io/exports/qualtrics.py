"""Qualtrics: responses to a survey, a row a respondent and a column an item.

Below the fields stand their texts, and {"ImportId": ...} as JSON, which tells questions from all
the rest; people delete one or both of these rows. Columns that share an answer are items of one
question; the columns of a loop, 1_Q3 and 2_Q3, are the items 1 and 2 of the question Q3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from finegold.errors import Placeholder, use
from finegold.io.columns import group_by_labels
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source

# in this order
PEOPLE = ("prolificpid", "prolificid", "participantid", "workerid", "mturkid", "sonaid")
RESPONSE = "responseid"
# the response, not what it says
ABOUT = re.compile(
    r"(Start|End|Recorded)Date|Status|IPAddress|Progress|Duration.*|Finished|Response(Id|ID|Set)|"
    r"Recipient(LastName|FirstName|Email)|External(Data)?Reference|Location(Latitude|Longitude|Accuracy)|"
    r"Name|EmailAddress|DistributionChannel|UserLanguage|Q_.*"
)
# free texts, orders of display, timers and browsers
NO_LABEL = re.compile(
    r"_(TEXT|DO|FIRST.CLICK|LAST.CLICK|PAGE.SUBMIT|CLICK.COUNT|BROWSER|VERSION|OPERATING.SYSTEM|OS"
    r"|RESOLUTION)(_\d+)?$",
    re.IGNORECASE,
)
QUESTION = re.compile(r"^(?:(\d+)_)?QID\d+")
_PREVIEWS = "1,2,9,17,Survey Preview,Survey Test,Spam Preview,Offline Survey Preview"
PREVIEWS, SPAM = _PREVIEWS.split(","), ["8", "Spam", "Possible Spam"]
# a question that was seen and left out, if the export was told to say so
UNANSWERED = "-99"


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    columns = _columns(seen)
    _, n_headers = _import_ids(seen)
    table = base.read_rows(seen, seen.columns)
    rows = [dict(zip(columns, row.values(), strict=True)) for row in table][n_headers:]
    if not rows:
        raise DamagedExport("it has headers but no responses")
    bare = {name: re.sub(r"[^a-z]", "", name.lower()) for name in columns}
    # Who answered: by the id of the service that recruited them, else by that of the response.
    people = [name for known in (*PEOPLE, RESPONSE) for name in bare if bare[name] == known]
    if not people:
        raise DamagedExport("there is neither ResponseId nor PROLIFIC_PID")
    kept = []
    for row in rows:
        status, finished = row.get("Status"), (row.get("Finished") or "").lower()
        is_preview = status in PREVIEWS or row.get("DistributionChannel") == "preview"
        if not (
            options.leaves_out(is_preview, "previews", "previews")
            or options.leaves_out(status in SPAM, "responses marked as spam", "spam")
            or options.leaves_out(finished in ("false", "0"), "unfinished responses", "unfinished")
        ):
            kept.append({name: None if cell == UNANSWERED else cell for name, cell in row.items()})
    return (
        Vote(task, next(filter(None, map(row.get, people)), None), row[item], question)
        for question, tasks in _questions(seen, kept, people, options).items()
        for item, task in tasks.items()
        for row in kept
    )


def _questions(
    seen: Source, rows: list[dict[str, Any]], people: list[str], options: ExportOptions
) -> dict[str, dict[str, str]]:
    """Return the columns of each question, and the task that each column is."""
    columns = _columns(seen)
    if options.task is not None:
        patterns = [pattern.strip() for pattern in options.task.split(",")]
        items = [name for name in columns if any(fnmatchcase(name, each) for each in patterns)]
        if not items:
            remedy = use(task=Placeholder("PATTERNS"), text="such as Q1,Q2_*")
            raise DamagedExport(f'no column is called "{options.task}"', remedy)
        return {options.task: {name: name for name in items}}
    ids, _ = _import_ids(seen)
    items = [name for name in columns if name not in people and not NO_LABEL.search(name)]
    if ids:
        items = [name for name in items if QUESTION.match(ids.get(name, ""))]
        items = [name for name in items if not NO_LABEL.search(ids[name])]
    items = [name for name in items if ids or not ABOUT.fullmatch(name)]
    if not items:
        raise DamagedExport("there is no column with answers to choose from")
    questions: dict[str, dict[str, str]] = {}
    answers: dict[str, set[str]] = {}
    for name in items:
        loop = QUESTION.match(ids.get(name, ""))
        if loop and loop[1] and name.startswith(f"{loop[1]}_"):
            questions.setdefault(name.partition("_")[2], {})[name] = loop[1]
        elif said := {row[name] for row in rows if row[name] is not None}:
            answers[name] = said
    for group in group_by_labels(answers):
        title = options.question if options.question in group else group[0]
        questions[str(title)] = {name: name for name in group}
    return questions


def _columns(seen: Source) -> list[str]:
    """Return the names of the fields, which old exports call V1, V2, ... and name in the second row."""
    below = dict(zip(seen.columns, seen.rows[0], strict=False)) if seen.rows else {}
    is_old = "StartDate" in below.values()
    return [(is_old and name[:1] == "V" and below.get(name)) or name for name in seen.columns]


def _import_ids(seen: Source) -> tuple[dict[str, str], int]:
    """Return what Qualtrics calls each field, by its column, if that row is there, and how many rows
    below the header are no responses: another one is that with "Start Date", in any language.
    """
    for number, row in enumerate(seen.rows, 1):
        if any("ImportId" in cell for cell in row):
            pairs = zip(_columns(seen), row, strict=False)
            found = {name: re.search(r"ImportId\W+(\w+)", cell) for name, cell in pairs}
            return {name: match[1] for name, match in found.items() if match}, number
    begun = next((dict(zip(_columns(seen), row, strict=False)) for row in seen.rows), {})
    return {}, int(re.fullmatch(r"\D*\S\D*", begun.get("StartDate", "")) is not None)


REMEDY = "export it again: Data & Analysis, Export & Import, Export Data, CSV, with choice text"
INCLUDE = ("previews", "spam", "unfinished")
EXPORT = Export("qualtrics", "Qualtrics", REMEDY, None, read, INCLUDE, takes_task=True)
