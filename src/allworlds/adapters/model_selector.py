"""Online model selection: one agent over families of models, of which only the drawn one is trained.

Each arm is a model and each clique a family. A round draws a model and predicts with it; when the label is known, the
agent is told the loss of every model in that family, and the family learns the example. All other families are left
alone, and that is what it is for: with ten families a tenth of the models is asked and trained.

**What no theorem covers.** A model that is not trained does not get better, so its losses depend on how often its
family was drawn. A family that learns slowly can be given up before it is good. ``warm_up`` trains all families on
the first examples, ``refresh`` each of the others on a random part of the rest.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from allworlds.adapters.models import Examples, ListedModels, as_family
from allworlds.agents import Agent
from allworlds.covers import CliqueCover
from allworlds.foundation.checks import numbers, real, shorten, whole
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import as_seed
from allworlds.learners.by_name import make_learner


def _classifier() -> type:
    """river's base class, so that its metrics and pipelines take a selector; ``object`` where river is not there."""
    try:
        return importlib.import_module("river.base").Classifier  # type: ignore[no-any-return]
    except ImportError:
        return object


Classifier: Any = _classifier()


class ModelSelector(Classifier):  # type: ignore[misc]  # river's, where river is installed
    """A classifier that selects among families of classifiers as it goes.

    Use it as a classifier of river (``predict_one``, ``learn_one``) or of scikit-learn (``predict``, ``partial_fit``);
    models of both packages may be mixed. One model is drawn at a time: predictions do not change anything, and learning
    draws the next model. Where a model has no prediction yet, the most frequent label so far stands in.

    Parameters
    ----------
    families:
        From the name of each family to its models: a list, or one object with ``learn_one(x, y)``, ``predict_each(x)``
        and a length, which shares the work of several models.
    learner:
        The name of a learner, such as ``"tsallis-shannon"`` or ``"ucb-n"``.
    half_life:
        For streams that drift: what the learner knows counts half after so many rounds (``tsallis-shannon`` only).
    warm_up:
        So many examples train all families.
    refresh:
        The probability with which an example trains a family that was not drawn, for each family by itself.
    predict_with:
        ``"drawn"``, or ``"likeliest"``: the model with the highest probability predicts, while the drawn family is
        still the one that learns. Then exploring costs no mistakes, but what is proved is about the drawn model.
    loss:
        A function of label and prediction, with values from 0 to 1; by default 1 for a wrong prediction.
    classes:
        All labels, which scikit-learn must know beforehand.
    seed:
        An integer; None takes a fresh one.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> families = {"linear": [SGDClassifier(alpha=a, random_state=1) for a in (1e-4, 1e-2)], "bayes": [BernoulliNB()]}
    >>> selector = ModelSelector(families, classes=[0, 1], seed=7)
    >>> for x, y in [([0.0, 1.0], 0), ([1.0, 0.0], 1)] * 50:
    ...     selector = selector.partial_fit([x], [y])
    >>> selector.predict([[0.1, 0.9]]).tolist()
    [0]
    >>> selector.n_models, selector.work < 0.75
    (3, True)
    """

    def __init__(
        self,
        families: Mapping[str, Any],
        *,
        learner: str = "tsallis-shannon",
        half_life: int | None = None,
        warm_up: int = 0,
        refresh: float = 0.0,
        predict_with: Literal["drawn", "likeliest"] = "drawn",
        loss: Callable[[Any, Any], float] | None = None,
        classes: Sequence[Any] | None = None,
        seed: int | None = None,
    ) -> None:
        if not isinstance(families, Mapping) or not families:
            given = "empty" if isinstance(families, Mapping) else f"a {type(families).__name__}"
            raise InvalidParameter(
                f"families is {given}; expected a dictionary of lists of models, such as "
                '{"linear": [...], "trees": [...]}'
            )
        if loss is not None and not callable(loss):
            raise InvalidParameter(f"loss is {shorten(loss)}; expected a function of label and prediction")
        self.families, self.learner, self.half_life, self.loss = families, learner, half_life, loss
        self.warm_up, self.refresh = (
            whole("warm_up", warm_up, at_least=0),
            real("refresh", refresh, at_least=0, at_most=1),
        )
        if predict_with not in ("drawn", "likeliest"):
            raise InvalidParameter(f"predict_with is {shorten(predict_with)}; expected 'drawn' or 'likeliest'")
        self.predict_with = predict_with
        self.classes, self.seed = classes, seed
        self._families = {str(name): as_family(str(name), models) for name, models in families.items()}
        self._places = [(name, i) for name, family in self._families.items() for i in range(family.size)]
        rule = self._make_learner()
        self._graph, self._agent = rule.graph, Agent(rule, as_seed(seed))
        self._decision = self._agent.choose()
        self._random = np.random.default_rng([self._agent.seed, 1])
        self._labels: Counter[Any] = Counter()
        self._names: list[Any] | None = None
        self._updates = dict.fromkeys(self._families, 0)

    def _make_learner(self) -> Any:
        """The learner on one clique for each family."""
        if not isinstance(self.learner, str):
            raise InvalidParameter(f"learner is a {type(self.learner).__name__}; expected a name such as 'ucb-n'")
        cliques = [[i for i, place in enumerate(self._places) if place[0] == name] for name in self._families]
        labels = [f"{name}/{place}" for name, place in self._places]
        graph = FeedbackGraph.from_cliques(len(labels), cliques, labels)
        spec = self.learner
        if self.half_life is not None:
            whole("half_life", self.half_life, at_least=10)
            spec = f"{spec}{',' if ':' in spec else ':'}half_life={self.half_life}"
        return make_learner(spec, CliqueCover(graph, cliques))

    @property
    def agent(self) -> Agent:
        """The agent; its arms are ``"family/place"``."""
        return self._agent

    @property
    def n_models(self) -> int:
        """How many models there are in all families."""
        return len(self._places)

    @property
    def drawn(self) -> tuple[str, int]:
        """The drawn model: its family, and its place there."""
        return self._places[int(self._graph.index_of(self._decision.arm))]

    @property
    def predictor(self) -> tuple[str, int]:
        """The model that predicts now: its family, and its place there."""
        if self.predict_with == "drawn":
            return self.drawn
        return self._places[int(np.argmax(self._agent.distribution))]

    @property
    def probabilities(self) -> dict[tuple[str, int], float]:
        """With which probability each model is drawn after the next example."""
        return dict(zip(self._places, self._agent.distribution.tolist(), strict=True))

    @property
    def updates(self) -> dict[str, int]:
        """How often a model of each family was trained on an example: examples times models."""
        return dict(self._updates)

    @property
    def work(self) -> float:
        """The share of ``updates`` in what training all models on all examples would have taken."""
        return sum(self._updates.values()) / max(1, self._labels.total() * self.n_models)

    @property
    def _multiclass(self) -> bool:
        """Whether river may hand it more than two labels: if all its models take them."""
        listed = [family for family in self._families.values() if isinstance(family, ListedModels)]
        return all(getattr(each.model, "_multiclass", True) for family in listed for each in family.models)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """What river's own checks build it with."""
        bayes = importlib.import_module("river.naive_bayes").GaussianNB
        yield {"families": {"one": [bayes()], "two": [bayes(), bayes()]}, "seed": 1}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label that the predictor gives; None before anything was learnt."""
        return self._predict(self._from_dictionary(x))[0]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probabilities of the predictor; all on its prediction where it has none."""
        name, place = self.predictor
        family = self._families[name]
        model = family.models[place].model if isinstance(family, ListedModels) else None
        chances = dict(model.predict_proba_one(x)) if model is not None and hasattr(model, "predict_proba_one") else {}
        if chances:
            return chances
        label = self.predict_one(x)
        return {} if label is None else {label: 1.0}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Tell the agent how the drawn family did on this example, train it, and draw the next model."""
        self._learn(self._from_dictionary(x), [y])

    def predict(self, X: Any) -> Any:
        """(n,) the labels that the predictor gives."""
        if not self._labels:
            raise InvalidParameter("nothing was learnt yet; expected partial_fit before predict")
        return np.asarray(self._predict(self._from_table(X)))

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> ModelSelector:
        """Learn a batch: one round of the agent, in which the loss of a model is its mean over the rows."""
        examples, labels = self._from_table(X), np.asarray(y)
        if labels.shape != (len(examples),) or not len(examples):
            raise InvalidParameter(
                f"y has shape {labels.shape}; expected ({len(examples)},), a label for each row of X"
            )
        if classes is not None and self.classes is None:
            self.classes = list(classes)
        self._learn(examples, labels.tolist())
        return self

    @property
    def _default(self) -> Any:
        return self._labels.most_common(1)[0][0] if self._labels else None

    def _predict(self, examples: Examples) -> list[Any]:
        name, place = self.predictor
        return self._families[name].predict_by(place, examples, self._default)

    def _learn(self, examples: Examples, labels: list[Any]) -> None:
        """Losses before training: each example is a test before it is a lesson."""
        chosen = self.drawn[0]
        predictions = self._families[chosen].predict(examples, self._default)
        losses = [float(np.mean([self._loss(y, p) for y, p in zip(labels, row, strict=True)])) for row in predictions]
        shown = {f"{chosen}/{place}": loss for place, loss in enumerate(losses)}
        self._agent.observe(self._decision, {arm: shown[str(arm)] for arm in self._decision.observes})
        early = self._labels.total() < self.warm_up
        for name, family in self._families.items():
            if name == chosen or early or (self.refresh > 0.0 and self._random.random() < self.refresh):
                family.learn(examples, labels, self.classes)
                self._updates[name] += family.size * len(examples)
        self._labels.update(labels)
        self._decision = self._agent.choose()

    def _loss(self, label: Any, prediction: Any) -> float:
        if self.loss is None:
            return float(label != prediction)
        value = self.loss(label, prediction)
        try:
            return real("loss", value, at_least=0, at_most=1, error=InvalidLosses)
        except InvalidLosses as error:
            raise InvalidLosses(f"{error}, for the label {label!r} and the prediction {prediction!r}") from None

    def _from_dictionary(self, x: Any) -> Examples:
        if not isinstance(x, Mapping):
            raise InvalidParameter(
                f"x is {shorten(x)}; expected a dictionary of features, or try partial_fit for arrays"
            )
        if self._names is None:
            self._names = list(x)
        return Examples(self._names, [dict(x)])

    def _from_table(self, X: Any) -> Examples:
        """An array or a data frame; its columns keep their names, or are numbered."""
        matrix = numbers("X", X)
        if matrix.ndim != 2:
            raise InvalidParameter(f"X has shape {matrix.shape}; expected (rows, features)")
        names = list(getattr(X, "columns", range(matrix.shape[1])))
        if self._names is None:
            self._names = names
        if names != self._names:
            raise InvalidParameter(
                f"X has the features {shorten(names)}; expected {shorten(self._names)}, as in the first example"
            )
        return Examples(names, matrix=matrix)
