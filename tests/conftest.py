"""Settings and fixtures of all tests."""

import csv
import gc
import logging
import os
import signal

import numpy as np
import pytest
from hypothesis import settings

from finegold import Annotations
from tests.support.data_sets import SHARED

# The first example of a test may compile a kernel, which takes seconds. `make test` tries the same examples each time;
# `make test-all` tries others, and more.
settings.register_profile("finegold", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "finegold"))

# Tests look at standard error, where the log says that a kernel is compiled.
logging.getLogger("finegold").setLevel(logging.ERROR)

# A job in the background starts with SIGINT ignored, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that take longest start first, so that no process is left alone with one at the end.
LONGEST = [
    "methods/laws",
    "system/faults",
    "engines/dask",
    "io/reading_corpus",
    "project/docs",
    "cli/streams",
    "methods/accuracy",
    "io/predictions",
    "io/distributed",
    "kernels/few_votes",
    "kernels/scale_single",
    "project/site",
    "paper/paper",
    "report/report",
    "studio/front",
    "studio/rights",
    "studio/measuring",
    "studio/security",
    "report/browser",
    "studio/restart",
    "insight/judges_ranking",
    "report/notebooks",
    "methods/fgbcc",
    "io/databases_failures",
    "io/databases_writing",
    "api/public_names",
]


def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(
        key=lambda item: order.get(f"{item.path.parent.name}/{item.path.stem[5:]}", len(order))
    )


def pytest_collection_finish():
    """What was imported and collected stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C interrupts, whatever libraries of earlier tests have done to the signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def read_integers(path):
    if not path.exists():
        pytest.skip(
            f"{path.parent.name}/{path.name} is not in ../shared/datasets; put the data set there to run this"
        )
    with path.open(newline="") as handle:
        return np.array(list(csv.reader(handle))[1:], dtype=np.int64)


class DataSet:
    """Votes and truths as 0-based integers, and the same votes as Annotations."""

    def __init__(self, name):
        self.folder = SHARED / "datasets" / name
        self.votes = read_integers(self.folder / "label.csv")
        self.truth = read_integers(self.folder / "truth.csv")
        self.annotations = Annotations.from_arrays(*self.votes.T)

    def accuracy(self, posterior):
        """A truth that shares the maximum with m - 1 other classes earns 1/m."""
        best = posterior == posterior.max(axis=1, keepdims=True)
        credit = best / best.sum(axis=1, keepdims=True)
        return credit[self.truth[:, 0], self.truth[:, 1]].mean()


@pytest.fixture(scope="session")
def data_set():
    """data_set("val5"): loaded once a session."""
    loaded = {}

    def load(name):
        if name not in loaded:
            loaded[name] = DataSet(name)
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def shared():
    return SHARED


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server that runs as long as the tests."""
    from tests.io.postgres import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def place(request, tmp_path):
    """An empty database of the kind that the test asks for with `on`."""
    from tests.io.database_places import Place

    if request.param != "postgresql":
        return Place(request.param, f"{request.param}:///{tmp_path}/my.{request.param}")
    server = request.getfixturevalue("server")
    place = Place("postgresql", server.through_socket())
    place.run(
        "SET TRANSACTION READ WRITE",  # a test may have made the database read-only
        "ALTER DATABASE postgres RESET ALL",
        "DROP SCHEMA IF EXISTS public, work CASCADE",
        "CREATE SCHEMA public",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
    )
    return place
