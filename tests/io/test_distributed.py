"""Data sets of many files: labels of a cluster are those of one machine."""

import polars as pl
import pytest

import finegold
from finegold.api.job import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.errors import FinegoldWarning, InputError, OutputError
from finegold.insight import n_flips
from finegold.io.options import ReadOptions
from finegold.methods.lookup import method_class
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.tables import annotators_table, labels_for_users
from tests.support.cli_helpers import refusal_of, succeed

pytest.importorskip(
    "distributed", reason="the Dask engine is an extra: pip install 'finegold[dask]'"
)

from finegold.engines.dask import DaskEngine
from finegold.fitting import solve
from finegold.io.folders import votes as folder_votes
from finegold.io.folders.labels import aggregate_files, replacing_folder
from tests.support.dask_cluster import kill_at, two_workers

FEWEST = 200  # votes in a block
RANGE = 300  # rows in a range


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def engine(client):
    with DaskEngine(client, fewest_votes=FEWEST) as made:
        yield made


def votes_of(kind):
    """Some tasks have no vote, some rows no label, some votes are repeated; rows are in no order."""
    task, annotator, label = sample_votes(n_tasks=500, n_annotators=6)
    table = pl.DataFrame({"task": task, "worker": annotator, "label": label})
    more = pl.DataFrame(
        {"task": [7, 7, 900, 901, 12], "worker": [0, 0, 1, 2, 9], "label": [0, 1, None, None, None]}
    )
    table = pl.concat([table, more]).sample(fraction=1.0, shuffle=True, seed=4)
    if kind == "text":
        return table.with_columns(
            pl.format("t{}", "task").alias("task"), pl.format("class {}", "label").alias("label")
        )
    if kind == "some text":  # in the second half only: parts of the first hold whole numbers
        is_text = (pl.int_range(pl.len()) > 800) & (pl.col("task") > 480)
        return table.with_columns(
            task=pl.when(is_text)
            .then(pl.format("x{}", "task"))
            .otherwise(pl.col("task").cast(pl.String))
        )
    return table


def write(table, folder, suffix, n=4):
    folder.mkdir()
    rows = len(table) // n + 1
    for number, part in enumerate(table.iter_slices(rows)):
        to = folder / f"{number}{suffix}"
        part.write_csv(to) if suffix == ".csv" else part.write_parquet(to)
    return folder


def local(source, method="ptbcc", **how):
    return fit(
        method_class(method)(),
        finegold.read(source, **how),
        engine=LocalEngine(2, fewest_votes=FEWEST),
    )


@pytest.fixture
def source(tmp_path):
    return write(votes_of("text"), tmp_path / "votes", ".csv")


def is_as_local(out, source, method="ptbcc", probabilities=False):
    return pl.read_parquet(out).equals(
        labels_for_users(local(source, method), probabilities=probabilities)
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", ["integers", "text", "some text"])
def test_labels_are_those_of_one_machine(engine, tmp_path, kind, suffix, monkeypatch):
    monkeypatch.setattr(
        folder_votes, "MOST_ROWS_PER_PART", 350
    )  # a Parquet file becomes several parts
    source = write(votes_of(kind), tmp_path / "votes", suffix)
    found = aggregate_files(
        source, tmp_path / "out", "ptbcc", engine=engine, probabilities=True, rows_per_range=RANGE
    )
    expected = local(source)
    assert engine.n_blocks > 4
    assert is_as_local(tmp_path / "out", source, probabilities=True)
    assert found.result.counts == expected.counts
    assert (found.n_votes, found.n_tasks) == (
        expected.annotations.n_votes,
        expected.annotations.n_tasks,
    )
    assert found.result.unlabelled.to_list() == expected.unlabelled.to_list()
    ours, theirs = found.annotators(), annotators_table(expected)
    assert ours.select("annotator", "n_votes", "agreement").equals(
        theirs.select("annotator", "n_votes", "agreement")
    )
    assert ours["accuracy"].to_list() == pytest.approx(theirs["accuracy"].to_list(), rel=1e-12)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["out", "votes"]


def test_gold_classes_and_the_last_vote(engine, tmp_path):
    source = write(votes_of("integers"), tmp_path / "votes", ".csv")
    how = {
        "gold": {3: 1, 400: 3, 5000: 2},
        "classes": [2, 1, 0, 3],
        "repeated": "last",
        "missing": ["-"],
    }
    with pytest.warns(FinegoldWarning, match="1 gold truths belong to tasks without votes"):
        found = aggregate_files(
            source, tmp_path / "out", "ds", engine=engine, rows_per_range=RANGE, **how
        )
    with pytest.warns(FinegoldWarning):
        expected = local(source, "ds", **how)
    assert pl.read_parquet(tmp_path / "out").equals(labels_for_users(expected, probabilities=False))
    assert (found.n_gold, found.result.counts) == (2, expected.counts)


def test_a_worker_killed_in_the_middle_changes_nothing(client, engine, tmp_path, source):
    aggregate_files(
        source,
        tmp_path / "out",
        "ptbcc",
        engine=engine,
        on_step=kill_at(client, 3),
        rows_per_range=RANGE,
    )
    assert is_as_local(tmp_path / "out", source)


@pytest.mark.parametrize("name", ["hds", DEFAULT_METHOD])
def test_other_methods_give_the_table_and_the_record_of_one_machine(engine, tmp_path, source, name):
    found = aggregate_files(source, tmp_path / "out", name, engine=engine, probabilities=True)
    expected = local(source, name)
    assert pl.read_parquet(tmp_path / "out").equals(labels_for_users(expected, probabilities=True))
    assert found.outvoted == n_flips(expected)
    assert found.result.settings == expected.settings
    assert (found.result.stopped, found.result.converged) == (expected.stopped, expected.converged)
    assert found.result.iterations == expected.iterations
    assert found.annotators().columns == annotators_table(expected).columns


def parts_of_others(folder):
    """As Spark, Dask and Finegold 0.1 name them."""
    folder.mkdir(exist_ok=True)
    votes_of("text").write_parquet(folder / "part-00000.parquet")
    return folder


def test_a_folder_of_labels_is_replaced_and_any_other_stays(engine, tmp_path, source):
    out = tmp_path / "out"
    for method in ("ptbcc", "mv"):
        aggregate_files(source, out, method, engine=engine)
    assert is_as_local(out, source, "mv")
    (out / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt is not as Finegold wrote it"):
        aggregate_files(source, out, engine=engine)
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    parts_of_others(out)
    with pytest.raises(OutputError, match=r"part-00000\.parquet is not as Finegold wrote it"):
        aggregate_files(source, out, engine=engine)
    other = parts_of_others(tmp_path / "other")
    before = (other / "part-00000.parquet").read_bytes()
    with pytest.raises(OutputError, match=r"has no list of files that Finegold wrote .* remove it"):
        aggregate_files(source, other, "mv", engine=engine)
    assert (other / "part-00000.parquet").read_bytes() == before


@pytest.mark.parametrize("output", ["votes", "link", "votes/labels", "."])
def test_labels_never_take_the_place_of_the_votes(engine, tmp_path, output):
    source = parts_of_others(tmp_path / "votes")
    (tmp_path / "link").symlink_to(source)
    before = (source / "part-00000.parquet").read_bytes()
    for given in (source, tmp_path / "link", [str(source)]):
        with pytest.raises(InputError, match="the labels cannot go to"):
            aggregate_files(given, tmp_path / output, "mv", engine=engine)
    asked = (
        "aggregate",
        source,
        "--engine",
        "dask",
        "--method",
        "mv",
        "-o",
        f"{tmp_path / output}/",
    )
    assert "the labels cannot go to" in refusal_of(*asked)
    assert (source / "part-00000.parquet").read_bytes() == before


def test_a_folder_that_changes_during_the_work_stays(engine, tmp_path, source, monkeypatch):
    out = tmp_path / "out"

    def interfere(*given, **named):
        parts_of_others(out)
        return solve.descend(*given, **named)

    monkeypatch.setattr("finegold.io.folders.labels.descend", interfere)
    with pytest.raises(OutputError, match="has no list of files"):
        aggregate_files(source, out, "mv", engine=engine)
    assert [found.name for found in out.iterdir()] == ["part-00000.parquet"]


def test_old_labels_of_a_run_killed_while_replacing_them_come_back(engine, tmp_path, source):
    out = tmp_path / "out"
    aggregate_files(source, out, "mv", engine=engine)
    marker = tmp_path / ".out.0123456789ab.part"
    marker.touch()
    shop = tmp_path / f"{marker.name}.d"
    shop.mkdir()
    out.rename(shop / "old")
    with pytest.raises(InputError, match="no such"), replacing_folder(out):
        raise InputError("no such")
    assert is_as_local(out, source, "mv")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["out", "votes"]


def test_a_failure_leaves_nothing_behind(engine, tmp_path, source):
    (source / "9.csv").write_text("task,worker,label\nt1,5,class 1\n,5,class 1\n")
    with pytest.raises(InputError, match=r"9\.csv, row 2 \(line 3\): there is a label but no task"):
        aggregate_files(source, tmp_path / "out", engine=engine)
    assert [place.name for place in tmp_path.iterdir()] == ["votes"]


def test_what_a_cluster_cannot_do_is_said(engine, tmp_path):
    source = write(
        votes_of("text").with_columns(gold=pl.lit("class 1")), tmp_path / "votes", ".parquet"
    )
    with pytest.raises(InputError, match="give a file of truths"):
        aggregate_files(source, tmp_path / "out", engine=engine, gold=True)
    with pytest.raises(InputError, match="write the labels to one file"):
        aggregate_files(source, tmp_path / "out", "ebcc", engine=engine)
    with pytest.raises(InputError, match=r"0\.parquet: label 'class 0' is not among"):
        aggregate_files(source, tmp_path / "out", engine=engine, classes=["class 9"])
    assert [place.name for place in tmp_path.iterdir()] == ["votes"]


def test_every_worker_must_see_the_folder(engine, tmp_path, source, monkeypatch):
    monkeypatch.setattr(engine.cluster.client, "run", lambda _: {"tcp://far:1": False})
    with pytest.raises(InputError, match="tcp://far:1 does not see"):
        aggregate_files(source, tmp_path / "out", engine=engine)


def test_the_command_line_writes_a_folder(client, tmp_path, source):
    address = client.scheduler.address
    options = [
        "--engine",
        "dask",
        "--scheduler",
        address,
        "--annotators",
        tmp_path / "people.csv",
        "--json",
    ]
    done = succeed("aggregate", source, "-o", f"{tmp_path}/out/", *options)
    assert '"n_tasks": 500' in done.stdout
    assert "bytes moved per sweep" in done.stderr
    assert pl.read_parquet(tmp_path / "out").equals(
        labels_for_users(finegold.aggregate(source), probabilities=False)
    )
    assert len(pl.read_csv(tmp_path / "people.csv")) == 6


def test_a_folder_is_for_a_cluster_only(tmp_path):
    asked = ("aggregate", "votes.csv", "-o", f"{tmp_path}/out/")
    assert "add --engine dask" in refusal_of(*asked)
    said = refusal_of(*asked, "--engine", "dask", "--save", "model.finegold")
    assert "--save cannot be combined with a folder of labels" in said


def test_ranges_hold_about_equally_many_rows(engine, tmp_path, source):
    sizes = {"fewest_votes": 50, "rows_per_range": RANGE}
    found = folder_votes.read_votes(engine.cluster, source, ReadOptions(), tmp_path, **sizes)
    rows = [len(pl.read_ipc(folder / "tasks.arrow")) for folder in tmp_path.glob("range-*")]
    assert len(rows) == found.counts.rows // RANGE
    assert max(rows) < 2 * min(rows)
