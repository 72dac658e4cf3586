"""What side observations are worth, in a gymnasium environment.

Ten cliques of ten arms. One agent reads the losses of the whole clique in ``info``, the other the reward alone.
"""

from __future__ import annotations

import gymnasium

import allworlds as aw
import allworlds.adapters.gymnasium  # registers the environment

HORIZON = 3_000


def episode(env: gymnasium.Env, graph: aw.FeedbackGraph) -> float:
    """The total reward of an agent that is told what it would see on ``graph``."""
    agent = aw.Agent(graph, seed=1)
    env.reset(seed=1)
    total, truncated = 0.0, False
    while not truncated:
        decision = agent.choose()
        _, reward, _, truncated, info = env.step(decision.arm)
        agent.observe(decision, info["losses"][list(decision.observes)])
        total += float(reward)
    return total


def main() -> None:
    env = gymnasium.make(
        "allworlds/World-v0", world="stochastic:gap=0.5", graph="disjoint-cliques:10x10", horizon=HORIZON
    )
    with_side = episode(env, env.unwrapped.graph)
    without = episode(env, aw.graphs.bandit(100))
    print(f"reward of {HORIZON} rounds: {with_side:.0f} with side observations, {without:.0f} without")
    assert with_side > without


if __name__ == "__main__":
    main()
