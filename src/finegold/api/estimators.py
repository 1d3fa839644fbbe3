"""Estimators: every method as a class of `finegold` with `fit`, `labels_`, `probas_`, `get_params`
and `set_params`.

The estimator of a method is made from the method's own class, whose settings and docstring it has.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from finegold.api.result import Result
from finegold.errors import InputError, NotFittedError
from finegold.methods.base import Method
from finegold.methods.lookup import method_class, no_setting
from finegold.votes.encoding import Names, to_list
from finegold.votes.frames import make_frame


class Listed(ABCMeta):
    """Metaclass that limits `dir()` and `help()` to what users need, without the steps of the fit."""

    def __dir__(cls) -> list[str]:
        ours = {name for base in cls.__mro__ if issubclass(base, Estimator) for name in vars(base)}
        settings = (*cls.defaults(), "name") if issubclass(cls, Method) else ()
        public = {name for name in ours - set(dir(Method)) if not name.startswith("_")}
        return sorted({*dir(object), *public, *settings})


class Estimator(metaclass=Listed):
    """Adds `fit`, `partial_fit`, `fit_predict` and `fit_predict_proba` to a method.

    Its parameters are the settings of the method. It works with functions of scikit-learn such as
    `clone` and `check_is_fitted`.

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

    # attributes of the Method that the class is combined with
    if TYPE_CHECKING:
        name: str
        settings: dict[str, Any]

    def fit(self, X: Any = None, y: Any = None, *, data: Any = None, **reading: Any) -> Self:
        """Fit to votes.

        Args:
            X (path, data frame or Annotations): The votes, one per row; columns such as task,
                worker and label are recognised. `data` is crowd-kit's name.
            data (path, data frame or Annotations): The same, under crowd-kit's name.
            y (path, data frame or mapping): Known truths of some tasks, the same as `gold` of
                `finegold.aggregate`.
            **reading: Other keywords of `finegold.aggregate`, such as `threads`, `gold` or
                `repeated`.

        Returns:
            Estimator: This object, with `labels_`, `probas_` and `result_`.

        Raises:
            InputError: If the votes cannot be read, or if they or the truths are given twice.
        """
        from finegold.api.aggregate import aggregate

        votes, known = (
            one_of("X", X, "data", data),
            one_of("y", y, "gold", reading.pop("gold", None)),
        )
        self._result = aggregate(votes, self, gold=known, **reading)  # type: ignore[arg-type]  # is also a Method
        return self

    def partial_fit(
        self, X: Any = None, y: Any = None, *, data: Any = None, **reading: Any
    ) -> Self:
        """Add votes to those of earlier fits, as `Result.update` does. The first call fits the
        votes.

        Args:
            X (path, data frame or Annotations): The new votes.
            data (path, data frame or Annotations): The same, under crowd-kit's name.
            y (path, data frame or mapping): New known truths, the same as `gold` of
                `Result.update`.
            **reading: Other keywords of `Result.update`.

        Returns:
            Estimator: This object.
        """
        if self._result is None:
            return self.fit(X, y, data=data, **reading)
        votes, known = (
            one_of("X", X, "data", data),
            one_of("y", y, "gold", reading.pop("gold", None)),
        )
        self._result = self._result.update(votes, gold=known, **reading)
        return self

    def fit_predict(self, *votes: Any, **reading: Any) -> Any:
        """Fit to votes and return the label of every task.

        Args:
            *votes (object): The arguments of `fit`.
            **reading (object): The same.

        Returns:
            Series or DataFrame: As `labels_`.
        """
        return self.fit(*votes, **reading).labels_

    def fit_predict_proba(self, *votes: Any, **reading: Any) -> Any:
        """Fit to votes and return the probability of every class for every task.

        Args:
            *votes (object): The arguments of `fit`.
            **reading (object): The same.

        Returns:
            DataFrame: As `probas_`.
        """
        return self.fit(*votes, **reading).probas_

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
        return as_series("task", self.result_.task_names, "agg_label", self.result_.label)

    @property
    def probas_(self) -> Any:
        """The probability of every class for every task: a frame with one row per task and one
        column per class.
        """
        columns = self.result_.posterior.T.copy()
        return as_table(
            {"task": self.result_.task_names}, self.result_.class_names, columns, "label"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name.

        Args:
            deep: Has no effect: settings are not estimators.

        Returns:
            All settings, including those that have their default.
        """
        return dict(self.settings)

    def set_params(self, **params: Any) -> Self:
        """Change settings. The result of the last fit is kept until the next fit.

        Args:
            **params: The new values of settings.

        Returns:
            Estimator: This object.

        Raises:
            InputError: If there is no such setting, or if it cannot have this value.
        """
        if unknown := sorted(set(params) - set(self.get_params())):
            raise no_setting(self.name, unknown[0])
        vars(self).update(vars(type(self)(**{**self._own_settings(), **params})))
        return self

    def _own_settings(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults, which may depend on the other
        settings.
        """
        params, changed = self.get_params(), {}
        for name, value in params.items():
            try:
                default = type(self)(
                    **{other: params[other] for other in params if other != name}
                ).get_params()[name]
            except InputError:
                # another setting requires it
                default = None
            is_plain = isinstance(value, bool | int | float | str)
            if not (value is default or (is_plain and value == default)):
                changed[name] = value
        return changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._own_settings().items())})"

    def __dir__(self) -> list[str]:
        return dir(type(self))

    def __sklearn_is_fitted__(self) -> bool:
        return self._result is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))


def one_of(name: str, value: Any, other_name: str, other: Any) -> Any:
    """Return the value of an argument that has two names."""
    if value is not None and other is not None:
        raise InputError(f"{name} and {other_name} mean the same; give one of them")
    return other if value is None else value


def as_series(index_name: str, index: Names, name: str, values: Any) -> Any:
    """Return an indexed series (pandas), otherwise a frame of two columns."""
    frame = make_frame({index_name: index, name: values}, index)
    return frame.set_index(index_name)[name] if hasattr(frame, "set_index") else frame


def as_table(
    index: dict[str, Names], names: Names, columns: Iterable[Any], columns_name: str | None = None
) -> Any:
    """Return a frame with these columns, indexed by the first ones (pandas), otherwise with them as
    columns.
    """
    plain = to_list(names)
    named = {str(name): values for name, values in zip(plain, columns, strict=True)}
    frame = make_frame({**index, **named}, next(iter(index.values())))
    if not hasattr(frame, "set_index"):
        return frame
    frame = frame.set_index(list(index) if len(index) > 1 else next(iter(index)))
    frame.columns = type(frame.columns)(plain, name=columns_name)
    return frame


@cache
def estimator(name: str) -> type[Any]:
    """Return the estimator class of a method: `finegold.PTBCC` is the method "ptbcc" with `fit` and
    its results.
    """
    chosen = method_class(name)
    return Listed(
        chosen.__name__, (Estimator, chosen), {"__doc__": chosen.__doc__, "__module__": "finegold"}
    )
