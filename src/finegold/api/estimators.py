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

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> Self:
        """Fit to votes.

        Args:
            X (path, data frame or Annotations): The votes, one per row; columns such as task,
                worker and label are recognised.
            y (path, data frame or mapping): Known truths of some tasks, the same as `gold` of
                `finegold.aggregate`.
            **keywords: Other keywords of `finegold.aggregate`, such as `threads` or `repeated`.

        Returns:
            Estimator: This object, with `labels_`, `probas_` and `result_`.

        Raises:
            InputError: If the votes cannot be read.
        """
        self._result = aggregate(X, self, gold=y, **keywords)  # type: ignore[call-overload]  # is also a Method
        return self

    def partial_fit(self, X: Any = None, y: Any = None, **keywords: Any) -> Self:
        """Add votes to those of earlier fits, as `Result.update` does. The first call fits the
        votes.

        Args:
            X (path, data frame or Annotations): The new votes.
            y (path, data frame or mapping): New known truths, the same as `gold` of
                `Result.update`.
            **keywords: Other keywords of `Result.update`.

        Returns:
            Estimator: This object.
        """
        if self._result is None:
            return self.fit(X, y, **keywords)
        self._result = self._result.update(X, gold=y, **keywords)
        return self

    def fit_predict(self, X: Any, y: Any = None, **keywords: Any) -> Any:
        """Fit to votes and return the label of every task.

        Args:
            X (path, data frame or Annotations): The votes, as for `fit`.
            y (path, data frame or mapping): Known truths of some tasks.
            **keywords: The same as for `fit`.

        Returns:
            Series or DataFrame: As `labels_`.
        """
        return self.fit(X, y, **keywords).labels_

    def fit_predict_proba(self, X: Any, y: Any = None, **keywords: Any) -> Any:
        """Fit to votes and return the probability of every class for every task.

        Args:
            X (path, data frame or Annotations): The votes, as for `fit`.
            y (path, data frame or mapping): Known truths of some tasks.
            **keywords: The same as for `fit`.

        Returns:
            DataFrame: As `probas_`.
        """
        return self.fit(X, y, **keywords).probas_

    def predict(self, X: Any = None, **keywords: Any) -> Any:
        """Return the labels of the tasks of further votes, by all votes together.

        Args:
            X (path, data frame or Annotations): Further votes. By default, `labels_` are returned.
            **keywords: How to read the votes, as in `finegold.read`.

        Returns:
            Series or DataFrame: The label of every task of `X`.
        """
        return _labels(*self._with(X, keywords))

    def predict_proba(self, X: Any = None, **keywords: Any) -> Any:
        """Return the probabilities of the tasks of further votes, by all votes together.

        Args:
            X (path, data frame or Annotations): Further votes. By default, `probas_` are returned.
            **keywords: How to read the votes, as in `finegold.read`.

        Returns:
            DataFrame: One row per task of `X` and one column per class.
        """
        return _probabilities(*self._with(X, keywords))

    def score(self, X: Any, y: Any, **keywords: Any) -> float:
        """Return the share of right labels among tasks with known truths.

        Args:
            X (path, data frame or Annotations): Further votes, or None for those of the fit.
            y (path, data frame or mapping): Known truths of some tasks.
            **keywords: How to read the votes, as in `finegold.read`.

        Returns:
            The accuracy of `predict(X)`.
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
        """Return the settings by name.

        Args:
            deep: Has no effect: settings are not estimators.

        Returns:
            All settings, including those that have their default.
        """
        return self.defaults() | self._given

    def set_params(self, **params: Any) -> Self:
        """Change settings. The result of the last fit is kept until the next fit.

        Args:
            **params: The new values of settings.

        Returns:
            Estimator: This object.

        Raises:
            InputError: If there is no such setting, or if it cannot have this value.
        """
        if unknown := sorted(set(params) - set(self.defaults())):
            raise no_setting(self.name, unknown[0])
        vars(self).update(vars(type(self)(**self._given | params)))
        return self

    def __repr__(self) -> str:
        defaults = self.defaults()
        given = [
            f"{name}={value!r}"
            for name, value in self._given.items()
            if value is not defaults[name] and repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._result is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))


class AnchoredVote(Estimator, anchored.AnchoredVote):
    __doc__ = anchored.AnchoredVote.__doc__


class BWA(Estimator, bwa.BWA):
    __doc__ = bwa.BWA.__doc__


class CATD(Estimator, catd.CATD):
    __doc__ = catd.CATD.__doc__


class CBCC(Estimator, cbcc.CBCC):
    __doc__ = cbcc.CBCC.__doc__


class DS(Estimator, ds.DS):
    __doc__ = ds.DS.__doc__


class EBCC(Estimator, ebcc.EBCC):
    __doc__ = ebcc.EBCC.__doc__


class FGBCC(Estimator, fgbcc.FGBCC):
    __doc__ = fgbcc.FGBCC.__doc__


class GLAD(Estimator, glad.GLAD):
    __doc__ = glad.GLAD.__doc__


class HDS(Estimator, hds.HDS):
    __doc__ = hds.HDS.__doc__


class IBCC(Estimator, ibcc.IBCC):
    __doc__ = ibcc.IBCC.__doc__


class MACE(Estimator, mace.MACE):
    __doc__ = mace.MACE.__doc__


class MajorityVote(Estimator, mv.MajorityVote):
    __doc__ = mv.MajorityVote.__doc__


class PTBCC(Estimator, ptbcc.PTBCC):
    __doc__ = ptbcc.PTBCC.__doc__


class TiReMGE(Estimator, tiremge.TiReMGE):
    __doc__ = tiremge.TiReMGE.__doc__


def _labels(result: Result, tasks: NDArray[np.int64]) -> Any:
    frame = make_frame(
        {"task": result.task_names[tasks], "label": result.label[tasks]}, result.task_names
    )
    return frame.set_index("task")["label"] if hasattr(frame, "set_index") else frame


def _probabilities(result: Result, tasks: NDArray[np.int64]) -> Any:
    names = to_list(result.class_names)
    columns = zip(map(str, names), result.posterior[tasks].T.copy(), strict=True)
    frame = make_frame({"task": result.task_names[tasks], **dict(columns)}, result.task_names)
    if not hasattr(frame, "set_index"):
        return frame
    frame = frame.set_index("task")
    frame.columns = type(frame.columns)(names, name="label")
    return frame
