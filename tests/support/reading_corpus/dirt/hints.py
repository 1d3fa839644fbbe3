"""Refused tables with the command that an error proposes, or none; and dirt in ids, labels and lines."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.making import crowd, table

VOTES = [(t, w, label) for t, row in enumerate(crowd(4, 15), 1) for w, label in enumerate(row, 1)]
HEADER = ("task", "worker", "label")
OTHERS: dict[str, Callable[[int, int, int], str]] = {  # columns that are neither annotators nor labels
    "gold": lambda t, w, n: "cat" if t % 2 else "dog",
    "majority": lambda t, w, n: "dog" if t % 3 else "cat",
    "education": lambda t, w, n: ("BA", "MA", "PhD", "none")[w % 4],
    "start_time": lambda t, w, n: f"10:{n % 60:02}:{n // 60:02}",
    "assignment": lambda t, w, n: f"X{n}",
    "gender": lambda t, w, n: "fm"[w % 2],
}


def _long(*names: str, task: str = "", annotator: str = "", label: str = "") -> bytes:
    rows = []
    for n, (t, w, vote) in enumerate(VOTES):
        known = {task: f"{t:03}x", annotator: f"Z{w}Q", label: vote}
        rows.append([known[name] if name in known else OTHERS[name](t, w, n) for name in names])
    return table([names, *rows])


def _hint(name: str, data: bytes, *says: str, pasted: int | None = None, file: str = "votes.csv") -> Case:
    return Case(f"hint: {name}", "not votes", "columns with other names", {file: data}, (), None, says, pasted)


def _dirt(
    name: str, change: Callable[[int, str, str, str], list[Any]], *says: str, arguments: tuple[str, ...] = ()
) -> Case:
    rows = [change(n, f"t{t}", f"w{w}", vote) for n, (t, w, vote) in enumerate(VOTES)]
    return Case(name, "dirty", name, {"v.csv": table([HEADER, *rows])}, arguments, 60, says)


NAMES_OF_SNOW = _long(
    "assignment",
    "!amt_worker_ids",
    "orig_id",
    "response",
    "gold",
    annotator="!amt_worker_ids",
    task="orig_id",
    label="response",
)
WORK = _long(
    "Work_id",
    "education",
    "tweet",
    "stance",
    "majority",
    "start_time",
    annotator="Work_id",
    task="tweet",
    label="stance",
)
SPANISH = _long("pregunta", "usuario", "respuesta", "gender", task="pregunta", annotator="usuario", label="respuesta")
NUMBERED = table(
    [
        ["id", "label", "annotator1", "annotator2", "annotator3"],
        *([n, row[0], *row] for n, row in enumerate(crowd(3, 15))),
    ]
)
SETTINGS = json.dumps({"name": "x", "scripts": {"build": "tsc"}, "port": 80}).encode()
COLUMNS = json.dumps({"age": {str(n): n for n in range(30)}, "city": {str(n): "ab"[n % 2] for n in range(30)}}).encode()
WIDE_WITH_BLANK = (
    b"id,ann1,ann2\n" + b"".join(b"%d,cat,%s\n" % (n, b"cat" if n % 2 else b"dog") for n in range(9)) + b"\n9,cat,dog\n"
)

CASES = (
    _hint("names of Snow's files", NAMES_OF_SNOW, "--task orig_id --annotator '!amt_worker_ids'", pasted=60),
    _hint("a work id among facts about people", WORK, "--task tweet --annotator Work_id --label stance", pasted=60),
    _hint("names in Spanish", SPANISH, "--annotator usuario --label respuesta", pasted=60),
    _hint("no annotator", _long("task", "gold", "gender", "label", task="task", label="label"), "there is no annotator column. The columns are", '"gender" (2 values: m, f)'),
    _hint("no label", _long("task", "worker", "gold", "education", "start_time", task="task", annotator="worker"), "there is no label column"),
    _hint("two questions", table([["aa", "bb", "cc", "dd"], *([f"{t}x", f"Z{w}", v, v[::-1]] for t, w, v in VOTES)]), "The columns are"),
    _hint("numbered annotators beside a label", NUMBERED, "--annotator annotator1,annotator2,annotator3", pasted=45),
    _hint("statistics of workers", table([["worker", "n_tasks", "accuracy"], *([f"w{n}", n % 4 + 3, n / 20] for n in range(12))]), "The columns are"),
    _hint("settings", SETTINGS, "a single JSON object with the fields name, scripts, port", file="package.json"),
    _hint("columns in JSON", COLUMNS, "an object of columns (age, city)", file="v.json"),
    _hint("a list of texts", b'["cat", "dog"]', "the list holds 'cat'; expected rows", file="v.json"),
    _dirt("spaces behind task ids", lambda n, t, w, v: [t + " " * (n % 3 == 0), w, v], "task ids look like 15", "use --normalise to merge them"),
    _dirt("spaces behind task ids, with --normalise", lambda n, t, w, v: [t + " " * (n % 3 == 0), w, v], "on 15 tasks", arguments=("--normalise",)),
    _dirt("case of worker ids", lambda n, t, w, v: [t, w.upper() if n % 5 == 0 else w, v], "annotator ids look like 4"),
    _dirt("ids 7 and 7.0", lambda n, t, w, v: [t[1:] + ".0" * (n % 3 == 0), w, v], "task ids look like 15"),
    _dirt("the word unknown", lambda n, t, w, v: [t, w, "unknown" if n % 20 == 0 else v], 'the label unknown (3) is read as a class; if it means "no vote", use --missing unknown'),
    _dirt("a number for no vote", lambda n, t, w, v: [t, w, 99 if n % 20 == 0 else len(v) + ord(v[0]) % 2], "the label 99 (3) is read as a class"),
    _dirt("dates of a spreadsheet", lambda n, t, w, v: [t, w, "2-Jan" if n % 20 == 0 else v], "labels look like dates: 2-Jan (3)"),
    _dirt("quotes around labels", lambda n, t, w, v: [t, w, f"'{v}'" if n % 20 == 0 else v], "classes look like 3"),
    Case("a header in the middle", "dirty", "the names of columns again", {"v.csv": table([HEADER, *VOTES[:30], HEADER, *VOTES[30:]])}, (), 60, ("1 row repeats the names of the columns and is left out",)),
    Case("ids that differ by case and are different", "good", "ids that differ by case", {"v.csv": table([HEADER, *([t, "aAbB"[w - 1], v] for t, w, v in VOTES)])}, (), 60),
    Case("two commas at the end of lines", "good", "commas at the end of lines", {"v.csv": table([[*HEADER, "", ""], *([*vote, "", ""] for vote in VOTES)])}, (), 60),
    Case("a blank line in a wide table", "good", "a blank line", {"v.csv": WIDE_WITH_BLANK}, (), 20),
)  # fmt: skip
