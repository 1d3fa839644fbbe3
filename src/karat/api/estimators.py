"""The estimator style that the field knows: `PTBCC().fit(votes)`, then `labels_` and `probas_`.

Each registered method becomes such a class. Tables with columns task, worker, label work as they are, and what
comes back is of the kind of data frame that went in.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from karat.api.result import Result
from karat.methods.lookup import current_settings, method_class, with_note
from karat.methods.registry import DEFAULT_METHOD
from karat.votes.frames import make_frame, to_list

__all__ = ["Estimator", "auto", "estimator"]


class Estimator:
    """Adds `fit`, `partial_fit`, `fit_predict` and `fit_predict_proba` to a method."""

    result_: Result

    def fit(self, data: Any, **reading: Any) -> Any:
        """Fit to votes (as in `karat.aggregate`; the field calls them data) and return this very object."""
        from karat.api.aggregate import aggregate

        self.result_ = aggregate(data, self, **reading)  # type: ignore[arg-type]  # mixed into a Method
        return self

    def partial_fit(self, data: Any, **reading: Any) -> Any:
        """Fold these votes into what was fitted before (`Result.update`); without anything before, fit to them."""
        if not hasattr(self, "result_"):
            return self.fit(data, **reading)
        self.result_ = self.result_.update(data, **reading)
        return self

    def fit_predict(self, *data: Any, **reading: Any) -> Any:
        """The label of every task: a series indexed by task (pandas), else a frame of task and label."""
        return self.fit(*data, **reading).labels_

    def fit_predict_proba(self, *data: Any, **reading: Any) -> Any:
        """The probability of every class for every task."""
        return self.fit(*data, **reading).probas_

    @property
    def labels_(self) -> Any:
        frame = make_frame({"task": self.result_.task_names, "agg_label": self.result_.label}, self.result_.task_names)
        return frame.set_index("task")["agg_label"] if hasattr(frame, "set_index") else frame

    @property
    def probas_(self) -> Any:
        names = to_list(self.result_.class_names)
        columns = {str(name): self.result_.posterior[:, k].copy() for k, name in enumerate(names)}
        frame = make_frame({"task": self.result_.task_names, **columns}, self.result_.task_names)
        if not hasattr(frame, "set_index"):
            return frame
        frame = frame.set_index("task")
        frame.columns = type(frame.columns)(names, name="label")
        return frame


@cache
def estimator(name: str) -> type:
    """The estimator class of a registered method."""
    chosen = method_class(name)
    return type(chosen.__name__, (Estimator, chosen), {"__doc__": chosen.__doc__, "__module__": "karat"})


def auto(**settings: Any) -> Any:
    """What is left of `karat.Auto`: an estimator of the default method."""
    return with_note(estimator(DEFAULT_METHOD)(**current_settings("auto", settings)), "auto")
