"""The store against a kill at every step, damage, loss and a full disk."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import struct
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from allworlds.experiments import driver as driver_module
from allworlds.experiments import parts as parts_module
from allworlds.experiments import store as store_module
from allworlds.experiments.store import Store, new_folder, read_description
from allworlds.experiments.work import play_cell
from allworlds.foundation.errors import InvalidParameter, RunStopped
from allworlds.foundation.machine import machine, same_kind
from allworlds.workflows import experiments as workflow_module
from allworlds.workflows.experiments import make_plan, resume_experiment, run_experiment
from allworlds.workflows.results import read_status, verify_results
from experiment_runs import write_file

pytestmark = pytest.mark.compiled


@pytest.fixture
def plan(tmp_path):
    return make_plan(write_file(tmp_path))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run, all of it in one part however slow the machine is: its file, its folder and its checksum."""
    file = write_file(tmp_path)
    monkeypatch.setattr(driver_module, "KEEP_FIRST", math.inf)
    monkeypatch.setattr(driver_module, "KEEP_LATER", math.inf)
    return file, tmp_path / "out", run_experiment(file, tmp_path / "out").checksum


class Heard(list):
    def __call__(self, sentence):
        self.append(sentence)


def again(file, folder):
    from allworlds.experiments.driver import Listener

    heard = Heard()
    return run_experiment(file, folder, listener=Listener(on_notice=heard)), heard


def rows_of(outcome):
    return [(int(t), *map(float, row)) for t, row in zip(outcome.rows.rounds, outcome.rows.values, strict=True)]


def checksum_by_hand(outcomes):
    """SHA-256 over sorted cells of SHA-256 over their rows, packed number by number."""
    lines = []
    for outcome in outcomes:
        rows = rows_of(outcome)
        packed = b"".join(struct.pack("<q", row[0]) for row in rows)
        packed += b"".join(struct.pack("<4d", *row[1:]) for row in rows)
        lines.append(f"{outcome.cell.id} {hashlib.sha256(outcome.cell.id.encode() + packed).hexdigest()}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def test_the_checksum_is_that_of_the_sorted_rows_however_they_lie_in_parts(plan, tmp_path):
    outcomes = [play_cell(cell, plan.cache) for cell in plan.cells]
    expected = checksum_by_hand(outcomes)
    for number, sizes in enumerate(([12], [5, 7], [1] * 12)):
        order = outcomes[::-1] if number else outcomes
        with Store(new_folder(tmp_path / str(number))) as store:
            store.add(plan.cells)
            for size in sizes:
                store.keep(order[:size])
                order = order[size:]
            assert store.checksum() == expected
            assert len(list(store.parts.iterdir())) == len(sizes)


def test_a_part_holds_the_rows_bit_for_bit_and_is_named_by_its_hash(plan, tmp_path):
    outcomes = [play_cell(cell, plan.cache) for cell in plan.cells[:3]]
    with Store(new_folder(tmp_path / "out")) as store:
        store.add(plan.cells)
        store.keep(outcomes)
        (path,) = store.parts.iterdir()
    assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    table = pq.read_table(path)
    read = list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
    assert read == [(outcome.cell.id, *row) for outcome in outcomes for row in rows_of(outcome)]


def test_a_kill_between_part_and_table_loses_nothing(plan, tmp_path, monkeypatch):
    outcomes = [play_cell(cell, plan.cache) for cell in plan.cells]

    def killed(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    write = store_module.write_part
    monkeypatch.setattr(store_module, "write_part", killed)
    folder = new_folder(tmp_path / "out")
    with Store(folder) as store:
        store.add(plan.cells)
        with pytest.raises(KeyboardInterrupt):
            store.keep(outcomes)
        assert {row.state for row in store.records()} == {"waiting"}
    with Store(folder) as store:
        (sentence,) = store.mend()
        assert sentence.endswith("was finished but not yet noted: 12 cells taken over")
        assert store.checksum() == checksum_by_hand(outcomes)
        assert store.mend() == []


def test_a_kill_while_a_part_is_written_leaves_no_part(plan, tmp_path, monkeypatch):
    folder = new_folder(tmp_path / "out")
    (folder / "parts" / ".half.parquet.123.part").write_bytes(b"PAR1")
    with Store(folder) as store:
        store.add(plan.cells)
        assert store.mend() == []
        assert list(store.parts.iterdir()) == []


def test_what_is_not_of_this_run_is_not_taken_over_and_not_touched(plan, tmp_path, monkeypatch):
    folder = new_folder(tmp_path / "out")
    monkeypatch.setattr(parts_module, "code_version", lambda: "0.0.1+abc")
    parts_module.write_part(folder / "parts", [play_cell(plan.cells[0], plan.cache)])
    monkeypatch.undo()
    (folder / "parts" / "thesis.docx").write_bytes(b"years of work")
    before = {path.name: path.read_bytes() for path in (folder / "parts").iterdir()}
    with Store(folder) as store:
        store.add(plan.cells)
        said = store.mend()
        assert len(said) == 2
        assert all(sentence.endswith("is not of this run; it is left alone and does not count") for sentence in said)
        assert {path.name: path.read_bytes() for path in store.parts.iterdir()} == before
        assert not any(row.state == "done" for row in store.records())


@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_damaged_and_missing_parts_are_noticed_said_and_done_again(run, harm):
    file, folder, checksum = run
    (part,) = (folder / "parts").iterdir()
    if harm == "missing":
        part.unlink()
    else:
        content = bytearray(part.read_bytes())
        content[len(content) // 2] ^= 1
        part.write_bytes(content)
    assert verify_results(folder, replay=0).damaged == (f"part {part.name} is missing or damaged",)
    summary, heard = again(file, folder)
    assert heard[0] == f"part {part.name} is {harm}: 12 cells will be done again"
    assert summary.checksum == checksum
    assert verify_results(folder).holds


def test_rows_of_other_code_are_done_again_even_if_the_description_is_lost(run, monkeypatch):
    file, folder, checksum = run
    monkeypatch.setattr(parts_module, "code_version", lambda: "0.0.9+of another day")
    (part,) = (folder / "parts").iterdir()
    part.unlink()
    again(file, folder)  # the same rows, said to be of other code
    monkeypatch.undo()
    (folder / "experiment.json").unlink()
    (part,) = (folder / "parts").iterdir()
    summary, heard = again(file, folder)
    assert heard[0] == f"part {part.name} is of other code: 12 cells will be done again"
    assert (summary.done, summary.checksum) == (12, checksum)
    assert part.exists()


def test_a_lost_or_damaged_table_is_made_anew_from_the_parts(run):
    file, folder, checksum = run
    for harm in (lambda path: path.unlink(), lambda path: path.write_bytes(b"no database" * 500)):
        harm(folder / "cells.sqlite")
        summary, heard = again(file, folder)
        assert heard[0].endswith("12 cells taken over")
        assert (summary.done, summary.checksum) == (12, checksum)


def test_a_table_of_an_earlier_version_is_read_and_completed(run):
    file, folder, checksum = run
    base = sqlite3.connect(folder / "cells.sqlite")
    with base:
        for column in ("asked", "record_masses"):
            base.execute(f"ALTER TABLE cells DROP COLUMN {column}")
    base.close()
    assert read_status(folder).checksum == checksum
    assert verify_results(folder, replay=1).holds
    assert again(file, folder)[0].checksum == checksum


KILLED = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA cache_size = 1")
base.execute("BEGIN")
base.execute("UPDATE cells SET state = 'failed', checksum = NULL, error = printf('%.100000c', '*')")
os._exit(9)
"""


def test_a_kill_within_a_write_of_the_table_is_rolled_back_by_whoever_looks_next(run):
    _, folder, checksum = run
    path = folder / "cells.sqlite"
    subprocess.run([sys.executable, "-c", KILLED, path])
    assert path.with_name("cells.sqlite-journal").stat().st_size > 0
    assert read_status(folder).checksum == checksum
    assert verify_results(folder, replay=1).holds


def test_rows_that_were_changed_behind_a_right_name_are_found(run):
    _, folder, _ = run
    (part,) = (folder / "parts").iterdir()
    table = pq.read_table(part)
    column = table.column_names.index("pseudo_regret")
    values = table.column(column).to_pylist()
    values[0] += 1e-9
    first = table.column("cell")[0].as_py()  # cells are stored as they finish, so any may be first
    pq.write_table(table.set_column(column, "pseudo_regret", [values]), part)
    renamed = part.with_name(f"{hashlib.sha256(part.read_bytes()).hexdigest()[:32]}.parquet")
    part.rename(renamed)
    base = sqlite3.connect(folder / "cells.sqlite")
    with base:
        base.execute("UPDATE cells SET part = ?", (renamed.name,))
    (seed,) = base.execute("SELECT seed_number FROM cells WHERE id = ?", (first,)).fetchone()
    base.close()
    found = verify_results(folder, replay=0)
    assert len(found.damaged) == 1
    assert f"seed {seed} are not those that were written" in found.damaged[0]


def test_replays_that_differ_are_reported_by_their_titles(run, monkeypatch):
    from allworlds.experiments import work

    _, folder, checksum = run
    assert verify_results(folder, replay=None).replayed == 12
    play = work.play
    monkeypatch.setattr(work, "play", lambda learner, world, horizon, seed: play(learner, world, horizon, seed ^ 1))
    found = verify_results(folder, replay=4)
    assert (found.replayed, len(found.different), found.checksum) == (4, 4, checksum)
    assert not found.holds


def test_a_disk_that_is_full_midway_stops_the_run_with_a_sentence_and_it_can_be_resumed(tmp_path, monkeypatch):
    file = write_file(tmp_path)
    expected = run_experiment(file, tmp_path / "peace").checksum
    with monkeypatch.context() as patch:

        def fail(folder, outcomes):
            raise OSError(28, "No space left on device")

        patch.setattr(store_module, "write_part", fail)
        with pytest.raises(RunStopped) as stopped:
            run_experiment(file, tmp_path / "out")
    folder = tmp_path / "out"
    assert str(stopped.value) == (
        f"cannot write to '{folder}': No space left on device; what is finished is kept, and "
        f"'allworlds resume {folder}' resumes the run"
    )
    assert read_status(folder).waiting == 12
    assert run_experiment(file, folder).checksum == expected


def test_the_description_keeps_configuration_hash_versions_and_math_library(run, tmp_path):
    file, folder, _ = run
    said = read_description(folder)
    assert said["hash"] == make_plan(file).hash
    assert said["configuration"]["grid"][0]["seeds"] == [0, 1, 2]
    assert set(said["versions"]) == {"allworlds", "python", "numpy", "numba"}
    assert said["machine"] == machine()
    assert {"math_library", "processor", "simd", "llvm"} <= set(said["machine"])
    assert same_kind(said["machine"], machine() | {"cores": 1})
    assert not same_kind(said["machine"], machine() | {"math_library": "another"})
    with pytest.raises(InvalidParameter, match="holds no experiment"):
        read_description(tmp_path)


def test_a_table_of_losses_that_has_changed_since_is_refused_even_with_extend(tmp_path):
    file, losses = write_file(tmp_path), tmp_path / "my.csv"
    changes = ['grid.worlds="recorded:my.csv"', "grid.horizons=2"]
    losses.write_text("0.1,0.2,0.3,0.4,0.5,0.6\n" * 2, encoding="utf-8")
    run_experiment(file, tmp_path / "out", changes=changes)
    losses.write_text("0.1,0.2,0.3,0.4,0.5,0.7\n" * 2, encoding="utf-8")
    for extend in (False, True):
        with pytest.raises(InvalidParameter, match=r"6 of its 6 cells are not in .* put the file back"):
            resume_experiment(tmp_path / "out", extend=extend)


def test_results_of_another_version_are_not_mixed_with_ours(run, monkeypatch):
    file, folder, _ = run
    monkeypatch.setattr(workflow_module, "code_version", lambda: "9.9.9+abc")
    with pytest.raises(InvalidParameter, match=r"was begun with allworlds 0\.1\.0\+.*, this is 9\.9\.9"):
        run_experiment(file, folder)


def test_other_words_in_the_file_are_taken_over_and_block_nothing(run):
    file, folder, checksum = run
    text = file.read_text(encoding="utf-8")
    file.write_text('about = "Now with words."\n' + text, encoding="utf-8")
    assert resume_experiment(folder).checksum == checksum
    assert read_description(folder)["configuration"]["about"] == "Now with words."
