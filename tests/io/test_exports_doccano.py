"""doccano: an archive with a file per member, or these files themselves."""

import csv
import io
import json
import zipfile

import pytest

import finegold
from finegold.errors import InputError
from tests.support.exports_made import DOCCANO, lines, zipped
from tests.support.readers_votes import votes_of, write

VOTES = {(5, "ann", "pos"), (6, "ann", "neg"), (5, "bob", "neg")}
CSV = {
    "ann.csv": "id,text,label,Comments\n5,hi,pos,\n6,ho,neg,\n",
    "bob.csv": "id,text,label,Comments\n5,hi,neg,\n6,ho,,\n",
}
FILES = {
    "jsonl": {name: lines(records) for name, records in DOCCANO.items()},
    "json": {name.replace("jsonl", "json"): json.dumps(records) for name, records in DOCCANO.items()},
    "csv": CSV,
}


@pytest.mark.parametrize("kind", FILES)
def test_an_archive(tmp_path, kind):
    votes = finegold.read(write(tmp_path / "export.zip", zipped(FILES[kind])))
    assert votes_of(votes) == VOTES
    assert votes.counts.missing == 1


@pytest.mark.parametrize("kind", FILES)
def test_the_files_of_an_archive(tmp_path, kind):
    paths = [write(tmp_path / name, content) for name, content in FILES[kind].items()]
    assert votes_of(finegold.read(paths)) == VOTES


def test_several_labels_and_images(tmp_path):
    records = [{"id": 1, "filename": "a.png", "label": ["cat", "ant"]}, {"id": 2, "filename": "b.png", "cats": ["dog"]}]
    votes = finegold.read(write(tmp_path / "export.zip", zipped({"ann.jsonl": lines(records)})))
    assert votes_of(votes) == {(1, "ann", "ant|cat"), (2, "ann", "dog")}
    path = write(tmp_path / "export.zip", zipped({"ann.csv": "id,text,label\n1,hi,cat#ant\n"}))
    assert votes_of(finegold.read(path)) == {(1, "ann", "ant|cat")}


def test_spans_are_no_votes(tmp_path):
    records = [{"id": 1, "text": "hi", "label": [[0, 2, "NAME"]]}, {"id": 2, "text": "hi", "label": ["a"]}]
    votes = finegold.read(write(tmp_path / "ann.jsonl", lines(records)))
    assert votes_of(votes) == {(2, "ann", "a")}
    assert votes.counts.left_out == {"marked spans": 1}


@pytest.mark.parametrize("packed", [True, False])
def test_labels_of_all_members_together_are_refused(tmp_path, packed):
    content = FILES["jsonl"]["ann.jsonl"]
    path = tmp_path / ("export.zip" if packed else "all.jsonl")
    write(path, zipped({"all.jsonl": content}) if packed else content)
    with pytest.raises(InputError, match=r"\(doccano export\): it holds the labels of all members together.*Share"):
        finegold.read(path)


def test_a_stream_has_no_name_to_call_the_annotator_by():
    with pytest.raises(InputError, match=r"\(doccano export\): the name of the file is that.*give its path"):
        finegold.read(io.BytesIO(FILES["jsonl"]["ann.jsonl"].encode()))


DAMAGED = {
    "label": (
        {"ann.jsonl": lines([DOCCANO["ann.jsonl"][0], {"id": 6, "text": "ho", "label": 3}])},
        'found 3 for "label"',
    ),
    "id": ({"ann.jsonl": lines([DOCCANO["ann.jsonl"][0], {"text": "ho", "label": []}])}, 'found no "id"'),
    "json": ({"ann.jsonl": lines(DOCCANO["ann.jsonl"])[:-9]}, "not valid JSON"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_names_the_member_and_the_record(tmp_path, name):
    files, found = DAMAGED[name]
    with pytest.raises(InputError) as failure:
        finegold.read(write(tmp_path / "export.zip", zipped(files)))
    assert f"(doccano export), record 2: in ann.jsonl, {found}" in str(failure.value)
    assert "; export it again: Dataset, Actions" in str(failure.value)


def test_a_damaged_archive(tmp_path):
    whole = zipped({"ann.jsonl": lines(DOCCANO["ann.jsonl"]) * 50})
    damaged = whole[:60] + b"\0" * 20 + whole[80:]
    with pytest.raises(InputError, match=r"\(doccano export\).*the zip archive is damaged"):
        finegold.read(write(tmp_path / "export.zip", damaged))


def test_texts_may_be_long_in_csv(tmp_path):
    limit = csv.field_size_limit()
    content = f"id,text,label\n5,{'x' * 200_000},pos\n"
    assert votes_of(finegold.read(write(tmp_path / "export.zip", zipped({"ann.csv": content})))) == {(5, "ann", "pos")}
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("row", [b"5,\xe9,pos\n", b'5,"' + b"x" * 2**24 + b",pos\n"], ids=["encoding", "quote"])
def test_a_damaged_csv_in_an_archive(tmp_path, row):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann.csv", b"id,text,label\n" + row)
    with pytest.raises(InputError, match=r"\(doccano export\).*in ann.csv, not valid CSV in UTF-8"):
        finegold.read(write(tmp_path / "export.zip", packed.getvalue()))


@pytest.mark.parametrize(("name", "says"), [("export.zip", "its content is zip"), ("v.xlsx", "a damaged workbook")])
def test_an_archive_of_an_unknown_version_is_refused(tmp_path, name, says):
    whole = zipped({"ann.jsonl": lines(DOCCANO["ann.jsonl"])})
    place = whole.index(b"PK\x01\x02") + 6  # the version that the directory asks for
    with pytest.raises(InputError, match=says):
        finegold.read(write(tmp_path / name, whole[:place] + b"\x80" + whole[place + 1 :]))


def old(task, *annotations):
    return {"id": task, "text": "hi", "meta": {}, "annotation_approver": None, "annotations": list(annotations)}


def test_old_versions_name_the_user_of_every_annotation(tmp_path):
    records = [
        old(5, {"label": 2, "user": 1}, {"label": 3, "user": 2}),
        old(6, {"id": 9, "label": 3, "user": 1}, {"id": 8, "label": 2, "user": 1}),
        old(7, {"label": 2, "user": 1, "start_offset": 0, "end_offset": 2}),
        old(8),
    ]
    with pytest.warns(finegold.FinegoldWarning, match="holds? several labels"):
        found = finegold.read(write(tmp_path / "file.json1", lines(records)))
    assert votes_of(found) == {(5, 1, "2"), (5, 2, "3"), (6, 1, "2|3")}
    assert found.counts.left_out == {"marked spans": 1}
    assert len(found.unlabelled) == 2
    names = [old(5, {"label": 2, "user": 1, "label_name": "pos", "user_name": "ann"})]
    assert votes_of(finegold.read(write(tmp_path / "named.jsonl", lines(names)))) == {(5, "ann", "pos")}


def test_an_old_annotation_without_a_user_is_refused(tmp_path):
    path = write(tmp_path / "file.jsonl", lines([old(5, {"label": 2, "user": 1}, {"label": 3})]))
    with pytest.raises(InputError, match=r'\(doccano export\), record 1: found an annotation without a "user"'):
        finegold.read(path)
