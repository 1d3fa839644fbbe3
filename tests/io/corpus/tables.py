"""Plain tables: votes in many shapes and dialects, and tables that look like votes and are none."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

from tests.io.corpus.case import (
    Case,
    case,
    crowd,
    joined,
    long_rows,
    not_votes,
    table,
    wide_rows,
)

ANNOTATORS = ("ann1", "ann2", "ann3")
LONG = long_rows()
WIDE = wide_rows(ANNOTATORS)
SURVEY = [
    ["Email Address", "Q1", "Q2", "Q3", "Q4"],
    *([f"p{n}@x.org", *row] for n, row in enumerate(crowd(4, 8), 1)),
]


def _good(
    name: str, data: bytes, votes: int, *says: str, asks: str = "", file: str = "votes.csv"
) -> Case:
    return case(name, {file: data}, votes, *says, asks=asks)


def _named(task: str, annotator: str, label: str) -> Case:
    return _good(
        f"long table: {task}, {annotator}, {label}", table(long_rows((task, annotator, label))), 36
    )


def _with(
    rows: list[list[object]], column: str, values: list[object], place: int = 0
) -> list[list[object]]:
    return [
        [*row[:place], value, *row[place:]]
        for row, value in zip(rows, [column, *values], strict=True)
    ]


GOOD = (
    _good("long table", table(LONG), 36),
    _named("image", "evaluator", "verdict"),
    _named("text", "model", "sentiment"),
    _named("doc_id", "rater", "category"),
    _named("question_id", "judge", "winner"),
    _named("item", "model", "choice"),
    _good(
        "long table with texts and models beside the names",
        table([[*row, "some text", "gpt-4", "news"] if n else [*row, "text", "model", "category"] for n, row in enumerate(LONG)]),
        36,
    ),
    _good("semicolons", table(LONG, ";"), 36),
    _good("tabs in a .csv", table(LONG, "\t"), 36),
    _good("spaces", table(LONG, " "), 36, file="votes.txt"),
    _good("tildes", table(LONG, "~"), 36, asks="--separator '~'"),
    _good("latin-1", joined(long_rows(classes=("fée", "été"))).encode("latin-1"), 36, asks="--encoding latin-1"),
    _good("utf-16", joined(LONG).encode("utf-16"), 36),
    _good("no header", table(LONG[1:]), 36, asks="--header-line 0 --task 1 --annotator 2 --label 3"),
    _good("title above the header", b"Results of May\n\n" + table(LONG), 36, asks="--header-line 3"),
    _good("wide table", table(WIDE), 36),
    _good("wide table of models", table(wide_rows(("gpt-4", "claude-3", "llama"), "prompt_id")), 36),
    _good("wide table of numbered annotators", table(wide_rows(("1", "2", "3", "4"), "task")), 48),
    _good("wide table of judges who differ", table(wide_rows(("judge_a", "judge_b"), right=0.2, seed=3)), 24),
    _good("wide table of words with other names", table(wide_rows(("Mary", "John", "Lee"), n_tasks=20)), 60),
    _good("wide table with a text", table(_with(WIDE, "text", [f"a text, number {n}" for n in range(12)], 1)), 36, "text left aside"),
    _good("wide table with the row numbers of pandas", table(_with(wide_rows(ANNOTATORS, "item"), "", list(range(12)))), 36, "left aside"),
    _good("wide table with the majority", table(_with(WIDE, "majority", [row[1] for row in WIDE[1:]], 4)), 36, "majority left aside"),
    _good(
        "wide table with a count",
        table(_with(wide_rows(ANNOTATORS, classes=(0, 1, 2)), "n_chars", [n % 3 for n in range(12)], 4)), 36, "n_chars left aside",
    ),
    _good(
        "wide by option, with ids, texts and row numbers",
        table(_with(_with(_with(WIDE, "text", [f"a text, number {n}" for n in range(12)], 1), "doc", [f"d{n}" for n in range(12)], 1), "", list(range(12)))),
        36, "text left aside", asks="--layout wide",
    ),
    _good("wide by option", table(wide_rows(("north", "south"), classes=("yes", "no"))), 24, asks="--layout wide"),
    _good("transposed survey", table(SURVEY), 32),
    _good("transposed by option", table([["name", *"abcd"], *([f"p{n}", *row] for n, row in enumerate(crowd(4, 8), 1))]), 32, asks="--layout transposed"),
)  # fmt: skip


def _refused(name: str, data: bytes, *says: str, asks: str = "", pasted: int | None = None) -> Case:
    return case(
        name, {"votes.csv": data}, None, *(says or ("The columns are ",)), asks=asks, pasted=pasted
    )


def _flags(*names: str) -> bytes:
    return not_votes(("id", *names), lambda random: [random.choice(("yes", "no")) for _ in names])


def _of(names: tuple[str, ...], values: tuple[object, ...], rows: int = 12) -> bytes:
    return not_votes(("id", *names), lambda random: [random.choice(values) for _ in names], rows)


NOT_VOTES = (
    _refused("features with yes and no", _flags("smoker", "diabetic", "insured")),
    _refused("flags", _flags("is_spam", "has_link", "is_reply")),
    _refused("survey of people with ids", _of(("q1", "q2", "q3", "q4"), (1, 2, 3, 4, 5)), "--layout transposed"),
    _refused("temperatures", _of(("monday", "tuesday", "friday"), tuple(range(15, 30)), 40), "The columns are"),
    _refused("scores of raters as measurements", _of(("rater1", "rater2"), tuple(n / 7 for n in range(5)), 30), "The columns are"),
    _refused("crowd counts", not_votes(("id", "yes", "no"), lambda random: (lambda n: (n, 5 - n))(random.randint(0, 5))), "--layout counts"),
    _refused("crowd counts named judgment", not_votes(("id", "judgment_yes", "judgment_no", "judgment_unsure"), lambda random: (lambda n: (n, 3 - n, 0))(random.randint(0, 3))), "--layout counts"),
    _refused("counts in one column named judgment", not_votes(("id", "judgment", "confidence"), lambda random: (random.randint(0, 9), random.random())), "no annotator column"),
    _refused("labels with confidence", table([["task", "label", "confidence"], ["t1", "cat", 0.9], ["t2", "dog", 0.8]]), "no annotator column"),
    _refused("predictions of one model", _of(("prediction", "predicted_again"), ("cat", "dog")), "The columns are"),
    _refused("six diagnoses of one model", not_votes(("image_id", *(f"diagnosis_{n}" for n in range(1, 7))), lambda random: random.sample(("MEL", "NV", "BCC", "AK", "DF", "VASC"), 6))),
    _refused("ranked choices", not_votes(("id", "first", "second", "third"), lambda random: random.sample(("cat", "dog", "bird", "fish"), 3))),
    _refused("a confusion matrix", table([["", "cat", "dog"], ["cat", 5, 1], ["dog", 2, 5]])),
    _refused("evaluation with a matching answer", not_votes(("question", "answer_matching_behavior", "answer_not_matching_behavior"), lambda random: random.sample((" (A)", " (B)"), 2))),
    _refused("pairs of models", not_votes(("question_id", "model_a", "model_b"), lambda random: random.sample(("gpt-4", "claude", "llama"), 2))),
    _refused("types of animals", table([["name", "type1", "type2"], ["a", "fire", "water"], ["b", "water", "fire"], ["c", "fire", "fire"]]), "The columns are"),
    _refused("users and their settings", table([["user", "newsletter", "active"], ["u1", "yes", "no"], ["u2", "no", "no"], ["u3", "yes", "yes"]]), "The columns are"),
    _refused("full and empty columns", not_votes(("id", "alpha", "beta", "gamma", "delta"), lambda random: ["cat", "dog" if random.random() < 0.2 else None, None if random.random() < 0.9 else "cat", "dog"], 30)),
    _refused("two sets of labels", table([["item", "a", "b", "c", "d"], [1, "x", "x", "u", "u"], [2, "y", "x", "v", "u"], [3, "x", "y", "u", "v"]]), "The columns are"),
    _refused("edges of a graph", table([["source", "target"], ["a", "b"], ["b", "c"], ["c", "a"]]), "there is no task"),
    _refused("a price list", table([["item", "price", "stock"], ["pen", 2, 5], ["cup", 5, 2], ["bag", 9, 1]])),
    _refused("one column", table([["label"], ["cat"], ["dog"]]), "no task and no annotator column"),
    _refused("a long file as wide", table(LONG), 'the column "worker" names annotators', "try: finegold aggregate votes.csv --method mv -o labels.csv", asks="--layout wide", pasted=36),
    _refused("a long file without labels as wide", table(long_rows(("task", "worker", "said"))), 'the column "worker" names annotators', asks="--layout wide"),
    _refused("no header, and not said", table(LONG[1:]), "the first line (t1, w1, ", "try: finegold aggregate votes.csv --method mv -o labels.csv --header-line 0 --task 1 --annotator 2 --label 3", pasted=36),
    _refused("no header, numbers only", table([[1, 7, 0], [1, 8, 1], [2, 7, 1], [2, 8, 1]]), "looks like data", "--header-line 0 --task"),
    _refused("title above the header, and not said", b"Results of May\n\n" + table(LONG), "lines 1 to 2 hold a title, and line 3 the names", "--header-line 3", pasted=36),
    _refused("title in a row of empty cells", b"Results of May,,\n" + table(LONG), "line 1 holds a title", "--header-line 2", pasted=36),
    _refused("latin-1, and not said", joined(long_rows(classes=("fée", "été"))).encode("latin-1"), "it looks like latin-1", "--encoding latin-1", pasted=36),
    _refused("cp1252, and not said", joined(long_rows(classes=("“yes”", "no"))).encode("cp1252"), "it looks like cp1252", "--encoding cp1252", pasted=36),
    _refused("names that are not known", table(long_rows(("thing", "who", "said"))), "try: finegold aggregate votes.csv --method mv -o labels.csv --task thing --annotator who --label said", pasted=36),
    _refused("names with spaces and quotes", table(long_rows(("the thing", "who's it", "said"))), "--task 'the thing' --annotator 'who'\"'\"'s it' --label said", pasted=36),
    _refused("a misspelt name", table(LONG), 'did you mean "worker"?', "--annotator worker", asks="--annotator wroker", pasted=36),
    _refused("two columns of tasks", table([[*row, row[0]] if n else [*row, "item"] for n, row in enumerate(LONG)]), "could each be the task", "--task task", pasted=36),
    _refused("a wrong separator", table(LONG), "try: finegold", asks="--separator ';'", pasted=36),
    _refused("no such encoding", table(LONG), 'there is no encoding "latin-77"', asks="--encoding latin-77"),
)  # fmt: skip

GOLD = case(
    "gold without known names",
    {"votes.csv": table(LONG), "_gold.csv": table([["thing", "value"], ["t1", "cat"]])},
    None,
    "_gold.csv: there is no task and no truth column",
    "name the column task and truth in the file",
    asks="--gold _gold.csv",
)

CASES = (*GOOD, *NOT_VOTES, GOLD)
