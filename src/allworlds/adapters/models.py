"""Families of models: one way to train a model and to ask it, for every package that models come from.

A model is river's (``learn_one``, ``predict_one``) or scikit-learn's (``partial_fit``, ``predict``). A family is a list
of models, or one object that shares the work of several, such as nearest neighbours for many k: it has
``learn_one(x, y)``, ``predict_each(x)`` with a prediction for each of its models, and a length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import InvalidParameter

WANTED = "expected models with learn_one and predict_one, or with partial_fit and predict"


class Examples:
    """Some examples, as dictionaries for river and as a matrix for scikit-learn, made when asked for.

    ``names`` are the columns of the matrix. A feature that a dictionary does not have is 0; one that is not among the
    names is left out of the matrix.
    """

    def __init__(
        self, names: Sequence[Any], dictionaries: list[dict[Any, Any]] | None = None, matrix: Any = None
    ) -> None:
        self._names, self._dictionaries, self._matrix = names, dictionaries, matrix

    @property
    def dictionaries(self) -> list[dict[Any, Any]]:
        """One dictionary for each example, from the name of a feature to its value."""
        if self._dictionaries is None:
            self._dictionaries = [dict(zip(self._names, row, strict=True)) for row in self._matrix.tolist()]
        return self._dictionaries

    @property
    def matrix(self) -> NDArray[np.float64]:
        """(n, features)."""
        if self._matrix is None:
            rows = [[each.get(name, 0.0) for name in self._names] for each in self._dictionaries or ()]
            try:
                self._matrix = np.array(rows, dtype=np.float64)
            except (TypeError, ValueError):
                raise InvalidParameter(
                    f"x is {shorten(self._dictionaries)}; expected numbers, which models with partial_fit need"
                ) from None
        return self._matrix  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._dictionaries) if self._dictionaries is not None else len(self._matrix)


class Family(Protocol):
    """What a selector asks of a family."""

    size: int

    def predict(self, examples: Examples, default: Any) -> list[list[Any]]:
        """The predictions of each model; ``default`` where a model has none yet."""

    def predict_by(self, place: int, examples: Examples, default: Any) -> list[Any]:
        """The predictions of one model."""

    def learn(self, examples: Examples, labels: Sequence[Any], classes: Sequence[Any] | None) -> None:
        """Train all models."""


class ListedModels:
    """A family of models that learn side by side."""

    def __init__(self, name: str, models: Sequence[Any]) -> None:
        self.models = [_RiverModel(model) if _is_river(model) else _SklearnModel(name, model) for model in models]
        self.size = len(self.models)

    def predict(self, examples: Examples, default: Any) -> list[list[Any]]:
        """The predictions of each model."""
        return [model.predict(examples, default) for model in self.models]

    def predict_by(self, place: int, examples: Examples, default: Any) -> list[Any]:
        """The predictions of one model; the others are not asked."""
        return self.models[place].predict(examples, default)

    def learn(self, examples: Examples, labels: Sequence[Any], classes: Sequence[Any] | None) -> None:
        """Train all models."""
        for model in self.models:
            model.learn(examples, labels, classes)


class SharedModels:
    """A family that is one object: training it trains all its models, asking it gives all their predictions."""

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.model, self.size = name, model, len(model)

    def predict(self, examples: Examples, default: Any) -> list[list[Any]]:
        """The predictions of each model."""
        rows = [list(self.model.predict_each(x)) for x in examples.dictionaries]
        wrong = next((row for row in rows if len(row) != self.size), None)
        if wrong is not None:
            raise InvalidParameter(
                f"predict_each of family {self.name!r} gave {len(wrong)} predictions; expected {self.size}, its length"
            )
        return [[default if row[place] is None else row[place] for row in rows] for place in range(self.size)]

    def predict_by(self, place: int, examples: Examples, default: Any) -> list[Any]:
        """The predictions of one model."""
        return self.predict(examples, default)[place]

    def learn(self, examples: Examples, labels: Sequence[Any], classes: Sequence[Any] | None) -> None:
        """Train the object once."""
        for x, y in zip(examples.dictionaries, labels, strict=True):
            self.model.learn_one(x, y)


def as_family(name: str, given: Any) -> Family:
    """``given`` as a family; an error names the model that is not one."""
    if hasattr(given, "predict_each") and hasattr(given, "learn_one"):
        return SharedModels(name, given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidParameter(
            f"family {name!r} is a {type(given).__name__}; expected a list of models, or one object with learn_one, "
            "predict_each and a length"
        )
    if not given:
        raise InvalidParameter(f"family {name!r} is empty; expected at least one model")
    for model in given:
        if isinstance(model, type):
            raise InvalidParameter(
                f"family {name!r} contains the class {model.__name__}; {WANTED}, so try {model.__name__}()"
            )
        if not (_is_river(model) or (hasattr(model, "partial_fit") and hasattr(model, "predict"))):
            raise InvalidParameter(f"family {name!r} contains a {type(model).__name__}; {WANTED}")
    return ListedModels(name, given)


def _is_river(model: Any) -> bool:
    return hasattr(model, "learn_one") and hasattr(model, "predict_one")


class _RiverModel:
    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, examples: Examples, default: Any) -> list[Any]:
        answers = [self.model.predict_one(x) for x in examples.dictionaries]
        return [default if answer is None else answer for answer in answers]

    def learn(self, examples: Examples, labels: Sequence[Any], classes: Sequence[Any] | None) -> None:
        for x, y in zip(examples.dictionaries, labels, strict=True):
            self.model.learn_one(x, y)


class _SklearnModel:
    def __init__(self, name: str, model: Any) -> None:
        self.name, self.model = name, model

    @property
    def fitted(self) -> bool:
        return hasattr(self.model, "classes_")

    def predict(self, examples: Examples, default: Any) -> list[Any]:
        if not self.fitted:
            return [default] * len(examples)
        return list(self.model.predict(examples.matrix).tolist())

    def learn(self, examples: Examples, labels: Sequence[Any], classes: Sequence[Any] | None) -> None:
        if self.fitted:
            self.model.partial_fit(examples.matrix, labels)
            return
        if classes is None:
            raise InvalidParameter(
                f"family {self.name!r} has models of scikit-learn, which must know all classes beforehand; "
                "try classes=[0, 1], in ModelSelector or in the first partial_fit"
            )
        self.model.partial_fit(examples.matrix, labels, classes=np.asarray(classes))
