"""Read marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION, brat, columns of
CoNLL, tables.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from finegold.errors import InputError, Remedy
from finegold.io.exports.base import DamagedExport, json_records, with_numbers
from finegold.spans.marks import Marks, Reading, collect

FORMS = (
    "it may be an export of Label Studio, doccano, Prodigy, Argilla, INCEpTION (WebAnno TSV 3 or UIMA"
    " CAS JSON) or brat, columns of CoNLL, or a table with the columns document, annotator, start,"
    " end and label"
)
# of what a zip unpacks to
MAX_BYTES = 2**30
# what a result of Label Studio says about its question
IN_STUDIO = ("from_name", "to_name", "type")
# the file of doccano with the marks of all members
EVERYBODY = "all"
LABEL_STUDIO = ("labels", "hypertextlabels", "paragraphlabels")
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


@dataclass(frozen=True)
class File:
    """One file: its name, its text, and the name of the folder in which it lies."""

    name: str
    text: str
    folder: str = ""

    @property
    def stem(self) -> str:
        return self.name.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def read(source: str | Path | Iterable[str | Path]) -> Marks:
    """Read marked texts.

    Where a file does not say who marked it, the annotator is the name of the file. brat has a folder for each annotator,
    INCEpTION a folder for each document with a file for each annotator.

    Args:
        source: A file, several files, a folder or a zip. JSON and JSON Lines of Label Studio, doccano, Prodigy and Argilla,
            UIMA JSON and WebAnno TSV of INCEpTION, `.ann` of brat, columns of CoNLL, or a table with the columns document,
            annotator, start, end and label.

    Returns:
        The marks; `left_out` says what was not read.

    Raises:
        InputError: If there are no marked texts in it.
    """
    paths = [Path(source)] if isinstance(source, str | Path) else [Path(each) for each in source]
    name = ", ".join(str(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    left_out: Counter[str] = Counter()
    files = [file for path in paths for file in _files(path, left_out)]
    readings = [reading for file in files for reading in _read(file, files, left_out)]
    return collect(readings, name, left_out)


def _files(path: Path, left_out: Counter[str]) -> Iterator[File]:
    """Yield a file, or those of a folder or a zip, but for settings and the like beside them."""
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file() and each.name[0] != "." and not _is_other(each.name, left_out):
                yield File(str(each), _decode(each.read_bytes(), each), each.parent.name)
    elif not path.exists():
        raise InputError(f"there is no file {path}")
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            if sum(member.file_size for member in members) > MAX_BYTES:
                problem = f"{path} unpacks to more than {MAX_BYTES:,} bytes"
                raise InputError(f"{problem}; unpack it and give the folder")
            for member in members:
                inside = PurePosixPath(member.filename)
                if not _is_other(inside.name, left_out):
                    text = _decode(archive.read(member), inside)
                    yield File(str(inside), text, inside.parent.name)
    else:
        yield File(str(path), _decode(path.read_bytes(), path), path.parent.name)


def _is_other(name: str, left_out: Counter[str]) -> bool:
    is_other = OTHERS.search(name) is not None
    left_out.update({"files of another form": 1} if is_other else {})
    return is_other


def _decode(content: bytes, name: object) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{name} is not text in UTF-8 (byte {error.start:,})"
        raise InputError(f"{problem}; save it as UTF-8") from None


def _read(file: File, files: list[File], left_out: Counter[str]) -> Iterator[Reading]:
    if file.name.endswith(".ann"):
        yield from _brat(file, files)
    elif file.text.startswith("#FORMAT=WebAnno TSV"):
        yield from _webanno(file, left_out)
    elif file.text.lstrip()[:1] in ("{", "["):
        yield from _json(file, left_out)
    elif file.name.endswith(".txt") and any(not each.name.endswith(".txt") for each in files):
        # the text of a document, whose marks lie in another file
        return
    elif _is_table(file.text):
        yield from _table(file)
    else:
        yield from _conll(file, left_out)


# JSON


def _json(file: File, left_out: Counter[str]) -> Iterator[Reading]:
    seen = Counter[str]()

    def readings_of(record: Any) -> Iterator[Reading]:
        if not isinstance(record, dict):
            raise DamagedExport("expected a record")
        reader = next((read for fits, read in RECORDS if fits(record)), None)
        if reader is None and not seen["known"]:
            fields = ", ".join(list(record)[:8])
            raise DamagedExport(f"no marks are known in records with the fields {fields}", FORMS)
        if reader is None:
            left_out["records of another form"] += 1
            return
        seen["known"] += 1
        yield from reader(record, file, left_out)

    try:
        records = json_records(io.BytesIO(file.text.encode(errors="surrogatepass")))
        yield from with_numbers(records, readings_of)
    except DamagedExport as error:
        remedies = error.remedies or [Remedy(text="export it again")]
        raise InputError(error.problem, f"{file.name}, record {error.record}", remedies) from None


def _label_studio(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    document, data = str(record["id"]), record["data"]
    texts = [value for value in data.values() if isinstance(value, str)]
    annotations = record.get("annotations") or record.get("completions") or ()
    for position, annotation in enumerate(annotations, 1):
        if annotation.get("was_cancelled"):
            left_out["skipped annotations"] += 1
            continue
        spans, form = [], {"data": data}
        for result in annotation.get("result") or ():
            found = _marks_of(result.get("value") or {})
            left_out.update({"answers that are not marked texts": 1} if not found else {})
            if found:
                spans += found
                form |= {name: result[name] for name in IN_STUDIO if name in result}
        who = annotation.get("completed_by")
        who = who.get("email") or who.get("id") if isinstance(who, dict) else who
        # of a file of one annotator, who need not be named in it
        nobody = file.stem if len(annotations) == 1 else f"{file.stem} {position}"
        text = _text_of(data, form, texts)
        yield Reading(document, nobody if who is None else str(who), spans, text, form)


def _text_of(data: dict[str, Any], form: dict[str, Any], texts: list[str]) -> str | None:
    """Return the text that was marked: the only one, or the one that the marks were made in."""
    named = data.get(str(form.get("to_name")))
    return texts[0] if len(texts) == 1 else named if isinstance(named, str) else data.get("text")


def _label_studio_min(
    record: dict[str, Any], file: File, left_out: Counter[str]
) -> Iterator[Reading]:
    """JSON-MIN: an annotation for each record, with its marks in the field of their question."""
    fields = [name for name in record if _are_marks(record[name])]
    spans = [span for name in fields for value in record[name] for span in _marks_of(value)]
    text = record.get("text")
    yield Reading(str(record["id"]), str(record["annotator"]), spans, text)


def _are_marks(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(v, dict) and _marks_of(v) for v in value)


def _marks_of(value: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Return the marks in a value of Label Studio, whose places in a text of HTML are counted over
    the whole text as well.
    """
    classes = [name for kind in LABEL_STUDIO for name in value.get(kind) or ()]
    if not classes:
        return []
    offsets = value.get("globalOffsets") or value
    return [(int(offsets["start"]), int(offsets["end"]), str(name)) for name in classes]


def _doccano(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    marked = record.get("label", record.get("labels"))
    if marked is None:
        marked = [
            (each["start_offset"], each["end_offset"], each["label"]) for each in record["entities"]
        ]
    who = record.get("annotator", record.get("username", file.stem))
    if who == EVERYBODY:
        raise DamagedExport(
            "the file holds the marks of all members together, so that nobody can tell who marked what",
            'export a project without "Share annotations across all users"',
        )
    spans = [(int(start), int(end), str(label)) for start, end, label in marked]
    yield Reading(str(record.get("id", record["text"])), str(who), spans, record["text"])


def _doccano_users(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    by_user: dict[str, list[tuple[int, int, str]]] = {}
    for each in record["annotations"]:
        span = (int(each["start_offset"]), int(each["end_offset"]), str(each["label"]))
        by_user.setdefault(str(each.get("user", file.stem)), []).append(span)
    for who, spans in by_user.items():
        yield Reading(str(record.get("id", record["text"])), who, spans, record["text"])


def _prodigy(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    if record.get("answer", "accept") != "accept":
        left_out["rejected and ignored examples"] += 1
        return
    who = record.get("_annotator_id") or record.get("_session_id") or file.stem
    spans = [
        (int(each["start"]), int(each["end"]), str(each["label"]))
        for each in record.get("spans") or ()
    ]
    document = str(record.get("_input_hash", record["text"]))
    yield Reading(document, str(who), spans, record["text"])


def _argilla_old(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    if record.get("status") == "Discarded" or record["annotation"] is None:
        left_out["records without annotations"] += 1
        return
    spans = [(int(start), int(end), str(label)) for label, start, end, *_ in record["annotation"]]
    who = record.get("annotation_agent") or file.stem
    yield Reading(str(record.get("id", record["text"])), str(who), spans, record["text"])


def _argilla(record: dict[str, Any], file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """Records as they are, as the server writes them (a response for each user), and flattened."""
    fields = record.get("fields", record)
    texts = [value for value in fields.values() if isinstance(value, str)]
    text = fields.get("text", texts[0] if "fields" in record and len(texts) == 1 else None)
    by_user: dict[str, list[tuple[int, int, str]]] = {}
    for user, status, value in _answers(record):
        if status not in (None, "submitted"):
            left_out["drafts and discarded responses"] += 1
            continue
        spans = by_user.setdefault(str(user), [])
        for each in value if isinstance(value, list) else ():
            if isinstance(each, dict) and "start" in each:
                spans.append((int(each["start"]), int(each["end"]), str(each["label"])))
    for who, spans in by_user.items():
        yield Reading(str(record.get("id") or text), who, spans, text)


def _answers(record: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the user, the status and the value of each answer of a record of Argilla."""
    responses = record.get("responses") or {}
    if isinstance(responses, list):
        for response in responses:
            for answer in (response.get("values") or {}).values():
                yield response["user_id"], response.get("status"), answer["value"]
        return
    for answers in responses.values():
        for answer in answers:
            yield answer["user_id"], answer.get("status"), answer["value"]
    for name in (name for name in record if name.endswith(".responses") and record[name]):
        users, values = record[f"{name}.users"], record[name]
        states = record.get(f"{name}.status") or [None] * len(users)
        yield from zip(users, states, values, strict=True)


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


def _has_places(value: Any) -> bool:
    """Whether these are doccano's [start, end, label]."""
    return isinstance(value, list) and all(
        isinstance(each, list) and len(each) == 3 and isinstance(each[0], int) for each in value
    )


RECORDS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[..., Iterator[Reading]]], ...] = (
    (lambda r: "%FEATURE_STRUCTURES" in r, _uima),
    (
        lambda r: isinstance(r.get("data"), dict) and ("annotations" in r or "completions" in r),
        _label_studio,
    ),
    (lambda r: {"id", "annotator", "lead_time"} <= r.keys(), _label_studio_min),
    (
        lambda r: (
            ("fields" in r and "responses" in r) or any(n.endswith(".responses.users") for n in r)
        ),
        _argilla,
    ),
    (
        lambda r: (
            "text" in r and ("annotation_agent" in r or isinstance(r.get("annotation"), list))
        ),
        _argilla_old,
    ),
    (lambda r: "text" in r and isinstance(r.get("annotations"), list), _doccano_users),
    (lambda r: "text" in r and isinstance(r.get("entities"), list), _doccano),
    (lambda r: "text" in r and _has_places(r.get("label", r.get("labels"))), _doccano),
    (lambda r: "text" in r and ("spans" in r or "_input_hash" in r), _prodigy),
)


# Lines


def _brat(file: File, files: list[File]) -> Iterator[Reading]:
    """brat: DOCUMENT.ann beside DOCUMENT.txt, in a folder for each annotator."""
    texts = {each.name: each.text for each in files if each.name.endswith(".txt")}
    spans = []
    for line in file.text.splitlines():
        if found := BRAT.match(line):
            places = [int(place) for place in re.split(r"[; ]", found[2].strip())]
            spans.append((min(places), max(places), found[1]))
    yield Reading(file.stem, file.folder or "annotator", spans, texts.get(file.name[:-4] + ".txt"))


def _webanno(file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """WebAnno TSV 3: a token on each line, and a column for each feature of a layer of spans.

    PER[1] on several lines is one span, and PER alone is one of one token.
    """
    text, sentence = "", ""
    spans, numbered = [], dict[tuple[str, str], list[int]]()
    layers = re.findall(r"^#T_SP=(.*)$", file.text, re.MULTILINE)
    column, others = _column_of_entities([layer.strip().split("|") for layer in layers])
    left_out.update(f"layer {layer}" for layer in others)
    for line in file.text.splitlines():
        if line.startswith("#Text="):
            sentence = line.removeprefix("#Text=")
        fields = line.split("\t")
        if not re.fullmatch(r"\d+-\d+", fields[0]) or len(fields) <= column:
            continue
        start, end = (int(place) for place in fields[1].split("-"))
        # a sentence stands where its first token does
        text, sentence = (text.ljust(start) + sentence, "") if sentence else (text, "")
        for value in fields[column].split("|"):
            label, _, number = value.partition("[")
            if label in ("", "_", "*"):
                continue
            if number:
                numbered.setdefault((label, number), [start, end])[1] = end
            else:
                spans.append((start, end, label))
    spans += [(start, end, label) for (label, _), (start, end) in numbered.items()]
    yield Reading(file.folder or file.stem, file.stem, spans, text or None)


def _column_of_entities(layers: list[list[str]]) -> tuple[int, list[str]]:
    """Return the column with the classes of spans, and the layers that are left aside: named
    entities are asked first, then layers of one's own.
    """
    found, column = [], 3
    for name, *features in layers:
        rank = 0 if "NamedEntity" in name else 1 if name.startswith(("custom", "webanno")) else 2
        feature = features.index("value") if "value" in features else 0
        found.append((rank, column + feature, name.rpartition(".")[2]))
        column += max(len(features), 1)
    best = min(found, default=(0, column, ""))
    return best[1], [each[2] for each in found if each != best]


def _is_table(text: str) -> bool:
    header = re.split(r"[,;\t]", text.partition("\n")[0].lower())
    return {"start", "end", "label"} <= {name.strip(' "\r') for name in header}


def _table(file: File) -> Iterator[Reading]:
    """A table with a row for each span. A row without places says that somebody read a document."""
    header = file.text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    frame = pl.read_csv(io.StringIO(file.text), separator=separator, infer_schema=False)
    frame = frame.rename({name: name.strip().lower() for name in frame.columns})
    if "document" not in frame.columns:
        raise InputError(f"{file.name} has no column document, which names the text of each span")
    if "annotator" not in frame.columns:
        frame = frame.with_columns(pl.lit(file.stem).alias("annotator"))
    for (document, who), rows in frame.group_by(["document", "annotator"], maintain_order=True):
        marked = rows.filter(pl.col("start").is_not_null())
        try:
            spans = [
                (int(start), int(end), label)
                for start, end, label in marked.select("start", "end", "label").rows()
            ]
        except ValueError as error:
            raise InputError(f"{file.name}: a place is not a whole number ({error})") from None
        yield Reading(str(document), str(who), spans)


def _conll(file: File, left_out: Counter[str]) -> Iterator[Reading]:
    """Columns: a token and then a tag for each annotator (`?` where a sentence was not read),
    sentences between blank lines. Tags are B-PER, I-PER, O, or classes alone. As in CoNLL 2003, the
    last column alone counts where another one never has the tag O, as parts of speech do not.
    """
    if file.text.startswith("<?xml"):
        raise InputError(f"{file.name} is XML; export it as WebAnno TSV 3 or as UIMA CAS JSON")
    lines = [line.split() for line in file.text.splitlines() if not line.startswith("-DOCSTART-")]
    sentences = [list(rows) for is_full, rows in groupby(lines, bool) if is_full]
    width = len(sentences[0][0]) if sentences else 0
    if not any(
        tag[:2] in ("O", "B-", "I-") for rows in sentences for row in rows for tag in row[1:]
    ):
        raise InputError(f"{file.name} is in no form of marked texts that is known; {FORMS}")
    for number, rows in enumerate(sentences, 1):
        if any(len(row) != width for row in rows):
            raise InputError(
                f"{file.name}, sentence {number}: its lines are not a token and as many tags as in"
                " the first sentence"
            )
    columns = range(1, width)
    tags = {column: {row[column] for rows in sentences for row in rows} for column in columns}
    if width > 3 and any(not {"O", "?"} & tags[column] for column in columns):
        columns = range(width - 1, width)
        left_out["columns before the last"] += width - 2
    for number, rows in enumerate(sentences, 1):
        places, text = [], ""
        for token, *_ in rows:
            text += (" " if text else "") + token
            places.append((len(text) - len(token), len(text)))
        for column in columns:
            said = [row[column] for row in rows]
            if "?" not in said:
                who = file.stem if len(columns) == 1 else f"{file.stem} {column}"
                yield Reading(f"{number}", who, list(_runs(said, places)), text)


def _runs(tags: list[str], places: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Spans of tags: B- begins one, I- of the same class goes on with it."""
    open_label, start, end = "", 0, 0
    for tag, (first, last) in zip(tags, places, strict=True):
        prefix, _, label = tag.rpartition("-") if tag[:2] in ("B-", "I-") else ("", "", tag)
        label = "" if label in ("O", "_") else label
        if open_label and (label != open_label or prefix == "B"):
            yield start, end, open_label
            open_label = ""
        if label and not open_label:
            open_label, start = label, first
        end = last
    if open_label:
        yield start, end, open_label
