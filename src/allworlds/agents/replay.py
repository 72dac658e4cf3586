"""Let another learner live through a log: what it would have chosen, and what it would have learnt.

In each round the learner draws an arm. It may learn the outcome only if the log shows all that it would have seen. That
happens with a probability ``q`` that depends on the arm: learning whenever possible would teach it mostly from the arms
that the log prefers. So it learns with probability ``c / q``. Every round is then learnt from with the same probability
``c``, whatever it chose, and the learner lives through a shorter, fair version of the log. This is rejection sampling:
Li, Chu, Langford and Wang, WSDM 2011; for logs that are not uniform Dudik, Erhan, Langford and Li, UAI 2012. The
learner's distributions are older than the rounds they are applied to, so its estimates and intervals are those of any
policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allworlds.agents.logged_rounds import Floats, Ints, LoggedRounds
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import STREAM_AGENT, as_seed, uniform_pair
from allworlds.learners import Learner

OnProgress = Callable[[int, int, str], None]
LEAST_ACCEPTANCE = 0.01
"""By default, ``c`` is the least ``q`` of the log, but at least this."""


class Replayed(NamedTuple):
    """The distributions of a learner along a log."""

    distributions: Floats
    """(V, N) one for each time the learner had changed."""
    version: Ints
    """(n,) which of them was in force in each round."""
    n_learnt: int
    notes: tuple[str, ...]


def replay(
    learner: Learner,
    rounds: LoggedRounds,
    *,
    acceptance: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Replayed:
    """Play ``learner`` on the rounds of a log.

    ``acceptance`` is ``c``. By default it is the least probability of seeing what the learner asks for, over arms and
    rounds, but at least 0.01. Where ``q < c`` the learner learns too seldom; a note says how often that was so.
    """
    if learner.n_arms != rounds.n_arms:
        raise InvalidParameter(f"the learner has {learner.n_arms} arms; expected those of the log, {rounds.n_arms}")
    seeds = as_seed(seed)
    chances = _chances(learner, rounds)
    least = float(chances.min())
    if least <= 0.0 and acceptance is None and float(chances.max()) <= 0.0:
        raise InvalidParameter("the log never shows all that the learner wants to see; nothing can be replayed")
    c = max(least, LEAST_ACCEPTANCE) if acceptance is None else real("acceptance", acceptance, above=0, at_most=1)
    seen = rounds.seen
    starts = np.searchsorted(seen.round, np.arange(rounds.n_rounds + 1))
    state, versions, version = learner.init(), [], np.empty(rounds.n_rounds, np.int64)
    changed, capped, step = True, 0, max(1, rounds.n_rounds // 100)
    for t in range(rounds.n_rounds):
        if changed:
            versions.append(learner.distribution(state))
        version[t] = len(versions) - 1
        ticket = learner.draw(state, *uniform_pair(seeds, STREAM_AGENT, t, 0))
        wanted, chance = learner.observes(ticket.arm), chances[t, ticket.arm]
        capped += chance < c
        arms = seen.arm[starts[t] : starts[t + 1]]
        places = np.searchsorted(arms, wanted)
        changed = bool(places.size and places.max() < arms.size and (arms[places] == wanted).all())
        changed = changed and uniform_pair(seeds, STREAM_AGENT, t, 1)[0] * chance < c
        if changed:
            learner.update(state, ticket, seen.loss[starts[t] : starts[t + 1]][places])
        if on_progress is not None and t % step == 0:
            on_progress(t, rounds.n_rounds, "rounds replayed")
    n_learnt = len(versions) - 1 + int(changed)
    notes = [f"learnt from {n_learnt:,} of {rounds.n_rounds:,} rounds (acceptance {c:.3g})"]
    if capped:
        notes.append(
            f"in {100 * capped / rounds.n_rounds:.1f}% of the rounds its arm was too rare in the log to be fair"
        )
    return Replayed(np.array(versions), version, n_learnt, tuple(notes))


def _chances(learner: Learner, rounds: LoggedRounds) -> Floats:
    """(n, N) the probability that the log shows all that the learner would see with each arm."""
    header = getattr(rounds.table, "attrs", {}).get("log", {})
    shows = header.get("shows")
    columns = rounds.table.columns
    kept = rounds.table["probabilities"].to_numpy()[rounds.places] if "probabilities" in columns else [None]
    if shows is None or any(value is None for value in kept):
        raise InvalidParameter(
            "the log has no probabilities of all arms, or does not say who shows whom; a learner can be replayed only "
            "on logs with both, as agents write them up to 256 arms"
        )
    vectors = np.array([np.asarray(value, dtype=np.float64) for value in kept])
    where, starts, order = (np.array(shows[name], dtype=np.int64) for name in ("where", "starts", "order"))
    groups = [set(order[starts[g] : starts[g + 1]].tolist()) for g in range(starts.size - 1)]
    serving = np.zeros((rounds.n_arms, rounds.n_arms))  # whether playing j shows all that the learner sees with i
    for i in range(rounds.n_arms):
        wanted = set(learner.observes(i).tolist())
        serving[:, i] = np.array([wanted <= group for group in groups])[where]
    chances: Floats = np.minimum(vectors @ serving, 1.0)
    return chances
