"""One's own data: what is in the file is what is lost, and a bad file is refused with its place."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter, MissingExtra
from allworlds.worlds import recorded
from instances_of_worlds import bare

TABLE = np.array([[0.5, 0.0, 1.0], [0.25, 0.125, 1.0]])


def write(folder: Path, text: str, name: str = "losses.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def assert_holds_the_table(world) -> None:
    assert (world.n_arms, world.longest, world.best_arm) == (3, 2, 1)
    np.testing.assert_array_equal(bare(world, 2).losses, TABLE)


@pytest.mark.parametrize("table", [TABLE, TABLE.tolist(), np.asfortranarray(TABLE), TABLE.astype(np.float32)])
def test_an_array_is_a_world(table):
    world = recorded(table)
    assert_holds_the_table(world)
    assert world.name == "recorded"


def test_a_recorded_world_keeps_its_own_copy():
    mine = TABLE.copy()
    world = recorded(mine)
    mine[:] = 0.75
    assert_holds_the_table(world)


@pytest.mark.parametrize(
    "text",
    [
        "0.5,0,1\n0.25,0.125,1\n",
        "left,middle,right\n0.5,0,1\n0.25,0.125,1\n",
        '"a, b","c","d"\n"0.5","0","1"\n0.25,0.125,1',
        "0.5, 0, 1.0\r\n\r\n.25,  1.25e-1 ,1\r\n\r\n",
    ],
    ids=["no header", "header", "quotes", "spaces and blank lines"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_csv_file_is_a_world_named_after_it(tmp_path, text, encoding):
    path = write(tmp_path, text, "clicks.csv", encoding)
    assert_holds_the_table(recorded(path))
    assert recorded(str(path)).name == "clicks"
    assert recorded(path, name="mine").name == "mine"


def test_a_parquet_file_is_a_world(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: TABLE[:, i] for i, name in enumerate("abc")}
    parquet.write_table(pyarrow.table(columns), tmp_path / "losses.PARQUET")
    assert_holds_the_table(recorded(tmp_path / "losses.PARQUET"))
    parquet.write_table(pyarrow.table({"a": [0.5, None]}), tmp_path / "hole.parquet")
    with pytest.raises(InvalidParameter, match="the loss of arm 0 in round 2 is nan"):
        recorded(tmp_path / "hole.parquet")
    parquet.write_table(pyarrow.table({"a": ["low", "high"]}), tmp_path / "words.parquet")
    with pytest.raises(InvalidParameter, match=r"words\.parquet is .*; expected numbers in a regular shape"):
        recorded(tmp_path / "words.parquet")


def test_a_damaged_parquet_file_is_refused_in_a_sentence(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(InvalidParameter, match=r"losses\.parquet cannot be read as Parquet"):
        recorded(write(tmp_path, "0.5,0.5", "losses.parquet"))


def test_without_pyarrow_a_parquet_file_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'pip install "allworlds\[data\]"'):
        recorded(write(tmp_path, "", "losses.parquet"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"the table has shape \(0,\)"),
        ("a,b\n", r"the table has shape \(0,\)"),
        ("0.5,0.5\n0.5\n", "line 2 of losses.csv has 1 cells; expected 2 numbers"),
        (",0.5\n0.5,0.5\n", "line 1 of losses.csv has the cell ''; expected 2 numbers"),
        ("a,b\n0.5,x\n", "line 2 of losses.csv has the cell 'x'"),
        ("0.5,0.5\n0.5,1.5\n", "the loss of arm 1 in round 2 is 1.5; expected numbers from 0 to 1"),
        ("a,b\n0.5,nan\n", "the loss of arm 1 in round 1 is nan"),
        ("0.5;0.5\n0.5;0.5\n", "line 2 of losses.csv has the cell '0.5;0.5'"),
    ],
)
def test_a_bad_csv_file_is_refused_with_its_place(tmp_path, text, words):
    with pytest.raises(InvalidParameter, match=words):
        recorded(write(tmp_path, text))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "losses.csv").write_bytes(b"\xff\xfe\x00\x31")
    with pytest.raises(InvalidParameter, match=r"losses\.csv cannot be read as CSV"):
        recorded(tmp_path / "losses.csv")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([0.5, 0.5], r"the table has shape \(2,\); expected \(rounds, arms\)"),
        (np.zeros((0, 3)), r"the table has shape \(0, 3\)"),
        ([[0.5], [0.5, 0.5]], "the table is .*; expected numbers in a regular shape"),
        ([[0.5, -0.1]], "the loss of arm 1 in round 1 is -0.1"),
        ("losses.txt", "'losses.txt' ends in '.txt'; expected a .csv or .parquet file"),
        (Path("nowhere") / "losses.csv", "there is no file"),
    ],
)
def test_a_bad_table_is_refused_in_a_sentence(table, words):
    with pytest.raises(InvalidParameter, match=words):
        recorded(table)
