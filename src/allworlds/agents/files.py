"""Saved agents on disk: versioned, checksummed, written whole or not at all, without pickle.

``.json`` holds everything as text; doubles are written so that they read back to the same bits. ``.npz`` holds
the arrays in binary and the rest as JSON inside; for many arms it is smaller and faster. Both carry a SHA-256
of their contents, so a file that was cut short or edited is noticed before anything is built from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds import __version__
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.foundation.files import disk_errors, write_atomic

FORMAT = "allworlds agent"
VERSION = 3
"""Increase it when files of the version before can no longer be read."""


def as_path(path: object) -> Path:
    """A name or a path, as a path; raise InvalidParameter unless it ends in .json or .npz."""
    if not isinstance(path, str | os.PathLike) or Path(path).suffix not in (".json", ".npz"):
        given = str(path) if isinstance(path, Path) else path
        raise InvalidParameter(f"path is {given!r}; expected a name ending in .json or .npz")
    return Path(path)


def write_file(path: Path, data: dict[str, Any], form: str = FORMAT) -> None:
    """Write ``data``, a tree of plain values and arrays."""
    arrays: dict[str, NDArray[Any]] = {}

    def set_aside(array: Any) -> dict[str, str]:
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(array)
        return {"array": name}

    text = json.dumps(data, default=np.ndarray.tolist if path.suffix == ".json" else set_aside, allow_nan=False)
    header = {"format": form, "version": VERSION, "written_by": f"allworlds {__version__}"}
    outer = header | {"sha256": _digest(text, arrays), "agent": json.loads(text)}
    content = (json.dumps(outer, allow_nan=False) + "\n").encode()
    if path.suffix == ".npz":
        buffer = io.BytesIO()
        np.savez(buffer, header=np.frombuffer(content, dtype=np.uint8), **arrays)  # type: ignore[arg-type]
        content = buffer.getvalue()
    with disk_errors(f"write to {path}", "the old file, if any, is untouched; choose another directory"):
        write_atomic(path, content)


def read_file(path: Path, form: str = FORMAT) -> dict[str, Any]:
    """The tree that :func:`write_file` wrote, or an error that says what is wrong with the file."""
    with disk_errors(f"read {path}", error=InvalidState):
        content = path.read_bytes()
    try:
        return _parse(content, path.suffix, form)
    except InvalidState as error:
        raise InvalidState(f"{path}: {error}") from None
    except Exception:  # a damaged archive can raise nearly anything before its checksum is reached
        raise InvalidState(
            f"{path} is not a saved agent, or it was cut short; restore it from a copy that agent.save wrote"
        ) from None


def _parse(content: bytes, suffix: str, form: str) -> dict[str, Any]:
    arrays: dict[str, NDArray[Any]] = {}
    if suffix == ".npz":
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        content = arrays.pop("header").tobytes()
    outer = json.loads(content)
    if not isinstance(outer, dict) or outer.get("format") != form:
        kind = form.split()[-1]
        raise InvalidState(f"this is not a saved {kind}; {kind}.save writes one")
    if outer.get("version") != VERSION:
        raise InvalidState(
            f"the file is of version {outer.get('version')!r}, written by "
            f"{outer.get('written_by', 'something else')}, but this allworlds reads version {VERSION}; "
            "load it with the version that wrote it"
        )
    text = json.dumps(outer["agent"], allow_nan=False)
    if outer["sha256"] != _digest(text, arrays):
        raise InvalidState("the checksum is wrong: the file was damaged or edited; restore it from a copy")

    def put_back(value: dict[str, Any]) -> Any:
        return arrays[value["array"]] if list(value) == ["array"] else value

    agent: dict[str, Any] = json.loads(text, object_hook=put_back if arrays else None)
    return agent


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
