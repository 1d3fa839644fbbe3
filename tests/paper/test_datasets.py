"""The registry of data sets: what it knows, and what it refuses."""

import http.server
import shutil
import threading

import numpy as np
import pytest

import finegold
from finegold.paper import datasets
from finegold.paper.datasets import download
from tests.support.cli_helpers import DATASETS, refusal_of, run, succeed, write

PAPER = ["val7", "aircr", "cf", "fact", "ms", "dog", "face", "adult", "senti", "val5", "web"]
LABELS = "item,worker,label\n1,a,x\n1,b,x\n2,a,y\n2,b,x\n"
TRUTHS = "item,truth\n1,x\n2,z\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FINEGOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "_REGISTRY", dict(datasets._REGISTRY))
    return tmp_path / "cache"


@pytest.fixture
def own(tmp_path):
    """A folder of data sets with one in it that nobody knows yet."""
    folder = tmp_path / "own" / "mine"
    folder.mkdir(parents=True)
    write(folder / "label.csv", LABELS)
    write(folder / "truth.csv", TRUTHS)
    return folder.parent


def present(name):
    if datasets.find(name, DATASETS) is None:
        pytest.skip(
            f"{name} is not in ../shared/datasets; put label.csv and truth.csv there to run this"
        )
    return DATASETS / name


def copied(name, folder, place=None):
    shutil.copytree(present(name), folder / (place or name))
    return folder / (place or name)


@pytest.mark.parametrize("name", PAPER)
def test_every_data_set_has_the_counts_and_checksums_of_the_registry(name):
    present(name)
    loaded = finegold.load_dataset(name, DATASETS)
    assert loaded.verified
    assert loaded.counts == loaded.info.counts


def test_the_eleven_data_sets_of_the_paper_are_known_with_two_checksums_each():
    known = datasets.data_sets()
    assert list(known) == PAPER
    sums = [checksum for entry in known.values() for checksum in entry.sha256.values()]
    assert len(set(sums)) == 22
    assert {len(checksum) for checksum in sums} == {64}


def test_a_corrupted_file_is_refused_with_its_name_both_checksums_and_the_remedy(tmp_path):
    folder = copied("val5", tmp_path)
    write(folder / "label.csv", (folder / "label.csv").read_bytes().replace(b"0,0,4", b"0,0,3"))
    with pytest.raises(finegold.InputError) as refused:
        finegold.load_dataset("val5", tmp_path)
    said = str(refused.value)
    assert str(folder / "label.csv") in said
    assert datasets.data_set("val5").sha256["label.csv"] in said
    assert datasets.verify(tmp_path)[0].actual in said
    assert "finegold datasets fetch val5" in said
    assert not finegold.load_dataset("val5", tmp_path, verified=False).verified


def test_verify_names_the_wrong_file_and_fails(tmp_path):
    folder = copied("val5", tmp_path)
    succeed("datasets", "verify", tmp_path)
    write(folder / "truth.csv", TRUTHS)
    result = run("datasets", "verify", tmp_path)
    assert result.exit_code == 2
    assert "val5/truth.csv  WRONG" in result.stdout
    assert datasets.data_set("val5").sha256["truth.csv"] in result.stderr


def test_fetch_takes_files_on_disk_under_the_names_of_their_source(tmp_path, cache):
    copied("val5", tmp_path, "valence5")
    succeed("datasets", "fetch", "val5", "--from", tmp_path)
    assert sorted(path.name for path in (cache / "val5").iterdir()) == ["label.csv", "truth.csv"]
    assert finegold.load_dataset("val5").verified


def test_fetch_refuses_a_corrupted_file_on_disk_and_leaves_nothing(tmp_path, cache):
    folder = copied("val5", tmp_path)
    write(folder / "label.csv", LABELS)
    assert str(folder / "label.csv") in refusal_of("datasets", "fetch", "val5", "--from", tmp_path)
    assert not (cache / "val5").exists()


def test_fetch_from_a_folder_without_the_data_set_says_what_it_expected(tmp_path):
    message = refusal_of("datasets", "fetch", "val5", "--from", tmp_path)
    assert "val5/ or valence5/ with label.csv and truth.csv" in message


def test_fetch_without_names_takes_what_is_on_disk_and_says_what_is_not(tmp_path, cache):
    copied("val5", tmp_path)
    copied("ms", tmp_path, "MS")
    result = succeed("datasets", "fetch", "--from", tmp_path)
    assert sorted(path.name for path in cache.iterdir()) == ["ms", "val5"]
    assert "val7, aircr, cf, fact, dog, face, adult, senti, web" in result.stderr
    assert run("datasets", "fetch", "--from", cache / "ms").exit_code == 2


def test_a_whole_file_in_the_cache_is_not_fetched_again(tmp_path, cache):
    copied("val5", tmp_path)
    datasets.fetch(["val5"], source=tmp_path)
    before = (cache / "val5" / "label.csv").stat()
    (cache / "val5" / "truth.csv").unlink()
    datasets.fetch(["val5"], source=tmp_path)
    assert (cache / "val5" / "label.csv").stat().st_ino == before.st_ino
    assert finegold.load_dataset("val5").verified


def test_without_a_network_the_message_has_the_address_and_the_cache_stays_empty(own, cache):
    pytest.importorskip("pooch")
    datasets.register(
        "mine", own / "mine", address="http://127.0.0.1:9/sets/mine/"
    )  # nobody listens there
    message = refusal_of("datasets", "fetch", "mine")
    assert "http://127.0.0.1:9/sets/mine/label.csv cannot be downloaded" in message
    assert "--from DIR" in message
    assert not (cache / "mine").exists()


@pytest.fixture
def served(own):
    """The folder of data sets as a web site; file name -> what it answers instead."""
    lies = {}

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **more):
            super().__init__(*args, directory=str(own), **more)

        def do_GET(self):
            if self.path.rpartition("/")[2] not in lies:
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            return self.wfile.write(lies[self.path.rpartition("/")[2]])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mine/", lies
        server.shutdown()


def test_a_registered_data_set_is_fetched_from_its_address_and_verified(own, served, cache):
    pytest.importorskip("pooch")
    datasets.register("mine", own / "mine", address=served[0])
    loaded = finegold.load_dataset("mine")
    assert loaded.verified
    assert (cache / "mine" / "label.csv").read_text() == LABELS


def test_a_download_that_breaks_off_leaves_nothing_half_made(own, served, cache):
    pytest.importorskip("pooch")
    address, lies = served
    datasets.register("mine", own / "mine", address=address)
    lies["truth.csv"] = b"item,tru"  # and no more, although a million bytes were promised
    with pytest.raises(finegold.FinegoldError, match=r"truth\.csv cannot be downloaded"):
        datasets.fetch(["mine"])
    assert [path.name for path in (cache / "mine").iterdir()] == ["label.csv"]
    lies.clear()
    datasets.fetch(["mine"])  # goes on where it stopped
    assert finegold.load_dataset("mine").verified


def test_an_interruption_leaves_what_was_there_before(tmp_path, served):
    pytest.importorskip("pooch")
    target = write(tmp_path / "label.csv", "old")

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(served[0] + "label.csv", target, interrupted)
    assert target.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_a_data_set_of_ones_own_is_registered_with_its_counts(own):
    entry = datasets.register("mine", own / "mine", title="Mine")
    assert entry.counts == (2, 2, 2, 3, 4)  # nobody voted for the class z, but it is a truth
    loaded = finegold.load_dataset("mine", own)
    assert loaded.truth.tolist() == [0, 2]
    assert (loaded.annotations.gold == -1).all()


def test_a_name_that_is_taken_or_odd_cannot_be_registered(own):
    for name in ("val5", "My Set", "../x", ""):
        with pytest.raises(finegold.InputError, match="is not a valid data set name"):
            datasets.register(name, own / "mine")


def test_an_unknown_data_set_is_met_with_the_names_of_all():
    assert "val7, aircr, cf" in refusal_of("datasets", "info", "val6")


def test_info_shows_counts_checksums_and_source():
    shown = run("datasets", "info", "SENTI").stdout
    for part in ("569,274", "31e16268ae71c0af", "26b6526a8ff541c8", "/datasets/sentiment/"):
        assert part in shown


def test_a_missing_pooch_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(finegold.InputError, match=r"pip install 'finegold\[data\]'"):
        datasets.fetch(["val5"])


def test_truth_codes_match_the_classes_of_the_votes():
    present("ms")
    loaded = finegold.load_dataset("ms", DATASETS)
    assert np.unique(loaded.truth).tolist() == list(range(10))
