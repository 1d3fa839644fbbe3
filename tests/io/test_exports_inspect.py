"""Logs of Inspect: JSON, and archives as Inspect packs them."""

import io
import json
import math
import sys

import pytest

import finegold
from finegold.errors import InputError
from tests.support.exports_made import INSPECT, zipped
from tests.support.readers_votes import votes_of, write

VOTES = {("q1", "gpt", "C"), ("q1", "claude", "C"), ("q2", "gpt", "I")}


def with_samples(*samples, **head):
    return {**INSPECT, "eval": {**INSPECT["eval"], **head}, "samples": list(samples)}


def archive(log):
    """The files of a .eval: a header, and one per sample."""
    samples = {f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one) for one in log["samples"]}
    header = {name: value for name, value in log.items() if name != "samples"}
    return {"_journal/start.json": json.dumps(header), **samples, "header.json": json.dumps(header)}


@pytest.mark.parametrize("packed", [True, False])
def test_a_score_that_is_no_number_is_no_vote(tmp_path, packed):
    """Inspect writes NaN, which JSON does not know, for judges that failed."""
    scores = {"gpt": {"value": math.nan, "explanation": '"value": NaN,'}, "claude": {"value": "C"}}
    log = with_samples({"id": "q", "epoch": 1, "scores": scores})
    content = zipped(archive(log)) if packed else json.dumps(log, indent=2)
    assert packed or '"value": NaN,\n' in content
    votes = finegold.read(write(tmp_path / "log", content))
    assert votes_of(votes) == {("q", "claude", "C")}
    assert votes.counts.left_out == {"scores without a value": 1}


@pytest.mark.parametrize("indent", [2, None])
def test_a_json_log(tmp_path, indent):
    votes = finegold.read(write(tmp_path / "log.json", json.dumps(INSPECT, indent=indent)))
    assert votes_of(votes) == VOTES
    assert votes.counts.left_out == {"scores without a value": 1}


def test_an_eval_log(tmp_path):
    assert votes_of(finegold.read(write(tmp_path / "log.eval", zipped(archive(INSPECT))))) == VOTES


def test_an_eval_log_packed_with_zstd(tmp_path):
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        zipfile = pytest.importorskip("backports.zstd.zipfile")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_ZSTANDARD) as packed:
        for name, content in archive(INSPECT).items():
            packed.writestr(name, content)
    assert votes_of(finegold.read(write(tmp_path / "log.eval", buffer.getvalue()))) == VOTES


def test_every_epoch_is_a_task(tmp_path):
    samples = [{"id": "q", "epoch": epoch, "scores": {"gpt": {"value": 1.0}}} for epoch in (1, 2)]
    log = with_samples(*samples, config={"epochs": 2})
    votes = finegold.read(write(tmp_path / "log.json", json.dumps(log)))
    assert votes_of(votes) == {("q#1", "gpt", 1), ("q#2", "gpt", 1)}


def test_answers_of_several_models_are_apart(tmp_path):
    sample = {"id": "q", "epoch": 1, "scores": {"gpt": {"value": "C"}}}
    paths = [
        write(tmp_path / f"{model}.json", json.dumps(with_samples(sample, model=model), indent=1)) for model in "ab"
    ]
    assert votes_of(finegold.read(paths)) == {("sums/a/q", "gpt", "C"), ("sums/b/q", "gpt", "C")}


def test_a_scorer_that_says_several_things(tmp_path):
    scores = {"multi": {"value": {"safe": "yes", "kind": 2}}, "match": {"value": "C"}}
    path = write(tmp_path / "log.json", json.dumps(with_samples({"id": 1, "epoch": 1, "scores": scores})))
    assert {question: votes_of(votes) for question, votes in finegold.read_each(path).items()} == {
        "kind": {(1, "multi", 2)},
        "safe": {(1, "multi", "yes")},
        "score": {(1, "match", "C")},
    }


def test_an_early_log_has_one_score(tmp_path):
    log = with_samples({"id": 1, "epoch": 1, "score": {"value": "C"}}, {"id": 2, "epoch": 1, "scores": {}})
    votes = finegold.read(write(tmp_path / "log.json", json.dumps(log)))
    assert votes_of(votes) == {(1, "score", "C")}
    assert votes.unlabelled.to_list() == [2]


@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_log_names_the_tool_the_record_and_the_remedy(tmp_path, packed):
    log = with_samples(INSPECT["samples"][0], {**INSPECT["samples"][1], "scores": ["C"]})
    path = tmp_path / ("log.eval" if packed else "log.json")
    write(path, zipped(archive(log)) if packed else json.dumps(log, indent=2))
    with pytest.raises(InputError) as failure:
        finegold.read(path)
    assert "(Inspect export), record 2: found ['C'] for \"scores\", expected an object" in str(failure.value)
    assert "inspect log convert LOG --to json" in str(failure.value)


def test_a_log_that_is_cut_short(tmp_path):
    with pytest.raises(InputError, match=r"\(Inspect export\), record 2: the file is cut short"):
        finegold.read(write(tmp_path / "log.json", json.dumps(INSPECT, indent=2)[:-60]))


@pytest.mark.parametrize("packed", [True, False])
def test_a_log_without_scores_says_that(tmp_path, packed):
    log = with_samples({"id": 1, "epoch": 1}, {"id": 2, "epoch": 1, "scores": {}})
    path = tmp_path / ("log.eval" if packed else "log.json")
    write(path, zipped(archive(log)) if packed else json.dumps(log, indent=2))
    with pytest.raises(InputError, match=r"\(Inspect export\): none of its 2 samples has a score; .* inspect score"):
        finegold.read(path)
    with pytest.raises(InputError, match=r"\(Inspect export\): it holds no samples"):
        finegold.read(write(tmp_path / "header.json", json.dumps(with_samples(), indent=2)))


@pytest.mark.parametrize("indent", [None, 2])
def test_the_vocabulary_of_a_tokenizer_is_no_log(tmp_path, indent):
    words = {"version": 1, "status": 2, "eval": 3, **{f"word{number}": number for number in range(4, 40)}}
    path = write(tmp_path / "vocab.json", json.dumps(words, indent=indent))
    with pytest.raises(InputError) as failure:
        finegold.read(path)
    assert "Inspect" not in str(failure.value)
