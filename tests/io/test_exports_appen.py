"""Appen (Figure Eight): hand-made full reports in, the votes written by hand out."""

from __future__ import annotations

from pathlib import Path

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

ABOUT = "_unit_id,_created_at,_golden,_id,_missed,_started_at,_tainted,_channel,_trust,_worker_id,_country"
FULL = f"""{ABOUT},mood,topic,text,mood_gold,mood_gold_reason,topic_gold
11,1/1/2015,true,900,false,1/1/2015,false,neo,0.9,501,USA,good,art,"hi, all",good,because,"art
war"
11,1/1/2015,true,901,true,1/1/2015,false,neo,0.8,502,USA,bad,"war
art","hi, all",good,because,"art
war"
12,1/1/2015,false,902,,1/1/2015,false,neo,0.9,501,USA,bad,war,you,,,
12,1/1/2015,false,903,,1/1/2015,true,neo,0.1,503,USA,good,war,you,,,
"""
MOODS = {(11, 501, "good"), (11, 502, "bad"), (12, 501, "bad")}


@pytest.mark.filterwarnings("ignore:1 vote holds several labels")
def test_every_question_has_a_twin_for_its_gold(tmp_path: Path) -> None:
    path = write(tmp_path / "f123.csv", FULL)
    with pytest.raises(InputError, match=r'\(Appen export\) asks 2 questions: "mood" \(3 votes\), "topic"'):
        read(path)
    each = read_each(path)
    assert votes_of(each["mood"]) == MOODS
    assert votes_of(each["topic"]) == {(11, 501, "art"), (11, 502, "art|war"), (12, 501, "war")}
    assert each["mood"].counts.left_out == {"tainted judgments": 1}
    assert votes_of(read(path, question="mood", include="tainted")) == MOODS | {(12, 503, "good")}
    assert {task for task, _, _ in votes_of(read(path, question="mood", task="text"))} == {"hi, all", "you"}


def test_gold_is_used_when_asked_and_has_one_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "f123.csv", FULL)
    found = read(path, question="mood", gold=True)
    assert found.class_names.to_list() == ["bad", "good"]
    assert found.gold.tolist() == [1, -1]
    with pytest.raises(InputError, match="marks no gold"):  # art or war, both are right
        read(path, question="topic", gold=True)
    assert found.counts.left_out["gold truths of topic that allow several answers"] == 1


def test_without_twins_answers_are_where_judgments_of_a_unit_differ(tmp_path: Path) -> None:
    report = f"""{ABOUT},mood,text
11,,false,1,,,false,neo,0.9,501,USA,good,hi
11,,false,2,,,false,neo,0.9,502,USA,bad,hi
12,,false,3,,,false,neo,0.9,501,USA,good,you
"""
    path = write(tmp_path / "f1.csv", report)
    assert votes_of(read(path)) == {(11, 501, "good"), (11, 502, "bad"), (12, 501, "good")}
    agreed = write(tmp_path / "f2.csv", report.replace("bad", "good"))
    with pytest.raises(InputError, match="does not show which of mood, text are answers; use question=NAME"):
        read(agreed)
    assert votes_of(read(agreed, question="mood")) == {(11, 501, "good"), (11, 502, "good"), (12, 501, "good")}


def test_the_aggregated_report_has_no_votes(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a123.csv",
        "_unit_id,_golden,_unit_state,_trusted_judgments,mood,mood:confidence\n1,false,finalized,3,good,0.7\n",
    )
    with pytest.raises(
        InputError, match=r"a123\.csv \(Appen export\): there is no _worker_id: this looks like the aggr.*Full report"
    ):
        read(path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "f123.csv", FULL.replace("12,1/1/2015,false,902,,", "12,902,"))
    with pytest.raises(
        InputError, match=r"f123\.csv \(Appen export\), line \d+: too few fields.*, or (download|export) it again"
    ):
        read(path, question="mood")


def test_a_table_with_names_of_appen_is_a_plain_table(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", "_unit_id,_worker_id,answer\n1,2,a\n")
    assert votes_of(read(path)) == {(1, 2, "a")}
