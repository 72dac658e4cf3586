"""The driver with executors that misbehave."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from allworlds.experiments import work
from allworlds.experiments.driver import Driver, Listener
from allworlds.experiments.executors import Returned
from allworlds.experiments.store import Store, new_folder
from allworlds.experiments.work import play_cell
from allworlds.foundation.errors import RunStopped
from allworlds.workflows.experiments import make_plan, run_experiment
from experiment_runs import write_file

pytestmark = pytest.mark.compiled


class Fake:
    """Does the work at once, and loses bundles that hold a cell of ``deadly``."""

    name, goal, width = "a fake", 0.002, 2

    def __init__(self, cache, deadly=(), stop_after=10**9, error=None):
        self.cache, self.deadly, self.left, self.error = cache, set(deadly), stop_after, error
        self.begun, self.done, self.bundles = Counter(), [], []

    def warm_up(self, cells, on_notice):
        pass

    def submit(self, bundle):
        self.begun.update(cell.id for cell in bundle)
        self.bundles.append(len(bundle))
        lost = "it died" if any(cell.id in self.deadly for cell in bundle) else None
        outcomes = [] if lost else [play_cell(cell, self.cache) for cell in bundle]
        self.done.append(Returned(bundle, outcomes, lost))

    def collect(self, timeout):
        self.left -= 1
        if self.left == -1 or (self.left < 0 and isinstance(self.error, RunStopped)):
            raise self.error
        returned, self.done = self.done, []
        return returned

    def stop(self):
        return 0

    def close(self):
        pass


class Crowded(Fake):
    """One worker for all: whatever is under way beside a deadly cell is lost with it."""

    def collect(self, timeout):
        returned = super().collect(timeout)
        if any(one.lost for one in returned):
            return [Returned(one.bundle, [], "it died") for one in returned]
        return returned


def test_who_was_lost_beside_a_deadly_cell_is_tried_by_itself_and_finished(plan, tmp_path):
    guilty = plan.cells[5].id
    executor = Crowded(plan.cache, [guilty])
    executor.goal = 0.0  # two cells under way at a time
    assert drive(plan, tmp_path / "out", executor) == {"done": 11, "failed": 1}
    assert executor.begun[guilty] == 2
    assert max(executor.begun.values()) == 2


@pytest.fixture
def plan(tmp_path):
    return make_plan(write_file(tmp_path))


def drive(plan, folder, executor, **options):
    with Store(new_folder(folder)) as store:
        store.add(plan.cells)
        try:
            Driver(store, executor, Listener(), len(plan.cells), 0, **options).run(plan.cells)
        finally:
            states = Counter(row.state for row in store.records())
    return states


def test_a_cell_whose_workers_die_is_found_among_its_neighbours_and_given_up(plan, tmp_path):
    guilty = plan.cells[4].id
    executor = Fake(plan.cache, deadly=[guilty])
    executor.goal = 1e9
    assert drive(plan, tmp_path / "out", executor) == {"done": 11, "failed": 1}
    assert executor.bundles == [12] + [1] * 13
    assert executor.begun[guilty] == 3  # in its bundle, then alone, twice


def test_the_clock_of_the_speed_starts_with_the_first_cell_and_not_with_compilation(plan, tmp_path):
    heard = []
    with Store(new_folder(tmp_path / "out")) as store:
        store.add(plan.cells)
        driver = Driver(store, Fake(plan.cache), Listener(on_progress=heard.append), len(plan.cells), 0)
        time.sleep(0.3)  # as compilation takes its time
        began = time.monotonic()
        driver.run(plan.cells)
        took = time.monotonic() - began
    rounds = sum(cell.horizon for cell in plan.cells)
    assert heard[-1].rounds_per_second >= rounds / took


def test_bundles_hold_about_as_much_work_as_the_executor_wants(plan, tmp_path):
    executor = Fake(plan.cache)
    executor.goal = 0.0
    drive(plan, tmp_path / "one", executor)
    assert set(executor.bundles) == {1}
    executor = Fake(plan.cache)
    executor.goal = 1e9
    drive(plan, tmp_path / "all", executor)
    assert executor.bundles == [12]


@pytest.mark.parametrize("error", [RunStopped("the cluster is gone"), KeyboardInterrupt()])
def test_what_came_back_before_an_early_end_is_kept(plan, tmp_path, error):
    executor = Fake(plan.cache, stop_after=2, error=error)
    executor.goal = 0.0
    with pytest.raises((RunStopped, KeyboardInterrupt)):
        drive(plan, tmp_path / "out", executor)
    with Store(tmp_path / "out", read_only=True) as store:
        done = sum(row.state == "done" for row in store.records())
    assert done == (4 if isinstance(error, RunStopped) else 6)  # pairs; after Ctrl-C, what is under way may still end


def fail_for(monkeypatch, learner, counter):
    play = work.play

    def failing(player, world, horizon, seed=0):
        if player.name == learner and horizon > 2:
            counter[seed] += 1
            raise MemoryError("no room")
        return play(player, world, horizon, seed)

    monkeypatch.setattr(work, "play", failing)


def test_cells_that_fail_are_tried_twice_reported_and_do_not_stop_the_others(tmp_path, monkeypatch):
    tried = Counter()
    with monkeypatch.context() as patch:
        fail_for(patch, "uniform", tried)
        summary = run_experiment(write_file(tmp_path), tmp_path / "out", jobs=2)
    assert (summary.done, summary.failed, summary.complete) == (6, 6, False)
    assert set(tried.values()) == {2}
    with Store(tmp_path / "out", read_only=True) as store:
        errors = [row.error for row in store.records() if row.state == "failed"]
    assert all(error.startswith("MemoryError: no room\n") for error in errors)
    assert run_experiment(tmp_path / "small.toml", tmp_path / "out").complete


def test_fail_fast_stops_at_the_first_failure(tmp_path, monkeypatch):
    fail_for(monkeypatch, "ucb-n", Counter())
    file = write_file(tmp_path, seeds=200)
    summary = run_experiment(file, tmp_path / "out", jobs=1, fail_fast=True)
    assert 1 <= summary.failed < 400
    assert summary.done + summary.failed < summary.total


def test_one_thread_and_three_give_the_same_checksum(tmp_path):
    file = write_file(tmp_path)
    checksums = {run_experiment(file, tmp_path / str(jobs), jobs=jobs).checksum for jobs in (1, 3)}
    assert len(checksums) == 1


def test_who_waits_for_the_compiler_is_told_how_far_it_is(plan, monkeypatch):
    monkeypatch.setattr(work, "SILENCE", -1.0)
    told, cells = [], work.sample(plan.cells)
    work.warm_up(plan.cells, plan.cache, told.append)
    assert told == [f"compiling, {k} of {len(cells)} done; next {one.learner}" for k, one in enumerate(cells)]
