"""More exports made by hand, of tools that ask one question here: the file's name and what is in it."""

from __future__ import annotations

import json

MTURK = """HITId,HITTypeId,AssignmentId,WorkerId,AssignmentStatus,Input.url,Answer.category.label,Approve,Reject
H1,T,A1,ann,Approved,u1,cat,,
H1,T,A2,bob,Approved,u1,dog,,
"""
TOLOKA = """INPUT:url\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status
u1\tcat\t\tt1\tann\tAPPROVED

u1\tdog\t\tt1\tbob\tAPPROVED
"""
APPEN = """_unit_id,_created_at,_golden,_id,_missed,_tainted,_trust,_worker_id,animal,url,animal_gold
1,,false,11,,false,0.9,501,cat,u1,
1,,false,12,,false,0.9,502,dog,u1,
"""
QUALTRICS = """StartDate,Status,Finished,ResponseId,Q1,Q2
Start Date,Response Type,Finished,Response ID,First?,Second?
"{""ImportId"":""startDate""}","{""ImportId"":""status""}","{""ImportId"":""finished""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"
2024-01-01 10:00:00,IP Address,True,R_1,cat,dog
2024-01-01 10:00:00,IP Address,True,R_2,cat,cat
"""
SAGEMAKER = [
    {
        "datasetObjectId": "0",
        "dataObject": {"s3Uri": "s3://b/0.png"},
        "annotations": [
            {"workerId": "w1", "annotationData": {"content": '{"animal":{"label":"cat"}}'}},
            {"workerId": "w2", "annotationData": {"content": '{"animal":{"label":"dog"}}'}},
        ],
    }
]
MT_BENCH = [
    {
        "question_id": 81, "model_1": "alpaca", "model_2": "llama", "judge": ["gpt-4", "pair-v2"], "turn": 1,
        "g1_winner": "model_1", "g2_winner": "model_1",
    },
    {"question_id": 81, "model_a": "alpaca", "model_b": "llama", "judge": "expert_3", "turn": 1, "winner": "tie"},
]  # fmt: skip

ZOONIVERSE = """classification_id,user_name,user_id,user_ip,workflow_id,workflow_version,annotations,subject_ids
1,ann,11,ab,77,3.4,"[{""task"":""T0"",""task_label"":""What?"",""value"":""Cat""}]",101
2,bob,,cd,77,3.4,"[{""task"":""T0"",""task_label"":""What?"",""value"":""Dog""}]",101
"""
ALPACA_EVAL = [
    {
        "instruction": "Name a colour.", "output_1": "Red", "generator_1": "gpt4", "dataset": "helpful_base",
        "output_2": "Blue!", "generator_2": "alpaca", "annotator": judge, "preference": preference,
    }
    for judge, preference in [("gpt4_turbo", 1.0), ("claude", 2.0)]
]  # fmt: skip
JUDGE_BENCH = [
    {
        "pair_id": "p1", "source": "math", "question": "2 + 2?", "response_A": "4", "response_B": "5", "label": "A>B",
        "judge_name": judge, "judgments": [{"decision": first}, {"decision": second}],
    }
    for judge, first, second in [("vanilla", "A>B", "B>A"), ("arena_hard", "B>A", "A>B")]
]  # fmt: skip
ARENA_HARD = [
    {
        "question_id": "q1",
        "model": "llama",
        "judge": judge,
        "games": [{"score": first}, {"score": second}],
    }
    for judge, first, second in [("gpt-4", "A>>B", "B>A"), ("claude", "B>A", "A>B")]
]

SHEETS: dict[str, tuple[str, str]] = {
    "mturk": ("Batch_1_batch_results.csv", MTURK),
    "toloka": ("assignments.tsv", TOLOKA),
    "appen": ("f1.csv", APPEN),
    "qualtrics": ("survey.csv", QUALTRICS),
    "sagemaker": ("2018-11-26.json", json.dumps(SAGEMAKER)),
    "zooniverse": ("cats-classifications.csv", ZOONIVERSE),
}
