"""What all readers of exports share: who is recognised, and what the user can ask."""

import json
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.exports import export_named, find_export
from finegold.io.exports.marks import MARKS, has_marks, names_in
from finegold.io.source import sources_of
from tests.support.cli_helpers import json_of, refusal_of, run, succeed
from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import (
    ARGILLA,
    DOCCANO,
    INSPECT,
    LABEL_STUDIO,
    PRODIGY,
    annotation,
    choices,
    lines,
    zipped,
)
from tests.support.exports_sheets import SHEETS
from tests.support.readers_votes import CSV, votes_of, write

# Of each format one file: its name and what is in it.
SAMPLES = {
    "label-studio": ("export.json", json.dumps(LABEL_STUDIO)),
    "prodigy": ("reviews.jsonl", lines(PRODIGY)),
    "doccano": ("export.zip", zipped({name: lines(records) for name, records in DOCCANO.items()})),
    "argilla": ("records.json", json.dumps(ARGILLA)),
    "inspect": ("log.json", json.dumps(INSPECT, indent=2)),
    "nested-json": (
        "answers.json",
        json.dumps({"a": {"ann": "x", "bob": "x"}, "b": {"ann": "y", "bob": "x"}}),
    ),
    **SHEETS,
}

for path in Path(__file__).parent.glob("test_exports_*.py"):
    SAMPLES |= getattr(import_module(f"tests.io.{path.stem}"), "SAMPLE", {})

PLAIN = {
    "long": CSV,
    "long with more": "id,text,annotator,label,created_at\n1,hi,ann,a,\n",
    "as Label Studio calls it": "id,annotator,label,lead_time\n1,ann,a,3\n",
    "ids of other tools": "_unit_id,_worker_id,label\n1,2,a\n",
    "wide": "task,ann,bob\n1,a,b\n",
    "wide with a gold column": "id,gpt-4,claude,gold\n1,a,b,a\n",
    "with hits": "HITId,WorkerId,answer\nh,w,a\n",
    "lines": '{"task": 1, "annotator": "ann", "label": "a"}\n',
    "lines with text": '{"id": 1, "text": "hi", "annotator": "ann", "label": "a"}\n',
    "truths": "task,truth\n1,a\n",
    "one column": "label\na\n",
    "blank": "\n",
    "not JSON": "{oops\n",
}


def export_of(path):
    found = find_export(sources_of(path))
    return None if found is None else found.name


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_is_recognised_by_one_reader_only(tmp_path, name):
    file, content = SAMPLES[name]
    [seen] = sources_of(write(tmp_path / file, content))
    names = names_in(seen)
    marked = [each for each, (_, marks) in MARKS.items() if has_marks(names, marks)]
    found = [export_named(each) for each in marked]
    fitting = [each.name for each in found if each.fits is None or each.fits(seen)]
    assert fitting == [name]


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_is_aggregated_without_being_told_what_it_is(tmp_path, name):
    file, content = SAMPLES[name]
    done = succeed("aggregate", write(tmp_path / file, content), "--method", "mv")
    assert done.stdout.startswith("task,label,confidence,n_votes,tied,is_gold\n")


def test_every_format_has_a_sample():
    assert sorted(SAMPLES) == sorted(MARKS)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_table_is_no_export(tmp_path, name):
    suffix = "jsonl" if PLAIN[name].startswith("{") else "csv"
    assert export_of(write(tmp_path / f"votes.{suffix}", PLAIN[name])) is None
    assert export_of(write(tmp_path / "votes", PLAIN[name])) is None


TABLE = "id,annotator,annotation_id,lead_time,label\n1,ann,5,1,a\n1,bob,6,1,b\n"  # as Label Studio writes it, too
SAID = {(1, "ann", "a"), (1, "bob", "b")}
LS_VOTES = {(7, "3", "pos"), (7, "b@x.org", "neg"), (8, "3", "neg")}
PRODIGY_VOTES = {(-11, "ann", "POS"), (-11, "bob", "NEG"), (22, "ann", "NEG")}
MARKED = [
    annotation(who, choices("q", label), ground_truth=True) for who, label in ((1, "a"), (2, "b"))
]
RATING = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}
LOG, FILE = SAMPLES["inspect"][1], "export.json"

TEXTS = {
    "JSON": ("a.json", json.dumps({"%TYPES": {}, "%FEATURE_STRUCTURES": []}, indent=1)),
    "TSV": ("a.tsv", "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Span|label\n\n\n1-1\t0-2\thi\tX\n"),
}

REGIONS = {
    "Labelbox": (
        "a.ndjson",
        [{"data_row": {"id": "x"}, "media_attributes": {}, "projects": {}}] * 2,
    ),
    "V7": ("a.json", {"version": "2.0", "item": {"name": "a.png"}, "annotations": []}),
    "SuperAnnotate": ("a.json", {"metadata": {"name": "a.png"}, "instances": [], "tags": []}),
    "COCO": ("a.json", {"images": [], "annotations": [], "categories": []}),
    "CVAT": ("a.xml", "<?xml version='1.0'?>\n<annotations>\n<image/></annotations>"),
}
test_exports_that_mark_regions_are_refused_by_the_name_of_the_tool = check_each(
    {
        title: refuses(*form, f"is an export of {title}, which marks regions")
        for title, form in REGIONS.items()
    }
)

test_marked_texts_are_sent_to_the_command_that_reads_them = check_each(
    {
        kind: refuses(*form, "is an export of INCEpTION", "run finegold spans ")
        for kind, form in TEXTS.items()
    }
)

test_what_the_user_can_ask = check_each({
    "the format": reads(FILE, LABEL_STUDIO, LS_VOTES, format="label-studio"),
    "an unknown format": refuses(
        FILE, LABEL_STUDIO, 'no format "labelstudio"', "did you mean label-studio", format="labelstudio"
    ),
    "an export that could be a table": refuses(
        "votes.csv", TABLE, "(Label Studio export): JSON-MIN and CSV hold no gold marks", gold=True
    ),
    "a table that could be an export": reads("votes.csv", TABLE, SAID, layout="long", task="id"),
    "columns of an export": refuses(
        FILE, LABEL_STUDIO, "has no columns to name; use question=NAME and leave out label", label="sent"
    ),
    "what a tool does not have": refuses(
        *("log.json", LOG, 'no "predictions" to include from an export of Inspect; it has nothing else'),
        include="predictions",
    ),
    "gold that a tool does not have": refuses("log.json", LOG, "an export of Inspect has no gold marks", gold=True),
    "tasks that have ids": refuses("log.json", LOG, "leave out task", task="id"),
    "a question that is not there": refuses(
        FILE, LABEL_STUDIO, 'no question "snt"; it has "sent" (3 votes); did you mean sent?', question="snt"
    ),
    "all questions at once": refuses(FILE, LABEL_STUDIO, "read_each", question="all"),
    "gold marks that contradict each other": refuses(
        *(FILE, [{"id": 5, "data": {}, "annotations": MARKED}]),
        "vote 1: task 5 has the truth 'a' here and 'b' in another row", gold=True,
    ),
    # Images stand in some lines as text.
    "long lines": reads("a.jsonl", [{"image": "x" * 200_000, **record} for record in PRODIGY], PRODIGY_VOTES),
    "a folder of exports": reads("", {"0.json": LABEL_STUDIO[:1], "1.json": LABEL_STUDIO[1:]}, LS_VOTES),
    "different tools": refuses(
        "*", {"a.json": LABEL_STUDIO, "b.jsonl": PRODIGY},
        "a.json is an export of Label Studio but ", " is an export of Prodigy",
    ),
})  # fmt: skip


def test_the_command_line_shows_what_is_left_out(tmp_path):
    path = write(tmp_path / "export.json", json.dumps(LABEL_STUDIO))
    done = run("aggregate", path, "--method", "mv", "--gold", "export")
    assert "1 given by gold truths" in done.stderr
    assert "cancelled annotations (1), predictions of models (1), drafts (1)" in done.stderr
    rows = json_of("aggregate", path, "--method", "mv", "--include", "predictions")["rows"]
    assert rows["left_out"] == {"cancelled annotations": 1, "drafts": 1}


def test_every_question_on_the_command_line(tmp_path):
    answers = [annotation(1, choices("sent", "pos"), RATING), annotation(2, choices("sent", "pos"))]
    path = write(
        tmp_path / "export.json", json.dumps([{"id": 1, "data": {}, "annotations": answers}])
    )
    out, annotators = tmp_path / "labels.csv", tmp_path / "annotators.csv"
    words = ["aggregate", path, "--method", "mv", "--question", "all"]
    succeed(*words, "-o", out, "--annotators", annotators)
    assert out.read_text() == (
        "question,task,label,confidence,n_votes,tied,is_gold\n"
        "sent,1,pos,1.0,2,false,false\nstars,1,4,1.0,1,false,false\n"
    )
    assert pl.read_csv(annotators).get_column("question").to_list() == ["sent", "sent", "stars"]
    assert {name: about["n_votes"] for name, about in json_of(*words)["questions"].items()} == {
        "sent": 2,
        "stars": 1,
    }
    for option in ("--save", "--prior"):
        assert f"{option} works with one question only" in refusal_of(
            *words, option, tmp_path / "model.finegold"
        )


@pytest.mark.parametrize("name", ["label-studio", "prodigy", "argilla", "inspect"])
def test_a_mark_in_front_and_blank_lines(tmp_path, name):
    """Editors put a byte-order mark in front."""
    file, content = SAMPLES[name]
    expected = votes_of(finegold.read(write(tmp_path / file, content)))
    assert (
        votes_of(finegold.read(write(tmp_path / file, b"\xef\xbb\xbf\n" + content.encode())))
        == expected
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_wherever_an_export_is_cut_it_is_read_or_refused_with_words(tmp_path, name):
    file, content = SAMPLES[name]
    data = content if isinstance(content, bytes) else content.encode()
    for length in range(1, len(data), max(1, len(data) // 6)):
        path, message = write(tmp_path / file, data[:length]), "there are no votes"
        try:
            finegold.read_each(path, format=name)
        except InputError as error:
            message = str(error)
        assert (
            str(path) in message or "there are no votes" in message
        )  # it is read, or the refusal names the file
