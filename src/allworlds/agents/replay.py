"""Let another learner live through a log: what it would have chosen, and what it would have learnt.

In each round the learner draws an arm. It may learn the outcome only if the log shows all that it would have seen. That
happens with a probability ``q`` that depends on the arm: learning whenever possible would teach it mostly from the arms
that the log prefers. So it learns with probability ``c / q``. Every round is then learnt from with the same probability
``c``, whatever it chose, and the learner lives through a shorter, fair version of the log. This is rejection sampling:
Li, Chu, Langford and Wang, WSDM 2011; for logs that are not uniform Dudik, Erhan, Langford and Li, UAI 2012. The
learner's distributions are older than the rounds they are applied to, so its estimates and intervals are those of any
policy. Where not all arms were available, it draws among those that were, as an agent does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.drawing import check_redrawn, restricted
from allworlds.agents.logged_rounds import Floats, Ints, LoggedRounds
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import STREAM_AGENT, as_seed, uniform_pair
from allworlds.learners import Learner
from allworlds.learners.sampling import pick

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
    if rounds.available is not None:
        check_redrawn(learner, "the masks of available arms in this log")
    seeds = as_seed(seed)
    chances, shown = _chances(learner, rounds)
    possible = chances if rounds.available is None else chances[rounds.available]
    least = float(possible.min())
    if least <= 0.0 and acceptance is None and float(possible.max()) <= 0.0:
        raise InvalidParameter("the log never shows all that the learner wants to see; nothing can be replayed")
    c = max(least, LEAST_ACCEPTANCE) if acceptance is None else real("acceptance", acceptance, above=0, at_most=1)
    seen = rounds.seen
    starts = np.searchsorted(seen.round, np.arange(rounds.n_rounds + 1))
    state, versions, version = learner.init(), [], np.empty(rounds.n_rounds, np.int64)
    n_learnt, capped, changed, step = 0, 0, True, max(1, rounds.n_rounds // 100)
    nothing, masks = np.zeros(rounds.n_arms), rounds.available
    for t in range(rounds.n_rounds):
        first, second = uniform_pair(seeds, STREAM_AGENT, t, 0)
        if masks is None:
            ticket = learner.draw(state, first, second)
            if changed:
                versions.append(learner.distribution(state))
        else:
            if changed or (masks[t] != masks[t - 1]).any():
                versions.append(restricted(learner.distribution(state), np.flatnonzero(masks[t]), nothing))
            ticket = learner.ticket_from(state, int(pick(versions[-1], first)), versions[-1])
        version[t] = len(versions) - 1
        chance = chances[t, ticket.arm]
        capped += chance < c
        changed = bool(shown[t, ticket.arm]) and uniform_pair(seeds, STREAM_AGENT, t, 1)[0] * chance < c
        if changed:
            entries = slice(starts[t], starts[t + 1])
            losses = _losses(learner.observes(ticket.arm), ticket.arm, seen.arm[entries], seen.loss[entries])
            changed = losses is not None
            if losses is not None:
                learner.update(state, ticket, losses)
                n_learnt += 1
        if on_progress is not None and t % step == 0:
            on_progress(t, rounds.n_rounds, "rounds replayed")
    notes = [f"learnt from {n_learnt:,} of {rounds.n_rounds:,} rounds (acceptance {c:.3g})"]
    if capped:
        notes.append(
            f"in {100 * capped / rounds.n_rounds:.1f}% of the rounds its arm was too rare in the log to be fair"
        )
    return Replayed(np.array(versions), version, n_learnt, tuple(notes))


def _losses(wanted: Ints, arm: int, arms: Ints, losses: Floats) -> Floats | None:
    """The losses that the learner wants; an arm that was not available is taken to have lost what ``arm`` lost.

    None where there are none: no outcome came, or ``arm`` does not see itself.
    """
    known = dict(zip(arms.tolist(), losses.tolist(), strict=True))
    if any(i not in known for i in wanted.tolist()) and arm not in known:
        return None
    return np.array([known[i] if i in known else known[arm] for i in wanted.tolist()])


def _chances(learner: Learner, rounds: LoggedRounds) -> tuple[Floats, NDArray[np.bool_]]:
    """(n, N) the probability that the log shows all that the learner would see with each arm, and whether it did."""
    header = getattr(rounds.table, "attrs", {}).get("log", {})
    eras, columns = header.get("eras", [{"shows": header.get("shows")}]), rounds.table.columns
    kept = rounds.table["probabilities"].to_numpy()[rounds.places] if "probabilities" in columns else [None]
    if any(era["shows"] is None for era in eras) or any(value is None for value in kept):
        raise InvalidParameter(
            "the log has no probabilities of all arms, or does not say who shows whom; a learner can be replayed only "
            "on logs with both, as agents write them up to 256 arms"
        )
    vectors = np.array([np.asarray(value, dtype=np.float64) for value in kept])
    action = rounds.table["action"].to_numpy()[rounds.places]
    number = rounds.table["era"].to_numpy()[rounds.places] if "era" in columns else np.zeros(action.size, np.int64)
    chances, shown = np.empty((action.size, rounds.n_arms)), np.empty((action.size, rounds.n_arms), dtype=bool)
    for k, era in enumerate(eras):
        serving, mine = _serving(learner, era["shows"], rounds.n_arms), number == k
        chances[mine] = np.minimum(vectors[mine] @ serving, 1.0)
        shown[mine] = serving[action[mine]] > 0.0
    return chances, shown


def _serving(learner: Learner, shows: dict[str, list[int]], n_arms: int) -> Floats:
    """(N, N) whether playing j shows all that the learner sees with i, of the arms that there are."""
    where, starts, order = (np.array(shows[name], dtype=np.int64) for name in ("where", "starts", "order"))
    groups = [set(order[starts[g] : starts[g + 1]].tolist()) for g in range(starts.size - 1)]
    there = set(order.tolist())
    serving = np.zeros((n_arms, n_arms))
    for i in range(n_arms):
        wanted = there.intersection(learner.observes(i).tolist())
        serving[:, i] = np.array([bool(wanted) and wanted <= group for group in groups])[where]
    return serving
