"""Logs of Inspect: JSON, and archives as Inspect packs them."""

import io
import json
import math
import sys

import pytest

from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import INSPECT, zipped

VOTES = {("q1", "gpt", "C"), ("q1", "claude", "C"), ("q2", "gpt", "I")}


def log(*samples, **head):
    return {**INSPECT, "eval": {**INSPECT["eval"], **head}, "samples": list(samples)}


def sample(scores, name="q", epoch=1, **more):
    return {"id": name, "epoch": epoch, "scores": scores, **more}


def archive(log):
    """The files of a .eval: a header, and one per sample."""
    samples = {
        f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one) for one in log["samples"]
    }
    header = {name: value for name, value in log.items() if name != "samples"}
    return {"_journal/start.json": json.dumps(header), **samples, "header.json": json.dumps(header)}


def forms(log):
    """A log as Inspect writes it."""
    return {"log.json": json.dumps(log, indent=2), "log.eval": zipped(archive(log))}


FAILED = {"scores without a value": 1}
# Inspect writes NaN, which JSON does not know, for judges that failed.
NAN = log(
    sample({"gpt": {"value": math.nan, "explanation": '"value": NaN,'}, "claude": {"value": "C"}})
)
assert '"value": NaN,\n' in forms(NAN)["log.json"]
SEVERAL = log(sample({"multi": {"value": {"safe": "yes", "kind": 2}}, "match": {"value": "C"}}, 1))
ONE = {"gpt": {"value": "C"}}
MODELS = {f"{model}.json": log(sample(ONE), model=model) for model in "ab"}
EPOCHS = log(
    *(sample({"gpt": {"value": 1.0}}, epoch=epoch) for epoch in (1, 2)), config={"epochs": 2}
)
DAMAGED = log(INSPECT["samples"][0], {**INSPECT["samples"][1], "scores": ["C"]})
RECORD = "(Inspect export), record 2: found ['C'] for \"scores\", expected an object"
UNSCORED = log({"id": 1, "epoch": 1}, sample({}, 2))

test_logs = check_each({
    **{name: reads(name, content, VOTES, FAILED) for name, content in forms(INSPECT).items()},
    **{f"NaN in {name}": reads(name, content, {("q", "claude", "C")}, FAILED) for name, content in forms(NAN).items()},
    "every epoch is a task": reads("log.json", EPOCHS, {("q#1", "gpt", 1), ("q#2", "gpt", 1)}),
    "models are apart": reads("", MODELS, {("sums/a/q", "gpt", "C"), ("sums/b/q", "gpt", "C")}),
    "a scorer that says several things": reads(
        *("log.json", SEVERAL),
        {"kind": {(1, "multi", 2)}, "safe": {(1, "multi", "yes")}, "score": {(1, "match", "C")}},
    ),
    **{
        f"damage in {name}": refuses(name, content, RECORD, "inspect log convert LOG --to json")
        for name, content in forms(DAMAGED).items()
    },
    "cut short": refuses(
        "log.json", forms(INSPECT)["log.json"][:-60], "(Inspect export): the file is cut short"
    ),
    **{
        f"no scores in {name}": refuses(
            name, content, "(Inspect export) holds no votes; score it", "inspect score"
        )
        for name, content in forms(UNSCORED).items()
    },
})  # fmt: skip


def test_an_eval_log_packed_with_zstd(tmp_path):
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        zipfile = pytest.importorskip("backports.zstd.zipfile")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_ZSTANDARD) as packed:
        for name, content in archive(INSPECT).items():
            packed.writestr(name, content)
    reads("log.eval", buffer.getvalue(), VOTES)(tmp_path)
