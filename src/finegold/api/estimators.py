"""Estimators: every method as a class of `finegold` with `fit`, `predict`, `score` and the like.

The estimator of a method is a subclass of the method's own class, whose settings it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from finegold.api.aggregate import aggregate
from finegold.api.evaluate import figures_of
from finegold.api.result import Result
from finegold.errors import NotFittedError
from finegold.methods import (
    anchored,
    bwa,
    catd,
    cbcc,
    ds,
    ebcc,
    fgbcc,
    glad,
    hds,
    ibcc,
    mace,
    mv,
    ptbcc,
    tiremge,
)
from finegold.methods.lookup import no_setting
from finegold.votes.encoding import match, to_list
from finegold.votes.frames import make_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Estimator:
    """Adds `fit`, `predict`, `predict_proba`, `score` and the like to a method.

    Its parameters are the settings of the method. It works with functions of scikit-learn such as
    `clone`, `check_is_fitted` and `GridSearchCV`.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> model = finegold.PTBCC(n_prototypes=3).fit(votes)
        >>> model
        PTBCC(n_prototypes=3)
        >>> model.result_.label.tolist()
        ['x', 'y']
    """

    _result: Result | None = None

    # attributes of the method that the class is combined with
    if TYPE_CHECKING:
        name: str
        _given: dict[str, Any]

        @classmethod
        def defaults(cls) -> dict[str, Any]: ...
    else:

        def __new__(cls, **settings: Any) -> Self:
            made = super().__new__(cls)
            made._given = settings
            return made

        def __init_subclass__(cls) -> None:
            super().__init_subclass__()
            cls.__doc__ = cls.__doc__ or cls.__mro__[2].__doc__

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> Self:
        """Fit to votes: then there are `labels_`, `probas_` and `result_`.

        Args:
            X (path, data frame or Annotations): The votes, one per row; columns such as task,
                worker and label are recognised.
            y (path, data frame or mapping): Known truths of some tasks, the same as `gold` of
                `finegold.aggregate`.
            **keywords: Other keywords of `finegold.aggregate`, such as `threads` or `repeated`.

        Raises:
            InputError: If the votes cannot be read.
        """
        self._result = aggregate(X, self, gold=y, **keywords)  # type: ignore[call-overload]  # is also a Method
        return self

    def fit_predict(self, X: Any, y: Any = None, **keywords: Any) -> Any:
        """Fit to votes, as `fit` does, and return `labels_`.

        Args:
            X (path, data frame or Annotations): The votes.
            y (path, data frame or mapping): Known truths of some tasks.
            **keywords: The same as for `fit`.
        """
        return self.fit(X, y, **keywords).labels_

    def predict(self, X: Any = None, **keywords: Any) -> Any:
        """Return the labels of the tasks of further votes, by all votes together.

        Args:
            X (path, data frame or Annotations): Further votes. By default, `labels_` are returned.
            **keywords: How to read the votes, as in `finegold.read`.

        Returns:
            Series or DataFrame: The label of every task of `X`.
        """
        result, tasks = self._with(X, keywords)
        frame = _frame(result, tasks, {"label": result.label[tasks]})
        return frame["label"] if hasattr(frame, "set_index") else frame

    def predict_proba(self, X: Any = None, **keywords: Any) -> Any:
        """Return the probabilities of the tasks of further votes, by all votes together.

        Args:
            X (path, data frame or Annotations): Further votes. By default, `probas_` are returned.
            **keywords: How to read the votes, as in `finegold.read`.

        Returns:
            DataFrame: One row per task of `X` and one column per class.
        """
        result, tasks = self._with(X, keywords)
        names, shares = to_list(result.class_names), result.posterior[tasks].T.copy()
        frame = _frame(result, tasks, dict(zip(map(str, names), shares, strict=True)))
        if hasattr(frame, "set_index"):
            frame.columns = type(frame.columns)(names, name="label")
        return frame

    def score(self, X: Any, y: Any, **keywords: Any) -> float:
        """Return the share of right labels of `predict(X)` among tasks with known truths.

        Args:
            X (path, data frame or Annotations): Further votes, or None for those of the fit.
            y (path, data frame or mapping): Known truths of some tasks.
            **keywords: How to read the votes, as in `finegold.read`.
        """
        return float(figures_of(self._with(X, keywords)[0], y)["accuracy"])

    def _with(self, X: Any, keywords: dict[str, Any]) -> tuple[Result, NDArray[np.int64]]:
        """Return the result with further votes, and the positions of their tasks."""
        if X is None:
            return self.result_, np.arange(len(self.result_.task_names))
        from finegold.io.read import read

        votes = read(X, **keywords)
        result = self.result_.update(votes)
        return result, match(votes.task_names, result.task_names).astype(np.int64)

    @property
    def result_(self) -> Result:
        """The result of the last fit, with everything that `finegold.aggregate` returns."""
        if self._result is None:
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(votes) first"
            )
        return self._result

    @property
    def labels_(self) -> Any:
        """The label of every task: a series indexed by task (pandas), otherwise a frame of task and
        label.
        """
        return self.predict()

    @property
    def probas_(self) -> Any:
        """The probability of every class for every task: a frame with one row per task and one
        column per class.
        """
        return self.predict_proba()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all settings by name, including those that have their default.

        Args:
            deep: Has no effect: settings are not estimators.
        """
        return self.defaults() | self._given

    def set_params(self, **params: Any) -> Self:
        """Change settings. The result of the last fit is kept until the next fit.

        Args:
            **params: The new values of settings.

        Raises:
            InputError: If there is no such setting, or if it cannot have this value.
        """
        if unknown := sorted(set(params) - set(self.defaults())):
            raise no_setting(self.name, unknown[0])
        vars(self).update(vars(type(self)(**self._given | params)))
        return self

    def __repr__(self) -> str:
        defaults = {name: repr(value) for name, value in self.defaults().items()}
        given = {name: repr(value) for name, value in self._given.items()}
        shown = [f"{name}={text}" for name, text in given.items() if text != defaults[name]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._result is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))


def _frame(result: Result, tasks: NDArray[np.int64], columns: dict[str, Any]) -> Any:
    """Return a frame with a row per task, indexed by task if it is of pandas."""
    frame = make_frame({"task": result.task_names[tasks], **columns}, result.task_names)
    return frame.set_index("task") if hasattr(frame, "set_index") else frame


class AnchoredVote(Estimator, anchored.AnchoredVote): ...


class BWA(Estimator, bwa.BWA): ...


class CATD(Estimator, catd.CATD): ...


class CBCC(Estimator, cbcc.CBCC): ...


class DS(Estimator, ds.DS): ...


class EBCC(Estimator, ebcc.EBCC): ...


class FGBCC(Estimator, fgbcc.FGBCC): ...


class GLAD(Estimator, glad.GLAD): ...


class HDS(Estimator, hds.HDS): ...


class IBCC(Estimator, ibcc.IBCC): ...


class MACE(Estimator, mace.MACE): ...


class MajorityVote(Estimator, mv.MajorityVote): ...


class PTBCC(Estimator, ptbcc.PTBCC): ...


class TiReMGE(Estimator, tiremge.TiReMGE): ...
