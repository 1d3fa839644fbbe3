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
from finegold.io.exports.base import DamagedExport, need
from finegold.io.exports.inspect_ai import HEADERS, _samples
from finegold.io.source import BOM, Source, lines_of
from finegold.votes.encoding import text_of

Call = dict[str, Any]
# characters of the value of an assertion in its name
SHOWN = 40
# lines of query, iteration, passage and score
QRELS = re.compile(rb"(?:\S+ +\S+ +\S+ +-?\d+\s*\n){2}")
# fields of the logs of Inspect
INSPECT = frozenset({"version", "status", "eval"})
# a result of promptfoo whose call failed, and not its assertions
FAILED_CALL = 2


class Tool(NamedTuple):
    """A tool: its name, the fields that are in each of its records, and its reader."""

    title: str
    marks: str
    # the calls of a record, given what file it is in
    calls_of: Callable[[Any, str], Iterable[Call]]
    # whether the file is one object
    is_whole: bool = False


def read_calls(source: Source) -> pl.DataFrame | None:
    """Return the calls in the file of a tool; None if no tool that is known here wrote it."""
    if QRELS.match(source.text):
        return _qrels(source)
    if source.record.keys() >= INSPECT or any(name in source.members for name in HEADERS):
        samples = _samples(source)
        # what was evaluated
        next(samples, None)
        return _table("Inspect", samples, _inspect, source.name)
    tool = tool_of({*source.columns, *source.record})
    if tool is None:
        return _read_by_judge(source)
    records: Iterable[Any] = base.read_rows(source, source.columns)
    if source.record:
        records = [_whole(source)] if tool.is_whole else base.read_records(source)
    return _table(tool.title, records, tool.calls_of, source.name)


def calls_in(frame: pl.DataFrame, name: str) -> pl.DataFrame | None:
    """Return the calls in a data frame with the records of a tool; None if it is not one."""
    tool = tool_of(frame.columns)
    rows = frame.iter_rows(named=True)
    return None if tool is None else _table(tool.title, rows, tool.calls_of, name)


def is_tool_file(source: Source) -> bool:
    """Return whether a tool wrote the file whose calls `read_calls` returns, and which holds no
    votes otherwise.
    """
    tool = tool_of({*source.columns, *source.record})
    return tool is not None or QRELS.match(source.text) is not None


def tool_of(names: Collection[str]) -> Tool | None:
    """Return the tool that writes records with these fields."""
    fields = frozenset(names)
    if _result_of_pandalm(fields):
        return PANDALM
    return next((tool for tool in TOOLS if fields.issuperset(tool.marks.split())), None)


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
    judge = record.get("judge")
    # beside it is the prompt, which varies
    judge = judge[0] if isinstance(judge, list) and judge else judge
    call = {"question_id": record["question_id"], "judge": judge, "turn": record.get("turn")}
    # those of people, who judge once, have other names
    models = ("model_a", "model_b") if "model_a" in record else ("model_1", "model_2")
    call |= {"model_a": need(record, models[0], str), "model_b": need(record, models[1], str)}
    for name, order in (("g1_winner", "AB"), ("g2_winner", "BA"), ("winner", None)):
        if name not in record:
            continue
        said = {"model_1": "model_a", "model_2": "model_b"}.get(str(record[name]), record[name])
        yield call | {"winner": said, "order": order}


def _judge_bench(record: Any, file: str) -> Iterator[Call]:
    """Judgements of pairs of responses; the second sees them in the other order. The label is the
    truth.
    """
    judgments = need(record, "judgments", list)
    about = [each.get("judgment") for each in judgments if isinstance(each, dict)]
    models = [each.get("judge_model") for each in about if isinstance(each, dict)]
    models += re.findall(r"judge_model=(.+?)(?:,|\.jsonl|$)", PurePath(file).name)
    judge = f"{record.get('judge_name') or ''} {next(filter(None, models), '')}".strip()
    for order, said in _games(judgments, "decision"):
        yield {
            "pair_id": record["pair_id"],
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
    call = {"question_id": record[names[0]], "judge": record["judge"]}
    call |= {"model_a": record.get("baseline") or "baseline", "model_b": record["model"]}
    for order, said in _games(need(record, "games", list), "score"):
        yield call | {"verdict": said, "order": order}


def _games(games: list[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield the order of each game and what the judge said; a record without games is a judgement
    that failed.
    """
    for number, game in enumerate(games or [None]):
        yield "BA" if number % 2 else "AB", None if game is None else game.get(name)


def _llm_bar(record: Any, file: str) -> Iterator[Call]:
    """Results of one judge in both orders; the winner names the output, in whichever order it was
    shown.
    """
    texts = [str(record.get(name) or "") for name in ("input", "output_1", "output_2")]
    item = f"{texts[0]} #{zlib.crc32(chr(0).join(texts).encode()):08x}"
    gold = f"model_{record['label']}" if record.get("label") is not None else None
    for result in need(record, "results", list):
        for name, order in (("swap = False", "AB"), ("swap = True", "BA")):
            if isinstance(game := result.get(name), dict):
                said = game.get("winner")
                winner = f"model_{said}" if str(said) in ("1", "2") else None
                call = {"item": item, "winner": winner, "order": order, "label": gold}
                yield call | {"output_1": texts[1], "output_2": texts[2]}


def _panda_lm(record: Any, file: str) -> Iterator[Call]:
    """One verdict per record: 1 and 2 for the responses, 0 for a tie."""
    yield {"item": record["idx"], "verdict": record[_result_of_pandalm(record)]}


def _result_of_pandalm(names: Iterable[str]) -> str:
    fields = set(names)
    ends = [name[:-7] for name in sorted(fields) if name.endswith("_result") and "idx" in fields]
    return next((f"{each}_result" for each in ends if f"{each}_reason" in fields), "")


def _promptfoo(record: Any, file: str) -> Iterator[Call]:
    """Assertions are criteria; a result whose call failed has failed in each of them."""
    results = record.get("results", record)
    results = results if isinstance(results, list) else results.get("results", [results])
    for entry in results:
        model = entry.get("provider") or {}
        model = model.get("label") or model.get("id") if isinstance(model, dict) else model
        item = f"test {entry.get('testIdx')}, prompt {entry.get('promptIdx', 0)}"
        call: Call = {"item": item, "judge": "promptfoo", "model": model}
        parts = (entry.get("gradingResult") or {}).get("componentResults") or []
        known = [part.get("assertion") or {} for part in parts]
        known = known or (entry.get("testCase") or {}).get("assert") or [{}]
        has_failed = entry.get("failureReason") == FAILED_CALL or not parts
        error = entry.get("error") if has_failed else None
        types = [asked.get("type") for asked in known]
        for number, asked in enumerate(known):
            criterion = asked.get("metric") or asked.get("type") or "assertion"
            if not asked.get("metric") and types.count(asked.get("type")) > 1:
                criterion += f": {asked.get('value')!s:.{SHOWN}}"
            passed = parts[number].get("pass") if parts and not error else None
            yield call | {"criterion": criterion, "verdict": _passed(passed), "error": error}


def _passed(value: Any) -> str | None:
    return None if value is None else "pass" if value else "fail"


def _deep_eval(record: Any, file: str) -> Iterator[Call]:
    """Metrics are criteria, and the model that evaluates them is the judge."""
    for number, case in enumerate(record["testCases"]):
        for metric in case.get("metricsData") or []:
            yield {
                "item": str(case.get("name") or number),
                "judge": metric.get("evaluationModel") or "deepeval",
                "criterion": metric.get("name"),
                "verdict": _passed(metric.get("success")),
                "error": metric.get("error"),
            }


def _open_ai(record: Any, file: str) -> Iterator[Call]:
    """Events with a choice of the grading model, or of a match."""
    data = record.get("data") if isinstance(record.get("data"), dict) else {}
    said = data.get("choice", data.get("correct"))
    if record.get("type") in ("metrics", "match") and said is not None:
        verdict = _passed(said) if isinstance(said, bool) else str(said)
        sample = str(record.get("sample_id"))
        yield {"item": sample, "judge": sample.rpartition(".")[0] or "eval", "verdict": verdict}


def _inspect(sample: Any, file: str) -> Iterator[Call]:
    """Scorers are judges, and the keys of a score that is an object are criteria."""
    scores = need(sample, "scores", dict, {})
    if not scores and sample.get("score") is not None:
        scores = {"score": sample["score"]}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        for key, said in (value if isinstance(value, dict) else {None: value}).items():
            said = None if isinstance(said, list) or said != said else said
            call = {"item": sample["id"], "judge": scorer, "criterion": key, "verdict": said}
            yield call | {"repeat": sample.get("epoch", 1)}


TOOLS = (
    Tool("MT-bench", "g1_winner g2_winner model_1 model_2", _mt_bench),
    Tool("JudgeBench", "pair_id judgments", _judge_bench),
    Tool("Arena-Hard", "judge games model", _arena_hard),
    Tool("LLMBar", "results output_1 output_2", _llm_bar),
    Tool("promptfoo", "gradingResult testIdx", _promptfoo),
    Tool("promptfoo", "evalId results", _promptfoo, is_whole=True),
    Tool("DeepEval", "testCases", _deep_eval, is_whole=True),
    Tool("OpenAI evals", "spec", _open_ai),
    Tool("OpenAI evals", "sample_id event_id data", _open_ai),
)
PANDALM = Tool("PandaLM", "idx", _panda_lm)


# Calls -> a table.


def _table(
    title: str, records: Iterable[Any], calls_of: Callable[[Any, str], Iterable[Call]], name: str
) -> pl.DataFrame:
    """Make a table of text of the calls of a tool, and refuse one without any verdict."""
    try:
        rows = list(base.with_numbers(records, lambda record: list(calls_of(record, name))))
        names = dict.fromkeys(column for row in rows for column in row)
        table = _texts({each: [row.get(each) for row in rows] for each in names})
        said = [each for each in ("verdict", "winner") if each in names]
        if not said or table[said[0]].is_null().all():
            raise DamagedExport("found no verdict")
    except DamagedExport as error:
        problem = (
            f"it looks like a log of {title}, but its judgements are not as {title} writes them"
        )
        remedy = "write one row per verdict, with the columns item, judge, order and verdict"
        where = f"{name}, record {error.record:,}" if error.record else name
        raise InputError(f"{problem} ({error}); {remedy}", where) from None
    return table.drop([each for each in names if table[each].is_null().all()])


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
    rows = source.record.values()
    if source.layout not in ("object", "lines") or not rows:
        return None
    if not all(isinstance(row, dict) and row for row in rows):
        return None
    try:
        found = _whole(source)
    except (ValueError, RecursionError):
        return None
    cells = [value for row in found.values() for value in row.values()]
    is_other = len(found) < 2 or any(isinstance(value, dict | list) for value in cells)
    return None if is_other else by_judge(found)


def _qrels(source: Source) -> pl.DataFrame:
    """Return the scores of a file with lines of query, iteration, passage and score."""
    lines = lines_of(source).collect().to_series().str.strip_chars().str.replace_all(r"\s+", " ")
    parts = lines.filter(lines != "").str.split_exact(" ", 3).struct.unnest()
    if parts.get_column("field_3").null_count():
        problem = "expected a query, an iteration, a passage and a score in every line"
        raise InputError(problem, source.name)
    return parts.select(item=pl.format("{} {}", "field_0", "field_2"), score="field_3")
