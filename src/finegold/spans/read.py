"""Read marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION, brat, columns of
CoNLL, tables.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path, PurePath
from typing import NamedTuple

import polars as pl

from finegold.errors import InputError, Remedy
from finegold.io.exports import find_export
from finegold.io.exports.base import (
    NAMED_BY_FILE,
    DamagedExport,
    ExportOptions,
    Span,
    Spans,
    Vote,
    spans_in,
)
from finegold.io.source import Source, sniff
from finegold.spans.marks import Marks, collect

KINDS = (
    "it may be an export of Label Studio, doccano, Prodigy, Argilla, INCEpTION (WebAnno TSV 3 or UIMA"
    " CAS JSON) or brat, columns of CoNLL, or a table with the columns document, annotator, start,"
    " end and label"
)
# tools whose answers may be marks
TOOLS = ("label-studio", "doccano", "prodigy", "argilla")
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
    data: Path | bytes
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
    votes = (vote for file in marked for vote in _read(file, texts, left_out))
    return collect(votes, name, left_out)


def _files(path: Path, left_out: Counter[str]) -> Iterator[File]:
    """Yield a file, or those of a folder or a zip, but for settings and the like beside them."""
    contents: dict[PurePath, Path | bytes] = {path: path}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            contents = {PurePath(each.filename): archive.read(each) for each in members}
    elif path.is_dir():
        inside = [each for each in sorted(path.rglob("*")) if each.is_file()]
        contents = {each: each for each in inside if each.name[0] != "."}
    elif not path.exists():
        raise InputError(f"there is no file {path}")
    for file, data in contents.items():
        if OTHERS.search(file.name):
            left_out["files of another form"] += 1
            continue
        content = data if isinstance(data, bytes) else data.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            problem = f"{file} is not text in UTF-8 (byte {error.start:,})"
            raise InputError(f"{problem}; save it as UTF-8") from None
        yield File(file, text, data, file.stem, file.parent.name)


def _read(file: File, texts: dict[PurePath, str], left_out: Counter[str]) -> Iterator[Vote]:
    header = re.split(r"[,;\t]", file.text.partition("\n")[0].lower())
    if file.path.suffix == ".ann":
        yield _brat(file, texts)
    elif file.text.startswith("#FORMAT=WebAnno TSV"):
        yield _webanno(file, left_out)
    elif '"%FEATURE_STRUCTURES"' in file.text:
        yield _uima(file)
    elif file.text.lstrip()[:1] in ("{", "["):
        yield from _of_tool(file, left_out)
    elif {"start", "end", "label"} <= {name.strip(' "\r') for name in header}:
        yield from _table(file)
    else:
        yield from _conll(file, left_out)


def _of_tool(file: File, left_out: Counter[str]) -> Iterator[Vote]:
    """The export of a tool whose answers may be marks."""
    source = sniff(Source(str(file.path), file.data, annotator=file.stem))
    export = find_export([source])
    if export is None or export.name not in TOOLS:
        fields = ", ".join([*source.record][:8])
        problem = f"no marks are known in records with the fields {fields}"
        raise InputError(problem, source.name, [Remedy(text=KINDS)])
    # An answer without marks is a reading, too; files of all forms have the names of annotators.
    options = ExportOptions(multi=True, left_out=left_out, warnings={NAMED_BY_FILE})
    try:
        yield from export.read(source, options)
    except DamagedExport as error:
        raise error.of_tool(source, export) from None


def _uima(file: File) -> Vote:
    """UIMA CAS JSON of INCEpTION: a file per document (the folder) and annotator (the file)."""
    structures = json.loads(file.text)["%FEATURE_STRUCTURES"]
    text = next((each["sofaString"] for each in structures if "sofaString" in each), None)
    spans = []
    for each in structures:
        label = each.get("value", each.get("label", each.get("identifier")))
        if ENTITY.search(str(each.get("%TYPE", ""))) and "begin" in each and isinstance(label, str):
            spans.append((int(each["begin"]), int(each["end"]), label))
    return Vote(file.folder or file.stem, file.stem, Spans(spans), text=text)


def _brat(file: File, texts: dict[PurePath, str]) -> Vote:
    """brat: DOCUMENT.ann beside DOCUMENT.txt, in a folder for each annotator."""
    spans = []
    for line in file.text.splitlines():
        if found := BRAT.match(line):
            places = [int(place) for place in re.split(r"[; ]", found[2].strip())]
            spans.append((min(places), max(places), found[1]))
    text = texts.get(file.path.with_suffix(".txt"))
    return Vote(file.stem, file.folder, Spans(spans), text=text)


def _webanno(file: File, left_out: Counter[str]) -> Vote:
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
    found = Spans(list(spans.values()))
    return Vote(file.folder or file.stem, file.stem, found, text=text or None)


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


def _table(file: File) -> Iterator[Vote]:
    """A table with a row for each span. A row without places says that somebody read a document."""
    header = file.text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    frame = pl.read_csv(io.StringIO(file.text), separator=separator, infer_schema=False)
    for line, row in enumerate(frame.rename(lambda name: name.strip().lower()).to_dicts(), 2):
        try:
            spans = spans_in([row] if row["start"] else [])
            yield Vote(row["document"], row.get("annotator", file.stem), spans)
        except (ValueError, KeyError) as error:
            problem = f"it needs a document and whole numbers for start and end ({error})"
            raise InputError(problem, f"{file.path}, line {line}") from None


def _conll(file: File, left_out: Counter[str]) -> Iterator[Vote]:
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
                yield Vote(number, who, Spans(_runs(said, places)), text=text)


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
