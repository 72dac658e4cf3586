"""The worlds of this package as gymnasium environments, registered as ``allworlds/World-v0``.

>>> import gymnasium
>>> import allworlds.adapters.gymnasium
>>> env = gymnasium.make("allworlds/World-v0", world="stochastic:gap=0.25", graph="disjoint-cliques:2x2", horizon=100)
>>> observation, info = env.reset(seed=7)
>>> observation, reward, terminated, truncated, info = env.step(3)
>>> info["seen"].tolist()
[0, 0, 1, 1]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import make_graph
from allworlds.kernels.random import as_seed
from allworlds.worlds.base import World
from allworlds.worlds.by_name import make_world
from allworlds.worlds.losses import WorldArrays, reveal

gymnasium: Any = import_extra("gymnasium", "adapters", "environments need")

ENVIRONMENT_ID = "allworlds/World-v0"


class WorldEnv(gymnasium.Env):  # type: ignore[misc]  # gymnasium is imported when it is there
    """A world as an environment: an action is an arm, its reward ``1 - loss``, and an episode has ``horizon`` rounds.

    There is nothing to observe before an action, so the observation is always 0. ``info`` has the side observations of
    the action: ``seen``, 1 for each arm that it shows, and ``losses``, 0 where ``seen`` is 0. ``reset(seed=s)`` gives
    the losses of ``allworlds.play(..., seed=s)``; without a seed the next episode has other losses.

    Parameters
    ----------
    world:
        A world, or its spec such as ``"switching:gap=0.25"``.
    graph:
        A fixed graph, or its spec such as ``"disjoint-cliques:3x4"``.
    horizon:
        Rounds of an episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as gymnasium declares it

    def __init__(
        self,
        world: str | World = "stochastic:gap=0.125",
        graph: str | FeedbackGraph = "disjoint-cliques:3x4",
        horizon: int = 1000,
    ) -> None:
        made = make_graph(graph) if isinstance(graph, str) else graph
        if not isinstance(made, FeedbackGraph):
            raise InvalidParameter(f"graph is a {type(made).__name__}; expected a FeedbackGraph or a spec of one")
        self.graph = made
        self.world = make_world(world, made.n_arms) if isinstance(world, str) else world
        if not isinstance(self.world, World) or self.world.n_arms != made.n_arms:
            raise InvalidParameter(
                f"world is {self.world!r}; expected a world with {made.n_arms} arms, as many as the graph has"
            )
        self.horizon = whole("horizon", horizon, at_most=self.world.longest)
        self.action_space = gymnasium.spaces.Discrete(made.n_arms)
        self.observation_space = gymnasium.spaces.Discrete(1)
        self._arms = np.arange(made.n_arms)
        self._run: tuple[WorldArrays, int] | None = None
        self._round = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**63 - 1)) if seed is None else as_seed(seed)
        self._run, self._round = (self.world.for_run(number, self.horizon), number), 0
        return 0, self._info(np.zeros(0, dtype=np.int64), np.zeros(self.world.n_arms))

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an arm: observation, reward, terminated (never), truncated (after the last round) and info."""
        arm = index("action", action, self.world.n_arms)
        if self._run is None or self._round >= self.horizon:
            raise InvalidParameter(f"round {self._round} of {self.horizon} is over; expected env.reset() before step")
        self._round += 1
        rows = np.empty((4, self.world.n_arms))
        reveal(self._run[0], self._run[1], self._round, self._arms, rows)
        info = self._info(np.asarray(self.graph.sees(arm)), rows[2])
        return 0, float(1.0 - rows[2, arm]), False, self._round >= self.horizon, info

    def _info(self, shown: NDArray[np.int64], losses: NDArray[np.float64]) -> dict[str, Any]:
        """No NaN for what is hidden: gymnasium compares infos by equality."""
        seen = np.zeros(self.world.n_arms, dtype=np.int8)
        seen[shown] = 1
        return {"round": self._round, "seen": seen, "losses": np.where(seen == 1, losses, 0.0)}


if ENVIRONMENT_ID not in gymnasium.registry:
    gymnasium.register(ENVIRONMENT_ID, entry_point=WorldEnv)
