"""Toloka: hand-made exports in, the votes written by hand out."""

from tests.support.exports_cases import check_each, reads, refuses

NAMES = "INPUT:image OUTPUT:result GOLDEN:result HINT:text ASSIGNMENT:link ASSIGNMENT:task_id ASSIGNMENT:assignment_id"
HEADER = [*NAMES.split(), "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
ROWS = [
    ["u1", "cat", "cat", "", "l", "t1", "a1", "ann", "APPROVED"],
    ["u2", "dog", "", "", "l", "t2", "a1", "ann", "APPROVED"],
    [],
    ["u1", "dog", "cat", "", "l", "t1", "a2", "bob", "SUBMITTED"],
    ["u2", "dog", "", "", "l", "t2", "a3", "eve", "REJECTED"],
    ["u2", "", "", "", "l", "t2", "a4", "joe", "SKIPPED"],
    ["u3", "", "", "", "l", "t3", "a4", "joe", "EXPIRED"],
]
VOTES = {("t1", "ann", "cat"), ("t2", "ann", "dog"), ("t1", "bob", "dog")}


def tsv(header, *rows):
    return (
        "\n".join(
            "\t".join(row.split(" ") if isinstance(row, str) else row) for row in [header, *rows]
        )
        + "\n"
    )


FULL, SILENT = (
    tsv(HEADER, *ROWS),
    tsv(HEADER, *([*row[:2], "", *row[3:]] if row else row for row in ROWS)),
)
TWO = tsv(
    "INPUT:url OUTPUT:mood OUTPUT:tags OUTPUT:never ASSIGNMENT:task_id ASSIGNMENT:worker_id",
    *('u true ["b","a"]  t1 ann', 'u false ["a"]  t1 bob'),
)
PAIRS = tsv(
    "INPUT:left INPUT:right OUTPUT:better ASSIGNMENT:worker_id",
    "a b left ann",
    "a c left ann",
    "a b right bob",
)
BETTER = {("a | b", "ann", "left"), ("a | c", "ann", "left"), ("a | b", "bob", "right")}
LEFT_OUT = {"rejected assignments": 1, "skipped or unfinished assignments": 2}
TITLE, FILE = "assignments.tsv (Toloka export)", "assignments.tsv"

test_assignments = check_each({
    "those that count": reads(FILE, FULL, VOTES, LEFT_OUT),
    "rejected": reads(FILE, FULL, VOTES | {("t2", "eve", "dog")}, include="rejected"),
    "tasks by an input": reads(
        FILE, FULL, {("u1", "ann", "cat"), ("u2", "ann", "dog"), ("u1", "bob", "dog")}, task="image"
    ),
    "golden answers when asked": reads(FILE, FULL, VOTES, truths={"t1": "cat"}, gold=True),
    "outputs are questions, and nobody answered the third": reads(FILE, TWO, {
        "mood": {("t1", "ann", "true"), ("t1", "bob", "false")}, "tags": {("t1", "ann", "a|b"), ("t1", "bob", "a")}
    }),
    "all inputs tell tasks apart": reads(
        FILE, PAIRS, BETTER, warns="INPUT:left, INPUT:right together name the tasks"
    ),
    "an input that is not there": refuses(
        FILE, PAIRS, 'there is no column "middle"; use task=NAME with one of', task="left,middle"
    ),
    "no output": refuses(
        FILE, tsv("INPUT:url ASSIGNMENT:worker_id", "u ann"),
        f"{TITLE}: there is no OUTPUT:* column; download it again: ", "Download results",
    ),
    "a short row": refuses(
        FILE, tsv(HEADER, ROWS[0], ROWS[1][:4]), f"{TITLE}, line 3: too few fields", ", or download it again"
    ),
})  # fmt: skip
