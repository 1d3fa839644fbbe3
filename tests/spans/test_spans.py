"""Marked texts: what each tool's export says, consensus and agreement that were worked out by hand, and round trips."""

import json
import zipfile

import polars as pl
import pytest

import finegold
from finegold import spans
from finegold.spans.marks import SCHEMA
from tests.support.cli_helpers import json_of, refusal_of, succeed
from tests.support.report_helpers import EVIL, Page

TEXT = "Anna works at Acme in Paris"
ANNA, ACME, PARIS = (0, 4, "PER"), (14, 18, "ORG"), (22, 27, "LOC")


def label_studio(task, text, *annotations):
    """A task of Label Studio, with an annotator and spans for each annotation."""
    found = []
    for who, marks in annotations:
        values = [{"start": start, "end": end, "labels": [name]} for start, end, name in marks]
        found.append(
            {
                "completed_by": who,
                "result": [{"type": "labels", "value": value} for value in values],
            }
        )
    return {"id": task, "data": {"text": text}, "annotations": found}


def lines(*records):
    return "\n".join(json.dumps(record) for record in records)


STUDIO = json.dumps(
    [label_studio(1, TEXT, (7, [ANNA]), ({"id": 3, "email": "bo@x"}, [ANNA, PARIS]))]
)
UIMA = json.dumps(
    {
        "%FEATURE_STRUCTURES": [
            {"%TYPE": "uima.cas.Sofa", "sofaString": TEXT},
            {"%TYPE": "x.NamedEntity", "begin": 0, "end": 4, "value": "PER"},
            {"%TYPE": "x.Token", "begin": 0, "end": 4},
        ]
    }
)
TSV = (
    "#FORMAT=WebAnno TSV 3.3\n\n#Text=Anna Berg works\n1-1\t0-4\tAnna\tPER[1]\t\n"
    "1-2\t5-9\tBerg\tPER[1]\t\n1-3\t10-15\tworks\t_\t\n"
)
CONLL = "Anna B-PER B-PER\nBerg I-PER B-PER\nworks O O\n\nParis LOC ?\n"

LAYERS = (
    "#FORMAT=WebAnno TSV 3.3\n#T_SP=x.pos.POS|PosValue\n#T_SP=x.type.NamedEntity|identifier|value\n\n"
    "#Text=Anna works\n1-1\t0-4\tAnna\tNNP\t*\tPER\t\n1-2\t5-10\tworks\tVB\t_\t_\t\n\n"
    "#Text=Rome\n2-1\t12-16\tRome\tNNP\t*\tLOC\t\n"
)
CONLL_2003 = "-DOCSTART- -X- O O\n\nAnna NNP B-NP B-PER\nworks VB O O\n\nParis NNP B-NP B-LOC\n"
MIN = [
    {
        "id": 1,
        "ner": [{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}],
        "annotator": 7,
        "annotation_id": 1,
        "lead_time": 1,
    },
    {"id": 1, "annotator": 8, "annotation_id": 2, "lead_time": 1},
]

MARK = {"start": 0, "end": 4, "label": "PER"}
FLAT = {
    "id": "r", "text": TEXT, "ner.responses": [[MARK], []],
    "ner.responses.users": ["bo", "cy"], "ner.responses.status": ["submitted", "draft"],
}  # fmt: skip

OFFSETS = {"start_offset": 0, "end_offset": 4}
PRODIGY = [
    {"text": TEXT, "_input_hash": 4, "spans": [MARK], "answer": "accept", "_session_id": "n-bo"},
    {"text": TEXT, "_input_hash": 4, "spans": [], "answer": "ignore", "_session_id": "n-cy"},
]
ANSWER = {"user_id": "bo", "status": "submitted", "value": [MARK]}
RECORD = {"id": "r", "fields": {"text": TEXT}, "responses": {"ner": [ANSWER]}}
CROWD = [("1", "crowd 1", 0, 9, "PER"), ("1", "crowd 2", 0, 4, "PER"), ("1", "crowd 2", 5, 9, "PER"),
         ("2", "crowd 1", 0, 5, "LOC")]  # fmt: skip
NAMELESS = json.dumps([label_studio(1, TEXT, (None, [ANNA]))])
TABLE = "document,annotator,start,end,label\nd,bo,0,4,PER\nd,cy,,,\n"

# name of the file, its content, and (document, annotator, start, end, label) of each span
EXPORTS = {
    "Label Studio": ("p.json", STUDIO, [("1", "7", *ANNA), ("1", "bo@x", *ANNA), ("1", "bo@x", *PARIS)]),
    "Label Studio, JSON-MIN": ("m.json", json.dumps(MIN), [("1", "7", *ANNA)]),
    "Label Studio, one annotation without a name": ("ann.json", NAMELESS, [("1", "ann", *ANNA)]),
    "doccano": ("ann.jsonl", lines({"id": 5, "text": TEXT, "label": [list(ANNA)]}), [("5", "ann", *ANNA)]),
    "doccano, with relations": (
        "ann.jsonl", lines({"id": 5, "text": TEXT, "entities": [{"label": "PER", **OFFSETS}]}), [("5", "ann", *ANNA)]
    ),
    "Prodigy": ("p.jsonl", lines(*PRODIGY), [("4", "n-bo", *ANNA)]),
    "Argilla 2": ("a.json", json.dumps([RECORD]), [("r", "bo", *ANNA)]),
    "Argilla 2, flattened": ("a.json", json.dumps([FLAT]), [("r", "bo", *ANNA)]),
    "UIMA JSON of INCEpTION": ("ann.json", UIMA, [("FOLDER", "ann", *ANNA)]),
    "WebAnno TSV": ("ann.tsv", TSV, [("FOLDER", "ann", 0, 9, "PER")]),
    "WebAnno TSV, several layers": (
        "ann.tsv", LAYERS, [("FOLDER", "ann", 0, 4, "PER"), ("FOLDER", "ann", 12, 16, "LOC")]
    ),
    "CoNLL 2003": ("ann.conll", CONLL_2003, [("1", "ann", 0, 4, "PER"), ("2", "ann", 0, 5, "LOC")]),
    "CoNLL": ("crowd.conll", CONLL, CROWD),
    "a table": ("t.csv", TABLE, [("d", "bo", *ANNA)]),
}  # fmt: skip


# where nobody is named, files are annotators
UNNAMED = pytest.mark.filterwarnings("ignore:the files do not say who annotated")


@UNNAMED
@pytest.mark.parametrize("tool", EXPORTS)
def test_exports_are_read_exactly(tool, tmp_path):
    name, content, expected = EXPORTS[tool]
    (tmp_path / name).write_text(content)
    found = spans.read(tmp_path / name).spans.sort("document", "annotator", "start").rows()
    named = [(tmp_path.name if row[0] == "FOLDER" else row[0], *row[1:]) for row in expected]
    assert found == named


def test_who_marked_nothing_has_read_the_document_all_the_same(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    assert spans.read(tmp_path / "t.csv").readings.rows() == [("d", "bo"), ("d", "cy")]


def test_brat_has_a_folder_for_each_annotator(tmp_path):
    for who, marks in (
        ("ann", "T1\tPER 0 4\tAnna\n"),
        ("bo", "T1\tPER 0 4;8 10\tAnna rk\nR1\tx Arg1:T1\n"),
    ):
        (tmp_path / who).mkdir()
        (tmp_path / who / "doc.ann").write_text(marks)
        (tmp_path / who / "doc.txt").write_text(TEXT)
    (tmp_path / "annotation.conf").write_text("[entities]\nPER\n")
    marks = spans.read(tmp_path)
    assert marks.spans.rows() == [("doc", "ann", 0, 4, "PER"), ("doc", "bo", 0, 10, "PER")]
    assert marks.left_out == {"files of another form": 1}
    assert marks.texts == {"doc": TEXT}


def test_a_zip_of_doccano_has_a_file_for_each_user(tmp_path):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        for who in ("ann", "bo"):
            archive.writestr(f"{who}.jsonl", lines({"id": 1, "text": TEXT, "label": [list(ANNA)]}))
    assert spans.read(tmp_path / "e.zip").spans["annotator"].to_list() == ["ann", "bo"]


def test_a_project_of_inception_is_read_but_for_what_nobody_marked(tmp_path):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for name in ("ann", "bo", "INITIAL_CAS"):
            archive.writestr(f"annotation/doc.txt/{name}.tsv", LAYERS)
        archive.writestr("source/doc.txt", "Anna works")
        archive.writestr("exportedproject.json", "{}")
        archive.writestr("annotation_ser/doc.txt/ann.ser", b"\xff\xfe")
    marks = spans.read(tmp_path / "p.zip")
    assert marks.readings.rows() == [("doc.txt", "ann"), ("doc.txt", "bo")]
    assert marks.left_out["files of another form"] == 3


NO_PLACE = label_studio(1, TEXT) | {"annotations": [{"result": [{"value": {"labels": ["A"]}}]}]}
TWO_TEXTS = lines(*({"id": 1, "text": text, "label": []} for text in "xy"))
REFUSED = {
    "two texts": ("a.jsonl", TWO_TEXTS, "has two texts"),
    "damaged": ("a.json", json.dumps([label_studio(1, "x")] * 2)[:-2], "record 2: the file is cut short; export it again"),
    "a place is missing": ("a.json", json.dumps([NO_PLACE]), "holds no marked texts"),
    "records of something else": ("a.json", '[{"task": 1, "vote": 2}]', "no marks are known"),
    "nobody marked anything": ("t.csv", TABLE.replace("0,4,PER", ",,"), "nobody marked anything"),
    "all members of doccano": ("all.jsonl", lines({"id": 1, "text": "x", "label": []}), "all members together"),
    "XMI of INCEpTION": ("ann.xmi", "<?xml version='1.0'?>", "is XML; export it as WebAnno TSV 3"),
    "prose": ("a.txt", "this is a text\nof two lines\n", "as many tags as in the first sentence; it may be"),
    "votes": ("a.csv", "task,annotator,label\n1,ann,x\n", "in no form of marked texts"),
    "lines of different lengths": ("a.conll", "x O O\ny O\n", "sentence 1: its lines"),
}  # fmt: skip


@UNNAMED
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_file(case, tmp_path):
    name, content, words = REFUSED[case]
    (tmp_path / name).write_text(content)
    with pytest.raises(finegold.InputError, match=words) as error:
        spans.aggregate(spans.read(tmp_path / name))
    assert name in str(error.value)


@pytest.fixture
def crowd(tmp_path):
    """Ten documents: `ann` and `bo` mark Anna, Acme and Paris in all of them, `cy` Anna alone, and in two Acme in as a
    longer span.
    """
    longer = (14, 21, "ORG")
    tasks = [
        label_studio(
            number,
            TEXT,
            ("ann", [ANNA, ACME, PARIS]),
            ("bo", [ANNA, ACME, PARIS]),
            ("cy", [ANNA, longer] if number < 2 else [ANNA]),
        )
        for number in range(10)
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    return spans.read(path)


def test_agreement_is_the_one_worked_out_by_hand(crowd):
    """`ann` and `bo` agree on all 60; with `cy`, who has 12 spans, each has 30: Anna ten times, Acme twice by overlap."""
    found = spans.agreement(crowd)
    by_pair = {(row["first"], row["second"]): row for row in found.pairs.to_dicts()}
    assert by_pair["ann", "bo"]["exact"] == 1
    assert by_pair["ann", "cy"]["exact"] == pytest.approx(2 * 10 / 42)
    assert by_pair["ann", "cy"]["overlapping"] == pytest.approx(2 * 12 / 42)
    assert found.exact == pytest.approx((60 + 20 + 20) / (60 + 42 + 42))
    assert {row["label"]: row["exact"] for row in found.classes.to_dicts()} == {
        "LOC": pytest.approx(20 / 40),
        "ORG": pytest.approx(20 / 44),
        "PER": 1,
    }


def test_alpha_is_that_of_a_table_of_characters(crowd):
    """Against the definition, with every character as a unit."""
    total = disagreeing = 0.0
    counts: dict[str, int] = {}
    rows = crowd.spans.rows()
    for document in crowd.texts:
        for place in range(len(TEXT)):
            values = [
                next(
                    (
                        row[4]
                        for row in rows
                        if row[:2] == (document, who) and row[2] <= place < row[3]
                    ),
                    "",
                )
                for who in ("ann", "bo", "cy")
            ]
            total += 3
            disagreeing += sum(one != other for one in values for other in values) / 2
            for value in values:
                counts[value] = counts.get(value, 0) + 1
    expected = sum(
        one * other for a, one in counts.items() for b, other in counts.items() if a != b
    ) / (total - 1)
    assert spans.agreement(crowd).alpha == pytest.approx(1 - disagreeing / expected)


def test_the_consensus_has_what_most_marked_and_their_extents(crowd):
    result = spans.aggregate(crowd)
    assert result.spans().select("document", "start", "end", "label").rows() == [
        (str(number), *mark) for number in range(10) for mark in (ANNA, ACME, PARIS)
    ]
    assert result.spans()["text"].unique().sort().to_list() == ["Acme", "Anna", "Paris"]
    people = {row["annotator"]: row for row in result.annotators().to_dicts()}
    assert people["cy"]["recall_exact"] == pytest.approx(10 / 30)
    assert people["cy"]["recall_overlapping"] == pytest.approx(12 / 30)
    assert people["cy"]["precision_exact"] == pytest.approx(10 / 12)


def test_marks_without_characters_are_left_out_and_counted(tmp_path):
    rows = "document,annotator,start,end,label\n1,ann,0,4,PER\n1,ann,4,4,PER\n1,bo,0,4,PER\n"
    (tmp_path / "marks.csv").write_text(rows)
    marks = spans.read(tmp_path / "marks.csv")
    assert (marks.spans.height, marks.left_out) == (2, {"spans without characters": 1})


def test_touching_spans_are_two_of_equal_extents_the_longest_stands_and_only_what_was_read_is_due():
    rows = [
        *(("d1", who, *mark) for who in ("ann", "bo") for mark in ((0, 4, "PER"), (4, 8, "ORG"))),
        *(("d2", "ann", 0, 4, "PER"), ("d2", "bo", 0, 6, "PER"), ("d3", "ann", 0, 4, "PER")),
    ]
    marked = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    readings = [("d1", "ann"), ("d1", "bo"), ("d2", "ann"), ("d2", "bo"), ("d3", "ann")]
    read = pl.DataFrame(readings, schema=["document", "annotator"], orient="row")
    result = spans.aggregate(spans.Marks(marked, read), "mv")
    # without texts d2 ends where its last span does, and d3 has no pair of readers
    assert spans.agreement(spans.Marks(marked, read)).alpha < 1
    extents = [("d1", 0, 4), ("d1", 4, 8), ("d2", 0, 6), ("d3", 0, 4)]
    assert result.candidates.select("document", "start", "end").rows() == extents
    people = {row["annotator"]: row for row in result.annotators().to_dicts()}
    assert people["bo"]["recall_overlapping"] == 1, "nobody asked bo to read d3"


def test_nested_spans_of_different_classes_are_both_kept(tmp_path):
    inner, outer = (0, 4, "PER"), (0, 18, "EVENT")
    path = tmp_path / "tasks.json"
    path.write_text(
        json.dumps(
            [
                label_studio(number, TEXT, *((who, [inner, outer]) for who in "abc"))
                for number in range(4)
            ]
        )
    )
    found = spans.aggregate(spans.read(path)).spans()
    assert found.filter(pl.col("document") == "0").select("start", "end", "label").rows() == [
        inner,
        outer,
    ]


@pytest.mark.parametrize(
    ("form", "name"), [("doccano", "out.jsonl"), ("csv", "out.csv"), ("tsv", "out.tsv")]
)
def test_what_is_written_is_read_again(crowd, form, name, tmp_path):
    result = spans.aggregate(crowd)
    assert spans.write(result, tmp_path / name, form) == 30
    again = spans.read(tmp_path / name).spans.drop("annotator")
    assert again.rows() == result.spans().select(again.columns).rows()


def test_label_studio_gets_predictions_as_its_questions_and_data_are(tmp_path):
    task = label_studio(1, TEXT, *((who, [ANNA]) for who in "abc"))
    task["data"] |= {"source": "web", "body": task["data"].pop("text")}
    for annotation in task["annotations"]:
        annotation["result"][0] |= {"from_name": "ner", "to_name": "body", "type": "labels"}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    result = spans.aggregate(spans.read(tmp_path / "tasks.json"))
    spans.write(result, tmp_path / "back.json", "label-studio")
    [back] = json.loads((tmp_path / "back.json").read_text())
    assert (back["id"], back["data"]) == (1, task["data"])
    [found] = back["predictions"][0]["result"]
    value = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
    assert found | {"score": 0} == {
        "from_name": "ner",
        "to_name": "body",
        "type": "labels",
        "value": value,
        "score": 0,
    }
    assert 0.5 < found["score"] == back["predictions"][0]["score"] < 1


def test_a_text_of_a_sentence_stands_where_its_tokens_do(tmp_path):
    (tmp_path / "ann.tsv").write_text(LAYERS)
    marks = spans.read(tmp_path / "ann.tsv")
    assert marks.texts == {tmp_path.name: "Anna works  Rome"}
    assert marks.left_out == {"layer POS": 1}


# The command line


def test_the_command_prints_the_consensus_and_writes_it_back(crowd, tmp_path):
    path, names = tmp_path / "tasks.json", ("c.csv", "a.csv", "p.csv")
    done = succeed("spans", path)
    assert done.stdout.startswith(
        "document,start,end,label,probability,n_readers,n_marked,text\n0,0,4,PER,"
    )
    assert "Marks(72 spans by 3 annotators in 10 documents) -> 30 spans by " in done.stderr
    candidates, people, pairs = (tmp_path / name for name in names)
    words = [
        "--candidates",
        candidates,
        "--annotators",
        people,
        "--pairs",
        pairs,
        "--threshold",
        "2",
    ]
    done = succeed("spans", path, "-o", tmp_path / "out.jsonl", *words)
    assert [pl.read_csv(file).height for file in (candidates, people, pairs)] == [30, 3, 3]
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["label"] == []
    assert "alpha on characters" in done.stdout
    figures = json_of("spans", path)
    assert (figures["spans"], figures["marks"], figures["left_out"]) == (30, 72, {})
    assert figures["f1_exact"] == pytest.approx((60 + 20 + 20) / (60 + 42 + 42))


def test_the_report_shows_texts_with_consensus_and_marks_and_who_marked_the_same(crowd, tmp_path):
    succeed("spans", tmp_path / "tasks.json", "-o", tmp_path / "c.csv", "--report", tmp_path / "r")
    page = Page(tmp_path / "r")
    assert "30 spans of 30 candidates." in page.words
    assert "All 10, ordered by how many are expected to be wrong" in page.words
    assert "ann, bo" in page.words
    # of each document the consensus, the two who agree, and the third
    assert len(page.all("dd")) == 3 * 2 + 10 * 3
    spans.aggregate(crowd).report(tmp_path / "r", threshold=2)
    assert "0 spans of 30 candidates." in Page(tmp_path / "r").words


@pytest.mark.parametrize("text", ["", EVIL * 20])
def test_a_report_escapes_texts_and_shows_places_where_there_are_none(text, tmp_path):
    votes = [(f"{who}{EVIL}", [(10, 30, f"A{EVIL}"), (20, 40, "B")]) for who in "abc"]
    records = label_studio(EVIL, text, *votes)
    (tmp_path / "tasks.json").write_text(json.dumps([records]))
    marks = spans.read(tmp_path / "tasks.json")
    if not text:
        marks = spans.Marks(marks.spans, marks.readings)
    spans.aggregate(marks).report(tmp_path / "r", title=EVIL)
    page = Page(tmp_path / "r")
    assert len(page.scripts) == 1
    assert page.all("img") == []
    assert ("10 to 30" if not text else f"characters 0 to 600 of {len(text):,}") in page.words


@pytest.mark.parametrize("tool", EXPORTS)
def test_who_aggregates_marked_texts_is_told_the_command_that_does(tool, tmp_path):
    name, content, _ = EXPORTS[tool]
    (tmp_path / name).write_text(content)
    for command in ("aggregate", "agreement"):
        if tool not in ("a table", "Label Studio, one annotation without a name"):
            assert f"run finegold spans {tmp_path / name}" in refusal_of(command, tmp_path / name)
