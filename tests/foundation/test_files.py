"""Folders that can be written to, and files that are replaced at once or not at all."""

from __future__ import annotations

import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import exclusive_lock, open_folder, write_atomic


def test_a_folder_is_made_with_what_belongs_inside_and_left_empty(tmp_path):
    assert open_folder(tmp_path / "a" / "b", "cells") == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b" / "cells").iterdir()) == []
    assert open_folder(tmp_path / "a") == tmp_path / "a"


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InvalidParameter, match=r"cannot write to '.*file': .*; choose another folder$"):
        open_folder(tmp_path / "file")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    write_atomic(path, b"old")

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_is_held_by_one_and_freed_afterwards(tmp_path):
    with (
        exclusive_lock(tmp_path),
        pytest.raises(InvalidParameter, match="another run is at work in"),
        exclusive_lock(tmp_path),
    ):
        pass
    with exclusive_lock(tmp_path):
        pass
