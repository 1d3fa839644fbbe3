"""Logs of LLM judges as tools write them: records -> calls, a table with a row per verdict.

The columns of a table of calls have usual names (item, judge, verdict, order, model_a, model_b,
criterion, gold, error, ...), so that `io/judge_logs.py` reads it like any other table. Nothing is
interpreted here but the place where a tool keeps each of them.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import polars as pl

from finegold.errors import InputError
from finegold.io.exports import base
from finegold.io.exports.base import MISUSED, DamagedExport, need
from finegold.io.exports.inspect_ai import HEADERS, _samples
from finegold.io.source import BOM, Source, lines_of
from finegold.votes.encoding import text_of

Call = dict[str, Any]
# of LLMBar
ORDERS = {"swap = False": "AB", "swap = True": "BA"}
MODELS = (("model_a", "model_b"), ("model_1", "model_2"))
# characters of the value of an assertion in its name
SHOWN = 40
# lines of query, iteration, passage and score
QRELS = re.compile(rb"(?:\S+ +\S+ +\S+ +-?\d+\s*\n){2}")
# fields of the logs of Inspect
INSPECT = frozenset({"version", "status", "eval"})
# a result of promptfoo whose call failed, and not its assertions
FAILED_CALL = 2


class Tool(NamedTuple):
    """A tool: its name, the groups of fields of which one is in every record, and its reader."""

    title: str
    marks: tuple[frozenset[str], ...]
    # the calls of a record, given what file it is in
    calls_of: Callable[[Any, str], Iterable[Call]]
    # whether the file is one object
    is_whole: bool = False


def read_calls(source: Source) -> pl.DataFrame | None:
    """Return the calls in the file of a tool; None if no tool that is known here wrote it."""
    if (scores := _read_qrels(source)) is not None:
        return scores
    if source.record.keys() >= INSPECT or any(name in source.members for name in HEADERS):
        return _table("Inspect", _inspect(source), source.name)
    tool = tool_of({*source.columns, *source.record})
    if tool is None:
        return _read_by_judge(source)
    records: Iterable[Any] = (
        [_whole(source)]
        if tool.is_whole
        else base.read_records(source)
        if source.record
        else base.read_rows(source, source.columns)
    )
    return _table(
        tool.title, _by_record(records, lambda each: tool.calls_of(each, source.name)), source.name
    )


def calls_in(frame: pl.DataFrame, name: str) -> pl.DataFrame | None:
    """Return the calls in a data frame with the records of a tool; None if it is not one."""
    tool = tool_of(frame.columns)
    if tool is None:
        return None
    rows = frame.iter_rows(named=True)
    return _table(tool.title, _by_record(rows, lambda each: tool.calls_of(each, "")), name)


def is_tool_file(source: Source) -> bool:
    """Return whether a tool wrote the file whose calls `read_calls` returns, and which holds no
    votes otherwise.
    """
    return QRELS.match(source.text) is not None or (
        tool_of({*source.columns, *source.record}) is not None
    )


def tool_of(names: Collection[str]) -> Tool | None:
    """Return the tool that writes records with these fields."""
    fields = frozenset(names)
    return next(
        (tool for tool in TOOLS if any(marks <= fields for marks in tool.marks)),
        PANDALM if _result_of_pandalm(fields) else None,
    )


def by_judge(verdicts: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Return the calls of judge -> item -> verdict, or of item -> judge -> verdict: there are fewer
    judges than items.
    """
    inner = {name for row in verdicts.values() for name in row}
    names = ("judge", "item") if len(verdicts) <= len(inner) else ("item", "judge")
    rows = [(outer, name, said) for outer, row in verdicts.items() for name, said in row.items()]
    columns = zip(*rows, strict=True)
    return _texts(dict(zip((*names, "verdict"), map(list, columns), strict=True)))


def majority_of_people(source: Source) -> pl.DataFrame | None:
    """Return what annotator1, annotator2, ... say of each idx, as PandaLM writes; None if there are
    none.
    """
    if b'"annotator1"' not in source.text or b'"idx"' not in source.text:
        return None
    with source.open_bytes() as file:
        frame = pl.read_json(file.read())
    names = [name for name in frame.columns if re.fullmatch(r"annotator\d+", name)]
    people = frame.select(pl.col("idx").alias("item"), *names).cast(pl.String)
    # 0 is a tie
    people = people.with_columns(pl.col(names).replace({"0": "tie"}))
    return people.unpivot(index="item", variable_name="person", value_name="gold").drop_nulls()


# Records -> calls.


def _mt_bench(record: Any, file: str) -> Iterator[Call]:
    """The winner of two games, of which the second shows the second model first."""
    question = need(record, "question_id", object)
    judge = record.get("judge")
    # beside it is the prompt, which varies
    judge = judge[0] if isinstance(judge, list) and judge else judge
    call = {"question_id": question, "judge": judge, "turn": record.get("turn")}
    first, second = (need(record, name, str) for name in MODELS["model_a" not in record])
    for name, order in (("g1_winner", "AB"), ("g2_winner", "BA"), ("winner", None)):
        if name not in record:
            continue
        said = {"model_1": "model_a", "model_2": "model_b"}.get(str(record[name]), record[name])
        yield call | {"winner": said, "order": order, "model_a": first, "model_b": second}


def _judge_bench(record: Any, file: str) -> Iterator[Call]:
    """Judgements of pairs of responses; the second sees them in the other order. The label is the
    truth.
    """
    judgments = need(record, "judgments", list)
    about = [judgment.get("judgment") for judgment in judgments if isinstance(judgment, dict)]
    models = [
        part["judge_model"] for part in about if isinstance(part, dict) and part.get("judge_model")
    ] or re.findall(r"judge_model=(.+?)(?:,|\.jsonl|$)", PurePath(file).name)
    judge = f"{need(record, 'judge_name', str, '')} {models[0] if models else ''}".strip()
    for order, said in _games(judgments, "decision"):
        yield {
            "pair_id": need(record, "pair_id", object),
            "judge": judge or "judge",
            "verdict": said,
            "order": order,
            "label": record.get("label"),
            "response_a": record.get("response_A"),
            "response_b": record.get("response_B"),
        }


def _arena_hard(record: Any, file: str) -> Iterator[Call]:
    """Two games, in which the baseline is answer A, and then answer B."""
    names = [name for name in ("question_id", "uid", "id") if record.get(name) is not None]
    question = need(record, names[0] if names else "question_id", object)
    models = {
        "model_a": need(record, "baseline", str, "baseline"),
        "model_b": need(record, "model", str),
    }
    for order, said in _games(need(record, "games", list), "score"):
        call = {"question_id": question, "judge": record.get("judge"), "verdict": said}
        yield call | {"order": order} | models


def _llm_bar(record: Any, file: str) -> Iterator[Call]:
    """Results of one judge in both orders; the winner names the output, in whichever order it was
    shown.
    """
    texts = [str(record.get(name) or "") for name in ("input", "output_1", "output_2")]
    item = f"{texts[0]} #{zlib.crc32(chr(0).join(texts).encode()):08x}"
    gold = f"model_{record['label']}" if record.get("label") is not None else None
    for result in need(record, "results", list):
        for name, order in ORDERS.items():
            if isinstance(game := result.get(name), dict):
                said = game.get("winner")
                winner = f"model_{said}" if str(said) in ("1", "2") else None
                call = {"item": item, "winner": winner, "order": order, "label": gold}
                yield call | {"output_1": texts[1], "output_2": texts[2]}


def _panda_lm(record: Any, file: str) -> Iterator[Call]:
    """One verdict per record: 1 and 2 for the responses, 0 for a tie."""
    name = _result_of_pandalm(record)
    yield {"item": record["idx"], "verdict": record[name]}


def _result_of_pandalm(names: Iterable[str]) -> str:
    fields = set(names)
    return next(
        (
            name
            for name in sorted(fields)
            if name.endswith("_result") and f"{name[:-7]}_reason" in fields and "idx" in fields
        ),
        "",
    )


def _games(games: list[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield the order of each game and what the judge said; a record without games is a judgement
    that failed.
    """
    for number, game in enumerate(games or [None]):
        yield "BA" if number % 2 else "AB", None if game is None else game.get(name)


def _promptfoo(record: Any, file: str) -> Iterator[Call]:
    """Assertions are criteria; a result whose call failed has failed in each of them."""
    results = record.get("results", record)
    results = results if isinstance(results, list) else results.get("results", [results])
    for entry in results:
        provider = entry.get("provider") or {}
        name = (
            provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        )
        call: Call = {"item": f"test {entry.get('testIdx')}, prompt {entry.get('promptIdx', 0)}"}
        call |= {"judge": "promptfoo", "model": name}
        parts = (entry.get("gradingResult") or {}).get("componentResults") or []
        known = [part.get("assertion") or {} for part in parts]
        known = known or (entry.get("testCase") or {}).get("assert") or [{}]
        error = entry.get("error") if entry.get("failureReason") == FAILED_CALL or not parts else ""
        types = [asked.get("type") for asked in known]
        for number, asked in enumerate(known):
            criterion = asked.get("metric") or asked.get("type") or "assertion"
            if not asked.get("metric") and types.count(asked.get("type")) > 1:
                criterion += f": {asked.get('value')!s:.{SHOWN}}"
            passed = parts[number].get("pass") if parts and not error else None
            said = None if passed is None else "pass" if passed else "fail"
            yield call | {"criterion": criterion, "verdict": said, "error": error or None}


def _deep_eval(record: Any, file: str) -> Iterator[Call]:
    """Metrics are criteria, and the model that evaluates them is the judge."""
    for number, case in enumerate(record["testCases"]):
        for metric in case.get("metricsData") or []:
            said = metric.get("success")
            yield {
                "item": str(case.get("name") or number),
                "judge": metric.get("evaluationModel") or "deepeval",
                "criterion": metric.get("name"),
                "verdict": None if said is None else "pass" if said else "fail",
                "error": metric.get("error"),
            }


def _open_ai(record: Any, file: str) -> Iterator[Call]:
    """Events with a choice of the grading model, or of a match."""
    data = record.get("data") if isinstance(record.get("data"), dict) else {}
    said = data.get("choice", data.get("correct"))
    if record.get("type") in ("metrics", "match") and said is not None:
        verdict = ("pass" if said else "fail") if isinstance(said, bool) else str(said)
        sample = str(record.get("sample_id"))
        yield {"item": sample, "judge": sample.rpartition(".")[0] or "eval", "verdict": verdict}


def _inspect(source: Source) -> Iterator[Call]:
    """Scorers are judges, and the keys of a score that is an object are criteria."""
    samples = _samples(source)
    # what was evaluated
    next(samples, None)
    for sample in samples:
        name, epoch = need(sample, "id", object), sample.get("epoch", 1)
        scores = need(sample, "scores", dict, {})
        if not scores and sample.get("score") is not None:
            scores = {"score": sample["score"]}
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, dict) else score
            for key, said in (value if isinstance(value, dict) else {None: value}).items():
                said = None if isinstance(said, list) or said != said else said
                yield {"item": name, "judge": scorer, "criterion": key, "verdict": said} | {
                    "repeat": epoch
                }


TOOLS = (
    Tool("MT-bench", (frozenset({"g1_winner", "g2_winner", "model_1", "model_2"}),), _mt_bench),
    Tool("JudgeBench", (frozenset({"pair_id", "judgments"}),), _judge_bench),
    Tool("Arena-Hard", (frozenset({"judge", "games", "model"}),), _arena_hard),
    Tool("LLMBar", (frozenset({"results", "output_1", "output_2"}),), _llm_bar),
    Tool("promptfoo", (frozenset({"gradingResult", "testIdx"}),), _promptfoo),
    Tool("promptfoo", (frozenset({"evalId", "results"}),), _promptfoo, is_whole=True),
    Tool("DeepEval", (frozenset({"testCases"}),), _deep_eval, is_whole=True),
    Tool(
        "OpenAI evals",
        (frozenset({"spec"}), frozenset({"sample_id", "event_id", "data"})),
        _open_ai,
    ),
)
PANDALM = Tool("PandaLM", (), _panda_lm)


# Calls -> a table.


def _by_record(records: Iterable[Any], calls_of: Callable[[Any], Iterable[Call]]) -> Iterator[Call]:
    return base.with_numbers(records, lambda record: list(calls_of(record)))


def _table(title: str, calls: Iterable[Call], name: str) -> pl.DataFrame:
    """Make a table of text of the calls of a tool, and refuse one without any verdict."""
    try:
        rows = list(calls)
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {each: [row.get(each) for row in rows] for each in names}
        said = next(each for each in ("verdict", "winner", "preference", "score") if each in names)
        if all(value is None for value in columns[said]):
            raise DamagedExport("found no verdict")
    except (DamagedExport, StopIteration, *MISUSED) as error:
        problem = (
            f"it looks like a log of {title}, but its judgements are not as {title} writes them"
        )
        record = getattr(error, "record", None)
        where = f"{name}, record {record:,}" if record else name
        remedy = "write one row per verdict, with the columns item, judge, order and verdict"
        reason = str(error) or "found no verdict"
        raise InputError(f"{problem} ({reason}); {remedy}", where) from None
    table = _texts(columns)
    return table.drop([each for each in names if table[each].is_null().all() and each != said])


def _texts(columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    texts = {
        name: [None if value is None else text_of(value) for value in values]
        for name, values in columns.items()
    }
    return pl.DataFrame(texts, schema=dict.fromkeys(columns, pl.String))


def _whole(source: Source) -> Any:
    with source.open_bytes() as file:
        return json.loads(file.read().removeprefix(BOM))


def _read_by_judge(source: Source) -> pl.DataFrame | None:
    """Return the calls of a file with one object of objects: judge -> item -> verdict."""
    if source.layout not in ("object", "lines") or not source.record:
        return None
    if not all(isinstance(value, dict) and value for value in source.record.values()):
        return None
    try:
        found = _whole(source)
    except (ValueError, RecursionError):
        return None
    cells = [value for row in found.values() for value in row.values()]
    if len(found) < 2 or any(isinstance(value, dict | list) for value in cells):
        return None
    return by_judge(found)


def _read_qrels(source: Source) -> pl.DataFrame | None:
    """Return the scores of a file with lines of query, iteration, passage and score."""
    if not QRELS.match(source.text):
        return None
    lines = lines_of(source).collect().to_series().str.strip_chars().str.replace_all(r"\s+", " ")
    parts = lines.filter(lines != "").str.split_exact(" ", 3).struct.unnest()
    if parts.get_column("field_3").null_count():
        raise InputError(
            "expected a query, an iteration, a passage and a score in every line", source.name
        )
    return parts.select(item=pl.format("{} {}", "field_0", "field_2"), score="field_3")
