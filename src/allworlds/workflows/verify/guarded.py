"""Theorem D, ``docs/guarded_proof.md``: its steps on recorded runs of the guarded learner, and what it promises.

A record holds every draw as it was. Its account is worked out again by :mod:`allworlds.theory.guarded`, for every
statement anew. Those about expectations are checked by enumerating all draws of a few rounds, also after the handover.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import Guarded
from allworlds.learners.guarded_round import BASELINE, RECENT, State
from allworlds.theory import Check, guarded
from allworlds.theory.guarded import Account
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.theory.rounds import mass_beside, masses
from allworlds.workflows.verify.instances import (
    LONG_COVER,
    LONG_HORIZON,
    WORLDS,
    Instances,
    Losses,
    Statement,
    World,
    cover_of,
    make_losses,
)

Array = NDArray[np.float64]

SHORT_HORIZON = 120
FEW_ROUNDS = 4
GAP = 0.25


@dataclass(frozen=True)
class GuardedRun:
    """One run; T rounds of which the first ``handover`` were played before the handover."""

    cover: CliqueCover
    losses: Losses
    distributions: Array
    """(T, N)."""
    arms: NDArray[np.intp]
    """(T,) the arm that was played."""
    baselines: Array
    """(handover, K)."""
    recent: Array
    """(handover,) the running mean of the losses incurred before each round."""
    settings: dict[str, float]
    """Of the learner: those that the account depends on."""

    @property
    def handover(self) -> int:
        """``tau``, or ``T`` if it did not come."""
        return len(self.baselines)

    @property
    def account(self) -> Account:
        """The record of the rounds before the handover."""
        before, owner = slice(0, self.handover), np.asarray(self.cover.owner)
        q = masses(self.cover, self.distributions[before])
        return Account(owner, self.arms[before], self.losses.played[before], q, self.baselines, **self.settings)

    def roots(self, head_start: float) -> tuple[Array, Array]:
        """(K,) each: the roots of the plays before the handover, and those of the masses after it."""
        best = self.losses.best_arm
        after = self.distributions[self.handover :]
        beside, clique = mass_beside(self.cover, after, best), int(self.cover.owner[best])
        roots: Array = np.sqrt(self.account.plays(best)).sum(axis=0)
        return roots, guarded.roots_after(masses(self.cover, after), beside, clique, head_start)


def record(learner: Guarded, losses: Losses, rng: np.random.Generator) -> GuardedRun:
    """Play the learner on these losses and record everything."""
    state, (horizon, n_arms) = learner.init(), losses.played.shape
    p, arms = np.empty((horizon, n_arms)), np.empty(horizon, dtype=np.intp)
    baselines, recent = [], []
    for t in range(horizon):
        p[t] = learner.distribution(state)
        if learner.handed_over(state) is None:
            baselines.append(state.table[:, BASELINE].copy())
            recent.append(float(state.clock[RECENT]))
        ticket = learner.draw(state, *rng.random(2).tolist())
        arms[t] = ticket.arm
        learner.update(state, ticket, losses.played[t, learner.observes(ticket.arm)])
    names = ("start", "allowance", "room_limit")
    settings = {name: getattr(learner, name) for name in names} | {"room_root": learner.rules.room_root}
    return GuardedRun(learner.cover, losses, p, arms, np.array(baselines), np.array(recent), settings)


class Ways(NamedTuple):
    """Every way that the draws of a few rounds can fall; m of them, for N arms."""

    chances: Array
    """(m,)."""
    before: Array
    """(m, N) regret until the handover."""
    accounts: Array
    """(m, N) ``Z`` at the handover, or at the end."""
    regrets: Array
    """(m, N) regret until the end."""
    bounds: Array
    """(m,) the bound along the run."""


def enumerate_draws(learner: Guarded, losses: Array) -> Ways:
    """Play every arm that has a probability, in every round; ``losses`` has shape (T, N)."""
    found: list[tuple[float, Array, Array, Array, float | None]] = []
    owner = np.asarray(learner.cover.owner)
    settings = {"start": learner.start, "allowance": learner.allowance, "room_limit": learner.room_limit}

    def play(state: State, chance: float, arms: list[int], q: list[Array], baselines: list[Array]) -> None:
        t, n = len(arms), len(q)
        if t == len(losses):
            own = Account(owner, np.array(arms[:n]), losses[:n], np.array(q), np.array(baselines), **settings,
                          room_root=learner.rules.room_root)  # fmt: skip
            costs = losses[range(t), arms][:, None] - losses
            regret, before = costs.sum(axis=0), costs[:n].sum(axis=0)
            found.append((chance, before, own.replayed.regrets[-1], regret, learner.regret_bound(state)))
            return
        p = learner.distribution(state)
        if learner.handed_over(state) is None:
            q, baselines = [*q, learner.clique_mass(state)], [*baselines, state.table[:, BASELINE].copy()]
        for arm in np.flatnonzero(p).tolist():
            later = copy.deepcopy(state)
            learner.update(later, learner.ticket_from(later, arm, p), losses[t, learner.observes(arm)])
            play(later, chance * float(p[arm]), [*arms, arm], q, baselines)

    play(learner.init(), 1.0, [], [], [])
    return Ways(*(np.array(column, dtype=np.float64) for column in zip(*found, strict=True)))


# --- instances -----------------------------------------------------------------------------------------


def _short(instances: Instances) -> list[GuardedRun]:
    """Short runs as shipped, with so little allowed that most are handed over, and with a low limit on the room."""
    return instances.once("guarded short", lambda: _play_short(instances))


def _play_short(instances: Instances) -> list[GuardedRun]:
    rng, runs = instances.rng(25), []
    cover = cover_of([1, 2, 4])
    few: tuple[dict[str, float], ...] = {}, {"start": 1.0, "allowance": 0.3}, {"start": 30.0, "room_limit": 0.01}
    for settings in few * (3 if instances.full else 1):
        for world in WORLDS:
            learner = Guarded(cover, **settings)
            runs.append(record(learner, make_losses(world, 7, SHORT_HORIZON, 0.4, 5, rng), rng))
    return runs


def _ways(instances: Instances) -> list[Ways]:
    """All draws of a few rounds, with so little allowed that some of them end in a handover."""
    return instances.once("guarded ways", lambda: _play_ways(instances))


def _play_ways(instances: Instances) -> list[Ways]:
    rng, found = instances.rng(26), []
    for sizes in ([1, 1], [1, 2]):
        for _ in range(6 if instances.full else 3):
            losses = (rng.random((FEW_ROUNDS, sum(sizes))) < rng.random(sum(sizes))).astype(np.float64)
            found.append(enumerate_draws(Guarded(cover_of(sizes), start=0.5, allowance=0.2), losses))
    return found


def long_runs(instances: Instances) -> dict[World, list[GuardedRun]]:
    """Longer runs of the learner as it is shipped, four a world, or sixteen."""
    return instances.once("guarded long", lambda: _play_long(instances))


def _play_long(instances: Instances) -> dict[World, list[GuardedRun]]:
    rng, cover = instances.rng(27), clique_cover(disjoint_cliques(*LONG_COVER["practical"]))
    learner = Guarded(cover)
    return {
        world: [
            record(learner, make_losses(world, cover.n_arms, LONG_HORIZON, GAP, 2, rng), rng)
            for _ in range(instances.often("guarded", world, 4))
        ]
        for world in WORLDS
    }


# --- statements ----------------------------------------------------------------------------------------


def _on_accounts(text: str, label: str, step: Callable[[Account], Check]) -> Statement:
    return Statement(text, label, lambda of: (step(run.account) for run in _short(of)))


def _stopped(instances: Instances) -> Iterator[Check]:
    for ways in _ways(instances):
        for regret, account in zip(ways.before.T, ways.accounts.T, strict=True):
            yield guarded.stopped_regret(ways.chances, regret, account)


def _along_a_run(instances: Instances) -> Iterator[Check]:
    for ways in _ways(instances):
        for regret in ways.regrets.T:
            yield guarded.regret_along_a_run(ways.chances, regret, ways.bounds)


def _epochs(instances: Instances) -> Iterator[Check]:
    for horizon in (1, 2, 3, 4, 1000, *(int(2.0**power) for power in instances.rng(28).uniform(1.0, 40.0, 50))):
        yield guarded.epochs_in_roots(horizon)


def _constant(instances: Instances) -> Iterator[Check]:
    for sizes in ([1, 1], [1, 2, 4], [2, 100]):
        for best in range(len(sizes)):
            yield guarded.constant_grows(numbers_of(sizes), best)


def _best_arm(instances: Instances) -> Iterator[Check]:
    for run in _short(instances):
        account = run.account
        for arm in range(run.cover.n_arms):
            yield guarded.allowed_to_the_best(account, arm)


def _young(instances: Instances) -> Iterator[Check]:
    """For several gaps and z, among them those near the best one for a short run, where the line is tightest."""
    for run in _short(instances):
        account = run.account
        for gap in (0.1, 0.4, 1.0):
            for z in (0.02, 0.1, 0.5, 2.0):
                yield guarded.youngs_line(account, run.losses.best_arm, gap, z)


def _unseen(instances: Instances) -> Iterator[Check]:
    """Every stretch of two rounds or more in which a clique is not drawn."""
    for run in _short(instances):
        account, share = run.account, Guarded.share
        drawn = account.drawn
        for k in range(run.cover.n_cliques):
            ends = np.concatenate([[0], np.flatnonzero(drawn == k) + 1, [len(drawn) + 1]]).tolist()
            for last_draw, next_draw in itertools.pairwise(ends):
                first, last = last_draw + 1, next_draw - 1
                if last > first:
                    yield guarded.unseen(account, k, first, last, share, float(run.recent[first - 1]))


STEPS = (
    _on_accounts("Guarded 1: no estimate is too high on average", "guarded-1", guarded.unbiased),
    Statement("Guarded 1: the account bounds the regret", "guarded-1-stopped", _stopped),
    _on_accounts("Guarded 2: how far an account can rise", "guarded-2-rise", guarded.rise),
    _on_accounts("Guarded 2: the allowance never falls", "guarded-2-grows", guarded.allowance_grows),
    _on_accounts("Guarded 2: an account is overdrawn by at most 1", "guarded-2", guarded.account_holds),
    _on_accounts("Guarded 3: the allowance, in epochs", "guarded-3-epochs", guarded.allowed_in_epochs),
    Statement("Guarded 3: epochs in roots of the horizon", "guarded-3-roots", _epochs),
    Statement("Guarded 3: the constant of Theorem C never falls", "guarded-3-constant", _constant),
    Statement("Guarded 3: the allowance of the best clique", "guarded-3-plays", _best_arm),
    Statement("Guarded 4: Young's line", "guarded-4-young", _young),
    Statement("Guarded: the bound along a run", "guarded-run", _along_a_run),
    Statement("Guarded: a clique that is not drawn", "guarded-unseen", _unseen),
)
