"""Faults and shapes of tables that people have: what is plain is read, and what is not is refused or said."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.io.corpus.case import case, table

Row = Sequence[Any]
TASKS, PEOPLE = range(1, 21), range(1, 4)


def vote(task: int, who: int) -> int:
    """The vote of an annotator, which agrees with that of the others on most tasks."""
    return task % 3 if (task * who) % 7 else (task + who) % 3


def rows(header: str, make: Callable[[int, int], Row]) -> bytes:
    return table([header.split(","), *(make(t, w) for t in TASKS for w in PEOPLE)])


def by_task(header: str, make: Callable[[int], Row]) -> bytes:
    return table([header.split(","), *map(make, TASKS)])


def long(change: Callable[[int, int, int], Row]) -> bytes:
    return rows("task,worker,label", lambda t, w: change(t, w, vote(t, w)))


WORDS = ("bad", "so-so", "good")
COUNTS = by_task("item,1,2,3", lambda t: [f"i{t}", t % 4, 3 - t % 4, 2])
CRITERIA = rows("task,worker,criterion,label", lambda t, w: [t, w, "style", vote(t, w)]) + table(
    [[t, w, "truth", vote(t, w + 1)] for t in TASKS for w in PEOPLE]
)
TWO_LABELS = rows("task,worker,quality,style", lambda t, w: [t, w, vote(t, w), vote(w, t)])
SURVEY = [
    [f"2024/01/{t:02}", *(("yes", "no")[vote(t, k) > 0] for k in range(1, 5))] for t in range(1, 9)
]
QUESTIONS = [f"Is picture {k} a cat?" for k in range(1, 5)]

FAULTS_CASES = (
    case("pandas made floats of columns with gaps", {"v.csv": by_task("task,ann1,ann2,ann3", lambda t: [f"t{t}", vote(t, 1), f"{vote(t, 2)}.0", "" if t % 5 == 0 else f"{vote(t, 3)}.0"])}, 56),
    case("the truth beside the label of a model", {"v.csv": rows("text,label,raw_output,pred_label,model", lambda t, w: [f"text {t}", t % 3, f"so {t}", vote(t, w), f"m{w}"])}, None, 'the column "label" may hold the truth', "use --label pred_label --gold label"),
    case("the truth beside the label of a model, with what is proposed", {"v.csv": rows("text,label,raw_output,pred_label,model", lambda t, w: [f"text {t}", t % 3, f"so {t}", vote(t, w), f"m{w}"])}, 60, asks="--label pred_label --gold label"),
    case("all annotators agree on everything", {"v.csv": long(lambda t, w, v: [t, w, t % 3])}, 60, "all annotators agree on all of 20 tasks"),
    case("figures about annotators", {"v.csv": by_task("worker,task,label", lambda t: [f"w{t}", t * 3, t * 7])}, 20, "20 classes in 20 votes"),
    case("one cell with a list", {"v.csv": long(lambda t, w, v: [t, w, "[1; 2]" if t * w == 1 else v])}, 60, "1 vote holds several labels, such as [1; 2]"),
    case("counts with numeric headers", {"v.csv": COUNTS}, None, "--layout counts", "--layout counts"),
    case("counts, called so", {"v.csv": COUNTS}, 100, "annotators are unknown", asks="--layout counts"),
    case("counts without a column of them", {"v.csv": by_task("item,truth", lambda t: [t, "x"])}, None, "no column with numbers of votes", asks="--layout counts"),
    case("counts that are shares", {"v.csv": by_task("item,yes,no", lambda t: [t, 0.25, 0.75])}, None, "'0.25' is not a number of votes", asks="--layout counts"),
    case("a column of criteria", {"v.csv": CRITERIA}, None, 'asks 2 questions (the column "criterion"): "style" (60 votes), "truth" (60 votes)'),
    case("a column of criteria, one of them", {"v.csv": CRITERIA}, 60, asks="--question criterion=style"),
    case("a criterion that is not there", {"v.csv": CRITERIA}, None, 'has no question "stile"', "did you mean style?", asks="--question criterion=stile"),
    case("two columns of labels", {"v.csv": TWO_LABELS}, None, 'asks 2 questions: "quality" (60 votes), "style" (60 votes)', asks="--label quality,style"),
    case("one of two columns of labels", {"v.csv": TWO_LABELS}, 60, asks="--label quality,style --question style"),
    case("tasks of two columns", {"v.csv": rows("doc,system,worker,label", lambda t, w: [t // 2, t % 2, w, vote(t, w)])}, 60, "20 tasks", asks="--task doc,system"),
    case("lines that end in CR", {"v.csv": long(lambda t, w, v: [t, w, v]).replace(b"\n", b"\r")}, 60),
    case("XML", {"v.csv": b'<?xml version="1.0"?>\n<votes/>\n'}, None, "is XML, which Finegold does not read"),
    case("rows that are quoted whole", {"v.csv": b"".join(b'"' + line + b'"\n' for line in long(lambda t, w, v: [t, w, v]).splitlines())}, None, "every line is in quotation marks"),
    case("some rows that are quoted whole", {"v.csv": b"".join((b'"' + line + b'"\n' if n % 9 == 8 else line + b"\n") for n, line in enumerate(long(lambda t, w, v: [t, w, v]).splitlines()))}, None, "line 9: too few fields"),
    case("a comma at the end of some lines", {"v.csv": b"".join(line + (b",\n" if n % 2 else b"\n") for n, line in enumerate(long(lambda t, w, v: [t, w, v]).splitlines()))}, 60),
    case("a quotation mark inside a cell", {"v.csv": long(lambda t, w, v: [f'the "best" {t}', w, v])}, 60),
    case("decimals of Europe", {"v.csv": long(lambda t, w, v: [t, w, f"{v}#5"]).replace(b",", b";").replace(b"#", b",")}, 60),
    case("years among the names of columns", {"v.csv": by_task("name,2020,2021,2022,region", lambda t: [f"n{t}", t * 17, t * 19, t * 23, f"r{t % 3}"])}, None, "The columns are"),
    case("no header where all agree", {"v.csv": b"".join(f"t{t},w{w},{WORDS[t % 3]}\n".encode() for t in TASKS for w in PEOPLE)}, 60, asks="--header-line 0"),
    case("a form of Google", {"v.csv": table([["Timestamp", *QUESTIONS], *SURVEY])}, 32, "Timestamp left aside"),
    case("a form of Microsoft", {"v.csv": table([["ID", "Start time", "Completion time", "Email", "Name", *QUESTIONS], *([n, day, day, "anonymous", "", *answers] for n, (day, *answers) in enumerate(SURVEY))])}, 32),
    case("LimeSurvey", {"v.csv": table([["id. Response ID", "submitdate. Date submitted", "lastpage. Last page", "startlanguage. Start language", "seed. Seed", *(f"Q{k}. {text}" for k, text in enumerate(QUESTIONS))], *([n, day, 3, "en", n * 7919, *answers] for n, (day, *answers) in enumerate(SURVEY))])}, 32),
    case("labels of a curator beside annotators", {"v.csv": by_task("id,label_a,label_b,curator,Mehrheit", lambda t: [t, WORDS[vote(t, 1)], WORDS[vote(t, 2)], WORDS[t % 3], WORDS[t % 3]])}, 40, "curator, Mehrheit left aside", asks="--layout wide"),
)  # fmt: skip
DIRT_CASES = (
    case("dashes of two kinds", {"v.csv": long(lambda t, w, v: [t, w, WORDS[v].replace("-", "\u2013") if w == 1 else WORDS[v]])}, 60, "look like 3: so-so"),
    case("a number beside itself with words", {"v.csv": long(lambda t, w, v: [t, w, f"{v} - agree" if t * w == 4 else v])}, 60, "some labels hold others: 1 - agree (1) beside 1 (19)"),
    case("labels in HTML", {"v.csv": long(lambda t, w, v: [t, w, f"<b>{WORDS[v]}</b>" if w == t % 9 else WORDS[v]])}, 60, "look like 3"),
    case("thousands separators in ids", {"v.csv": long(lambda t, w, v: [f"{t + 1000:,}" if w == 1 else t + 1000, w, v])}, 60, "40 task ids look like 20"),
    case("dates among ids", {"v.csv": long(lambda t, w, v: ["2020-01-02" if t == 7 else t, w, v])}, 60, "1 task ids look like dates, such as 2020-01-02"),
    case("mojibake in names", {"v.csv": long(lambda t, w, v: [t, f"J\u00c3\u00bcrgen{w}" if t % 2 else f"J\u00fcrgen{w}", v])}, 60, "6 annotator ids look like 3"),
    case("a second header row", {"v.csv": table([["task", "worker", "label"], ["Task ID", "Worker ID", "Your answer"], *([t, w, vote(t, w)] for t in TASKS for w in PEOPLE)])}, 60, "1 row repeats the names of the columns"),
    case("subtotals", {"v.csv": long(lambda t, w, v: [t, w, v]) + b"Total,all,60\n"}, 61, "the task Total may stand for a sum"),
    case("-1 beside words", {"v.csv": long(lambda t, w, v: [t, w, -1 if t * w == 6 else WORDS[v]])}, 60, "the label -1"),
    case("y beside yes", {"v.csv": long(lambda t, w, v: [t, w, "y" if t * w == 6 else "yes" if v else "no"])}, 60, "the labels y, yes stand beside each other"),
    case("numbers in scientific notation", {"v.csv": long(lambda t, w, v: [t, w, f"{v:.2E}" if w == 1 else v])}, 60, "differ only in number format"),
)  # fmt: skip

CASES = (*FAULTS_CASES, *DIRT_CASES)
