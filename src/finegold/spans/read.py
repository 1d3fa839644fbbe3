"""Read marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION, brat, columns of
CoNLL, tables.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import polars as pl

from finegold.errors import InputError, Remedy
from finegold.io.exports.argilla import responses_of
from finegold.io.exports.base import DamagedExport, json_records, with_numbers
from finegold.io.exports.label_studio import ANNOTATIONS, annotations_of, person
from finegold.spans.marks import Marks, Reading, Span, collect

KINDS = (
    "it may be an export of Label Studio, doccano, Prodigy, Argilla, INCEpTION (WebAnno TSV 3 or UIMA"
    " CAS JSON) or brat, columns of CoNLL, or a table with the columns document, annotator, start,"
    " end and label"
)
# what a result of Label Studio says about its question, and its fields of classes
QUESTION = ("from_name", "to_name", "type")
CLASSES = ("labels", "hypertextlabels", "paragraphlabels")
# the file of doccano with the marks of all members
EVERYBODY = "all"
ENTITY = re.compile(r"(?:NamedEntity|Span|Entity)$")
# brat: T1<tab>PER 0 5;8 10<tab>text
BRAT = re.compile(r"^T\S*\t(\S+) ([\d; ]+)(?:\t|$)")
# What lies beside marks: the documents of INCEpTION before anybody marked them and its project, the
# settings of brat, and other kinds of files.
OTHERS = re.compile(
    r"^INITIAL_CAS|^exportedproject.*json$|^(tagsets|typesystem)|"
    r"\.(ser|zip|xml|conf|css|md|pdf|html?|png|jpe?g|log|py|lock)$",
    re.IGNORECASE,
)


class File(NamedTuple):
    path: PurePath
    text: str
    # the names of the file and of its folder, of which one may be that of the annotator
    stem: str
    folder: str


def read(source: str | Path | Iterable[str | Path]) -> Marks:
    """Read marked texts.

    Where a file does not say who marked it, the annotator is the name of the file. brat has a
    folder for each annotator, INCEpTION a folder for each document with a file for each annotator.

    Args:
        source: A file, several files, a folder or a zip. JSON and JSON Lines of Label Studio,
            doccano, Prodigy and Argilla, UIMA JSON and WebAnno TSV of INCEpTION, `.ann` of brat,
            columns of CoNLL, or a table with the columns document, annotator, start, end and label.

    Returns:
        The marks; `left_out` says what was not read.

    Raises:
        InputError: If there are no marked texts in it.
    """
    paths = [Path(source)] if isinstance(source, str | Path) else [Path(each) for each in source]
    name = ", ".join(str(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    left_out = Counter[str]()
    files = [file for path in paths for file in _files(path, left_out)]
    texts = {file.path: file.text for file in files if file.path.suffix == ".txt"}
    # the text of a document may lie beside the marks
    marked = [file for file in files if file.path not in texts] or files
    readings = [reading for file in marked for reading in _read(file, texts, left_out)]
    return collect(readings, name, left_out)


def _files(path: Path, left_out: Counter[str]) -> Iterator[File]:
    """Yield a file, or those of a folder or a zip, but for settings and the like beside them."""
    contents: dict[PurePath, bytes] = {}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    contents[PurePath(member.filename)] = archive.read(member)
    elif path.is_dir():
        inside = [each for each in sorted(path.rglob("*")) if each.is_file()]
        contents = {each: each.read_bytes() for each in inside if each.name[0] != "."}
    elif path.exists():
        contents[path] = path.read_bytes()
    else:
        raise InputError(f"there is no file {path}")
    for file, content in contents.items():
        if OTHERS.search(file.name):
            left_out["files of another form"] += 1
            continue
        try:
            yield File(file, content.decode("utf-8-sig"), file.stem, file.parent.name)
        except UnicodeDecodeError as error:
            problem = f"{file} is not text in UTF-8 (byte {error.start:,})"
            raise InputError(f"{problem}; save it as UTF-8") from None


def _read(file: File, texts: dict[PurePath, str], left_out: Counter[str]) -> Iterator[Reading]:
    if file.path.suffix == ".ann":
        yield _brat(file, texts)
    elif file.text.startswith("#FORMAT=WebAnno TSV"):
        yield _webanno(file, left_out)
    elif file.text.lstrip()[:1] in ("{", "["):
        yield from _json(file, left_out)
    elif {"start", "end", "label"} <= {
        name.strip(' "\r') for name in re.split(r"[,;\t]", file.text.partition("\n")[0].lower())
    }:
        yield from _table(file)
    else:
        yield from _conll(file, left_out)


# JSON


def _json(file: File, left_out: Counter[str]) -> Iterator[Reading]:
    def readings_of(record: Any) -> Iterator[Reading]:
        reader = next((read for fits, read in RECORDS if fits(record)), None)
        if reader is None:
            fields = ", ".join(list(record)[:8])
            raise DamagedExport(f"no marks are known in records with the fields {fields}", KINDS)
        return reader(record, file, left_out)

    try:
        records = json_records(io.BytesIO(file.text.encode(errors="surrogatepass")))
        yield from with_numbers(records, readings_of)
    except DamagedExport as error:
        remedies = error.remedies or [Remedy(text="export it again")]
        raise InputError(error.problem, f"{file.path}, record {error.record}", remedies) from None


def _spans(marks: Iterable[Any], start: str = "start", end: str = "end") -> list[Span]:
    return [(int(each[start]), int(each[end]), str(each["label"])) for each in marks]


def _label_studio(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    data = record["data"]
    annotations = annotations_of(record)
    for position, annotation in enumerate(annotations, 1):
        if annotation.get("was_cancelled"):
            left_out["skipped annotations"] += 1
            continue
        spans, form = [], {"data": data}
        for result in annotation.get("result") or ():
            found = _marks_of(result.get("value") or {})
            left_out["answers that are not marked texts"] += not found
            if found:
                spans += found
                form |= {name: result[name] for name in QUESTION if name in result}
        # of a file of one annotator, who need not be named in it
        nobody = file.stem if len(annotations) == 1 else f"{file.stem} {position}"
        who = person(annotation)
        # the only text, or the one that the marks were made in
        texts = [value for value in data.values() if isinstance(value, str)]
        named = data.get(form.get("to_name"), data.get("text"))
        text = texts[0] if len(texts) == 1 else named
        yield Reading(str(record["id"]), nobody if who is None else str(who), spans, text, form)


def _label_studio_min(
    record: dict[str, Any], file: File, left_out: Counter[str]
) -> Iterator[Reading]:
    """JSON-MIN: an annotation for each record, with its marks in the field of their question."""
    values = [value for field in record.values() if isinstance(field, list) for value in field]
    spans = [span for value in values if isinstance(value, dict) for span in _marks_of(value)]
    yield Reading(str(record["id"]), str(record["annotator"]), spans, record.get("text"))


def _marks_of(value: dict[str, Any]) -> list[Span]:
    """Return the marks in a value of Label Studio, whose places in a text of HTML are counted over
    the whole text as well.
    """
    offsets = value.get("globalOffsets") or value
    classes = [str(name) for kind in CLASSES for name in value.get(kind) or ()]
    return [(int(offsets["start"]), int(offsets["end"]), name) for name in classes]


def _doccano(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    marked = record.get("label", record.get("labels"))
    if marked is None:
        spans = _spans(record["entities"], "start_offset", "end_offset")
    else:
        spans = [(int(start), int(end), str(label)) for start, end, label in marked]
    who = record.get("annotator", record.get("username", file.stem))
    if who == EVERYBODY:
        raise DamagedExport(
            "the file holds the marks of all members together, so that nobody can tell who marked what",
            'export a project without "Share annotations across all users"',
        )
    yield Reading(str(record.get("id", record["text"])), str(who), spans, record["text"])


def _prodigy(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    if record.get("answer", "accept") != "accept":
        left_out["rejected and ignored examples"] += 1
        return
    who = record.get("_annotator_id") or record.get("_session_id") or file.stem
    document = str(record.get("_input_hash", record["text"]))
    yield Reading(document, str(who), _spans(record.get("spans") or ()), record["text"])


def _argilla(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """Records as they are, and flattened."""
    fields = record.get("fields", record)
    texts = [value for value in fields.values() if isinstance(value, str)]
    text = fields.get("text", texts[0] if "fields" in record and len(texts) == 1 else None)
    by_user: dict[str, list[Span]] = {}
    for status, user, value, _ in responses_of(record):
        if status not in (None, "", "submitted"):
            left_out["drafts and discarded responses"] += 1
            continue
        marks = value if isinstance(value, list) else ()
        found = _spans(each for each in marks if isinstance(each, dict) and "start" in each)
        by_user.setdefault(str(user), []).extend(found)
    for who, spans in by_user.items():
        yield Reading(str(record.get("id") or text), who, spans, text)


def _uima(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """UIMA CAS JSON of INCEpTION: a file per document (the folder) and annotator (the file)."""
    structures = record["%FEATURE_STRUCTURES"]
    text = next((each["sofaString"] for each in structures if "sofaString" in each), None)
    spans = []
    for each in structures:
        label = each.get("value", each.get("label", each.get("identifier")))
        if ENTITY.search(str(each.get("%TYPE", ""))) and "begin" in each and isinstance(label, str):
            spans.append((int(each["begin"]), int(each["end"]), label))
    yield Reading(file.folder or file.stem, file.stem, spans, text)


def _is_doccano(record: dict[str, Any]) -> bool:
    """Return whether the text has [start, end, label], or entities where relations are marked."""
    marks = record.get("label", record.get("labels"))
    are_places = isinstance(marks, list) and all(
        isinstance(mark, list) and len(mark) == 3 and isinstance(mark[0], int) for mark in marks
    )
    return "text" in record and (are_places or isinstance(record.get("entities"), list))


Reader = Callable[[dict[str, Any], File, Counter[str]], Iterator[Reading]]
RECORDS: tuple[tuple[Callable[[dict[str, Any]], bool], Reader], ...] = (
    (lambda r: "%FEATURE_STRUCTURES" in r, _uima),
    (
        lambda r: isinstance(r.get("data"), dict) and not r.keys().isdisjoint(ANNOTATIONS),
        _label_studio,
    ),
    (lambda r: {"id", "annotator", "lead_time"} <= r.keys(), _label_studio_min),
    (lambda r: {"fields", "responses"} <= r.keys(), _argilla),
    (lambda r: any(name.endswith(".responses.users") for name in r), _argilla),
    (_is_doccano, _doccano),
    (lambda r: "text" in r and not r.keys().isdisjoint(("spans", "_input_hash")), _prodigy),
)


# Lines


def _brat(file: File, texts: dict[PurePath, str]) -> Reading:
    """brat: DOCUMENT.ann beside DOCUMENT.txt, in a folder for each annotator."""
    spans = []
    for line in file.text.splitlines():
        if found := BRAT.match(line):
            places = [int(place) for place in re.split(r"[; ]", found[2].strip())]
            spans.append((min(places), max(places), found[1]))
    return Reading(file.stem, file.folder, spans, texts.get(file.path.with_suffix(".txt")))


def _webanno(file: File, left_out: Counter[str]) -> Reading:
    """WebAnno TSV 3: a token on each line, and a column for each feature of a layer of spans.

    PER[1] on several lines is one span, and PER alone is one of one token.
    """
    text, sentence = "", ""
    spans: dict[tuple[str, ...], Span] = {}
    column = _column_of_entities(file.text, left_out)
    for line in file.text.splitlines():
        sentence = line.removeprefix("#Text=") if line.startswith("#Text=") else sentence
        fields = line.split("\t")
        if not re.fullmatch(r"\d+-\d+", fields[0]) or len(fields) <= column:
            continue
        start, end = map(int, fields[1].split("-"))
        # a sentence stands where its first token does
        text, sentence = (text.ljust(start) + sentence, "") if sentence else (text, "")
        for value in fields[column].split("|"):
            label, _, number = value.partition("[")
            if label not in ("", "_", "*"):
                key = (label, number) if number else (label, "", fields[0])
                spans[key] = (spans.get(key, (start,))[0], end, label)
    return Reading(file.folder or file.stem, file.stem, spans.values(), text or None)


def _column_of_entities(text: str, left_out: Counter[str]) -> int:
    """Return the column with the classes of spans: of named entities, else of the first layer."""
    columns, width = {}, 3
    for layer in re.findall(r"^#T_SP=(.*)$", text, re.MULTILINE):
        name, *features = layer.strip().split("|")
        columns[name] = width + (features.index("value") if "value" in features else 0)
        width += max(len(features), 1)
    # those of one's own before those of the program, such as parts of speech
    kinds = ("NamedEntity", "custom.", "webanno.", "")
    found = next((name for kind in kinds for name in columns if kind in name), "")
    left_out.update(f"layer {name.rpartition('.')[2]}" for name in columns if name != found)
    return columns.get(found, 3)


def _table(file: File) -> Iterator[Reading]:
    """A table with a row for each span. A row without places says that somebody read a document."""
    header = file.text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    frame = pl.read_csv(io.StringIO(file.text), separator=separator, infer_schema=False)
    for line, row in enumerate(frame.rename(lambda name: name.strip().lower()).to_dicts(), 2):
        try:
            spans = _spans([row] if row["start"] else [])
            yield Reading(row["document"], row.get("annotator", file.stem), spans)
        except (ValueError, KeyError) as error:
            problem = f"it needs a document and whole numbers for start and end ({error})"
            raise InputError(problem, f"{file.path}, line {line}") from None


def _conll(file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """Columns: a token and then a tag for each annotator (`?` where a sentence was not read),
    sentences between blank lines. Tags are B-PER, I-PER, O, or classes alone. As in CoNLL 2003, the
    last column alone counts where another one never has the tag O, as parts of speech do not.
    """
    if file.text.startswith("<?xml"):
        raise InputError(f"{file.path} is XML; export it as WebAnno TSV 3 or as UIMA CAS JSON")
    lines = [line.split() for line in file.text.splitlines() if not line.startswith("-DOCSTART-")]
    sentences = [list(rows) for is_full, rows in groupby(lines, bool) if is_full]
    width = len(sentences[0][0]) if sentences else 0
    for number, rows in enumerate(sentences, 1):
        if any(len(row) != width for row in rows):
            problem = f"{file.path}, sentence {number}: its lines are not a token and as many tags"
            raise InputError(f"{problem} as in the first sentence; {KINDS}")
    columns = range(1, width)
    tags = {column: {row[column] for rows in sentences for row in rows} for column in columns}
    if not any(tag[:2] in ("O", "B-", "I-") for said in tags.values() for tag in said):
        raise InputError(f"{file.path} is in no form of marked texts that is known; {KINDS}")
    if width > 3 and any(not {"O", "?"} & said for said in tags.values()):
        columns = range(width - 1, width)
        left_out["columns before the last"] += width - 2
    for number, rows in enumerate(sentences, 1):
        text, places = "", []
        for token, *_ in rows:
            text += (" " if text else "") + token
            places.append((len(text) - len(token), len(text)))
        for column in columns:
            said = [row[column] for row in rows]
            if "?" not in said:
                who = file.stem if len(columns) == 1 else f"{file.stem} {column}"
                yield Reading(f"{number}", who, _runs(said, places), text)


def _runs(tags: list[str], places: list[tuple[int, int]]) -> list[Span]:
    """Return the spans of tags: B- begins one, I- of the same class goes on with it."""
    spans: list[Span] = []
    before = ""
    for tag, (start, end) in zip(tags, places, strict=True):
        label = tag[2:] if tag[:2] in ("B-", "I-") else tag
        label = "" if label in ("O", "_") else label
        if label and label == before and tag[:2] != "B-":
            spans[-1] = (spans[-1][0], end, label)
        elif label:
            spans.append((start, end, label))
        before = label
    return spans
