"""ModelSelector: what is trained, what is told to the agent, and what it says to bad input."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
from river import base, checks, compose, datasets, evaluate, linear_model, metrics, naive_bayes, optim, preprocessing
from sklearn.linear_model import SGDClassifier

import allworlds as aw


class Fixed(base.Classifier):
    """Always predicts one label, and counts what it is asked and taught."""

    def __init__(self, label):
        self.label, self.taught, self.asked = label, 0, 0

    def learn_one(self, x, y):
        self.taught += 1

    def predict_one(self, x):
        self.asked += 1
        return self.label


class Shared:
    """Three models in one object."""

    def __init__(self, answers=(0, 1, None)):
        self.answers, self.taught = answers, 0

    def __len__(self):
        return 3

    def learn_one(self, x, y):
        self.taught += 1

    def predict_each(self, x):
        return self.answers


def four(**options):
    return aw.ModelSelector({"a": [Fixed(0), Fixed(1)], "b": [Fixed(1), Fixed(1)]}, seed=3, **options)


def test_only_the_drawn_family_is_trained_and_the_counts_say_so():
    selector = four()
    for _ in range(200):
        family = selector.drawn[0]
        before = {name: [model.taught for model in models] for name, models in selector.families.items()}
        selector.learn_one({"x": 1.0}, 0)
        for name, models in selector.families.items():
            assert [model.taught - old for model, old in zip(models, before[name], strict=True)] == [name == family] * 2
    assert selector.updates == {name: sum(m.taught for m in models) for name, models in selector.families.items()}
    assert selector.work == pytest.approx(0.5)


def test_the_agent_is_told_the_loss_of_every_model_of_the_drawn_family_before_it_learns():
    selector = four()
    twin = aw.Agent(aw.TsallisShannon(aw.graphs.disjoint_cliques(2, 2)), 3)
    losses = [0.0, 1.0, 1.0, 1.0]  # the label is always 0
    for _ in range(100):
        decision = twin.choose()
        family, place = selector.drawn
        assert decision.arm == {"a": 0, "b": 2}[family] + place
        twin.observe(decision, {arm: losses[arm] for arm in decision.observes})
        selector.learn_one({"x": 1.0}, 0)
    assert max(selector.probabilities, key=selector.probabilities.get) == ("a", 0)
    assert sum(selector.probabilities.values()) == pytest.approx(1.0)


def test_predictions_are_those_of_the_drawn_model_and_change_nothing():
    selector = four()
    for _ in range(30):
        name, place = selector.drawn
        before = selector.probabilities
        assert {selector.predict_one({"x": 1.0}) for _ in range(3)} == {selector.families[name][place].label}
        assert selector.drawn == (name, place)
        assert selector.probabilities == before
        selector.learn_one({"x": 1.0}, 0)


def test_the_likeliest_model_predicts_while_the_drawn_family_learns():
    selector = four(predict_with="likeliest")
    for _ in range(300):
        selector.learn_one({"x": 1.0}, 0)
    assert selector.predictor == ("a", 0)
    drawn = set()
    for _ in range(600):
        drawn.add(selector.drawn[0])
        assert selector.predict_one({"x": 1.0}) == 0
        selector.learn_one({"x": 1.0}, 0)
    assert drawn == {"a", "b"}


def test_all_families_learn_while_it_warms_up_and_a_part_afterwards_if_asked_to():
    selector = four(warm_up=10)
    for _ in range(10):
        selector.learn_one({"x": 1.0}, 0)
    assert selector.updates == {"a": 20, "b": 20}
    selector.learn_one({"x": 1.0}, 0)
    assert sum(selector.updates.values()) == 42
    fresh = four(refresh=0.25)
    for _ in range(2000):
        fresh.learn_one({"x": 1.0}, 0)
    assert fresh.work == pytest.approx(0.5 + 0.5 * 0.25, abs=0.5 * 4 * np.sqrt(0.25 * 0.75 / 2000))


def test_the_half_life_is_that_of_the_learner():
    assert four(half_life=100).agent.learner.half_life == 100
    assert four().agent.learner.half_life is None
    assert four(learner="ucb-n:width=0.5").agent.learner.name == "ucb-n"


def test_a_family_may_be_one_object_that_shares_the_work_of_several_models():
    shared = Shared()
    selector = aw.ModelSelector({"shared": shared}, seed=1)
    for _ in range(400):
        selector.learn_one({"x": 1.0}, 1)
    assert shared.taught == 400
    assert selector.updates == {"shared": 1200}
    chance = selector.probabilities
    assert chance["shared", 0] < 0.05
    assert chance["shared", 1] == pytest.approx(chance["shared", 2], abs=0.1)  # None: the most frequent label stands in


def test_scikit_learn_and_river_models_can_be_mixed_and_fed_either_way():
    rows = np.random.default_rng(1).normal(size=(300, 3))
    labels = (rows[:, 0] > 0).astype(int)
    families = {
        "river": [linear_model.LogisticRegression(optim.SGD(0.1))],
        "sklearn": [SGDClassifier(alpha=alpha, random_state=1) for alpha in (1e-4, 1e-3)],
    }
    batches = aw.ModelSelector(copy.deepcopy(families), seed=2)
    for start in range(0, 300, 10):
        batches.partial_fit(rows[start : start + 10], labels[start : start + 10], classes=[0, 1])
    assert np.mean(batches.predict(rows) == labels) > 0.9
    assert batches.agent.round == 31
    single = aw.ModelSelector(copy.deepcopy(families), classes=[0, 1], seed=2)
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        single.learn_one(dict(enumerate(row)), label)
    assert all(count > 0 for count in single.updates.values())
    assert np.mean([single.predict_one(dict(enumerate(row))) == y for row, y in zip(rows, labels, strict=True)]) > 0.9


def test_a_loss_of_your_own_decides_what_is_good():
    costly = aw.ModelSelector(
        {"a": [Fixed(0)], "b": [Fixed(1)]}, loss=lambda y, p: 0.1 if y < p else float(y > p), seed=1
    )
    rng = np.random.default_rng(5)
    for label in (rng.random(600) < 0.3).astype(int):  # 0 is right more often, but to miss a 1 costs ten times as much
        costly.learn_one({"x": 0.0}, int(label))
    assert costly.probabilities["b", 0] > 0.8


def test_it_is_a_classifier_of_river_and_passes_rivers_own_checks():
    selector = aw.ModelSelector(**next(aw.ModelSelector._unit_test_params()))
    done = 0
    for check in checks.yield_checks(selector):
        check(selector.clone())
        done += 1
    assert done > 30
    families = {
        "lin": [linear_model.LogisticRegression(optim.SGD(r)) for r in (1e-4, 1e-1)],
        "nb": [naive_bayes.GaussianNB()],
    }
    model = compose.Pipeline(preprocessing.StandardScaler(), aw.ModelSelector(families, seed=1))
    assert not model["ModelSelector"]._multiclass
    assert evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85


def test_a_copy_goes_on_by_itself_as_the_first_does():
    selector = four(refresh=0.5)
    for _ in range(20):
        selector.learn_one({"x": 1.0}, 0)
    twin = copy.deepcopy(selector)
    for _ in range(50):
        assert twin.drawn == selector.drawn
        selector.learn_one({"x": 1.0}, 0)
        twin.learn_one({"x": 1.0}, 0)
    assert twin.updates == selector.updates


def test_it_works_without_river():
    code = (
        "import sys; sys.modules['river'] = None; sys.modules['river.base'] = None\n"
        "import allworlds as aw\n"
        "class M:\n"
        "    def learn_one(self, x, y): pass\n"
        "    def predict_one(self, x): return 1\n"
        "s = aw.ModelSelector({'a': [M()]}, seed=1); s.learn_one({}, 1); print(s.predict_one({}), s.work)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1.0"]


@pytest.mark.parametrize(
    ("families", "options", "sentence"),
    [
        ({}, {}, r"families is empty; expected a dictionary of lists of models"),
        ([Fixed(0)], {}, r"families is a list; expected a dictionary"),
        ({"a": []}, {}, r"family 'a' is empty; expected at least one model"),
        ({"a": Fixed(0)}, {}, r"family 'a' is a Fixed; expected a list of models"),
        ({"a": [Fixed]}, {}, r"contains the class Fixed; expected models .* so try Fixed\(\)"),
        ({"a": [3]}, {}, r"family 'a' contains a int; expected models with learn_one"),
        ({"a": [Fixed(0)]}, {"learner": "nobody"}, r"nobody"),
        ({"a": [Fixed(0)]}, {"learner": 3}, r"learner is a int; expected a name such as 'ucb-n'"),
        ({"a": [Fixed(0)]}, {"half_life": 3}, r"half_life is 3; expected an integer of at least 10"),
        ({"a": [Fixed(0)]}, {"learner": "ucb-n", "half_life": 100}, r"half_life"),
        ({"a": [Fixed(0)]}, {"warm_up": -1}, r"warm_up is -1; expected an integer of at least 0"),
        ({"a": [Fixed(0)]}, {"refresh": 2}, r"refresh is 2; expected a number from 0 to 1"),
        ({"a": [Fixed(0)]}, {"predict_with": "best"}, r"predict_with is 'best'; expected 'drawn' or 'likeliest'"),
        ({"a": [Fixed(0)]}, {"loss": "brier"}, r"loss is 'brier'; expected a function"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(families, options, sentence):
    with pytest.raises(aw.AllWorldsError, match=sentence):
        aw.ModelSelector(families, seed=1, **options)


def test_bad_examples_are_refused_in_a_sentence_and_nothing_is_learnt():
    selector = four(loss=lambda y, p: 7.0 if y == "bad" else float(y != p))
    models = {"a": [SGDClassifier()]}
    with pytest.raises(aw.AllWorldsError, match="nothing was learnt yet; expected partial_fit before predict"):
        selector.predict([[1.0]])
    for wrong, sentence in [
        (lambda: selector.learn_one([1.0], 0), r"x is \[1.0\]; expected a dictionary of features"),
        (lambda: selector.learn_one({"x": 1.0}, "bad"), "loss is 7.0; .* for the label 'bad' and the prediction"),
        (lambda: selector.partial_fit([1.0], [0]), r"X has shape \(1,\); expected \(rows, features\)"),
        (lambda: selector.partial_fit([[1.0]], [0]), r"X has the features \[0\]; expected \['x'\]"),
        (lambda: aw.ModelSelector(models).partial_fit([[1.0]], [0, 1]), r"y has shape \(2,\); expected \(1,\)"),
        (lambda: aw.ModelSelector(models).partial_fit([[1.0]], [0]), "must know all classes beforehand; try classes="),
        (lambda: aw.ModelSelector({"s": Shared((1,))}).learn_one({}, 1), "gave 1 predictions; expected 3, its length"),
    ]:
        with pytest.raises(aw.AllWorldsError, match=sentence):
            wrong()
    assert selector.agent.round == 1
    assert selector.updates == {"a": 0, "b": 0}
