"""The Dask engine: the bits of the local one, whatever happens to the workers."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.engines.base import add_up
from finegold.engines.local import LocalEngine
from finegold.errors import FinegoldError, InputError
from finegold.fitting.folder import label_folder
from finegold.methods.common import ConfusionSums
from finegold.methods.lookup import method_class
from tests.support.cli_helpers import refusal_of, run

pytest.importorskip(
    "distributed", reason="the Dask engine is an extra: pip install 'finegold[dask]'"
)

from distributed import LocalCluster

from finegold.engines import dask
from finegold.engines.dask import DaskEngine
from tests.support.dask_cluster import kill_at, two_workers
from tests.support.signals import KILL

FEWEST = 200  # votes in a block


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def engine(client):
    with DaskEngine(client, fewest_votes=FEWEST) as made:
        yield made


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes(n_tasks=500, n_annotators=6), gold={3: 1, 400: 2})


def assert_same(one, other):
    assert np.array_equal(one.posterior, other.posterior)
    assert np.array_equal(one.annotator_accuracy, other.annotator_accuracy)
    assert np.array_equal(one.objective, other.objective, equal_nan=True)


@pytest.mark.parametrize("name", ["anchored", "mv", "ds", "ibcc", "ptbcc", "bwa", "ebcc", "hds"])
def test_the_bits_are_those_of_the_local_engine(engine, votes, name):
    method = method_class(name)(**({"n_restarts": 2} if name == "ebcc" else {}))
    local = fit(method, votes, engine=LocalEngine(2, fewest_votes=FEWEST))
    assert_same(fit(method, votes, engine=engine), local)
    assert engine.n_blocks > 4


@pytest.mark.parametrize("name", ["ptbcc", pytest.param("ibcc", marks=pytest.mark.slow)])
def test_a_worker_killed_in_the_middle_changes_nothing(client, engine, votes, name):
    method = method_class(name)()
    local = fit(method, votes, engine=LocalEngine(2, fewest_votes=FEWEST))
    assert local.iterations > 4
    assert_same(fit(method, votes, engine=engine, on_step=kill_at(client, 2, 3)), local)


@pytest.mark.parametrize("name", ["glad", "tiremge"])
def test_a_method_that_cannot_run_there_says_so(engine, name):
    with pytest.raises(InputError, match=f"{name} cannot run on a Dask cluster"):
        finegold.aggregate(Annotations.from_arrays(*sample_votes()), name, engine=engine)


def test_an_error_of_a_method_is_the_error(engine, votes):
    with pytest.raises(InputError, match="no sweep today"):
        finegold.aggregate(votes, Broken(), engine=engine)


def test_the_command_line_starts_a_cluster_and_ends_it(tmp_path):
    source = tmp_path / "votes.csv"
    source.write_text("task,worker,label\na,1,x\na,2,y\na,3,x\nb,1,y\n")
    found = [
        run("aggregate", source, "--engine", name, "--threads", 1) for name in ("dask", "local")
    ]
    assert found[0].exit_code == 0, found[0].stderr
    assert found[0].stdout == found[1].stdout


def test_a_scheduler_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setattr(dask, "CONNECT", 0.5)
    source = tmp_path / "votes.csv"
    source.write_text("task,worker,label\na,1,x\n")
    message = refusal_of(
        "aggregate",
        source,
        "--engine",
        "tcp://127.0.0.1:9",
        "-o",
        tmp_path / "l.csv",
    )
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in message
    assert not (tmp_path / "l.csv").exists()


def test_a_scheduler_without_workers(monkeypatch):
    monkeypatch.setattr(dask, "WORKERS", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(InputError, match="has no workers"),
    ):
        DaskEngine(empty.scheduler_address)


def test_workers_that_die_again_and_again(engine, votes):
    """As the nanny ends those that run out of memory."""
    with pytest.raises(FinegoldError, match="perhaps because they ran out of memory"):
        finegold.aggregate(votes, Deadly(), engine=engine)


@pytest.mark.parametrize("missing", ["dask", "distributed", "cloudpickle"])
def test_without_the_extra(missing):
    code = f"import sys; sys.modules['{missing}'] = None; import finegold; finegold.aggregate('x', engine='dask')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'finegold[dask]'" in done.stderr


def test_workers_of_another_version_are_refused(engine, votes, monkeypatch):
    monkeypatch.setattr(dask, "version", lambda _: "0.0.1")
    with pytest.raises(InputError, match="install the same version"):
        finegold.aggregate(votes, engine=engine)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 11, 13])
def test_sums_of_groups_are_the_sums_of_all_to_the_bit(n):
    rng = np.random.default_rng(1)
    parts = [ConfusionSums(float(x), rng.random(3), rng.random((1, 2, 2)), 0.1) for x in range(n)]
    total = add_up(parts)
    for size in (1, 2, 4, 8):
        groups = (parts[first : first + size] for first in range(0, n, size))
        for one, other in zip(add_up(map(add_up, groups)), total, strict=True):
            assert np.array_equal(one, other)
    assert total.change == n - 1


@pytest.mark.parametrize("name", ["ds", "ptbcc"])
def test_a_folder_that_no_machine_reads_whole_is_labelled(engine, votes, tmp_path, name):
    task, who, label = votes.votes()
    table = pl.DataFrame(
        {
            "task": [f"t{number}" for number in task],
            "annotator": who,
            "label": [f"class {number}" for number in label],
        }
    )
    (tmp_path / "votes").mkdir()
    for part in range(3):
        table.gather_every(3, part).write_parquet(tmp_path / "votes" / f"{part}.parquet")
    method = method_class(name)(tolerance=1e-9, max_iterations=2000)
    learned = label_folder(
        tmp_path / "votes", tmp_path / "labels", method, engine, votes_per_part=500
    )
    assert engine.n_blocks == 5
    whole = finegold.aggregate(table, method)
    found = pl.read_parquet(tmp_path / "labels" / "*.parquet").sort("task")
    assert found["task"].to_list() == list(whole.task_names)
    assert found["label"].to_list() == whole.label.to_list()
    np.testing.assert_allclose(found["confidence"], whole.confidence, atol=1e-6)
    np.testing.assert_allclose(learned.class_prior, whole.learned.class_prior, atol=1e-6)
    with pytest.raises(InputError, match="is not empty; name another folder"):
        label_folder(tmp_path / "votes", tmp_path / "labels", method, engine)


class Broken(method_class("mv")):
    def sweep(self, block, parameters):
        raise InputError("no sweep today")


class Deadly(method_class("mv")):
    """Ends every worker that works on it."""

    def sweep(self, block, parameters):
        os.kill(os.getpid(), KILL)
