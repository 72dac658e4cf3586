"""The guarded learner against a plain reference, which counts every number anew from the rounds so far."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import allworlds as aw
from allworlds.agents.drawing import restricted
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.graphs import disjoint_cliques
from allworlds.learners.dispatch import learn
from allworlds.learners.guarded import Guarded
from allworlds.learners.guarded_round import AVERAGE, DOWN, HANDED_OVER, LATE, MASS, REASON, SEEN, UP, evidence_needed

ALONE, ALIKE, MIXED = [[0], [1], [2], [3]], [[0, 1, 2], [3, 4, 5]], [[4], [0, 6, 2, 5], [3, 1]]
COVERS = {"bandit": ALONE, "alike": ALIKE, "mixed": MIXED, "one clique": [[2, 0, 1]], "one arm": [[0]]}


def cover_of(cliques):
    """A cover of disjoint cliques whose arms are numbered in any order."""
    return aw.CliqueCover(aw.FeedbackGraph.from_cliques(sum(map(len, cliques)), cliques), cliques)


# --- the reference --------------------------------------------------------------------------------------


class Past(NamedTuple):
    """One round of the past."""

    clique: int
    arm: int
    losses: dict[int, float]


def kl(p, q):
    """Of two coins."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


class Reference:
    """The rule as the module's text has it: only estimates and running means are kept, all else is counted anew."""

    def __init__(self, learner):
        self.cliques = [clique.tolist() for clique in learner.cover.cliques]
        self.rule = learner
        self.past: list[Past] = []
        self.lhat = dict.fromkeys(range(learner.n_arms), 0.0)
        self.recent = self.held_back = self.bound = 0.0
        self.drifts = [0.0, 0.0]
        self.coins = {True: [2.5, 2.5], False: [2.5, 2.5]}  # ten coins of variance 1/4: expected, and seen
        self.reason = ""

    def seen(self, k):
        return sum(past.clique == k for past in self.past)

    def sum_of(self, arm):
        return sum(past.losses[arm] for past in self.past if arm in past.losses)

    def mean(self, k):
        """The lowest of the clique's arms, with half a loss in one further round."""
        return (min(self.sum_of(arm) for arm in self.cliques[k]) + 0.5) / (self.seen(k) + 1)

    def best(self):
        return min((self.mean(k) for k in range(len(self.cliques)) if self.seen(k)), default=None)

    def precision(self):
        return min(max(1.0, min(expected / found for expected, found in self.coins.values())), 100.0)

    def plays(self):
        """By epoch, how often each arm was played."""
        counts: dict[int, dict[int, int]] = {}
        for t, past in enumerate(self.past, 1):
            epoch = counts.setdefault(math.floor(math.log2(t)), {})
            epoch[past.arm] = epoch.get(past.arm, 0) + 1
        return counts.values()

    def rooms(self):
        """What the account of each clique may still lose."""
        incurred = sum(past.losses[past.arm] for past in self.past)
        rooms = []
        for k, clique in enumerate(self.cliques):
            allowed = 0.0
            for epoch in self.plays():
                for j, other in enumerate(self.cliques):
                    played = [epoch.get(arm, 0) for arm in other]
                    allowed += math.sqrt(sum(played) - max(played)) if j == k else math.sqrt(sum(played))
            regret = incurred - min(self.lhat[arm] for arm in clique)
            self.bound = max(self.bound, regret)
            rooms.append(self.rule.start * math.sqrt(len(self.cliques)) + self.rule.allowance * allowed - regret)
        return rooms

    def masses(self):
        """``q`` of the coming round, the baseline of each clique, and its room."""
        rooms, best, r, n = self.rooms(), self.best(), self.precision(), len(self.cliques)
        self.baseline = self.rule.share * self.recent
        weights, proofs = [], []
        for k in range(n):
            weight, proof = 1.0, 0.0
            if self.seen(k) and self.mean(k) > best:
                mean, gap = self.mean(k), self.mean(k) - best
                evidence = self.rule.sharpness * r * self.seen(k) * kl(mean, best)
                weight = math.exp(-evidence) if evidence < 40 else 0.0
                fall, b = best - self.baseline, self.baseline
                spread = best * (1 - best) / r + fall**2 + (1 - 1 / r) * fall * gap
                roots = np.roots([max(gap, 1e-3), -spread, fall * b * (1 - b) / r * (gap / max(gap, 1e-3))])
                safe = self.rule.proof * max(roots.real)
                proof = min(0.5 / n, min(max(safe, 0.25), 4.0) / rooms[k])
            weights.append(weight)
            proofs.append(proof)
        q = [(1 - sum(proofs)) * w / sum(weights) + e for w, e in zip(weights, proofs, strict=True)]
        return q, [min(self.baseline, 0.9 * q[k] * rooms[k]) for k in range(n)], rooms

    def leaders(self, k):
        """The arms of a clique with the lowest sum of losses."""
        lowest = min(self.sum_of(arm) for arm in self.cliques[k])
        return [arm for arm in self.cliques[k] if self.sum_of(arm) == lowest]

    def distribution(self):
        q, _, _ = self.masses()
        out = np.zeros(len(self.lhat))
        for k in range(len(self.cliques)):
            out[self.leaders(k)] = q[k] / len(self.leaders(k))
        return out

    def choose(self, first, second):
        """A clique by its probability, then any of its leaders."""
        q, _, _ = self.masses()
        k = int(np.searchsorted(np.cumsum(q), first, side="right"))
        leaders = self.leaders(k)
        return leaders[int(second * len(leaders))]

    def learn(self, arm, losses):
        """``losses`` by arm of the clique."""
        q, b, rooms = self.masses()
        k = next(j for j, clique in enumerate(self.cliques) if arm in clique)
        later, seen, best = len(self.past) + 1 + 100, self.seen(k), self.best()  # a head start of 100 rounds
        lowest = min(self.lhat[i] for i in self.cliques[k])
        roof = lowest + self.rule.room_limit * later + 6 * math.sqrt(later) - rooms[k]
        raised = {i: self.lhat[i] + b[k] + (losses[i] - b[k]) / q[k] for i in losses}
        for j, clique in enumerate(self.cliques):
            for i in clique:
                self.lhat[i] += b[j]
        kept = {
            i: raised[i] if raised[i] <= self.lhat[i] else max(self.lhat[i], min(raised[i], roof + b[k]))
            for i in losses
        }
        self.held_back += q[k] * (min(raised.values()) - min(kept.values()))
        self.lhat |= kept
        if seen:
            self.watch(k, arm, losses, self.mean(k) <= best, seen)
        self.past.append(Past(k, arm, losses))
        self.recent += min(1.0, 20 / later) * (losses[arm] - self.recent)
        if min(self.rooms()) <= 0:
            self.reason = "an arm had no room left"

    def watch(self, k, arm, losses, leads, seen):
        """How the loss deviates from its mean, and whether means of cliques that do not lead have moved."""
        mean = (self.sum_of(arm) + 0.5) / (seen + 1)
        self.coins[leads][0] += mean * (1 - mean)
        self.coins[leads][1] += (losses[arm] - mean) ** 2 / (1 + 1 / (seen + 1))
        if leads or seen < 4:
            return
        before = sum(np.mean(list(past.losses.values())) for past in self.past if past.clique == k) / seen
        residual = (np.mean(list(losses.values())) - before) / math.sqrt(1 + 1 / seen)
        residual *= 2 * math.sqrt(self.precision())
        self.drifts = [max(0.0, d + s * residual - 0.4) for d, s in zip(self.drifts, (1, -1), strict=True)]
        if max(self.drifts) > (self.rule.alarm or math.inf) + 0.4 * len(self.cliques):
            self.reason = "losses moved"


# --- worlds ---------------------------------------------------------------------------------------------


def bernoulli(t, n, rng):
    return (rng.random(n) < np.linspace(0.2, 0.8, n)).astype(float)


def calm(t, n, rng):
    """Losses that hardly vary."""
    return np.linspace(0.45, 0.55, n) + 0.02 * rng.random(n)


def shift(t, n, rng):
    means = np.linspace(0.1, 0.9, n)
    return (rng.random(n) < (means if t < 120 else means[::-1])).astype(float)


def constant(t, n, rng):
    return np.linspace(1.0, 0.3, n)


def nothing(t, n, rng):
    return np.zeros(n)


def everything(t, n, rng):
    return np.ones(n)


def worse(t, n, rng):
    """What was good becomes bad: losses of the leader rise."""
    return np.where(np.arange(n) == 0, 0.1 if t < 60 else 1.0, 0.5)


WORLDS = {one.__name__: one for one in (bernoulli, calm, shift, constant, nothing, everything, worse)}


def steps(learner, world, n_rounds, seed=3):
    """Yield of each round the state before it, the uniforms, all losses, the ticket and the losses seen."""
    state, coins, rng = learner.init(), np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    for t in range(1, n_rounds + 1):
        uniforms, losses = coins.random(2), world(t, learner.n_arms, rng)
        ticket = learner.draw(state, *uniforms)
        seen = losses[learner.observes(ticket.arm)]
        yield state, uniforms, losses, ticket, seen
        learner.update(state, ticket, seen)


def state_after(learner, world, n_rounds, seed=3):
    """The state after so many rounds."""
    *_, last = steps(learner, world, n_rounds, seed)
    return last[0]


def follow(learner, world, n_rounds, seed=3):
    """Compare every round until the handover with the reference; the round of the handover, and why."""
    reference = Reference(learner)
    for t, (state, uniforms, losses, ticket, _) in enumerate(steps(learner, world, n_rounds, seed), 1):
        assert learner.round(state) == t
        assert learner.handed_over(state) == (t if reference.reason else None)
        assert learner.handover_reason(state) == reference.reason
        if reference.reason:
            assert learner.regret_bound(state) == pytest.approx(reference.bound, rel=1e-9)
            return t, reference.reason
        q, b, rooms = reference.masses()
        assert learner.clique_mass(state) == pytest.approx(q, rel=1e-9, abs=1e-15)
        assert learner.clique_mass(state).sum() == pytest.approx(1.0, abs=1e-12)
        assert learner.distribution(state) == pytest.approx(reference.distribution(), rel=1e-9, abs=1e-15)
        assert learner.room(state) == pytest.approx(rooms, rel=1e-9)
        assert learner.estimates(state) == pytest.approx(list(reference.lhat.values()), rel=1e-9, abs=1e-9)
        assert learner.regret_bound(state) == pytest.approx(reference.bound, rel=1e-9, abs=1e-9)
        assert learner.held_back(state) == pytest.approx(reference.held_back, rel=1e-9, abs=1e-9)
        assert state.clock[[UP, DOWN]] == pytest.approx(reference.drifts, rel=1e-9, abs=1e-9)
        k = ticket.clique
        assert ticket.arm == reference.choose(*uniforms)
        assert ticket.probability == pytest.approx(q[k] / len(reference.leaders(k)), rel=1e-9)
        assert (ticket.clique_probability, ticket.baseline) == pytest.approx((q[k], b[k]), rel=1e-9, abs=1e-15)
        assert (ticket.round, ticket.damping) == (t, 0.0)
        reference.learn(ticket.arm, {i: losses[i] for i in reference.cliques[k]})
    return None, ""


@pytest.mark.parametrize("shape", COVERS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_round_is_that_of_the_reference(shape, world):
    assert follow(Guarded(cover_of(COVERS[shape])), WORLDS[world], 160) == (None, "")


SETTINGS = {
    "no share": {"share": 0.0},
    "all the mean": {"share": 1.0},
    "blunt": {"sharpness": 0.5, "alarm": None},
    "sharp": {"sharpness": 6.0, "proof": 0.5},
    "safe": {"proof": 12.0, "allowance": 0.4, "start": 8.0},
    "small rooms": {"room_limit": 0.01, "start": 59.0},
}


@pytest.mark.parametrize("shape", ["bandit", "mixed"])
@pytest.mark.parametrize("world", ["bernoulli", "constant", "calm"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_every_round_is_that_of_the_reference_with_other_settings(settings, shape, world):
    follow(Guarded(cover_of(COVERS[shape]), **SETTINGS[settings]), WORLDS[world], 90)


@pytest.mark.parametrize("shape", ["bandit", "mixed", "alike"])
def test_an_account_without_room_hands_over_in_the_round_of_the_reference(shape):
    learner = Guarded(cover_of(COVERS[shape]), start=1.5, allowance=0.2, alarm=None)
    when, why = follow(learner, shift, 400)
    assert why == "an arm had no room left"
    assert 1 < when < 400


@pytest.mark.parametrize("world", ["bernoulli", "worse"])
@pytest.mark.parametrize("shape", ["bandit", "mixed"])
def test_an_alarm_hands_over_in_the_round_of_the_reference(world, shape):
    seen = [follow(Guarded(cover_of(COVERS[shape]), alarm=0.2), WORLDS[world], 300, seed=seed) for seed in range(3)]
    assert (world == "worse") or any(why == "losses moved" and when > 5 for when, why in seen)


def test_the_estimates_are_limited_where_few_draws_say_much():
    """A clique that was drawn with a small probability and lost 1 would get more room than it may have."""
    learner = Guarded(cover_of(ALONE), room_limit=0.001, start=38.0, share=0.0)
    held = 0.0
    for state, *_ in steps(learner, constant, 150):
        held = learner.held_back(state)
    assert held > 0.0
    assert follow(learner, constant, 150) == (None, "")


# --- after the handover ---------------------------------------------------------------------------------


def handed_over(n_after=0, cliques=MIXED, **options):
    """A learner with its state and ``n_after`` rounds after the handover; all tickets and losses seen."""
    learner = Guarded(cover_of(cliques), **{"start": 1.5, "allowance": 0.2, "alarm": None} | options)
    told = []
    for state, uniforms, _, ticket, seen in steps(learner, shift, 1000):
        first = learner.handed_over(state)
        if first is not None and learner.round(state) >= first + n_after:
            return learner, state, told
        told.append((uniforms, ticket, seen))
    raise AssertionError("no handover")


def test_after_the_handover_it_is_algorithm_1_from_nothing():
    learner, state, told = handed_over(80)
    first = learner.handed_over(state)
    fresh = aw.TsallisShannon(learner.cover)
    other = fresh.init()
    for round, (uniforms, ticket, seen) in enumerate(told[first - 1 :], 1):
        own = fresh.draw(other, *uniforms)
        assert (own.round, ticket.round) == (round, round + first - 1)
        assert own._replace(round=0) == ticket._replace(round=0)
        fresh.update(other, own, seen)
    assert len(told) - first + 1 == 80
    assert learner.distribution(state).tolist() == fresh.distribution(other).tolist()
    assert learner.clique_mass(state) == pytest.approx(fresh.clique_mass(other), rel=1e-15)
    assert learner.estimates(state).tolist() == fresh.estimates(other).tolist()


def test_bound_and_what_is_held_back_are_those_of_the_account_and_of_algorithm_1():
    learner, state, _ = handed_over()
    account, before = learner.regret_bound(state), learner.held_back(state)
    assert account > 0.0
    learner, state, _ = handed_over(120)
    assert learner.regret_bound(state) == account + learner.then.regret_bound(state.then) > account
    assert learner.held_back(state) == before + learner.then.held_back(state.then)


def test_a_trace_says_in_which_round_all_was_left_to_algorithm_1():
    world = aw.make_world("lock-in", n_arms=6)
    trace = aw.play(Guarded(cover_of(ALIKE), start=1.5, allowance=0.2), world, 3000, seed=1)
    calm = aw.play(Guarded(cover_of(ALIKE)), aw.make_world("stochastic:gap=0.25", n_arms=6), 300, seed=1)
    assert 1 < trace.handed_over <= 3000
    assert calm.handed_over is None
    assert (np.diff(trace.regret_bound) >= 0.0).all()
    assert aw.play(aw.TsallisShannon(cover_of(ALIKE)), world, 20).handed_over is None
    assert aw.play(aw.make_learner("exp3", disjoint_cliques(2, 3)), world, 20).handed_over is None


def test_a_handover_after_the_last_round_is_not_in_the_trace():
    learner, world = Guarded(disjoint_cliques(2, 1), start=0.5, allowance=0.1), aw.make_world("stochastic", n_arms=2)
    first = aw.play(learner, world, 300, seed=1).handed_over
    assert first > 2
    short = aw.play(learner, world, first - 1, seed=1)
    assert short.handed_over is None
    assert "handed_over" not in short.to_pandas()
    long = aw.play(learner, world, first, seed=1)
    assert long.handed_over == first
    assert long.to_pandas()["handed_over"].sum() == 1


def test_what_algorithm_1_holds_back_is_returned_and_can_be_given_instead():
    learner, state, _ = handed_over(5, ALONE)
    given = learner.unpack(learner.pack(state))
    returned, rng = [], np.random.default_rng(2)
    for _ in range(200):
        ticket, before = learner.draw(state, *rng.random(2)), learner.held_back(state)
        loss = np.array([float(ticket.arm != 0)])
        returned.append(learn(state, ticket, loss, -1.0))
        learn(given, ticket, loss, returned[-1])
        taken = ticket.clique_probability * returned[-1]
        assert learner.held_back(state) - before == pytest.approx(taken, rel=1e-9, abs=1e-9)
        assert learner.held_back(given) == learner.held_back(state)
        assert learner.estimates(given).tolist() == learner.estimates(state).tolist()
    assert min(returned) == 0.0 < max(returned)


# --- tickets --------------------------------------------------------------------------------------------


def test_a_late_ticket_from_before_the_handover_is_learnt_as_it_was_drawn():
    learner = Guarded(cover_of(MIXED), start=1.5, allowance=0.2, alarm=None)
    late = learner.draw(learner.init(), 0.9, 0.1)
    _, state, told = handed_over(10)
    bound = learner.regret_bound(state)
    assert bound is not None
    before, round = learner.estimates(state), learner.round(state)
    losses = np.linspace(0.2, 0.4, len(learner.observes(late.arm)))
    learner.update(state, late, losses)
    expected = before.copy()
    expected[learner.observes(late.arm)] += (losses - late.baseline) / late.clique_probability
    assert learner.estimates(state) == pytest.approx(expected, rel=1e-12)
    assert learner.round(state) == round + 1
    assert learner.handed_over(state) == len(told) - 9
    assert learner.regret_bound(state) is None


def test_a_late_ticket_before_the_handover_is_learnt_and_ends_the_bound():
    learner = Guarded(cover_of(MIXED))
    state = learner.init()
    first, late = learner.draw(state, 0.1, 0.1), learner.draw(state, 0.9, 0.1)
    learner.update(state, first, np.full(len(learner.observes(first.arm)), 0.5))
    assert learner.regret_bound(state) is not None
    before = learner.estimates(state)
    learner.update(state, late, np.full(len(learner.observes(late.arm)), 0.75))
    assert learner.regret_bound(state) is None
    assert state.clock[LATE] == 1.0
    seen = learner.observes(late.arm)
    assert learner.estimates(state)[seen] == pytest.approx(before[seen] + 0.75 / late.clique_probability)


def test_a_mask_divides_by_the_probability_that_was_used():
    learner = Guarded(cover_of(MIXED))
    state = state_after(learner, bernoulli, 40)
    used = restricted(learner.distribution(state), np.array([4, 3, 1]), np.zeros(7))
    for arm in np.flatnonzero(used).tolist():
        ticket = learner.ticket_from(state, arm, used)
        clique = learner.cover.owner[arm]
        mass = used[learner.cover.cliques[clique]].sum()
        assert (ticket.arm, ticket.clique, ticket.round) == (arm, clique, 41)
        assert (ticket.probability, ticket.clique_probability) == pytest.approx((used[arm], mass), rel=1e-12)
        most = 0.9 * learner.clique_mass(state)[clique] * learner.room(state)[clique]
        assert ticket.baseline == pytest.approx(min(0.5 * state.clock[2], most))
        divisors, baseline = learner.weights_of(ticket)
        assert divisors.tolist() == [ticket.clique_probability] * len(learner.observes(arm))
        assert baseline == ticket.baseline
        assert learner.details(ticket)["damping"] == 0.0  # a log divides by clique_probability + damping
    assert (ticket.damping == 1.0) == (used[[0, 6, 2, 5]].sum() == 0.0)
    assert used[[4, 3, 1]].sum() == pytest.approx(1.0)


def test_the_account_stands_still_while_a_clique_is_masked_and_means_go_on():
    """Otherwise a clique that nobody can play would only seem the better, and all would be handed over."""
    learner = Guarded(disjoint_cliques(2, 1))
    state = state_after(learner, bernoulli, 40)
    room, seen = learner.room(state), state.table[0, SEEN]
    for _ in range(3000):
        used = restricted(learner.distribution(state), np.array([0]), np.zeros(2))
        learner.update(state, learner.ticket_from(state, 0, used), np.array([0.5]))
    assert learner.handed_over(state) is None
    assert learner.room(state) == pytest.approx(room, abs=1e-6)
    assert state.table[0, SEEN] == seen + 3000
    assert learner.regret_bound(state) is None
    shared = 0.8 * learner.distribution(state) + 0.1  # a minimum share leaves no clique without a draw
    learner.update(state, learner.ticket_from(state, 0, shared), np.array([0.5]))
    assert learner.room(state) != pytest.approx(room, abs=1e-6)


def test_a_mask_after_the_handover_is_that_of_algorithm_1():
    learner, state, _ = handed_over(30)
    used = restricted(learner.distribution(state), np.array([0, 3]), np.zeros(7))
    ticket, own = learner.ticket_from(state, 3, used), learner.then.ticket_from(state.then, 3, used)
    assert ticket == own._replace(round=learner.round(state))
    assert ticket.round == learner.handed_over(state) + 30


def test_arms_with_equal_sums_share_equally_and_the_second_uniform_says_which():
    learner = Guarded(disjoint_cliques(1, 4))
    state = learner.init()
    learner.update(state, learner.draw(state, 0.5, 0.99), np.array([1.0, 0.25, 0.25, 0.25]))
    assert learner.distribution(state) == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], rel=1e-15)
    drawn = [learner.draw(state, 0.5, second) for second in (0.0, 0.34, 0.999999)]
    assert [ticket.arm for ticket in drawn] == [1, 2, 3]
    assert [ticket.probability for ticket in drawn] == pytest.approx([1 / 3] * 3, rel=1e-15)


def test_what_rounding_leaves_over_goes_to_the_likeliest_clique():
    learner = Guarded(cover_of(ALONE))
    state = learner.init()
    state.table[:, MASS] = [0.1, 0.5, 0.2, 0.1]
    assert [learner.draw(state, first, 0.5).arm for first in (0.05, 0.3, 0.7, 0.85, 0.95)] == [0, 1, 2, 3, 1]


# --- saving, moving, settings ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_after", [None, 0, 40])
def test_a_saved_state_goes_on_bit_for_bit(n_after):
    if n_after is None:
        learner = Guarded(cover_of(MIXED))
        state = state_after(learner, bernoulli, 60)
    else:
        learner, state, _ = handed_over(n_after)
    packed = learner.pack(state)
    again = learner.unpack({name: array.copy() for name, array in packed.items()})
    rng = np.random.default_rng(5)
    for _ in range(60):
        uniforms, losses = rng.random(2), rng.random(7)
        tickets = [learner.draw(one, *uniforms) for one in (state, again)]
        assert tickets[0] == tickets[1]
        for one, ticket in zip((state, again), tickets, strict=True):
            learner.update(one, ticket, losses[learner.observes(ticket.arm)])
        assert learner.distribution(state).tolist() == learner.distribution(again).tolist()
    assert learner.regret_bound(state) == learner.regret_bound(again)
    later, its = learner.pack(state), learner.pack(again)
    assert all(later[name].tobytes() == its[name].tobytes() for name in later)
    assert not np.array_equal(later["clock"], packed["clock"])


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("clock", REASON, 9.0),
        ("clock", REASON, 1.0),
        ("clock", 0, 0.0),
        ("clock", HANDED_OVER, 1.0),
        ("table", MASS, -1.0),
        ("table", MASS, 0.0),
    ],
)
def test_a_damaged_state_is_refused(name, place, value):
    learner = Guarded(cover_of(MIXED))
    arrays = learner.pack(learner.init())
    arrays[name].T[place] = value
    with pytest.raises(InvalidState, match="the saved round, reason or masses are impossible; the file is damaged"):
        learner.unpack(arrays)


def test_what_is_saved_before_anything_was_seen_has_only_finite_numbers():
    learner = Guarded(cover_of(MIXED))
    assert all(np.isfinite(array).all() for array in learner.pack(learner.init()).values())


def test_other_arms_leave_all_to_algorithm_1_which_goes_on_with_the_estimates():
    learner = Guarded(cover_of(MIXED), share=0.4)
    state = state_after(learner, bernoulli, 60)
    where, losses = cover_of([[0, 1], [2]]), np.array([3.0, 5.0, 4.0])
    bound, held = learner.regret_bound(state), learner.held_back(state)
    assert bound is not None
    moved, later = learner.moved(state, where, losses)
    assert moved == Guarded(where, share=0.4)
    assert (moved.handed_over(later), moved.handover_reason(later)) == (61, "arms came or went")
    assert moved.round(later) == 61
    assert moved.estimates(later) == pytest.approx(losses, rel=1e-12)
    assert moved.regret_bound(later) is None
    assert moved.held_back(later) == held
    assert moved.then.residual(later.then) < 1e-9
    assert later.then.clock[1] == pytest.approx(moved.then.constants.baseline_share * state.clock[2])
    ticket = moved.draw(later, 0.2, 0.3)
    moved.update(later, ticket, np.zeros(len(moved.observes(ticket.arm))))
    assert (moved.round(later), moved.handed_over(later)) == (62, 61)
    again = moved.with_estimates(later, losses, 0.5)
    assert (moved.round(again), moved.handed_over(again)) == (63, 61)
    assert moved.estimates(again) == pytest.approx(losses, rel=1e-12)


def test_what_is_known_of_an_arm_counts_as_far_as_the_deficit_limit_lets_it():
    learner = Guarded(cover_of(MIXED))
    state = learner.init()
    constants = learner.then.constants
    t = 1.0 + constants.head_start
    most = constants.deficit_limit * t + constants.deficit_root * math.sqrt(t)
    moved, later = learner.moved(state, cover_of([[0], [1], [2]]), np.array([2.0, 1e6, 3.0]))
    assert moved.estimates(later) == pytest.approx([2.0, 2.0 + most, 3.0], rel=1e-12)


def test_arms_that_change_after_the_handover_leave_its_round_and_reason():
    learner, state, _ = handed_over(30)
    first, round = learner.handed_over(state), learner.round(state)
    estimates = learner.estimates(state)
    moved, later = learner.moved(state, learner.cover, estimates)
    assert (moved.handed_over(later), moved.round(later)) == (first, round)
    assert moved.handover_reason(later) == "an arm had no room left"
    assert moved.estimates(later) == pytest.approx(estimates, rel=1e-12)
    assert moved.distribution(later) == pytest.approx(learner.distribution(state), rel=1e-6)
    ticket = moved.draw(later, 0.5, 0.5)
    assert ticket.round == round


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"share": 1.1}, "share is 1.1; expected a number from 0 to 1"),
        ({"share": -0.1}, "share is -0.1; expected a number from 0 to 1"),
        ({"start": 0}, "start is 0; expected a finite number above 0"),
        ({"allowance": 0.0}, "allowance is 0.0; expected a finite number above 0"),
        ({"sharpness": -1}, "sharpness is -1; expected a finite number above 0"),
        ({"proof": math.nan}, "proof is nan; expected"),
        ({"room_limit": 0}, "room_limit is 0; expected a finite number above 0"),
        ({"alarm": 0}, "alarm is 0; expected a finite number above 0"),
        ({"alarm": math.inf}, "alarm is inf; expected"),
        ({"start": "x"}, "start is 'x'; expected"),
    ],
)
def test_a_bad_setting_gets_a_sentence(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        Guarded(disjoint_cliques(2, 2), **options)


def test_settings_survive_and_the_defaults_are_those_of_the_text():
    learner = Guarded(disjoint_cliques(2, 2), start=3, allowance=0.5, alarm=None, share=1)
    assert Guarded.from_settings(learner.cover, learner.settings()) == learner
    assert learner.rules.alarm == math.inf
    assert (learner.start, learner.share) == (3.0, 1.0)
    usual = Guarded(disjoint_cliques(2, 2)).settings()
    assert usual == {
        "start": 20.0,
        "allowance": 1.2,
        "sharpness": 2.0,
        "proof": 1.0,
        "share": 0.5,
        "room_limit": 0.15,
        "alarm": 12.0,
    }


# --- runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bandit", "mixed"])
def test_no_false_alarm_rings_in_a_short_world_of_coins(shape):
    learner = Guarded(cover_of(COVERS[shape]))
    for seed in range(6):
        state = state_after(learner, bernoulli, 400, seed=seed)
        assert learner.handed_over(state) is None
        assert learner.distribution(state).argmax() == 0


@pytest.mark.compiled
def test_coins_are_not_handed_over_and_a_constrained_adversary_is():
    learner = Guarded(disjoint_cliques(5, 1))
    calm = aw.play_many(learner, aw.make_world("stochastic:gap=0.25", n_arms=5), 20_000, seeds=range(6), jobs=2)
    hostile = aw.play_many(learner, aw.make_world("constrained-adversary", n_arms=5), 20_000, seeds=range(4), jobs=2)
    assert [trace.handed_over for trace in calm] == [None] * 6
    assert all(trace.handed_over is not None for trace in hostile)
    regrets, bounds = (np.mean([getattr(t, name)[-1] for t in hostile]) for name in ("pseudo_regret", "regret_bound"))
    assert regrets <= bounds < 20_000


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_losses_that_are_all_nothing_or_all_one_stay_finite(level):
    learner = Guarded(disjoint_cliques([3, 1, 2]))
    for state, *_ in steps(learner, lambda t, n, rng: np.full(n, level), 300):
        assert np.isfinite(learner.distribution(state)).all()
    assert learner.handed_over(state) is None
    assert all(np.isfinite(array).all() for array in learner.pack(state).values())
    assert state.table[:, SEEN].sum() == 300
    assert state.table[:, AVERAGE].sum() == pytest.approx(300 * level)


# --- what a clique needs to prove itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("best", "gap", "share"), [(0.45, 0.1, 0.5), (0.3, 0.4, 0.5), (0.2, 0.7, 0.5), (0.8, 0.15, 0.7)]
)
def test_with_the_draws_it_needs_one_over_the_room_is_constant_on_average(best, gap, share):
    """The equation of the docs, put together from a draw's two outcomes and from how the room falls without one."""
    baseline, mean = share * best, best + gap
    needed = evidence_needed(gap, best, baseline, 1.0)
    after_a_draw = sum(chance / (1.0 + (loss - baseline) / needed) for loss, chance in ((1.0, mean), (0.0, 1.0 - mean)))
    assert after_a_draw == pytest.approx(1.0 - (best - baseline) / needed, rel=1e-9)
    assert needed > baseline, "a single draw must not take more than the whole room"
    assert sum(
        chance / (1.0 + (loss - baseline) / (1.1 * needed)) for loss, chance in ((1.0, mean), (0.0, 1.0 - mean))
    ) < 1.0 - (best - baseline) / (1.1 * needed), "more draws are safer"


def test_losses_that_do_not_vary_need_the_least_proof():
    assert evidence_needed(0.2, 0.4, 0.2, math.inf) == pytest.approx(0.2 * 0.4 / 0.2)
    assert (
        evidence_needed(0.2, 0.4, 0.2, 100.0)
        < evidence_needed(0.2, 0.4, 0.2, 10.0)
        < evidence_needed(0.2, 0.4, 0.2, 1.0)
    )
