"""Dirt that ordinary files hold: spellings, words for no vote, votes that look wrong, gold, nested JSON, columns."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.io.corpus.case import Case, case, crowd, table

ANNOTATORS = ("ann", "bob", "eve")
CLEAN = ("cat", "dog", "cat", "dog", "dog", "cat")


def csv(rows: Sequence[Sequence[Any]], header: str = "task,annotator,label") -> bytes:
    quoted = [
        ",".join(f'"{cell}"' if "," in str(cell) or '"' in str(cell) else str(cell) for cell in row)
        for row in rows
    ]
    return "\n".join([header, *quoted, ""]).encode()


def votes(*labels: Any, tasks: str = "t") -> list[tuple[str, str, Any]]:
    """Three annotators vote on a task, then on the next one."""
    return [
        (f"{tasks}{place // 3}", ANNOTATORS[place % 3], label) for place, label in enumerate(labels)
    ]


def long(*labels: Any, tasks: str = "t") -> Mapping[str, bytes]:
    return {"v.csv": csv(votes(*labels, tasks=tasks))}


def wide(*rows: str) -> Mapping[str, bytes]:
    return {"v.csv": "\n".join(["task,rater1,rater2,rater3", *rows, ""]).encode()}


def as_json(value: Any, name: str = "v.json") -> Mapping[str, bytes]:
    return {name: json.dumps(value).encode()}


def with_gold(*truths: str, labels: Sequence[Any] = CLEAN * 3) -> Mapping[str, bytes]:
    rows = [truth.split("=") for truth in truths]
    return {**long(*labels), "_gold.csv": csv(rows, "task,truth")}


# ---- Spellings and number formats

ALIKE = "look like"
MERGED = "labels that differ only in number format were merged"
SPELLINGS = (
    case("classes that differ by case", long("cat", "Cat", "CAT", *CLEAN), 9,
         "4 classes look like 2: cat (4) = CAT (1) = Cat (1); use --normalise"),
    case("classes that differ by case, with --normalise", long("cat", "Cat", "CAT", *CLEAN), 9, asks="--normalise"),
    case("spaces around a class", long("cat", " cat", "cat ", *CLEAN), 9, ALIKE, '" cat" (1)'),
    case("a no-break space in a class", long("a cat", "a\u00a0cat", "a cat", *CLEAN), 9, ALIKE),
    case("full-width letters", long("cat", "\uff43\uff41\uff54", "cat", *CLEAN), 9, ALIKE),
    case("a dot at the end", long("cat", "cat.", "dog", *CLEAN), 9, ALIKE, "cat. (1)"),
    case("a typing error, with an alias file",
         {**long("cat", "kat", "dog", *CLEAN), "_alias.csv": b"spelling,class\nkat,cat\n"}, 9,
         asks="--alias _alias.csv"),
    case("an alias file without a header", {**long("cat", "kat", "dog", *CLEAN), "_alias.csv": b"kat,cat\ndoc,dog\n"},
         9, asks="--alias _alias.csv"),
    case("an alias of other labels", {**long(*CLEAN), "_alias.csv": b"from,to\nbird,cat\n"}, 6,
         "none of the spellings of the alias occurs", asks="--alias _alias.csv"),
    case("an alias that contradicts itself", {**long(*CLEAN), "_alias.csv": b"from,to\nkat,cat\nkat,dog\n"}, None,
         "means both", asks="--alias _alias.csv"),
)  # fmt: skip
NUMBERS = (
    case("integers that pandas wrote as 1.0", long("1", "1.0", "2.0", "2", "1", "2.0"), 6, MERGED,
         "1 = 1 (2) = 1.0 (1)"),
    case("numbers with leading zeros", long("1", "01", "2", "02", "1", "2"), 6, MERGED),
    case("the integer 1 and the text 1",
         {"v.jsonl": b"".join(json.dumps({"task": task, "annotator": who, "label": label}).encode() + b"\n" for task, who, label in votes(1, "1", 2, 2, "2", 1))},
         6),
    case("1 and 1.0 beside words", long("1", "1.0", "cat", "cat", "1", "cat"), 6, ALIKE, "1 (2) = 1.0 (1)"),
    case("decimals that differ", long("1.5", "1.50", "2.5", "2.5", "1.5", "2.5"), 6, MERGED),
)  # fmt: skip
SPELLINGS_CASES = (*SPELLINGS, *NUMBERS)


# ---- What counts as no vote

NO_VOTE = 'are taken as "no vote"'
NO_VOTES_CASES = (
    case("blank labels", long("", "cat", "dog", *CLEAN), 8, "left out: 1 row without a label"),
    *(case(f"the label {word}", long(word, "cat", "dog", *CLEAN), 8, "left out: 1 row without a label")
      for word in ("NA", "N/A", "#N/A", "n/a", "nan", "NaN", "null", "{}")),
    *(case(f"the label {word}", long(word, "cat", "dog", *CLEAN), 8, f'the labels "{word}" (1) {NO_VOTE}', "use --missing ''")
      for word in ("None", "-", "?")),
    case("None as a class, with no word for no vote", long("None", "cat", "None", *CLEAN), 9, asks="--missing="),
    case("another word for no vote, with --missing", long("skip", "cat", "dog", *CLEAN), 8, "left out: 1 row",
         asks="--missing skip"),
    case("--missing in another case", long("SKIP", "cat", "dog", *CLEAN), 8, asks="--missing skip"),
    case("-1 on a scale of -1, 0 and 1", long("-1", "0", "1", "-1", "0", "1"), 6),
    case("-1 in a wide table", wide("a,1,0,-1", "b,1,1,-1", "c,0,0,0"), 9, "the label -1 (2) is read as a class"),
    case("no label at all", long("", "", "NA", "", "", ""), None, "error"),
    case("blank cells of a wide table", wide("a,x,,y", "b,x,x,", "c,,y,y"), 6, "left out: 3 rows without a label"),
    case("a vote without a task", {"v.csv": csv([*votes(*CLEAN), ("", "ann", "cat")])}, None, "row",
         "there is a label but no task"),
    case("a vote without an annotator", {"v.csv": csv([*votes(*CLEAN), ("t9", "", "cat")])}, None,
         "there is a label but no annotator"),
    case("a row without anything", {"v.csv": csv([*votes(*CLEAN), ("", "", "")])}, 6, "left out: 1 row"),
)  # fmt: skip


# ---- Votes that look wrong

MANY = [
    (f"t{place}", ANNOTATORS[place % 3], f"it looks like number {place}") for place in range(40)
]
RATED = [
    (f"t{place // 3}", ANNOTATORS[place % 3], round(0.1 + place * 0.0173, 4)) for place in range(60)
]
TWICE = [
    (task, who, label)
    for task, who, label in votes(*CLEAN * 10)
    for label in (label, "dog" if label == "cat" else "cat")
]
ALARMS_CASES = (
    case("nearly as many classes as votes: free text", {"v.csv": csv(MANY)}, 40, "40 classes in 40 votes", "free text",
         "--label NAME"),
    case("cells with several labels", long("cat;dog", "cat", "dog", *CLEAN), 9,
         "1 vote holds several labels, such as cat;dog"),
    case("a single annotator", {"v.csv": csv([(f"t{i}", "ann", CLEAN[i % 6]) for i in range(30)])}, 30,
         "those of one annotator, ann", "--annotator NAME"),
    case("repeated votes that agree", {"v.csv": csv([*votes(*CLEAN), *votes(*CLEAN)])}, 6,
         "left out: 6 repeated votes"),
    case("repeated votes that disagree", {"v.csv": csv(TWICE)}, 60,
         "60 pairs of task and annotator have votes that disagree", "--repeated"),
    case("repeated votes, with --repeated error", {"v.csv": csv([*votes(*CLEAN), ("t0", "ann", "dog")])}, None,
         "repeat an earlier vote", asks="--repeated error", pasted=6),
    case("too many classes for a label column",
         {"v.csv": csv([(f"t{i}", ANNOTATORS[i % 3], f"x{i}") for i in range(10_050)])}, None,
         '10,050 classes in the column "label"', "--label NAME"),
)  # fmt: skip


# ---- Gold that does not match the votes

GOLD = "--gold _gold.csv"
GOLD_CASES = (
    case("gold whose tasks are written differently", with_gold("0=cat", "1=cat", "2=dog"), 18,
         "3 gold truths belong to tasks without votes", "the gold has 0, the votes have 't0'", asks=GOLD),
    case("some gold of other tasks", with_gold("t0=cat", "t1=dog", "x9=dog"), 18,
         "1 gold truths belong to tasks without votes", asks=GOLD),
    case("gold classes in another case", with_gold("t0=Cat", "t1=DOG"), 18, "4 classes look like 2", "Cat (gold)",
         "--normalise", asks=GOLD),
    case("gold classes in another case, with --normalise", with_gold("t0=Cat", "t1=DOG"), 18, asks=f"{GOLD} --normalise"),
    case("gold classes that an alias names", {**with_gold("t0=C", "t1=D"), "_alias.csv": b"from,to\nC,cat\nD,dog\n"},
         18, asks=f"{GOLD} --alias _alias.csv"),
    case("gold classes that nobody voted for", with_gold(*(f"t{i}={'AB'[i % 2]}" for i in range(6))), 18,
         "6 of 6 gold truths are classes that nobody voted for", "the gold has 'A', the votes have 'cat'", asks=GOLD),
    case("gold that contradicts itself", with_gold("t0=cat", "t0=dog"), None, "task 't0' has the truth", asks=GOLD),
    case("gold written as 1.0", with_gold("t0=1.0", "t1=2.0", labels=(1, 2, 1, 2, 2, 1)), 6, asks=GOLD),
)  # fmt: skip


# ---- Truths that do not match the votes, for `finegold evaluate`; they are no part of the corpus, which aggregates

TRUTH = "--truth _truth.csv"


def judged(*truths: str, labels: tuple[str, ...] = CLEAN) -> Mapping[str, bytes]:
    return {
        **long(*labels),
        "_truth.csv": csv([truth.split("=") for truth in truths], "task,truth"),
    }


SPELLED = ("cat", "Cat", "cat", "dog", "dog", "dog")
TRUTHS_CASES = (
    case("truths of other tasks", judged("0=cat", "1=dog"), None,
         "none of the 2 truths in _truth.csv belongs to a task with votes", "the truths have 0, the votes have 't0'",
         asks=TRUTH),
    case("some truths of other tasks", judged("t0=cat", "t1=dog", "x=dog"), 2,
         "1 truth belongs to a task without votes", asks=TRUTH),
    case("truths that are not classes", judged("t0=A", "t1=B"), None,
         "none of the 2 truths in _truth.csv is a class of the votes", "--alias FILE", asks=TRUTH),
    case("truths in another case", judged("t0=CAT", "t1=Dog"), None, "CAT looks like cat, Dog looks like dog",
         "--normalise", asks=TRUTH),
    case("one truth in another case", judged("t0=CAT", "t1=dog"), 2, "CAT looks like cat", asks=TRUTH),
    case("votes and truths in several cases, with --normalise", judged("t0=CAT", "t1=Dog", labels=SPELLED), 2,
         asks=f"{TRUTH} --normalise"),
    case("truths that an alias names", {**judged("t0=C", "t1=D"), "_alias.csv": b"from,to\nC,cat\nD,dog\n"}, 2,
         asks=f"{TRUTH} --alias _alias.csv"),
)  # fmt: skip


# ---- JSON as people write it, and one file per annotator

ITEMS = {f"t{i}": {who: CLEAN[(i + j) % 6] for j, who in enumerate(ANNOTATORS)} for i in range(6)}
LISTS = [
    {
        "id": task,
        "annotations": [{"annotator": who, "label": label} for who, label in given.items()],
    }
    for task, given in ITEMS.items()
]
LINES = b"".join(
    json.dumps({"task": task, "annotator": who, "label": label}).encode() + b"\n"
    for task, who, label in votes(*CLEAN)
)
NESTED_CASES = (
    case("JSON: an object keyed by task id", as_json(ITEMS), 18),
    case("JSON: tasks and annotators that are all numbers, with --format",
         as_json({str(i): {str(j): (i + j) % 3 for j in range(3)} for i in range(6)}), 18, asks="--format nested-json"),
    case("JSON: the same, which may be a table",
         as_json({str(i): {str(j): (i + j) % 3 for j in range(3)} for i in range(6)}), None, "--format nested-json"),
    case("JSON: a list of {annotator, label} in every row", as_json(LISTS), 18),
    case("JSON: a list of labels per row, without annotators",
         as_json([{"uid": task, "annotator_labels": list(given.values())} for task, given in ITEMS.items()]), 18),
    case("JSON: annotator to label in every row",
         as_json([{"id": task, "annotations": given} for task, given in ITEMS.items()]), 18),
    case("JSON: labels and annotators as two texts with commas",
         as_json({task: {"text": f"text {task}", "annotators": ",".join(given), "annotations": ",".join(given.values())} for task, given in ITEMS.items()}),
         18),
    case("NaN in JSON Lines", {"v.jsonl": LINES + b'{"task": "t9", "annotator": "ann", "label": NaN}\n'}, 6,
         "left out: 1 row without a label"),
    case("invalid JSON", {"v.json": b'[{"task": 1, "annotator": "a", "label": "x"},'}, None, "v.json", "JSON"),
    case("JSON without votes", as_json({"name": "settings", "version": 3, "colour": "red"}), None, "error"),
    case("one file per annotator",
         {f"{who}.csv": csv([(f"t{i}", CLEAN[(i + j) % 6]) for i in range(6)], "task,label") for j, who in enumerate(ANNOTATORS)},
         18),
)  # fmt: skip


# ---- Refused tables with the command that an error proposes, or none; and dirt in ids, labels and lines.

VOTES = [(t, w, label) for t, row in enumerate(crowd(4, 15), 1) for w, label in enumerate(row, 1)]
HEADER = ("task", "worker", "label")
OTHERS: dict[
    str, Callable[[int, int, int], str]
] = {  # columns that are neither annotators nor labels
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


def _hint(
    name: str, data: bytes, *says: str, pasted: int | None = None, file: str = "votes.csv"
) -> Case:
    return case(f"hint: {name}", {file: data}, None, *says, pasted=pasted)


def _dirt(
    name: str, change: Callable[[int, str, str, str], list[Any]], *says: str, asks: str = ""
) -> Case:
    rows = [change(n, f"t{t}", f"w{w}", vote) for n, (t, w, vote) in enumerate(VOTES)]
    return case(name, {"v.csv": table([HEADER, *rows])}, 60, *says, asks=asks)


NAMES_OF_SNOW = _long(
    *("assignment", "!amt_worker_ids", "orig_id", "response", "gold"),
    annotator="!amt_worker_ids",
    task="orig_id",
    label="response",
)
WORK = _long(
    *("Work_id", "education", "tweet", "stance", "majority", "start_time"),
    annotator="Work_id",
    task="tweet",
    label="stance",
)
SPANISH = _long(
    "pregunta",
    "usuario",
    "respuesta",
    "gender",
    task="pregunta",
    annotator="usuario",
    label="respuesta",
)
NUMBERED = table(
    [
        ["id", "label", "annotator1", "annotator2", "annotator3"],
        *([n, row[0], *row] for n, row in enumerate(crowd(3, 15))),
    ]
)
SETTINGS = json.dumps({"name": "x", "scripts": {"build": "tsc"}, "port": 80}).encode()
COLUMNS = json.dumps(
    {"age": {str(n): n for n in range(30)}, "city": {str(n): "ab"[n % 2] for n in range(30)}}
).encode()
WIDE_WITH_BLANK = (
    b"id,ann1,ann2\n"
    + b"".join(b"%d,cat,%s\n" % (n, b"cat" if n % 2 else b"dog") for n in range(9))
    + b"\n9,cat,dog\n"
)
MISSPELT = next(n for n, vote in enumerate(VOTES) if vote[2] != "cat")
MARKED: dict[str, Callable[[str], str]] = {
    "a semicolon": "{};".format,
    "an underscore": "{}_".format,
    "characters that nobody sees": "{}\u200b".format,
    "brackets and quotes of Python": "['{}']".format,
    "typographic quotes": "\u201c{}\u201d".format,
    "a Cyrillic letter": lambda label: (
        label.replace("a", "\u0430").replace("o", "\u043e").replace("i", "\u0456")
    ),
    "an accent read in another encoding": lambda label: (
        label.replace("a", "Ã¡").replace("o", "Ã³").replace("i", "Ã¬")
    ),
    "an accent in HTML": lambda label: (
        label.replace("a", "&aacute;").replace("o", "&oacute;").replace("i", "&iacute;")
    ),
}
HINTS_CASES = (
    _hint("names of Snow's files", NAMES_OF_SNOW, "--task orig_id --annotator '!amt_worker_ids'", pasted=60),
    _hint("a work id among facts about people", WORK, "--task tweet --annotator Work_id --label stance", pasted=60),
    _hint("names in Spanish", SPANISH, "--annotator usuario --label respuesta", pasted=60),
    _hint("no annotator", _long("task", "gold", "gender", "label", task="task", label="label"), "there is no annotator column. The columns are", '"gender" (2 values: m, f)'),
    _hint("no label", _long("task", "worker", "gold", "education", "start_time", task="task", annotator="worker"), "there is no label column"),
    _hint("two columns of tasks and no annotator", table([["task", "HIT", "who", "said"], *([f"t{t}", f"H{t // 5}", f"Z{w}", v] for t, w, v in VOTES)]), "--task task --annotator who --label said", pasted=60),
    _hint("a label by name that agrees with nobody", table([["tweet", "who", "valor", "second_label"], *([f"{t}x", f"Z{w}", v, "xyz"[(t * 7 + w * 5 + t * w) % 3]] for t, w, v in VOTES)]), "The columns are"),
    _hint("numbered annotators beside a label", NUMBERED, "--layout wide"),
    _hint("statistics of workers", table([["worker", "n_tasks", "accuracy"], *([f"w{n}", n % 4 + 3, n / 20] for n in range(12))]), "The columns are"),
    _hint("settings", SETTINGS, "a single JSON object with the fields name, scripts, port", file="package.json"),
    _hint("columns in JSON", COLUMNS, "a single JSON object with the fields age, city", file="v.json"),
    _hint("one column", b"numpy==1.0\npandas>=2\nscipy\n", 'there is one column, "numpy==1.0", and votes need a task, an annotator and a label', "--separator CHARACTER", file="requirements.txt"),
    _hint("settings in brackets", b"[server]\nport=80\n", "cannot be read as JSON (Expecting value: line 1 column 2 (char 1))", file="settings.ini"),
    _hint("a list of texts", b'["cat", "dog"]', "the list holds 'cat'; expected rows", file="v.json"),
    _dirt("spaces behind task ids", lambda n, t, w, v: [t + " " * (n % 3 == 0), w, v], "task ids look like 15", "use --normalise to merge them"),
    _dirt("spaces behind task ids, with --normalise", lambda n, t, w, v: [t + " " * (n % 3 == 0), w, v], "on 15 tasks", asks="--normalise"),
    _dirt("ids 7 and 7.0", lambda n, t, w, v: [t[1:] + ".0" * (n % 3 == 0), w, v], "task ids look like 15"),
    _dirt("dates of a spreadsheet", lambda n, t, w, v: [t, w, "2-Jan" if n % 20 == 0 else v], "labels look like dates: 2-Jan (3)"),
    _dirt("quotes around labels", lambda n, t, w, v: [t, w, f"'{v}'" if n % 20 == 0 else v], "classes look like 3"),
    *(_dirt(f"labels with {name}", lambda n, t, w, v, change=change: [t, w, change(v) if n % 20 == 0 else v], "classes look like 3", "use --normalise to merge them")
      for name, change in MARKED.items()),
    *(_dirt(f"the label {word}", lambda n, t, w, v, word=word: [t, w, word if n % 20 == 0 else v], f"the label {word} (3) is read as a class; if it means")
      for word in ("--", "(blank)", "#REF!", "don't know", "cannot tell", "not sure", "error", "timeout", "TODO", "[]")),
    _dirt("a word that is misspelt", lambda n, t, w, v: [t, w, "positive" if v == "cat" else "negative" if n != MISSPELT else "negtive"], "some rare labels look like others: negtive (1) like negative ("),
    _dirt("yes and no beside 1 and 0", lambda n, t, w, v: [t, w, ("no", "yes")[v == "cat"] if n % 20 == 0 else int(v == "cat")], "stand beside 0 and 1"),
    _dirt("ids with characters that nobody sees", lambda n, t, w, v: [t + "\u200b" * (n % 3 == 0), w, v], "task ids look like 15"),
    _dirt("ids that a spreadsheet cut short", lambda n, t, w, v: ["1.23E+08" if n == 7 else int(t[1:]) + 123456000, w, v], "1 task ids look like long numbers that a spreadsheet cut short, such as 1.23E+08"),
    _dirt("columns that are swapped in some rows", lambda n, t, w, v: [w, t, v] if n == 7 else [t, w, v], "2 ids are those of tasks and of annotators, such as "),
    case("labels that differ and look alike",
         {"v.csv": table([HEADER, *([t, w, ("A", "A-", "B+", "C", "C++", "<5", ">5", "typical", "atypical", ":)", ":(")[(t + w * (t % 3 == 0)) % 11]] for t, w, _ in VOTES)])},
         60),
    case("a header in the middle",
         {"v.csv": table([HEADER, *VOTES[:30], HEADER, *VOTES[30:50], map(str.upper, HEADER), *VOTES[50:]])}, 60,
         "2 rows repeat the names of the columns and are left out"),
    case("ids that differ by case and are different",
         {"v.csv": table([HEADER, *([t, "aAbB"[w - 1], v] for t, w, v in VOTES)])}, 60),
    case("two commas at the end of lines", {"v.csv": table([[*HEADER, "", ""], *([*vote, "", ""] for vote in VOTES)])},
         60),
    case("a blank line in a wide table", {"v.csv": WIDE_WITH_BLANK}, 20),
)  # fmt: skip

CASES = (*SPELLINGS_CASES, *NO_VOTES_CASES, *ALARMS_CASES, *GOLD_CASES, *NESTED_CASES, *HINTS_CASES)
