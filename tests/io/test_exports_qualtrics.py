"""Qualtrics: hand-made surveys in, the votes written by hand out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

FIELDS = {
    "StartDate": ("Start Date", "startDate"),
    "Status": ("Response Type", "status"),
    "Progress": ("Progress", "progress"),
    "Duration (in seconds)": ("Duration (in seconds)", "duration"),
    "Finished": ("Finished", "finished"),
    "ResponseId": ("Response ID", "_recordId"),
    "DistributionChannel": ("Distribution Channel", "distributionChannel"),
    "Q1": ("Is this text\nabout art, or not?", "QID1"),
    "Q2_1": ("And these? - first", "QID2_1"),
    "Q2_1_TEXT": ("And these? - first - Text", "QID2_1_TEXT"),
    "Q3_First Click": ("Timing", "QID3_FIRST_CLICK"),
    "Q9": ("How old are you?", "QID9"),
    "PROLIFIC_PID": ("PROLIFIC_PID", "PROLIFIC_PID"),
}
ROWS = [
    ("IP Address", "100", "True", "R_a", "anonymous", "art", "no", "hm", "1.5", "18 to 30", "ann"),
    ("IP Address", "100", "True", "R_b", "anonymous", "no", "no", "", "0.2", "over 30", "bob"),
    ("IP Address", "100", "True", "R_c", "anonymous", "", "-99", "", "0.3", "over 30", ""),
    ("Survey Preview", "100", "True", "R_d", "preview", "art", "art", "", "1", "over 30", "me"),
    ("IP Address", "40", "False", "R_e", "anonymous", "art", "", "", "1", "", "eve"),
    ("Spam", "100", "True", "R_f", "anonymous", "art", "art", "", "1", "over 30", "bot"),
]
VOTES = {("Q1", "ann", "art"), ("Q1", "bob", "no"), ("Q2_1", "ann", "no"), ("Q2_1", "bob", "no")}


def survey(
    path: Path, headers: int = 3, rows: list[tuple[str, ...]] = ROWS, fields: dict[str, tuple[str, str]] = FIELDS
) -> Path:
    ids = [
        json.dumps({"ImportId": known_as, "timeZone": "UTC"}, separators=(",", ":")) for _, known_as in fields.values()
    ]
    texts = [text for text, _ in fields.values()]
    head = {1: [list(fields)], 2: [list(fields), texts], 3: [list(fields), texts, ids]}[headers]
    out = io.StringIO()
    csv.writer(out).writerows([*head, *(["2024-01-01 10:00:00", row[0], row[1], "60", *row[2:]] for row in rows)])
    return write(path / "survey.csv", out.getvalue())


@pytest.mark.parametrize("headers", [1, 2, 3])
def test_columns_that_share_answers_are_one_question(tmp_path: Path, headers: int) -> None:
    path = survey(tmp_path, headers)
    with pytest.raises(InputError, match=r'\(Qualtrics export\) asks 2 questions: "Q1" \(\d+ votes\), "Q9"'):
        read(path)
    found = read(path, question="Q1")
    assert votes_of(found) == VOTES
    assert found.counts.left_out == {"previews": 1, "unfinished responses": 1, "responses marked as spam": 1}
    assert found.counts.missing == 2
    assert votes_of(read(path, question="Q2_1")) == VOTES  # any of its columns names a question
    assert votes_of(read(path, question="Q9")) == {
        ("Q9", "ann", "18 to 30"), ("Q9", "bob", "over 30"), ("Q9", "R_c", "over 30")
    }  # fmt: skip


def test_the_items_can_be_chosen_by_a_pattern(tmp_path: Path) -> None:
    path = survey(tmp_path)
    assert votes_of(read(path, task="Q1, Q2_?")) == VOTES
    assert votes_of(read(path, task="Q2_1")) == {("Q2_1", "ann", "no"), ("Q2_1", "bob", "no")}
    with pytest.raises(InputError, match=r'no column is called "X\*"; use task=PATTERNS such as Q1'):
        read(path, task="X*")


def test_what_is_left_out_can_be_included(tmp_path: Path) -> None:
    path = survey(tmp_path)
    found = read(path, question="Q1", include=["previews", "unfinished", "spam"])
    more = {
        ("Q1", "me", "art"),
        ("Q2_1", "me", "art"),
        ("Q1", "eve", "art"),
        ("Q1", "bot", "art"),
        ("Q2_1", "bot", "art"),
    }
    assert votes_of(found) == VOTES | more
    assert found.counts.left_out == {}


def test_responses_whose_ids_were_replaced_are_no_headers(tmp_path: Path) -> None:
    path = survey(tmp_path, headers=1)
    write(path, path.read_text().replace("R_a", "one").replace("R_b", "two"))
    assert votes_of(read(path, question="Q1")) == VOTES


def test_numeric_codes_for_status_and_finished(tmp_path: Path) -> None:
    coded = [
        (row[0].replace("IP Address", "0").replace("Survey Preview", "1").replace("Spam", "8"), row[1], *row[2:])
        for row in ROWS
    ]
    coded = [(*row[:2], {"True": "1", "False": "0"}[row[2]], row[3], "anonymous", *row[5:]) for row in coded]
    found = read(survey(tmp_path, rows=coded), question="Q1")
    assert votes_of(found) == VOTES
    assert sum(found.counts.left_out.values()) == 3


def test_a_preview_shows_in_its_channel_too(tmp_path: Path) -> None:
    rows = [("IP Address", *row[1:]) if row[0] == "Survey Preview" else row for row in ROWS]
    found = read(survey(tmp_path, rows=rows), question="Q1")
    assert votes_of(found) == VOTES
    assert found.counts.left_out["previews"] == 1


def test_loops_give_items_by_their_number(tmp_path: Path) -> None:
    fields = {name: FIELDS[name] for name in list(FIELDS)[:7]} | {
        "1_Q3": ("First - good?", "1_QID3"),
        "2_Q3": ("Second - good?", "2_QID3"),
        "1_Q4": ("First - long?", "1_QID4"),
        "2_Q4": ("Second - long?", "2_QID4"),
    }
    rows = [
        ("IP Address", "100", "True", "R_a", "anonymous", "yes", "no", "no", ""),
        ("IP Address", "100", "True", "R_b", "anonymous", "yes", "yes", "", "no"),
    ]
    each = read_each(survey(tmp_path, rows=rows, fields=fields))
    assert votes_of(each["Q3"]) == {(1, "R_a", "yes"), (2, "R_a", "no"), (1, "R_b", "yes"), (2, "R_b", "yes")}
    assert votes_of(each["Q4"]) == {(1, "R_a", "no"), (2, "R_b", "no")}


def test_damage_is_named_with_the_tool_and_the_remedy(tmp_path: Path) -> None:
    title = r"survey\.csv \(Qualtrics export\)"
    with pytest.raises(
        InputError, match=rf"{title}: it has headers but no responses; export it again: Data & Analysis"
    ):
        read(survey(tmp_path, rows=[]))
    anonymous = {name: about for name, about in FIELDS.items() if name not in ("ResponseId", "PROLIFIC_PID")}
    with pytest.raises(InputError, match=rf"{title}: there is neither ResponseId nor PROLIFIC_PID"):
        read(survey(tmp_path, fields=anonymous, rows=[(*ROWS[0][:3], *ROWS[0][4:-1])]))
    bare = {name: FIELDS[name] for name in list(FIELDS)[:7]}
    with pytest.raises(InputError, match=rf"{title}: there is no column with answers"):
        read(survey(tmp_path, fields=bare, rows=[ROWS[0][:5]]))
    with pytest.raises(InputError, match=r"blank\.csv \(Qualtrics export\)"):
        read(write(tmp_path / "blank.csv", "StartDate,ResponseId,Q1\n\n"))
    whole = survey(tmp_path).read_text()
    with pytest.raises(
        InputError, match=r"cut\.csv \(Qualtrics export\), line \d+: too few fields.*, or (download|export) it again"
    ):
        read(write(tmp_path / "cut.csv", whole[:-60]))


ABOUT = "ResponseID,ResponseSet,Name,ExternalDataReference,EmailAddress,IPAddress,Status,StartDate,EndDate,Finished"
LEGACY = f"""V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,Q1,Q2,LocationLatitude,LocationLongitude,LocationAccuracy,
{ABOUT},"Is it art, or not?",And this?,LocationLatitude,LocationLongitude,LocationAccuracy,
R_a,Default Response Set,Anonymous,,,1.2.3.4,0,2014-01-01 10:00:00,2014-01-01 10:05:00,1,art,no,47.1,8.5,-1,
R_b,Default Response Set,Anonymous,,,1.2.3.5,0,2014-01-01 10:00:00,2014-01-01 10:05:00,1,no,no,47.1,8.5,-1,
R_c,Default Response Set,Anonymous,,,1.2.3.6,8,2014-01-01 10:00:00,2014-01-01 10:05:00,1,art,no,47.1,8.5,-1,
R_d,Default Response Set,Anonymous,,,1.2.3.7,0,2014-01-01 10:00:00,2014-01-01 10:05:00,0,art,,47.1,8.5,-1,
"""


def test_headers_of_the_old_export(tmp_path: Path) -> None:
    found = read(write(tmp_path / "survey.csv", LEGACY))
    assert votes_of(found) == {("Q1", "R_a", "art"), ("Q1", "R_b", "no"), ("Q2", "R_a", "no"), ("Q2", "R_b", "no")}
    assert found.counts.left_out == {"responses marked as spam": 1, "unfinished responses": 1}


def test_v1_alone_makes_no_survey(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", "task,V1,V2,V3\n1,a,b,a\n2,b,b,a\n3,a,a,a\n")
    assert read(path, wide=True).n_annotators == 3
