"""Theorem D: the account of the guarded learner in plain Python, all draws of a few rounds, and the numbers.

The account is worked out three times: here with dictionaries, in ``theory/guarded.py``, and by the learner.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.clock import MEMORY_START
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.learners import Guarded
from allworlds.learners.guarded_round import BASELINE, RECENT
from allworlds.theory import (
    Check,
    guarded,
    guarded_adversarial_bound,
    guarded_corrupted_bound,
    guarded_general_bound,
    practical_adversarial_bound,
)
from allworlds.theory.guarded import Account
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.workflows.verify.guarded import GuardedRun, record
from allworlds.workflows.verify.instances import Losses, Outcome
from theory.states import cover_of

History = list[int]
World = Callable[[History, int], list[float]]


def coins(history: History, n_arms: int) -> list[float]:
    rng = np.random.default_rng([len(history), 7])
    return [float(rng.random() < 0.3 + 0.4 * (i % 2)) for i in range(n_arms)]


def fractions(history: History, n_arms: int) -> list[float]:
    return np.random.default_rng([len(history), 8]).random(n_arms).tolist()


def vengeful(history: History, n_arms: int) -> list[float]:
    """What was played last loses; losses may depend on the past."""
    return [1.0 if history and i == history[-1] else 0.0 for i in range(n_arms)]


def turning(history: History, n_arms: int) -> list[float]:
    """All arms lose until round 20; then one of them stops."""
    return [0.0 if len(history) >= 20 and i == n_arms - 1 else 1.0 for i in range(n_arms)]


WORLDS = (coins, fractions, vengeful, turning)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"start": 1.0, "allowance": 0.3},
    {"start": 3.0, "alarm": None, "share": 0.9},
    {"start": 30.0, "room_limit": 0.01},
)


class Ledger:
    """Sums, plays and rooms in dictionaries, from the page."""

    def __init__(self, learner: Guarded) -> None:
        self.learner, self.round, self.incurred = learner, 0, 0.0
        self.owner = {i: int(k) for i, k in enumerate(learner.cover.owner)}
        self.estimates: dict[int, float] = defaultdict(float)
        self.plays: dict[tuple[int, int], int] = defaultdict(int)  # by epoch and arm
        self.bound = 0.0

    def members(self, k: int) -> list[int]:
        return [i for i, owner in self.owner.items() if owner == k]

    def enter(self, arm: int, losses: list[float], q: list[float], b: list[float]) -> None:
        self.round += 1
        k, s = self.owner[arm], self.round + 100
        limit = self.learner.room_limit * s + 6.0 * math.sqrt(s)
        lowest = min(self.estimates[i] for i in self.members(k))
        highest = lowest + limit - self.room(k)  # an estimate, before the baseline, that leaves the most room
        for j in range(len(q)):
            for i in self.members(j):
                raised = (losses[i] - b[j]) / q[j] if j == k else 0.0
                if raised > 0.0:
                    raised = min(raised, max(0.0, highest - self.estimates[i]))
                self.estimates[i] += b[j] + raised
        self.incurred += losses[arm]
        self.plays[int(math.log2(self.round)), arm] += 1
        self.bound = max(self.bound, *(self.regret(i) for i in self.owner))

    def regret(self, arm: int) -> float:
        return self.incurred - self.estimates[arm]

    def roots(self, k: int) -> float:
        total = 0.0
        for epoch in {epoch for epoch, _ in self.plays}:
            for j in set(self.owner.values()):
                counts = [self.plays.get((epoch, i), 0) for i in self.members(j)]
                total += math.sqrt(sum(counts) - max(counts)) if j == k else math.sqrt(sum(counts))
        return total

    def room(self, k: int) -> float:
        n_cliques = len(set(self.owner.values()))
        allowed = self.learner.start * math.sqrt(n_cliques) + self.learner.allowance * self.roots(k)
        return allowed - max(self.regret(i) for i in self.members(k))


def now(learner: Guarded, state: Any) -> tuple[list[float], list[float]]:
    return learner.clique_mass(state).tolist(), state.table[:, BASELINE].tolist()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("sizes", [[1, 1], [2, 1, 3], [3]], ids=str)
def test_the_learner_the_theory_and_dictionaries_keep_the_same_account(
    sizes: list[int], world: World, settings: dict[str, Any]
) -> None:
    learner, rng = Guarded(cover_of(sizes), **settings), np.random.default_rng(3)
    state, ledger, rows = learner.init(), Ledger(learner), []
    n_arms = sum(sizes)
    while learner.handed_over(state) is None and ledger.round < 80:
        history = [row[0] for row in rows]
        losses, (q, b) = world(history, n_arms), now(learner, state)
        rooms = [ledger.room(k) for k in range(len(sizes))]
        assert learner.room(state).tolist() == pytest.approx(rooms, abs=1e-9)
        assert all(room > 0.0 for room in rooms)
        assert all(0.0 <= b[k] <= 0.9 * q[k] * rooms[k] * (1.0 + 1e-12) for k in range(len(sizes)))
        ticket = learner.draw(state, *rng.random(2).tolist())
        assert (ticket.baseline, ticket.clique_probability) == (b[ticket.clique], q[ticket.clique])
        learner.update(state, ticket, np.array(losses)[learner.observes(ticket.arm)])
        ledger.enter(ticket.arm, losses, q, b)
        rows.append((ticket.arm, losses, q, b))
        assert learner.regret_bound(state) == pytest.approx(ledger.bound, abs=1e-9)
        if learner.handed_over(state) is None:
            assert learner.estimates(state).tolist() == pytest.approx([ledger.estimates[i] for i in range(n_arms)])
    arms, losses, q, b = (np.array(column) for column in zip(*rows, strict=True))
    own = Account(
        np.asarray(learner.cover.owner), arms, losses, q, b, learner.start, learner.allowance, learner.room_limit, 6.0
    )
    last = [ledger.regret(i) for i in range(n_arms)]
    assert own.replayed.regrets[-1].tolist() == pytest.approx(last, abs=1e-9)
    assert own.replayed.room[-1].tolist() == pytest.approx([ledger.room(k) for k in range(len(sizes))], abs=1e-9)
    assert own.replayed.roots[-1].tolist() == pytest.approx([ledger.roots(k) for k in range(len(sizes))])
    assert own.allowed.max() == pytest.approx(max(ledger.room(k) + max(last[i] for i in ledger.members(k))
                                                  for k in range(len(sizes))))  # fmt: skip
    if "alarm" in settings and learner.handed_over(state) is not None:
        assert min(ledger.room(k) for k in range(len(sizes))) <= 0.0
    for step in (guarded.unbiased, guarded.rise, guarded.allowance_grows, guarded.account_holds):
        assert step(own).holds
    assert guarded.allowed_in_epochs(own).holds


# --- all draws of a few rounds -------------------------------------------------------------------------


class Way(NamedTuple):
    chance: float
    regrets: list[float]
    before: list[float]
    accounts: list[float]
    bound: float
    handed_over: bool


def every_way(learner: Guarded, world: World, horizon: int) -> Iterator[Way]:
    n_arms = learner.n_arms

    def go(state: Any, ledger: Ledger, chance: float, history: History, costs: list[Any]) -> Iterator[Way]:
        if len(history) == horizon:
            regrets = [sum(cost[i] for cost in costs) for i in range(n_arms)]
            before = [sum(cost[i] for cost in costs[: ledger.round]) for i in range(n_arms)]
            accounts = [ledger.regret(i) for i in range(n_arms)]
            bound = learner.regret_bound(state)
            assert bound is not None
            yield Way(chance, regrets, before, accounts, bound, learner.handed_over(state) is not None)
            return
        losses, p = world(history, n_arms), learner.distribution(state)
        for arm in range(n_arms):
            if p[arm] > 0.0:
                later, own = copy.deepcopy(state), copy.deepcopy(ledger)
                if learner.handed_over(state) is None:
                    own.enter(arm, losses, *now(learner, state))
                ticket = learner.ticket_from(later, arm, p)
                learner.update(later, ticket, np.array(losses)[learner.observes(arm)])
                cost = [losses[arm] - losses[i] for i in range(n_arms)]
                yield from go(later, own, chance * float(p[arm]), [*history, arm], [*costs, cost])

    yield from go(learner.init(), Ledger(learner), 1.0, [], [])


def mean(ways: list[Way], value: Callable[[Way], float]) -> float:
    return math.fsum(way.chance * value(way) for way in ways)


SMALL = {"start": 0.5, "allowance": 0.2}


@pytest.mark.parametrize("world", [coins, fractions, vengeful])
@pytest.mark.parametrize("sizes", [[1, 1], [2, 1]], ids=str)
@pytest.mark.parametrize("horizon", [1, 3, 4])
def test_over_all_draws_the_account_and_the_bound_are_at_least_the_regret(
    horizon: int, sizes: list[int], world: World
) -> None:
    """The losses may react to the past, and the handover comes in some ways and not in others."""
    ways = list(every_way(Guarded(cover_of(sizes), **SMALL), world, horizon))
    assert mean(ways, lambda way: 1.0) == pytest.approx(1.0)
    for i in range(sum(sizes)):
        regret = mean(ways, lambda way, i=i: way.before[i])
        account = mean(ways, lambda way, i=i: way.accounts[i])
        assert account == pytest.approx(regret, abs=1e-9)  # nothing is lowered in so few rounds
        assert mean(ways, lambda way, i=i: way.regrets[i]) <= mean(ways, lambda way: way.bound) + 1e-9
    if horizon == 4 and world is vengeful:
        assert 0.01 < mean(ways, lambda way: float(way.handed_over)) < 1.0


@pytest.mark.parametrize("world", [coins, vengeful])
def test_estimates_that_are_lowered_make_the_account_larger_than_the_regret(world: World) -> None:
    ways = list(every_way(Guarded(cover_of([1, 1]), start=45.0, room_limit=0.01), world, 4))
    gaps = [mean(ways, lambda way, i=i: way.accounts[i] - way.before[i]) for i in range(2)]
    assert min(gaps) > -1e-9
    assert max(gaps) > 0.01


def test_with_estimates_twice_as_large_the_account_would_not_bound_the_regret() -> None:
    """The enumeration notices it: the same sums with ``Z`` of estimates that are too high."""
    ways = list(every_way(Guarded(cover_of([1, 1]), **SMALL), coins, 4))
    chances = np.array([way.chance for way in ways])
    before, accounts = (np.array([getattr(way, name)[1] for way in ways]) for name in ("before", "accounts"))
    assert guarded.stopped_regret(chances, before, accounts).holds
    assert not guarded.stopped_regret(chances, before, accounts - 0.01).holds
    assert not guarded.regret_along_a_run(chances, before + 10.0, accounts).holds
    with pytest.raises(InvalidParameter, match=r"chances sum to .*; expected every way"):
        guarded.stopped_regret(chances[1:], before[1:], accounts[1:])


def test_a_mean_over_ways_is_weighted_by_their_chances() -> None:
    check = guarded.regret_along_a_run(np.array([0.25, 0.75]), np.array([4.0, 8.0]), np.array([0.0, 12.0]))
    assert (check.left, check.right, check.scale) == (7.0, 9.0, 1.0)


# --- the steps on runs ---------------------------------------------------------------------------------


def runs() -> list[GuardedRun]:
    found = []
    for number, settings in enumerate(SETTINGS):
        rng = np.random.default_rng(number)
        learner = Guarded(cover_of([2, 1, 3]), **settings)
        for _ in range(3):
            played = (rng.random((100, 6)) < rng.random(6)).astype(np.float64)
            found.append(record(learner, Losses(played, played, played.mean(axis=0)), rng))
    return found


@pytest.fixture(scope="module")
def accounts() -> list[Account]:
    return [run.account for run in runs()]


STEPS = (
    guarded.unbiased,
    guarded.rise,
    guarded.allowance_grows,
    guarded.account_holds,
    guarded.allowed_in_epochs,
)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_every_step_holds_and_is_nearly_attained(step: Callable[[Account], Check], accounts: list[Account]) -> None:
    checks = [step(own) for own in accounts]
    assert all(check.holds for check in checks)
    assert 0.6 < max(check.ratio for check in checks) <= 1.0 + 1e-9


def fresh(own: Account, **changes: Any) -> Account:
    return dataclasses.replace(own, **changes)


def test_a_wrong_number_breaks_a_step(accounts: list[Account], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error is planted alone, and a step that held no longer does."""
    assert not all(guarded.unbiased(fresh(own, mass=1.01 * own.mass)).holds for own in accounts)
    higher = [fresh(own, baselines=own.baselines + 2.0 * own.mass * own.replayed.room[:-1]) for own in accounts]
    assert not all(guarded.rise(own).holds for own in higher)
    assert not all(guarded.account_holds(fresh(own, start=0.1, allowance=0.1)).holds for own in accounts)
    monkeypatch.setattr(guarded, "MOST_OF_THE_ROOM", 0.0)
    assert not all(guarded.rise(own).holds for own in accounts)
    monkeypatch.setattr(guarded, "EPOCH_ROOT", 2.612)
    assert not all(guarded.epochs_in_roots(horizon).holds for horizon in near_the_worst())
    monkeypatch.setattr(guarded, "summed_epochs", lambda horizon: math.sqrt(0.5 * horizon))
    assert not all(guarded.allowed_in_epochs(own).holds for own in accounts)


def test_an_allowance_that_falls_is_noticed(accounts: list[Account]) -> None:
    own = fresh(accounts[0])
    falling = own.replayed._replace(roots=own.replayed.roots[::-1].copy())
    own.__dict__["replayed"] = falling
    assert not guarded.allowance_grows(own).holds


def test_a_step_shows_the_pair_that_breaks_it_and_else_the_tightest() -> None:
    show = guarded._tightest
    assert show("", "", np.array([1.0, 3.0, 9.0]), np.array([2.0, 4.0, 10.0])).left == 9.0
    assert show("", "", np.array([9.0, 1e-3]), np.array([10.0, 0.0])).right == 0.0
    assert show("", "", np.array([[9.0], [11.0]]), np.array([[10.0], [1.0]])).left == 11.0
    assert show("", "", np.array([0.5, 1e-12]), np.array([1.0, 0.0]), scale=1.0).left == 0.5


def test_the_rise_is_reached_by_the_smallest_loss_of_a_rare_clique() -> None:
    """One round by hand: q = 1/10, room 2, b = 0.9 q room = 0.18; the arm drawn loses 1, its neighbour nothing."""
    own = Account(
        np.array([0, 0, 1]),
        np.array([0]),
        np.array([[1.0, 0.0, 0.5]]),
        np.array([[0.1, 0.9]]),
        np.array([[0.18, 0.0]]),
        start=2.0 / math.sqrt(2.0),
    )
    # Z of the neighbour rises by 1 - (0.18 - 1.8) = 2.62; the bound is 1 + 0.9 * 2 = 2.8
    assert own.replayed.room[0].tolist() == pytest.approx([2.0, 2.0])
    assert own.replayed.regrets[1].tolist() == pytest.approx([1.0 - (0.18 + 8.2), 2.62, 1.0])
    check = guarded.rise(own)
    assert (check.left, check.right) == (pytest.approx(2.62), pytest.approx(2.8))
    assert own.replayed.roots[1].tolist() == [0.0, 1.0]
    assert own.allowed[1].tolist() == pytest.approx([2.0, 3.2])
    holds = guarded.account_holds(own)
    assert (holds.left, holds.right) == (pytest.approx(2.62), pytest.approx(3.0))


# --- what is allowed -----------------------------------------------------------------------------------


def near_the_worst() -> Iterator[int]:
    for e in range(4, 40):
        yield round(2**e * (1.0 + (math.sqrt(2.0) - 1.0) ** 2)) - 1


def test_the_sum_over_epochs_is_that_of_the_rounds_one_by_one() -> None:
    lengths: dict[int, int] = defaultdict(int)
    worst = 0.0
    for t in range(1, 100_001):
        lengths[int(math.log2(t))] += 1
        if t < 300 or t % 97 == 0:
            total = sum(math.sqrt(n) for n in lengths.values())
            assert guarded.summed_epochs(t) == pytest.approx(total, rel=1e-12)
            assert guarded.n_epochs(t) == len(lengths)
            worst = max(worst, (total + 1.0 + math.sqrt(2.0)) / math.sqrt(t + 1.0))
    kappa = math.sqrt(4.0 + 2.0 * math.sqrt(2.0))
    assert kappa * (1.0 - 1e-3) < worst <= kappa
    assert kappa == pytest.approx(math.hypot(1.0, 1.0 + math.sqrt(2.0)))
    assert guarded.summed_epochs(0) == 0.0


def test_the_root_bound_on_the_epochs_is_attained_and_holds_everywhere() -> None:
    assert all(guarded.epochs_in_roots(t).holds for t in [*range(1, 3000), *near_the_worst()])
    assert max(guarded.epochs_in_roots(t).ratio for t in near_the_worst()) > 1.0 - 1e-6


def test_no_way_to_play_needs_more_than_the_root_of_k_times_the_epochs() -> None:
    """All sequences of plays in two cliques for 7 rounds, one of two arms."""
    owner, worst = np.array([0, 0, 1]), 0.0
    for arms in itertools.product(range(3), repeat=7):
        empty = np.zeros((7, 3))
        own = Account(owner, np.array(arms), empty, np.full((7, 2), 0.5), np.zeros((7, 2)))
        for k in range(2):
            roots = own._roots(7)[k]
            assert roots <= math.sqrt(2.0) * guarded.summed_epochs(7) + 1e-12
            worst = max(worst, roots / (math.sqrt(2.0) * guarded.summed_epochs(7)))
        for best in range(3):
            beside = sum(np.sqrt(plays).sum() for plays in own.plays(best))
            assert own._roots(7)[owner[best]] <= beside + 1e-12
    assert worst > 0.75  # 0.77; plays are whole numbers


def test_plays_are_counted_by_epoch_and_without_the_best_arm() -> None:
    arms = np.array([0, 1, 2, 0, 0, 1, 2])
    own = Account(np.array([0, 0, 1]), arms, np.zeros((7, 3)), np.full((7, 2), 0.5), np.zeros((7, 2)))
    assert own.plays(0).tolist() == [[0, 0], [1, 1], [1, 1]]
    assert own.plays(2).tolist() == [[1, 0], [1, 0], [3, 0]]
    assert own._roots(7).tolist() == pytest.approx([0.0 + 2.0 + 1.0, 2.0 + math.sqrt(3.0)])
    check = guarded.allowed_to_the_best(own, 0)
    assert (check.left, check.right) == (pytest.approx(3.0), pytest.approx(4.0))  # X counts 1 of epoch 2, not 2


@pytest.mark.parametrize("best", range(6))
def test_the_best_cliques_allowance_is_at_most_the_roots_of_the_plays_that_cost(
    best: int, accounts: list[Account]
) -> None:
    assert all(guarded.allowed_to_the_best(own, best).holds for own in accounts)
    assert not all(guarded.allowed_to_the_best(fresh(own, arms=own.arms), best).slack == 0.0 for own in accounts)


def test_youngs_line_is_its_formula_and_attained_by_the_right_number_of_plays() -> None:
    arms = np.array([0, 1, 1, 1, 1, 0, 0])  # of the arm that costs: 0, 2, 2
    own = Account(np.array([0, 1]), arms, np.zeros((7, 2)), np.full((7, 2), 0.5), np.zeros((7, 2)), allowance=2.0)
    for z, gap in ((0.5, 0.25), (1.0, 0.9), (2.0, 0.1)):
        check = guarded.youngs_line(own, 0, gap, z)
        assert check.left == pytest.approx((1.0 + z) * 2.0 * 2.0 * math.sqrt(2.0) - z * gap * 4.0)
        assert check.right == pytest.approx((1.0 + z) ** 2 * 4.0 * 3 / (4.0 * z * gap))
        assert check.holds
    # each epoch with M = ((1 + z) c / (2 z gap))^2 plays: one round of play, c = 1, z = 1, gap = 1
    one = Account(np.array([0, 1]), np.array([1]), np.zeros((1, 2)), np.full((1, 2), 0.5), np.zeros((1, 2)), 20.0, 1.0)
    assert guarded.youngs_line(one, 0, 1.0, 1.0).slack == pytest.approx(0.0)


# --- cliques that are not seen -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("warm", [0, 60])
def test_a_clique_that_is_never_drawn_again_brings_the_handover_in_time(loss: float, warm: int) -> None:
    """Only the other clique is drawn from some round on, whatever the probabilities say."""
    learner = Guarded(cover_of([1, 2]), alarm=None)
    state, rows, means = learner.init(), [], []
    rng = np.random.default_rng(warm)
    single = int(np.flatnonzero(np.asarray(learner.cover.owner) == 0)[0])
    while learner.handed_over(state) is None and len(rows) < 6000:
        first = float(rng.random()) if len(rows) < warm else 0.0  # 0 draws the first clique
        q, b = now(learner, state)
        means.append(float(state.clock[RECENT]))
        ticket = learner.draw(state, first, 0.0)
        losses = np.full(3, 0.9)
        losses[single] = loss
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        rows.append((ticket.arm, losses, q, b))
    assert learner.handover_reason(state) == "an arm had no room left"
    arms, losses, q, b = (np.array(column) for column in zip(*rows, strict=True))
    own = Account(np.asarray(learner.cover.owner), arms, losses, q, b, room_limit=0.15, room_root=6.0)
    first = max([t for t in range(len(arms)) if own.drawn[t] == 1], default=-1) + 2
    last = len(arms)
    check = guarded.unseen(own, 1, first, last, 0.5, means[first - 1])
    assert check.holds
    assert check.ratio > 0.5
    lengths = [sum(int(math.log2(t)) == e for t in range(first, last)) for e in range(14)]
    right = own.replayed.room[first - 1, 1] + 1.2 * sum(math.sqrt(n) for n in lengths)
    right += 0.5 * (first + 99) * means[first - 1] / 19.0
    assert check.right == pytest.approx(right)
    assert check.left == pytest.approx(loss * (last - first) * (1.0 - 10.0 / 19.0))
    # the sum of the running means is exact, whatever the losses
    lost = [float(losses[t, arms[t]]) for t in range(len(arms))]
    for r, s in ((1, 20), (3, 90), (first, last)):
        if s <= last:
            total = 20.0 * sum(lost[r - 1 : s - 1]) + (r + 99) * means[r - 1] - (s + 99) * means[s - 1]
            assert sum(means[r - 1 : s - 1]) == pytest.approx(total / 19.0)
    with pytest.raises(InvalidParameter, match=r"clique 0 is drawn in rounds .*; expected rounds without it"):
        guarded.unseen(own, 0, first, last, 0.5, 0.0)


# --- the numbers of the theorem ------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_learner_that_is_shipped() -> None:
    learner = Guarded(cover_of([1, 1]))
    rules = learner.rules
    assert (learner.start, learner.allowance) == (guarded.START, guarded.ALLOWANCE)
    assert rules.memory == guarded.MEMORY
    assert learner.then.constants == Constants.practical(learner.cover)
    assert guarded.ROOM_HEAD_START == MEMORY_START


@pytest.mark.parametrize("sizes", [[3, 1, 10], [1, 1], [7]], ids=str)
@pytest.mark.parametrize("horizon", [1, 1000, 10**6])
def test_the_adversarial_bound_is_its_formula(sizes: list[int], horizon: int) -> None:
    n_cliques, t, lengths = len(sizes), 1, []
    while t <= horizon:
        lengths.append(min(2 * t, horizon + 1) - t)
        t *= 2
    value = 20.0 * math.sqrt(n_cliques) + 1.0 + 1.2 * math.sqrt(n_cliques) * sum(map(math.sqrt, lengths))
    if n_cliques == 1:
        value += math.sqrt(horizon * math.log(sizes[0]))
    else:
        value += practical_adversarial_bound(sizes, horizon).value
    bound = guarded_adversarial_bound(sizes, horizon)
    assert bound.value == pytest.approx(value)
    assert sum(bound.terms.values()) == bound.value
    half = guarded_adversarial_bound(sizes, horizon, start=10.0, allowance=0.6)
    account = bound.terms["start"] - 1.0 + bound.terms["allowance"]
    assert bound.value - half.value == pytest.approx(account / 2.0)


def test_the_horizons_from_which_the_adversarial_bound_is_below_a_tenth() -> None:
    for sizes, horizon in (([1, 1], 856_017), ([1] * 10, 4_408_726), ([10] * 10, 23_511_334)):
        below, above = guarded_adversarial_bound(sizes, horizon).value, guarded_adversarial_bound(sizes, horizon - 1)
        assert below < 0.1 * horizon
        assert above.value >= 0.1 * (horizon - 1)


def test_the_general_bound_is_its_formula() -> None:
    sizes, rng = [3, 1, 10], np.random.default_rng(1)
    numbers = numbers_of(sizes)
    for best in range(3):
        before, after = rng.random(3) * 30.0, rng.random(3) * 5.0
        value = 20.0 * math.sqrt(3.0) + 1.0 + numbers.constant(best, 5000)
        for k in range(3):
            value += 1.2 * before[k] + numbers.weights(best)[k] * after[k]
        bound = guarded_general_bound(sizes, before, after, best, 5000)
        assert bound.value == pytest.approx(value)
        assert sum(bound.terms.values()) == bound.value


def test_the_roots_after_the_handover_are_a_sum_over_rounds() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), 20)
    x = q[:, 1] * rng.random(20)
    given = q.copy()
    roots = guarded.roots_after(q, x, 1, 300.0)
    for k in range(3):
        total = sum(math.sqrt((x[s - 1] if k == 1 else q[s - 1, k]) / (s + 300.0)) for s in range(1, 21))
        assert roots[k] == pytest.approx(total)
    assert (q == given).all()
    assert guarded.roots_after(np.empty((0, 2)), [], 0, 300.0).tolist() == [0.0, 0.0]
    with pytest.raises(InvalidParameter, match=r"others \(2,\); expected \(n, K\) and \(n,\)"):
        guarded.roots_after(q, [0.0, 0.0], 0, 0.0)


@pytest.mark.parametrize("corruption", [0.0, 1000.0])
def test_the_corrupted_bound_is_the_best_choice_of_youngs_parameter(corruption: float) -> None:
    sizes, gaps, horizon = [3, 1, 10], [0.25, 0.5, 0.125], 10**8
    numbers = numbers_of(sizes)
    epochs = sum(2**e <= horizon for e in range(60))
    a = 20.0 * math.sqrt(3.0) + 1.0 + numbers.constant(0, horizon)
    w = sum(
        (1.44 * epochs + math.log((horizon + 300.0) / 300.0) * b**2) / gap
        for b, gap in zip(numbers.weights(0), gaps, strict=True)
    )
    bound = guarded_corrupted_bound(sizes, gaps, 0, horizon, corruption)
    assert bound.terms == {"constant": pytest.approx(a), "W": pytest.approx(w)}
    choices = [(1.0 + z) * a + (1.0 + z) ** 2 / (4.0 * z) * w + 2.0 * z * corruption for z in np.logspace(-4, 3, 40001)]
    assert bound.value == pytest.approx(min(choices), rel=1e-6)
    assert bound.value <= min(choices) * (1.0 + 1e-12)


def test_the_bounds_grow_like_a_root_and_like_a_logarithm() -> None:
    ratio = guarded_adversarial_bound([1, 1], 10**14).value / guarded_adversarial_bound([1, 1], 10**12).value
    assert ratio == pytest.approx(10.0, rel=1e-2)
    values = [guarded_corrupted_bound([1, 1], [0.0, 0.5], 0, 10**n).value for n in (8, 12, 16)]
    assert values[2] - values[1] == pytest.approx(values[1] - values[0], rel=0.01)
    assert not guarded_corrupted_bound([1, 1], [0.0, 0.5], 0, 10**9).vacuous


def test_with_fewer_rounds_no_part_of_theorem_c_is_larger() -> None:
    """The rounds after the handover are fewer than T: the bounds for n rounds hold with T in place of n."""
    for sizes in ([1, 1], [3, 1, 10], [1000, 2]):
        horizons = [*range(1, 400), *(int(1.3**e) for e in range(23, 90))]
        for best in range(len(sizes)):
            values = [numbers_of(sizes).constant(best, t) for t in horizons]
            assert all(later >= sooner for sooner, later in itertools.pairwise(values))
        values = [practical_adversarial_bound(sizes, t).value for t in horizons]
        assert all(later >= sooner for sooner, later in itertools.pairwise(values))


def test_what_could_fall_in_the_constant_is_small_for_cliques_of_any_size() -> None:
    for size in (*range(1, 12), 1000, 10**6, 10**9):
        alpha = sharp_alpha(size, 0.25)
        root = math.sqrt(alpha + math.log(size))
        assert alpha <= 3.0 + 4.0 / 3.0 * math.log(size) ** 2  # as the page says
        assert alpha / root / (8.0 * math.sqrt(301.0)) < 0.1
        if size <= 1000:
            check = guarded.constant_grows(numbers_of([size, 1]), 0)
            assert check.left == pytest.approx(alpha / root / (8.0 * math.sqrt(301.0)))
            assert check.right == pytest.approx(numbers_of([size, 1]).highest_barrier)
            assert check.holds


def test_the_term_that_could_fall_falls_by_less_than_its_share() -> None:
    """``f(n) = (sqrt(n+h) - sqrt(1+h)) / n`` is at most ``1 / (2 sqrt(1+h))`` and falls by at most that over n."""
    for h in (0.0, 0.5, 300.0):
        top = 1.0 / (2.0 * math.sqrt(1.0 + h))

        def f(n: float, h: float = h) -> float:
            return (math.sqrt(n + h) - math.sqrt(1.0 + h)) / n

        for n in np.logspace(0.0, 9.0, 200).tolist():
            assert f(n) <= top
            assert f(n) - f(1.001 * n) <= top * math.log(1.001) + 1e-15


def test_what_the_theorem_is_not_about_is_refused() -> None:
    with pytest.raises(InvalidConstants, match="one clique"):
        guarded_general_bound([4], [0.0], [0.0], 0, 10)
    with pytest.raises(InvalidParameter, match="unique"):
        guarded_corrupted_bound([1, 1], [0.0, 0.0], 0, 10)
    with pytest.raises(InvalidParameter, match=r"before is .*; expected 2 numbers of at least 0, one a clique"):
        guarded_general_bound([1, 1], [-1.0, 0.0], [0.0, 0.0], 0, 10)
    with pytest.raises(InvalidParameter, match=r"after is .*; expected 2 numbers"):
        guarded_general_bound([1, 1], [0.0, 0.0], [0.0], 0, 10)
    for wrong in ({"start": 0.0}, {"allowance": -1.0}):
        with pytest.raises(InvalidParameter, match="above 0"):
            guarded_adversarial_bound([1, 1], 10, **wrong)
        with pytest.raises(InvalidParameter, match="above 0"):
            guarded_corrupted_bound([1, 1], [0.0, 0.5], 0, 10, **wrong)


def test_a_recorded_run_says_where_the_handover_was() -> None:
    learner, rng = Guarded(cover_of([1, 1]), start=1.0, allowance=0.1), np.random.default_rng(0)
    losses = np.tile([1.0, 0.0], (60, 1))
    run = record(learner, Losses(losses, losses, losses.mean(axis=0)), rng)
    assert 0 < run.handover < 60
    assert len(run.account.arms) == run.handover
    assert run.account.replayed.room[:-1].min() > 0.0
    before, after = run.roots(300.0)
    best = int(run.cover.owner[1])
    plays = [sum(run.arms[t - 1] == 0 for t in range(2**e, 2 ** (e + 1)) if t <= run.handover) for e in range(6)]
    assert before[1 - best] == pytest.approx(sum(map(math.sqrt, plays)))
    mass = run.distributions[run.handover :, 0]
    assert after[1 - best] == pytest.approx(sum(math.sqrt(q / (s + 300.0)) for s, q in enumerate(mass, start=1)))
    assert before[best] == after[best] == 0.0
    assert isinstance(Outcome(guarded.rise(run.account)).check, Check)
