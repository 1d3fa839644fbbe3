"""Qualtrics: hand-made surveys in, the votes written by hand out."""

import csv
import io
import json

from tests.support.exports_cases import check_each, reads, refuses

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
BARE = {name: FIELDS[name] for name in list(FIELDS)[:7]}
ROWS = [
    ("IP Address", "100", "True", "R_a", "anonymous", "art", "no", "hm", "1.5", "18 to 30", "ann"),
    ("IP Address", "100", "True", "R_b", "anonymous", "no", "no", "", "0.2", "over 30", "bob"),
    ("IP Address", "100", "True", "R_c", "anonymous", "", "-99", "", "0.3", "over 30", ""),
    ("Survey Preview", "100", "True", "R_d", "preview", "art", "art", "", "1", "over 30", "me"),
    ("IP Address", "40", "False", "R_e", "anonymous", "art", "", "", "1", "", "eve"),
    ("Spam", "100", "True", "R_f", "anonymous", "art", "art", "", "1", "over 30", "bot"),
]
VOTES = {("Q1", "ann", "art"), ("Q1", "bob", "no"), ("Q2_1", "ann", "no"), ("Q2_1", "bob", "no")}
AGES = {("Q9", "ann", "18 to 30"), ("Q9", "bob", "over 30"), ("Q9", "R_c", "over 30")}
INCLUDED = {
    ("Q1", "eve", "art"),
    *((item, who, "art") for item in ("Q1", "Q2_1") for who in ("me", "bot")),
}
LEFT_OUT = {"previews": 1, "unfinished responses": 1, "responses marked as spam": 1}


def survey(headers=3, rows=ROWS, fields=FIELDS):
    texts = [text for text, _ in fields.values()]
    ids = [
        json.dumps({"ImportId": name, "timeZone": "UTC"}, separators=(",", ":"))
        for _, name in fields.values()
    ]
    csv.writer(out := io.StringIO()).writerows(
        [
            *[list(fields), texts, ids][:headers],
            *(["2024-01-01 10:00:00", *row[:2], "60", *row[2:]] for row in rows),
        ]
    )
    return out.getvalue()


LOOPS = survey(
    rows=[
        ("IP Address", "100", "True", "R_a", "anonymous", "yes", "no", "no", ""),
        ("IP Address", "100", "True", "R_b", "anonymous", "yes", "yes", "", "no"),
    ],
    fields=BARE
    | {f"{n}_{q}": (f"{n} - {q}?", f"{n}_QID{q[1]}") for q in ("Q3", "Q4") for n in (1, 2)},
)
ABOUT = "ResponseID,ResponseSet,Name,ExternalDataReference,EmailAddress,IPAddress,Status,StartDate,EndDate,Finished"
LEGACY = f"""V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,Q1,Q2,LocationLatitude,LocationLongitude,LocationAccuracy,
{ABOUT},"Is it art, or not?",And this?,LocationLatitude,LocationLongitude,LocationAccuracy,
R_a,Default Response Set,Anonymous,,,1.2.3.4,0,2014-01-01 10:00:00,2014-01-01 10:05:00,1,art,no,47.1,8.5,-1,
R_b,Default Response Set,Anonymous,,,1.2.3.5,0,2014-01-01 10:00:00,2014-01-01 10:05:00,1,no,no,47.1,8.5,-1,
R_c,Default Response Set,Anonymous,,,1.2.3.6,8,2014-01-01 10:00:00,2014-01-01 10:05:00,1,art,no,47.1,8.5,-1,
R_d,Default Response Set,Anonymous,,,1.2.3.7,0,2014-01-01 10:00:00,2014-01-01 10:05:00,0,art,,47.1,8.5,-1,
"""
FILE, TITLE = "survey.csv", "survey.csv (Qualtrics export)"

test_surveys = check_each({
    **{
        f"columns that share answers, below {headers} headers": reads(
            FILE, survey(headers), {"Q1": VOTES, "Q9": AGES}, LEFT_OUT, missing=2
        )
        for headers in (1, 2, 3)
    },
    "any column names a question": reads(FILE, survey(), VOTES, question="Q2_1"),
    "items by patterns": reads(FILE, survey(), VOTES, task="Q1, Q2_?"),
    "what is left out can be included": reads(
        FILE, survey(), VOTES | INCLUDED, {}, question="Q1", include=["previews", "unfinished", "spam"]
    ),
    "loops give items by their number": reads(FILE, LOOPS, {
        "Q3": {(1, "R_a", "yes"), (2, "R_a", "no"), (1, "R_b", "yes"), (2, "R_b", "yes")},
        "Q4": {(1, "R_a", "no"), (2, "R_b", "no")},
    }),
    "headers of the old export": reads(
        *(FILE, LEGACY, {("Q1", "R_a", "art"), ("Q1", "R_b", "no"), ("Q2", "R_a", "no"), ("Q2", "R_b", "no")}),
        {"responses marked as spam": 1, "unfinished responses": 1},
    ),
    "no responses": refuses(
        FILE, survey(rows=[]), f"{TITLE}: it has headers but no responses; export it again: Data & Analysis"
    ),
    "cut short": refuses(
        "cut.csv", survey()[:-60], "cut.csv (Qualtrics export), line ", ": too few fields", ", or export it again"
    ),
})  # fmt: skip
