"""Label Studio: JSON, JSON-MIN and CSV."""

import gzip
import json

from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import LABEL_STUDIO, annotation, choices

VOTES = {(7, "3", "pos"), (7, "b@x.org", "neg"), (8, "3", "neg")}
MINI = [
    {"text": text, "id": task, "sent": label, "annotator": who, "annotation_id": number,
     "created_at": "", "updated_at": "", "lead_time": 4.2}
    for number, (text, task, label, who) in enumerate(
        [("hi", 7, "pos", 3), ("hi", 7, "neg", "b@x.org"), ("ho", 8, "neg", 3)], start=1
    )
]  # fmt: skip
HEADER = '"annotation_id","annotator","created_at","id","lead_time","sent","text","updated_at"\n'
CSV = (
    HEADER
    + '1,"3","",7,4.2,"pos","hi",""\n2,"b@x.org","",7,4.2,"neg","hi",""\n3,"3","",8,4.2,"neg","ho",""\n'
)
JSON_IN_CSV = (
    HEADER
    + '1,1,,7,1,"{""choices"":[""b"",""a""]}",hi,\n2,2,,7,1,"[{""rating"":4}]",hi,\n3,3,,7,1,[oops,hi,\n'
)
DOUBTFUL = HEADER + "1,1,,7,1,pos,hi,\n2,1,,8,1,neg,ho,\n"


def task(*annotations, **more):
    return {"id": 1, "data": {"text": "hi"}, "annotations": list(annotations), **more}


def result(question, kind, **value):
    return {"from_name": question, "to_name": "t", "type": kind, "value": value}


A = choices("q", "a")
NUMBERS_OF_PREDICTIONS = [task(annotation(1, A), predictions=[17])]
OLD = [{"id": 1, "data": {}, "completions": [annotation(1, A), annotation(2, skipped=True)]}]
NAMELESS = [{"id": number, "result": [choices("q", label)]} for number, label in enumerate("ab")]
IN_CLOUD = {
    str(number): json.dumps({**annotation({"id": number, "email": who}, choices("sent", label)),
                             "task": {"id": 7, "data": {"text": "hi"}, "predictions": []}})
    for number, (who, label) in enumerate([("ann", "pos"), ("bob", "neg")])
}  # fmt: skip
RATING = result("stars", "rating", rating=4)
SEVERAL = [
    task(
        annotation(
            *(1, choices("tags", "b", "a"), RATING, result("better", "pairwise", selected="left")),
            result("kind", "taxonomy", taxonomy=[["a", "b"], ["c"]]),
        ),
        annotation(2, RATING),
    )
]
QUESTIONS = {
    "better": {(1, 1, "left")},
    "kind": {(1, 1, "a/b|c")},
    "stars": {(1, 1, 4), (1, 2, 4)},
    "tags": {(1, 1, "a|b")},
}
REGIONS = [
    task(
        annotation(
            *(1, A, result("box", "rectanglelabels", x=1, rectanglelabels=["a"])),
            *(
                result("q", "choices", x=1, choices=["a"]),
                result("why", "textarea", text=["because"]),
            ),
            {"type": "relation", "from_id": "a", "to_id": "b"},
        ),
        annotation(2),
    )
]
LEFT_OUT = {"cancelled annotations": 1, "predictions of models": 1, "drafts": 1}
FILE = "export.json"

test_full_exports = check_each({
    "votes and what is left out": reads(FILE, LABEL_STUDIO, VOTES, LEFT_OUT, unlabelled=[9]),
    "gold marks when asked for": reads(FILE, LABEL_STUDIO, VOTES, LEFT_OUT, truths={7: "neg"}, gold=True),
    "predictions when asked for": reads(
        *(FILE, LABEL_STUDIO, VOTES | {(7, "m1", "neg")}, {"cancelled annotations": 1, "drafts": 1}),
        include="predictions",
    ),
    "only the numbers of predictions, which are asked for": refuses(
        *(FILE, NUMBERS_OF_PREDICTIONS, "record 1: of predictions there are only the numbers; ", "export snapshot"),
        include="predictions",
    ),
    "tasks by their data": reads(
        FILE, LABEL_STUDIO, {("hi", "3", "pos"), ("hi", "b@x.org", "neg"), ("ho", "3", "neg")}, task="text"
    ),
    "an old export packed with gzip": reads(
        "old.json.gz", gzip.compress(json.dumps(OLD).encode()), {(1, 1, "a")}, {"cancelled annotations": 1}
    ),
    "an old export that does not say who annotated": reads(
        *(FILE, [{"id": 1, "data": {}, "completions": NAMELESS}], {(1, 1, "a"), (1, 2, "b")}),
        warns=r"does not say who annotated.* taken as those of the annotators 1, 2",
    ),
    "an annotation per file in a cloud storage": reads("*", IN_CLOUD, {(7, "ann", "pos"), (7, "bob", "neg")}),
    "several questions": reads(FILE, SEVERAL, QUESTIONS),
    "regions and free text": reads(
        FILE, REGIONS, {(1, 1, "a")}, {"marked regions": 2, "free texts": 1, "annotations without an answer": 1}
    ),
    "free text that is asked for": reads(FILE, REGIONS, {(1, 1, "because")}, question="why"),
    "a file per annotator": reads(
        "", {f"{who}.json": [task({"result": [choices("q", label)]})] for who, label in (("ann", "a"), ("bob", "b"))},
        {(1, "ann", "a"), (1, "bob", "b")}, warns="each is taken for one annotator, by its name",
    ),
})  # fmt: skip

test_short_exports = check_each({
    "JSON-MIN": reads(FILE, MINI, VOTES),
    "CSV": reads("export.csv", CSV, VOTES),
    "answers in CSV as JSON": reads("export.csv", JSON_IN_CSV, {(7, 1, "a|b"), (7, 2, "4"), (7, 3, "[oops")}),
    "CSV with a named column": reads("export.csv", DOUBTFUL, {(7, 1, "pos"), (8, 1, "neg")}, question="sent"),
    "no gold": refuses(FILE, MINI, "JSON-MIN and CSV hold no gold marks; export it again: ", " format JSON", gold=True),
})  # fmt: skip

DAMAGED = {
    "record 2: the file is cut short": json.dumps(LABEL_STUDIO)[:-300],
    'record 2: found 3 for "annotations"': [LABEL_STUDIO[1], task() | {"annotations": 3}],
    'record 2: found no "id"': [LABEL_STUDIO[1], {"data": {}, "annotations": []}],
    'record 1: found {} for "result", expected a list': [task(annotation(1) | {"result": {}})],
    "record 1: expected a name, a number or a label, found ['a']": [
        task(annotation(1, choices("q", ["a"])))
    ],
    "record 1: expected a JSON object, found 5": [task(5)],
}
TITLE, REMEDY = (
    "/export.json (Label Studio export)",
    "; export it again: on the project's page, Export, format JSON",
)

test_a_damaged_export_names_the_tool_the_record_and_the_remedy = check_each(
    {words: refuses(FILE, content, TITLE, words, REMEDY) for words, content in DAMAGED.items()}
)
