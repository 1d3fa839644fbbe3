"""Plain tables: votes in many shapes and dialects, and tables that look like votes and are none."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

from tests.io.corpus.case import Case, crowd, joined, lines, long_rows, not_votes, table, wide_rows

ANNOTATORS = ("ann1", "ann2", "ann3")
LONG = long_rows()
WIDE = wide_rows(ANNOTATORS)
SURVEY = [["Email Address", "Q1", "Q2", "Q3", "Q4"], *([f"p{n}@x.org", *row] for n, row in enumerate(crowd(4, 8), 1))]


def _good(
    name: str, dirt: str, data: bytes, votes: int, *arguments: str, says: tuple[str, ...] = (), file: str = "votes.csv"
) -> Case:
    return Case(name, "good", dirt, {file: data}, arguments, votes, says)


def _named(task: str, annotator: str, label: str) -> Case:
    name = f"long table: {task}, {annotator}, {label}"
    return _good(name, "columns with other names that are known", table(long_rows((task, annotator, label))), 36)


def _with(rows: list[list[object]], column: str, values: list[object], place: int = 0) -> list[list[object]]:
    return [[*row[:place], value, *row[place:]] for row, value in zip(rows, [column, *values], strict=True)]


GOOD = (
    _good("long table", "one row per vote", table(LONG), 36),
    _named("image", "evaluator", "verdict"),
    _named("text", "model", "sentiment"),
    _named("doc_id", "rater", "category"),
    _named("question_id", "judge", "winner"),
    _named("item", "model", "choice"),
    _good(
        "long table with texts and models beside the names",
        "columns that could have a role beside better ones",
        table([[*row, "some text", "gpt-4", "news"] if n else [*row, "text", "model", "category"] for n, row in enumerate(LONG)]),
        36,
    ),
    _good("semicolons", "another separator", table(LONG, ";"), 36),
    _good("tabs in a .csv", "another separator", table(LONG, "\t"), 36),
    _good("pipes", "another separator", table(LONG, "|"), 36),
    _good("spaces", "another separator", table(LONG, " "), 36, file="votes.txt"),
    _good("semicolons beside a comma in a name", "another separator", table(long_rows(("task", "worker, id", "label")), ";"), 36, "--annotator", "worker, id"),
    _good("tildes", "a separator that has to be named", table(LONG, "~"), 36, "--separator", "~"),
    _good("tab by name", "a separator that has to be named", table(LONG, "\t"), 36, "--separator", "tab"),
    _good("latin-1", "another encoding", joined(long_rows(classes=("fée", "été"))).encode("latin-1"), 36, "--encoding", "latin-1"),
    _good("utf-16", "UTF-16, as Excel writes it", joined(LONG).encode("utf-16"), 36),
    _good("no header", "no names of columns", table(LONG[1:]), 36, "--no-header", "--task", "1", "--annotator", "2", "--label", "3"),
    _good("title above the header", "lines above the header", b"Results of May\n\n" + table(LONG), 36, "--header-line", "3"),
    _good("wide table", "a column per annotator", table(WIDE), 36),
    _good("wide table of models", "a column per annotator", table(wide_rows(("gpt-4", "claude-3", "llama"), "prompt_id")), 36),
    _good("wide table of raters", "a column per annotator", table(wide_rows(("rater_1", "rater_2"), "item", classes=(1, 2, 3, 4, 5))), 24),
    _good("wide table of numbered annotators", "a column per annotator", table(wide_rows(("1", "2", "3", "4"), "task")), 48),
    _good("wide table of judges who differ", "a column per annotator", table(wide_rows(("judge_a", "judge_b"), right=0.2, seed=3)), 24),
    _good("wide table of words with other names", "columns that agree clearly", table(wide_rows(("Mary", "John", "Lee"), n_tasks=20)), 60),
    _good(
        "wide table with a text", "a text beside the votes",
        table(_with(WIDE, "text", [f"a text, number {n}" for n in range(12)], 1)), 36, says=("text left aside",),
    ),
    _good(
        "wide table with the row numbers of pandas", "an index without a name",
        table(_with(wide_rows(ANNOTATORS, "item"), "", list(range(12)))), 36, says=("left aside",),
    ),
    _good("wide table with row numbers only", "an index without a name", table([["" if n == 0 else n, *row[1:]] for n, row in enumerate(WIDE)]), 36),
    _good(
        "wide table with the majority", "labels that were made of the votes",
        table(_with(WIDE, "majority", [row[1] for row in WIDE[1:]], 4)), 36, says=("majority left aside",),
    ),
    _good(
        "wide table with a count", "numbers beside the votes",
        table(_with(wide_rows(ANNOTATORS, classes=(0, 1, 2)), "n_chars", [n % 3 for n in range(12)], 4)), 36, says=("n_chars left aside",),
    ),
    _good(
        "wide by option, with ids, texts and row numbers", "what the guess leaves aside",
        table(_with(_with(_with(WIDE, "text", [f"a text, number {n}" for n in range(12)], 1), "doc", [f"d{n}" for n in range(12)], 1), "", list(range(12)))),
        36, "--wide", says=("text left aside",),
    ),
    _good("wide by option", "columns whose names do not tell", table(wide_rows(("north", "south"), classes=("yes", "no"))), 24, "--wide"),
    _good("wide table in JSON Lines", "a column per annotator", lines(WIDE), 36, file="votes.jsonl"),
    _good("transposed survey", "a row per annotator", table(SURVEY), 32),
    _good("transposed by option", "a row per annotator", table([["name", *"abcd"], *([f"p{n}", *row] for n, row in enumerate(crowd(4, 8), 1))]), 32, "--format", "transposed"),
)  # fmt: skip


def _refused(
    name: str,
    dirt: str,
    data: bytes,
    *says: str,
    arguments: tuple[str, ...] = (),
    file: str = "votes.csv",
    pasted: int | None = None,
) -> Case:
    return Case(name, "not votes", dirt, {file: data}, arguments, None, says or ("The columns are ",), pasted)


def _flags(*names: str) -> bytes:
    return not_votes(("id", *names), lambda random: [random.choice(("yes", "no")) for _ in names])


def _of(names: tuple[str, ...], values: tuple[object, ...], rows: int = 12) -> bytes:
    return not_votes(("id", *names), lambda random: [random.choice(values) for _ in names], rows)


FEATURES, MEASURES, AGGREGATES = "features, not votes", "measurements, not votes", "results, not votes"
NOT_VOTES = (
    _refused("features with yes and no", FEATURES, _flags("smoker", "diabetic", "insured")),
    _refused("flags", FEATURES, _flags("is_spam", "has_link", "is_reply")),
    _refused("counts of words", FEATURES, _of(("noun_count", "verb_count", "word_count"), (0, 1, 2, 3))),
    _refused("numbers of things", FEATURES, _of(("n_rooms", "n_baths", "n_floors"), (1, 2, 3))),
    _refused("numbered features", FEATURES, _of(("x1", "x2", "x3", "x4"), (0, 1))),
    _refused("columns of a matrix", FEATURES, _of(("col_1", "col_2", "col_3"), (0, 1, 2))),
    _refused("survey of people with ids", FEATURES, _of(("q1", "q2", "q3", "q4"), (1, 2, 3, 4, 5)), "may be tasks", "--format transposed --annotator id --task q1,q2,q3,q4"),
    _refused("measurements of flowers", MEASURES, not_votes(("id", "sepal", "petal", "stem"), lambda random: [round(random.random() * 5, 1) for _ in range(3)])),
    _refused("temperatures", MEASURES, _of(("monday", "tuesday", "friday"), tuple(range(15, 30)), 40), "measurements"),
    _refused("scores of raters as measurements", MEASURES, _of(("rater1", "rater2"), tuple(n / 7 for n in range(5)), 30), "measurements"),
    _refused("points of teams", MEASURES, _of(("home", "away"), (0, 1, 2, 3))),
    _refused("coordinates", MEASURES, _of(("x", "y", "z"), (0, 1, 2))),
    _refused("years", MEASURES, _of(("first_year", "last_year"), (2019, 2020, 2021))),
    _refused("pixels", MEASURES, _of(tuple(f"pixel{n}" for n in range(8)), (0, 128, 255))),
    _refused("crowd counts", AGGREGATES, not_votes(("id", "yes", "no"), lambda random: (lambda n: (n, 5 - n))(random.randint(0, 5))), "same sum"),
    _refused("crowd counts named judgment", AGGREGATES, not_votes(("id", "judgment_yes", "judgment_no", "judgment_unsure"), lambda random: (lambda n: (n, 3 - n, 0))(random.randint(0, 3))), "same sum"),
    _refused("counts in one column named judgment", AGGREGATES, not_votes(("id", "judgment", "confidence"), lambda random: (random.randint(0, 9), random.random())), "no annotator column"),
    _refused("one hot", AGGREGATES, not_votes(("id", "cat", "dog", "bird"), lambda random: (lambda n: [int(n == k) for k in range(3)])(random.randint(0, 2))), "same sum"),
    _refused("probabilities", AGGREGATES, not_votes(("id", "cat", "dog"), lambda random: (lambda p: (p, round(1 - p, 2)))(round(random.random(), 2)))),
    _refused("labels with confidence", AGGREGATES, table([["task", "label", "confidence"], ["t1", "cat", 0.9], ["t2", "dog", 0.8]]), "no annotator column"),
    _refused("predictions of one model", AGGREGATES, _of(("prediction", "predicted_again"), ("cat", "dog")), "may be features"),
    _refused("six diagnoses of one model", AGGREGATES, not_votes(("image_id", *(f"diagnosis_{n}" for n in range(1, 7))), lambda random: random.sample(("MEL", "NV", "BCC", "AK", "DF", "VASC"), 6))),
    _refused("six diagnoses as columns", AGGREGATES, _of(("MEL", "NV", "BCC", "AKIEC", "BKL", "VASC"), (0, 1))),
    _refused("ranked choices", AGGREGATES, not_votes(("id", "first", "second", "third"), lambda random: random.sample(("cat", "dog", "bird", "fish"), 3)), "by chance"),
    _refused("precision and recall", AGGREGATES, not_votes(("id", "precision", "recall"), lambda random: (round(random.random(), 3), round(random.random(), 3)))),
    _refused("a confusion matrix", AGGREGATES, table([["", "cat", "dog"], ["cat", 5, 1], ["dog", 2, 5]])),
    _refused("evaluation with a matching answer", "questions of an evaluation", not_votes(("question", "answer_matching_behavior", "answer_not_matching_behavior"), lambda random: random.sample((" (A)", " (B)"), 2))),
    _refused("multiple choice", "questions of an evaluation", not_votes(("question_id", "option_a", "option_b", "option_c"), lambda random: random.sample(("one", "two", "three", "four"), 3))),
    _refused("pairs of models", "questions of an evaluation", not_votes(("question_id", "model_a", "model_b"), lambda random: random.sample(("gpt-4", "claude", "llama"), 2))),
    _refused("input columns", "questions of an evaluation", _of(("input.left", "input.right"), ("cat", "dog"))),
    _refused("before and after", FEATURES, _of(("before", "after"), ("good", "bad"))),
    _refused("teams", FEATURES, not_votes(("id", "home_team", "away_team"), lambda random: random.sample(("Ajax", "Roma", "Porto"), 2)), "by chance"),
    _refused("types of animals", FEATURES, table([["name", "type1", "type2"], ["a", "fire", "water"], ["b", "water", "fire"], ["c", "fire", "fire"]]), "may be features"),
    _refused("users and their settings", FEATURES, table([["user", "newsletter", "active"], ["u1", "yes", "no"], ["u2", "no", "no"], ["u3", "yes", "yes"]]), "may be features of people"),
    _refused("employees", FEATURES, table([["name", "parking", "lunch"], ["Ann", "yes", "yes"], ["Bob", "no", "yes"], ["Eve", "yes", "no"]]), "may be features of people"),
    _refused("full and empty columns", FEATURES, not_votes(("id", "alpha", "beta", "gamma", "delta"), lambda random: ["cat", "dog" if random.random() < 0.2 else None, None if random.random() < 0.9 else "cat", "dog"], 30)),
    _refused("two sets of labels", FEATURES, table([["item", "a", "b", "c", "d"], [1, "x", "x", "u", "u"], [2, "y", "x", "v", "u"], [3, "x", "y", "u", "v"]]), "other columns share other labels"),
    _refused("texts in two languages", "texts, not votes", not_votes(("id", "english", "german"), lambda random: [f"text {random.random()}", f"Text {random.random()}"])),
    _refused("ids in two columns", "ids, not votes", not_votes(("id", "left", "right"), lambda random: [f"n{random.randint(1, 90)}", f"n{random.randint(1, 90)}"])),
    _refused("edges of a graph", "ids, not votes", table([["source", "target"], ["a", "b"], ["b", "c"], ["c", "a"]]), "there is no task"),
    _refused("a price list", MEASURES, table([["item", "price", "stock"], ["pen", 2, 5], ["cup", 5, 2], ["bag", 9, 1]])),
    _refused("one column", "too few columns", table([["label"], ["cat"], ["dog"]]), "no task and no annotator column"),
    _refused("a long file as wide", "the wrong shape", table(LONG), 'the column "worker" names annotators', "try: finegold aggregate votes.csv --method mv -o labels.csv", arguments=("--wide",), pasted=36),
    _refused("a long file without labels as wide", "the wrong shape", table(long_rows(("task", "worker", "said"))), 'the column "worker" names annotators', arguments=("--wide",)),
    _refused("no header, and not said", "no names of columns", table(LONG[1:]), "the first line (t1, w1, ", "try: finegold aggregate votes.csv --method mv -o labels.csv --no-header --task 1 --annotator 2 --label 3", pasted=36),
    _refused("no header, numbers only", "no names of columns", table([[1, 7, 0], [1, 8, 1], [2, 7, 1], [2, 8, 1]]), "looks like data", "--no-header --task"),
    _refused("title above the header, and not said", "lines above the header", b"Results of May\n\n" + table(LONG), "lines 1 to 2 hold a title, and line 3 the names", "--header-line 3", pasted=36),
    _refused("title in a row of empty cells", "lines above the header", b"Results of May,,\n" + table(LONG), "line 1 holds a title", "--header-line 2", pasted=36),
    _refused("latin-1, and not said", "another encoding", joined(long_rows(classes=("fée", "été"))).encode("latin-1"), "it looks like latin-1", "--encoding latin-1", pasted=36),
    _refused("cp1252, and not said", "another encoding", joined(long_rows(classes=("“yes”", "no"))).encode("cp1252"), "it looks like cp1252", "--encoding cp1252", pasted=36),
    _refused("names that are not known", "columns with other names", table(long_rows(("thing", "who", "said"))), "the names that Finegold knows are", "try: finegold aggregate votes.csv --method mv -o labels.csv --task thing --annotator who --label said", pasted=36),
    _refused("names with spaces and quotes", "columns with other names", table(long_rows(("the thing", "who's it", "said"))), "--task 'the thing' --annotator 'who'\"'\"'s it' --label said", pasted=36),
    _refused("a misspelt name", "columns with other names", table(LONG), 'did you mean "worker"?', "--annotator worker", arguments=("--annotator", "wroker"), pasted=36),
    _refused("two columns of tasks", "several columns for one role", table([[*row, row[0]] if n else [*row, "item"] for n, row in enumerate(LONG)]), "could each be the task", "--task task", pasted=36),
    _refused("a wrong separator", "another separator", table(LONG), "try: finegold", arguments=("--separator", ";"), pasted=36),
    _refused("no such encoding", "another encoding", table(LONG), 'there is no encoding "latin-77"', arguments=("--encoding", "latin-77")),
)  # fmt: skip

GOLD = Case(
    "gold without known names",
    "not votes",
    "columns with other names",
    {"votes.csv": table(LONG), "_gold.csv": table([["thing", "value"], ["t1", "cat"]])},
    ("--gold", "_gold.csv"),
    None,
    ("_gold.csv: there is no task and no truth column", "name the column task and truth in the file"),
)

CASES = (*GOOD, *NOT_VOTES, GOLD)
