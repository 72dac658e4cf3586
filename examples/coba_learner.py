"""Our learners beside coba's own in one of coba's experiments, where the best action changes half way."""

from __future__ import annotations

from typing import Any

import coba

from allworlds.adapters.coba import CobaLearner

ROUNDS, ACTIONS = 2_000, ["red", "green", "blue"]


def reward(index: int, context: Any, action: str, rng: Any) -> float:
    best = "red" if index < ROUNDS // 2 else "blue"
    return float(rng.random() < (0.7 if action == best else 0.3))


def main() -> None:
    environments = coba.Environments.from_lambda(
        ROUNDS,
        context=lambda index, rng: None,
        actions=lambda index, context, rng: ACTIONS,
        reward=reward,
        seed=1,
    )
    learners = [CobaLearner(seed=1), CobaLearner("exp3", seed=1), coba.RandomLearner()]
    result = coba.Experiment(environments, learners).run(quiet=True)
    means = result.interactions.to_pandas().groupby("learner_id")["reward"].mean()
    for learner, mean in zip(learners, means, strict=True):
        print(f"{learner.params.get('learner', 'random')}: {mean:.3f} a round")
    assert means[0] > means[2]


if __name__ == "__main__":
    main()
