"""Judgements of LLM judges as their benchmarks write them: MT-bench, JudgeBench, AlpacaEval, Arena
and Arena-Hard.

Each record becomes one `Call` per game, and the calls become a `JudgeLog` (see `io/judge_logs.py`).
A judge may play two games on a pair of answers, the second with the positions exchanged. What it
says in both is its vote; if it contradicts itself it saw no difference, as MT-bench itself counts.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

import polars as pl

from finegold.errors import InputError, use
from finegold.io.exports import base
from finegold.io.exports.base import MISUSED, DamagedExport, Export, ExportOptions, need
from finegold.io.source import Source, lines_of
from finegold.io.tables import Table
from finegold.io.verdicts import Meaning, meaning_of

# what the option `include` takes to count every game as a vote
GAMES = "games"
QUESTION_IDS = ("question_id", "uid", "id", "prompt_id", "question", "prompt")
JUDGES = ("judge", "judge_model", "annotator", "evaluator", "rater")
MODELS = (("model_a", "model_b"), ("model_1", "model_2"))
JUDGE_BENCH = {"pair_id", "judgments"}
ARENA_HARD = {"judge", "games", "model"}
# of LLMBar
ORDERS = {"swap = False": "AB", "swap = True": "BA"}
ALPACA_EVAL = {"instruction", "output_1", "output_2", "preference"}
FIRST_OR_SECOND = (Meaning.FIRST, Meaning.SECOND, Meaning.TIE)
# what a verdict of each form may say, and the end of a complaint about any other
FORMS = {
    "winner": (
        (Meaning.SIDE_A, Meaning.SIDE_B, Meaning.TIE),
        "the winner, expected model_1, model_2, tie or error",
    ),
    "verdict": (FIRST_OR_SECOND, "a verdict, expected one such as A>B, B>A or A=B"),
    "preference": (FIRST_OR_SECOND, '"preference", expected a number from 1 to 2'),
}
# an unreadable verdict is a damaged record instead
FAILED_CALLS = (Meaning.ERROR, Meaning.REFUSAL, Meaning.EMPTY)


class Call(NamedTuple):
    """One verdict of a judge. Its fields are columns of a judge log."""

    item: Any
    judge: str
    verdict: Any
    # of the verdict: winner, verdict, preference or score
    form: str
    # AB or BA
    order: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    turn: Any = None
    gold: Any = None
    # the answers, whose lengths are kept
    text_a: str | None = None
    text_b: str | None = None

    @property
    def task(self) -> str:
        """The name of the task: with the models in alphabetical order, so that all judges vote on
        the same one.
        """
        task, first, second = str(self.item), self.model_a, self.model_b
        if first is not None:
            task += (
                f", {first}"
                if second is None
                else f", {min(first, second)} vs {max(first, second)}"
            )
        return task if self.turn is None else f"{task}, turn {self.turn}"


CallsOf = Callable[[Any, ExportOptions, Source | None], Iterator[Call]]


# Records -> calls.


def _mt_bench(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """Scores of one model's answer, or the winner of two games, of which the second shows the
    second model first.
    """
    question, turn = base.need_id(record, "question_id", ExportOptions()), record.get("turn")
    judge = record.get("judge")
    # beside it is the prompt, which varies
    judge = judge[0] if isinstance(judge, list) and judge else judge
    if not isinstance(judge, str) or not judge:
        raise DamagedExport('found no "judge"')

    def model(name: str) -> str:
        if not isinstance(record.get(name), str) or not record[name]:
            raise DamagedExport(f'found no "{name}"')
        return str(record[name])

    if "score" in record:
        score = record["score"]
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            raise DamagedExport(f'found {score!r} for "score", expected a number')
        # -1: no score was found in what the judge wrote
        is_score = score is not None and score >= 0
        yield Call(
            question, judge, score if is_score else None, "score", model_a=model("model"), turn=turn
        )
        return
    first, second = (model(name) for name in MODELS["model_a" not in record])
    games = [
        (name, order)
        for name, order in (("g1_winner", "AB"), ("g2_winner", "BA"))
        if name in record
    ]
    for name, order in [*games, *([("winner", None)] if "winner" in record else [])]:
        yield Call(question, judge, record[name], "winner", order, first, second, turn)
    if not games and "winner" not in record:
        raise DamagedExport('found neither "score" nor "g1_winner"')


def _judge_bench(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """Judgements of pairs of responses; the second sees them in the other order. The label is the
    truth.
    """
    item = base.need_id(record, "pair_id", options)
    judgments = need(record, "judgments", list)
    about = [judgment.get("judgment") for judgment in judgments if isinstance(judgment, dict)]
    models = [
        part["judge_model"] for part in about if isinstance(part, dict) and part.get("judge_model")
    ]
    if not models and seen is not None:
        models = re.findall(r"judge_model=(.+?)(?:,|\.jsonl|$)", PurePath(seen.name).name)
    judge = f"{need(record, 'judge_name', str, '')} {models[0] if models else ''}".strip()
    if not judge and seen is not None:
        raise DamagedExport('found no "judge_name"')
    for order, said in _games(judgments, "decision"):
        texts = {"text_a": record.get("response_A"), "text_b": record.get("response_B")}
        yield Call(
            item, judge or "judge", said, "verdict", order, gold=record.get("label"), **texts
        )


def _arena(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """Battles of two models; and Arena-Hard's two games, in which the baseline is answer A, and
    then answer B.
    """

    def first(names: tuple[str, ...], what: str) -> Any:
        if not isinstance(record, dict):
            raise DamagedExport(f"expected an object, found {record!r:.40}")
        value = next((record[name] for name in names if record.get(name) not in (None, "")), None)
        if value is None:
            plain = use("to read the columns as they are", layout="long")
            raise DamagedExport(f"found no {what}", f"add a field {names[0]}", plain)
        return value

    question, judge = first(QUESTION_IDS, "question"), str(first(JUDGES, "judge"))
    if GAMES in record:
        model, baseline = need(record, "model", str), need(record, "baseline", str, "baseline")
        for order, said in _games(need(record, GAMES, list), "score"):
            yield Call(question, judge, said, "verdict", order, baseline, model)
        return
    names = next((names for names in MODELS if names[0] in record), MODELS[0])
    models = [need(record, name, str) for name in names]
    winner = record.get("winner")
    winner = {models[0]: "model_1", models[1]: "model_2", "A": "model_1", "B": "model_2"}.get(
        str(winner), winner
    )
    yield Call(question, judge, winner, "winner", None, models[0], models[1], record.get("turn"))


def _alpaca_eval(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """Preferences: 1 means the first output, 2 the second; AlpacaEval itself undoes the random
    order that it shows.
    """
    instruction = need(record, options.task or "instruction", str)
    annotator = next(
        (record[name] for name in ("annotator", "annotator_index") if record.get(name) is not None),
        None,
    )
    if annotator is None:
        raise DamagedExport('found no "annotator"')
    # Outputs without a model are told apart by a checksum of the text.
    first, second = (
        str(record.get(f"generator_{number}") or "")
        or f"output {zlib.crc32(need(record, f'output_{number}', str).encode()):08x}"
        for number in (1, 2)
    )
    preference = record.get("preference")
    is_number = isinstance(preference, int | float) and not isinstance(preference, bool)
    if preference is not None and not (
        is_number and (preference != preference or 0 <= preference <= 2)
    ):
        raise DamagedExport(f"found {preference!r} for {FORMS['preference'][1]}")
    yield Call(instruction, str(annotator), preference, "preference", None, first, second)


def _llm_bar(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """Results of one judge in both orders; the winner names the output, in whichever order it was
    shown.
    """
    texts = [str(record.get(name) or "") for name in ("input", "output_1", "output_2")]
    item = f"{texts[0]} #{zlib.crc32(chr(0).join(texts).encode()):08x}"
    gold = f"model_{record['label']}" if record.get("label") is not None else None
    for result in need(record, "results", list):
        for name, order in ORDERS.items():
            if (game := result.get(name)) is not None:
                said = game.get("winner")
                winner = f"model_{said}" if str(said) in ("1", "2") else None
                yield Call(
                    item, "", winner, "winner", order, gold=gold, text_a=texts[1], text_b=texts[2]
                )


def _panda_lm(record: Any, options: ExportOptions, seen: Source | None) -> Iterator[Call]:
    """One verdict per record: 1 and 2 for the responses, 0 for a tie."""
    name = next(name for name in record if name.endswith("_result"))
    yield Call(record["idx"], "", record[name], "verdict")


def _games(games: list[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield the order of each game and what the judge said; a record without games is a judgement
    that failed.
    """
    for number, game in enumerate(games or [None]):
        yield "BA" if number % 2 else "AB", None if game is None else game.get(name)


# Calls -> a table for `read_judge_log`.


# what marks a log, and its other columns
TOOLS: dict[str, tuple[set[str], tuple[str, ...], CallsOf]] = {
    "MT-bench": (
        {"g1_winner", "g2_winner", "model_1", "model_2"},
        ("question_id", "turn", "judge"),
        _mt_bench,
    ),
    "JudgeBench": (JUDGE_BENCH, ("judge_name", "label", "response_A", "response_B"), _judge_bench),
    "Arena-Hard": (ARENA_HARD, ("question_id", "uid", "baseline"), _arena),
    "LLMBar": ({"results", "output_1", "output_2"}, ("input", "label"), _llm_bar),
}


def load_calls(opened: Table, most: int | None = None) -> pl.DataFrame | None:
    """Load the log of a tool that writes several verdicts per row, with a row per verdict; None for
    a plain table.
    """
    results = [str(name) for name in opened.columns if str(name).endswith("_result")]
    results = [name for name in results if f"{name[:-7]}_reason" in opened.columns]
    tools = TOOLS | ({"PandaLM": ({"idx"}, tuple(results), _panda_lm)} if results else {})
    tool = next((tool for tool, (marks, *_) in tools.items() if marks <= set(opened.columns)), None)
    if tool is None:
        return None
    marks, others, calls_of = tools[tool]
    wanted = [name for name in (*sorted(marks), *others) if name in opened.columns]
    frame = opened.read(wanted).slice(0, most)
    try:
        records = frame.iter_rows(named=True)
        calls = list(
            base.with_numbers(records, lambda record: calls_of(record, ExportOptions(), None))
        )
        if all(call.verdict is None for call in calls):
            raise DamagedExport("found no verdict")
    except (DamagedExport, *MISUSED) as error:
        problem = "its judgements are not lists of objects with a decision or a score"
        remedy = "write one row per verdict, with the columns item, judge, order and verdict"
        raise InputError(
            f"it looks like a log of {tool}, but {problem} ({error}); {remedy}", opened.name
        ) from None
    table = _as_table(calls, [name for name in Call._fields if name != "form"])
    empty = [
        name
        for name in table.columns
        if table[name].is_null().all() or (name == "judge" and not any(table[name]))
    ]
    item = next((name for name in ("question_id", "pair_id", "uid") if name in wanted), "item")
    names = {"item": item, "gold": "label"}
    return table.drop(empty).rename(names, strict=False)


def _as_table(calls: Sequence[Call], names: Sequence[str]) -> pl.DataFrame:
    texts = {
        name: [None if (value := getattr(call, name)) is None else str(value) for call in calls]
        for name in names
    }
    return pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String))


def read_qrels(source: Source) -> pl.DataFrame | None:
    """Return the scores of a file with lines of query, iteration, passage and score; None for other
    files.
    """
    if not re.match(rb"(?:\S+ +\S+ +\S+ +-?\d+\s*\n){2}", source.text):
        return None
    lines = lines_of(source).collect().to_series().str.strip_chars().str.replace_all(r"\s+", " ")
    parts = lines.filter(lines != "").str.split_exact(" ", 3).struct.unnest()
    if parts.get_column("field_3").null_count():
        raise InputError(
            "expected a query, an iteration, a passage and a score in every line", source.name
        )
    return parts.select(item=pl.format("{} {}", "field_0", "field_2"), verdict="field_3")


def read_nested(source: Source) -> pl.DataFrame | None:
    """Return the verdicts in a result of promptfoo or DeepEval, or in events of OpenAI evals; None
    if it is neither.
    """
    start = source.text.lstrip()
    marks = (b'"gradingResult"', b'"metricsData"', b'"spec"')
    if not start.startswith(b"{") or not any(mark in start for mark in marks):
        return None
    with source.open_bytes() as file:
        text = file.read()
    try:
        lines = text.splitlines() if b'"spec"' in start else [text]
        records = [json.loads(line) for line in lines if line.strip()]
        rows = list(_events(records) if len(records) > 1 else _results(records[0]))
    except (ValueError, *MISUSED):
        return None
    return pl.DataFrame(rows, infer_schema_length=None, strict=False) if rows else None


def _results(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Judges are the assertions of promptfoo, or the metrics of DeepEval with the model that
    evaluates them.
    """
    results = found.get("results")
    for entry in results.get("results", []) if isinstance(results, dict) else []:
        provider = entry.get("provider") or {}
        name = provider.get("id") if isinstance(provider, dict) else provider
        item = f"test {entry.get('testIdx')}, prompt {entry.get('promptIdx', 0)}, {name}"
        for part in (entry.get("gradingResult") or {}).get("componentResults") or []:
            asked = part.get("assertion") or {}
            judge = asked.get("metric") or asked.get("type") or "assertion"
            yield {"item": item, "judge": judge, "verdict": "pass" if part.get("pass") else "fail"}
    for number, case in enumerate(found.get("testCases", [])):
        for metric in case.get("metricsData") or []:
            judge = " ".join(
                str(metric[name]) for name in ("name", "evaluationModel") if metric.get(name)
            )
            said = (
                None if metric.get("success") is None else "pass" if metric["success"] else "fail"
            )
            item = str(case.get("name") or number)
            yield {"item": item, "judge": judge, "verdict": said, "error": metric.get("error")}


def _events(records: list[Any]) -> Iterator[dict[str, Any]]:
    """Events of OpenAI evals with a choice of the grading model, or of a match; the spec names the
    eval.
    """
    judge = next(
        (
            entry["spec"].get("eval_name", "eval")
            for entry in records
            if isinstance(entry.get("spec"), dict)
        ),
        "eval",
    )
    for entry in records:
        data = entry.get("data") if isinstance(entry.get("data"), dict) else {}
        said = data.get("choice", data.get("correct"))
        if entry.get("type") in ("metrics", "match") and said is not None:
            verdict = ("pass" if said else "fail") if isinstance(said, bool) else str(said)
            yield {"item": str(entry.get("sample_id")), "judge": judge, "verdict": verdict}


def majority_of_people(source: Source) -> pl.DataFrame | None:
    """Return what most of annotator1, annotator2, ... say of each idx, as PandaLM writes; None if
    there are none.
    """
    if b'"annotator1"' not in source.text or b'"idx"' not in source.text:
        return None
    with source.open_bytes() as file:
        frame = pl.read_json(file.read())
    names = [name for name in frame.columns if re.fullmatch(r"annotator\d+", name)]
    votes = frame.select("idx", said=pl.concat_list(pl.col(names).cast(pl.String)))
    top = votes.with_columns(mode=pl.col("said").list.eval(pl.element().drop_nulls().mode()))
    single = top.filter(pl.col("mode").list.len() == 1)
    return single.select(item=pl.col("idx").cast(pl.String), gold=pl.col("mode").list.first())


# Calls -> votes.


def _read(
    name: str, calls_of: CallsOf, seen: Source, options: ExportOptions
) -> Iterator[pl.DataFrame]:
    """Yield one vote per record, or one per game if these are included."""
    from finegold.io.judge_logs import TIED, pairwise_log, pointwise_log

    if seen.record:
        records = base.read_records(seen)
    else:
        records = base.read_rows(
            seen, (*QUESTION_IDS, *JUDGES, *MODELS[0], *MODELS[1], "winner", "turn")
        )
    by_record = base.with_numbers(records, lambda record: [list(calls_of(record, options, seen))])
    made = [(number, call) for number, calls in enumerate(by_record, start=1) for call in calls]
    # forms and verdicts; few of them differ
    is_right: set[tuple[str, str]] = set()
    for number, call in made:
        for said in (call.verdict, call.gold):
            if said is None or call.form not in FORMS or (call.form, str(said)) in is_right:
                continue
            accepted, expected = FORMS[call.form]
            if meaning_of(str(said)) not in (*accepted, *FAILED_CALLS):
                raise DamagedExport(f"found {said!r:.40} for {expected}", record=number)
            is_right.add((call.form, str(said)))
    for question in ("score", "winner"):
        chosen = [
            (number, call)
            for number, call in made
            if (call.form == "score") == (question == "score")
        ]
        if not chosen:
            continue
        calls, columns = [call for _, call in chosen], ["judge", "verdict", "task"]
        if question == "winner":
            columns += ["order", *(["gold"] if options.gold else [])]
            columns += ["model_a", "model_b"] if calls[0].model_a is not None else []
        roles = {"task": "item", "model_a": "system_a", "model_b": "system_b"}
        table = _as_table(calls, columns).rename(roles, strict=False)
        log = (pointwise_log if question == "score" else pairwise_log)(table, seen.name)
        votes = table.select("judge", task="item").with_columns(
            record=pl.Series([number for number, _ in chosen]),
            answer=pl.Series(log.answer),
            gold=pl.Series(log.gold[log.item]),
        )
        if GAMES in options.include:
            game = pl.format("{} (game {})", "judge", pl.int_range(1, pl.len() + 1).over("record"))
            votes = votes.with_columns(
                judge=pl.when(pl.len().over("record") > 1).then(game).otherwise("judge")
            )
        else:
            answer = pl.col("answer")
            merged = (
                pl.when(answer.min() < 0)
                .then(-1)
                .when(answer.n_unique() == 1)
                .then(answer.first())
                .otherwise(TIED)
            )
            votes = votes.group_by("record", maintain_order=True).agg(
                pl.first("task", "judge", "gold"), answer=merged
            )
        if failed := int((votes["answer"] < 0).sum()):
            options.left_out["judgements that failed"] += failed
        classes = ("A>B", "B>A", "A=B") if name == "judgebench" else ("model_1", "model_2", "tie")
        names = dict(enumerate(log.class_names if question == "score" else classes))
        label, gold = (
            pl.col(each).replace_strict(names, default=None, return_dtype=pl.String)
            for each in ("answer", "gold")
        )
        # otherwise the task was only asked
        annotator = pl.when(pl.col("answer") >= 0).then("judge")
        yield votes.select(
            "task", annotator=annotator, label=label, question=pl.lit(question), gold=gold
        )


# The exports.


def _fits(name: str, seen: Source) -> bool:
    record, fields = seen.record, seen.record.keys()
    if name == "mt-bench":
        return fields >= {"question_id", "judge"} and bool(
            {"score", "g1_winner", "winner"} & fields
        )
    if name == "judgebench":
        return fields >= JUDGE_BENCH and isinstance(record["judgments"], list)
    if name == "alpaca-eval":
        return seen.format in ("json", "jsonl") and fields >= ALPACA_EVAL
    names = fields or set(seen.columns)
    if names >= ARENA_HARD:
        return isinstance(record.get("games"), list)
    is_mt_bench = {"question_id", "judge"} <= fields
    return not is_mt_bench and "winner" in names and any(names >= set(pair) for pair in MODELS)


def _export(
    name: str, title: str, calls_of: CallsOf, remedy: str, *include: str, **more: Any
) -> Export:
    return Export(
        name, title, remedy, partial(_fits, name), partial(_read, name, calls_of), include, **more
    )


PREFERENCES = "write it again with alpaca_eval: annotations.json in the folder of the results"
BATTLES = "expected a question, two models, the winner and the judge in every record"
JUDGEMENTS = "write it again with run_judge.py of JudgeBench"
EXPORTS = (
    _export(
        "mt-bench", "MT-bench", _mt_bench, "write it again with gen_judgment.py of FastChat", GAMES
    ),
    _export(
        "judgebench", "JudgeBench", _judge_bench, JUDGEMENTS, GAMES, takes_task=True, has_gold=True
    ),
    _export("alpaca-eval", "AlpacaEval", _alpaca_eval, PREFERENCES, takes_task=True),
    _export("arena", "Arena", _arena, BATTLES, GAMES),
)
