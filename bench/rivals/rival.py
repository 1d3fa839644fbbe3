"""One method of one library on one data set, in a process of its own: prints a line of JSON.

python -m bench.rivals.rival LIBRARY METHOD FOLDER
python -m bench.rivals.rival --serve LIBRARY METHOD LIMIT

Started by rivals.py, in the environment of the library. The clock runs from arrays in memory to labels, conversion
into the library's own form included; a second, warm fit is taken where the first was short.

The second form, for real_rivals.py, loads the library once and answers requests: see `serve`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SHORT = 20.0  # seconds: shorter fits are repeated
MOST_MEMORY = 8 << 30  # bytes of a fit that is served
PATIENCE = (
    20  # a served fit may take so many times its limit of processor time by the clock on the wall
)

Votes = Any  # [L, 3] task, annotator, label, as integers from 0


def finegold(method: str) -> Callable[[Votes], Any]:
    from finegold import Annotations, aggregate
    from finegold.methods.lookup import DEFAULT_METHOD
    from paper.printed import make_method

    chosen: Any = method if method == DEFAULT_METHOD else make_method(method)
    return lambda votes: aggregate(Annotations.from_arrays(*votes.T), chosen, threads=1).posterior


def crowd_kit(method: str) -> Callable[[Votes], Any]:
    import crowdkit.aggregation as library
    import pandas as pd

    def fit(votes: Votes) -> Any:
        frame = pd.DataFrame(votes, columns=["task", "worker", "label"])
        model = getattr(library, method)()
        if not hasattr(model, "fit_predict_proba"):
            return one_hot(model.fit_predict(frame).sort_index().to_numpy(), votes)
        shares = model.fit_predict_proba(frame).sort_index()
        return shares.reindex(columns=range(n_classes(votes)), fill_value=0.0).to_numpy()

    return fit


def peerannot(method: str) -> Callable[[Votes], Any]:
    import peerannot.models as library

    def fit(votes: Votes) -> Any:
        answers: dict[int, dict[int, int]] = {}
        for task, annotator, label in votes.tolist():
            answers.setdefault(task, {})[annotator] = label
        sizes = {"n_classes": n_classes(votes), "n_workers": int(votes[:, 1].max()) + 1}
        more = (
            {"dataset": Path(tempfile.mkdtemp())} if method == "GLAD" else {}
        )  # it writes files there
        model = getattr(library, method)(answers, **sizes, **more)
        if hasattr(model, "run"):
            model.run()
        shares = np.asarray(model.get_probas())  # some return labels here
        return shares if shares.ndim == 2 else one_hot(np.asarray(model.get_answers()), votes)

    return fit


def cleanlab(method: str) -> Callable[[Votes], Any]:
    """Made for votes beside a classifier. Without one, its consensus is a majority vote with ties broken; CROWDLAB
    is given the shares of the votes in the place of a classifier's predictions."""
    from cleanlab import multiannotator as library

    def fit(votes: Votes) -> Any:
        wide = np.full((int(votes[:, 0].max()) + 1, int(votes[:, 1].max()) + 1), np.nan)
        wide[votes[:, 0], votes[:, 1]] = votes[:, 2]
        if method == "majority":
            return one_hot(library.get_majority_vote_label(wide, verbose=False), votes)
        shares = np.zeros((len(wide), n_classes(votes)))
        np.add.at(shares, (votes[:, 0], votes[:, 2]), 1.0)
        shares /= shares.sum(axis=1, keepdims=True)
        found = library.get_label_quality_multiannotator(wide, shares, verbose=False)
        return one_hot(found["label_quality"]["consensus_label"].to_numpy(), votes)

    return fit


def snorkel(method: str) -> Callable[[Votes], Any]:
    """Every annotator is a labelling function that mostly abstains."""
    from snorkel.labeling import model as library

    def fit(votes: Votes) -> Any:
        wide = np.full((int(votes[:, 0].max()) + 1, int(votes[:, 1].max()) + 1), -1)
        wide[votes[:, 0], votes[:, 1]] = votes[:, 2]
        chosen = getattr(library, method)(cardinality=n_classes(votes))
        chosen.fit(wide, seed=0, progress_bar=False)
        return chosen.predict_proba(wide)

    return fit


LIBRARIES = {
    "finegold": finegold,
    "crowd-kit": crowd_kit,
    "peerannot": peerannot,
    "cleanlab": cleanlab,
    "snorkel": snorkel,
}


def n_classes(votes: Votes) -> int:
    return int(votes[:, 2].max()) + 1


def one_hot(labels: Any, votes: Votes) -> Any:
    return np.eye(n_classes(votes))[labels.astype(int)]


def accuracy(posterior: Any, truth: Any) -> float:
    """A truth that shares the maximum with m - 1 other classes earns 1/m."""
    best = posterior == posterior.max(axis=1, keepdims=True)
    return float((best / best.sum(axis=1, keepdims=True))[truth[:, 0], truth[:, 1]].mean())


def read(path: Path) -> Any:
    return np.loadtxt(path, dtype=np.int64, delimiter=",", skiprows=1)


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(library: str, method: str, limit: str) -> None:
    """Answer each line `[VOTES.npy, OUT.npz]` of standard input by a line: "done", or why there is no posterior.

    Every fit runs in a child of its own, so that it can be ended after LIMIT seconds of processor time.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print
    fit = LIBRARIES[library](method)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os._exit(fit_in_child(fit, *json.loads(line), float(limit)))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        late = status in (-signal.SIGXCPU, -signal.SIGALRM)
        died = (
            f"longer than {limit} s of processor time" if late else f"ended with exit code {status}"
        )
        print(json.dumps(died if status else "done"), file=answers, flush=True)


def fit_in_child(fit: Callable[[Votes], Any], votes: str, out: str, limit: float) -> int:
    """Write the posterior and the seconds of processor time, or the message of what went wrong."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.alarm(int(PATIENCE * limit))
    np.random.seed(0)  # noqa: NPY002  # some libraries break ties by it
    data, began = np.load(votes, allow_pickle=False), sum(os.times()[:4])
    try:
        posterior = np.asarray(fit(data), dtype=np.float64)
        np.savez(out, posterior=posterior, seconds=sum(os.times()[:4]) - began)
    except Exception as error:
        np.savez(out, failed=f"{type(error).__name__}: {error}"[:300])
    return 0


def main(library: str, method: str, folder: str) -> None:
    votes, truth = (read(Path(folder) / name) for name in ("label.csv", "truth.csv"))
    fit, before = LIBRARIES[library](method), peak_mebibytes()
    times = []
    while len(times) < 2 and sum(times) < SHORT:
        began = time.perf_counter()
        posterior = fit(votes)
        times.append(time.perf_counter() - began)
    figures = {
        "accuracy": accuracy(posterior, truth),
        "first_seconds": times[0],
        "seconds": min(times),
    }
    print(json.dumps({**figures, "peak_mib": peak_mebibytes(), "peak_mib_before": before}))


if __name__ == "__main__":
    serve(*sys.argv[2:]) if sys.argv[1] == "--serve" else main(*sys.argv[1:])
