"""Appen (Figure Eight): hand-made full reports in, the votes written by hand out."""

from tests.support.exports_cases import check_each, reads, refuses

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
TOPICS = {(11, 501, "art"), (11, 502, "art|war"), (12, 501, "war")}
TAINTED = {"tainted judgments": 1}
VAGUE = {"gold truths of topic that allow several answers": 1}
BY_TEXT = {("hi, all", 501, "good"), ("hi, all", 502, "bad"), ("you", 501, "bad")}
DIFFERENT = f"""{ABOUT},mood,text
11,,false,1,,,false,neo,0.9,501,USA,good,hi
11,,false,2,,,false,neo,0.9,502,USA,bad,hi
12,,false,3,,,false,neo,0.9,501,USA,good,you
"""
ALIKE = DIFFERENT.replace("bad", "good")
GOOD = {(11, 501, "good"), (11, 502, "good"), (12, 501, "good")}
EMPTY = f"""{ABOUT},mood,topic,mood_gold,topic_gold
11,,false,1,,,false,neo,0.9,501,USA,"[""good""]",art,,
11,,false,2,,,false,neo,0.9,502,USA,[],war,,
"""
NOTHING = {"answers in which nothing was chosen": 1}
AGGREGATED = "_unit_id,_golden,_unit_state,_trusted_judgments,mood,mood:confidence\n1,false,finalized,3,good,0.7\n"
DAMAGED = FULL.replace("12,1/1/2015,false,902,,", "12,902,")

test_full_reports = check_each({
    "every question has a twin for its gold": reads(
        "f1.csv", FULL, {"mood": MOODS, "topic": TOPICS}, TAINTED, warns="1 vote holds several labels"
    ),
    "tainted judgments": reads("f1.csv", FULL, MOODS | {(12, 503, "good")}, question="mood", include="tainted"),
    "tasks by a column": reads("f1.csv", FULL, BY_TEXT, question="mood", task="text"),
    "gold when asked": reads("f1.csv", FULL, MOODS, TAINTED | VAGUE, truths={11: "good"}, question="mood", gold=True),
    "no twins, so answers are where judgments of a unit differ": reads(
        "f1.csv", DIFFERENT, {(11, 501, "good"), (11, 502, "bad"), (12, 501, "good")}
    ),
    "no differences, but a named question": reads("f2.csv", ALIKE, GOOD, question="mood"),
    "the aggregated report": refuses(
        *("a1.csv", AGGREGATED, "a1.csv (Appen export): there is no _worker_id: this looks like the agg", "Full report")
    ),
    "answers in which nothing was chosen": reads(
        "f1.csv", EMPTY, {"mood": {(11, 501, "good")}, "topic": {(11, 501, "art"), (11, 502, "war")}}, NOTHING,
    ),
    "a damaged line": refuses(
        *("f1.csv", DAMAGED, "f1.csv (Appen export), line 7: too few fields", ", or download it again"), question="mood"
    ),
})  # fmt: skip
