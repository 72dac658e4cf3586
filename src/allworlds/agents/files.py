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

from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.foundation.files import write_atomic

FORMAT = "allworlds agent"
VERSION = 3
"""Increase it when files of the version before can no longer be read."""


def as_path(path: object) -> Path:
    """A name or a path, as a path; raise InvalidParameter unless it ends in .json or .npz."""
    if not isinstance(path, str | os.PathLike) or Path(path).suffix not in (".json", ".npz"):
        raise InvalidParameter(f"path is {path!r}; expected a name ending in .json or .npz")
    return Path(path)


def write_file(path: Path, data: dict[str, Any]) -> None:
    """Write ``data``, a tree of plain values and arrays."""
    content = _to_json(data) if path.suffix == ".json" else _to_npz(data)
    try:
        write_atomic(path, content)
    except OSError as error:
        raise InvalidParameter(
            f"cannot write to {path}: {error.strerror or error}; the old file, if any, is untouched; choose another "
            "directory"
        ) from None


def read_file(path: Path) -> dict[str, Any]:
    """The tree that :func:`write_file` wrote, or an error that says what is wrong with the file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidState(f"cannot read {path}: {error.strerror}") from None
    try:
        return _from_json(content) if path.suffix == ".json" else _from_npz(content)
    except InvalidState as error:
        raise InvalidState(f"{path}: {error}") from None
    except Exception:  # a damaged archive can raise nearly anything before its checksum is reached
        raise InvalidState(
            f"{path} is not a saved agent, or it was cut short; restore it from a copy that agent.save wrote"
        ) from None


def _to_json(data: dict[str, Any]) -> bytes:
    text = json.dumps(data, default=np.ndarray.tolist, allow_nan=False)
    return _dump({"sha256": _digest(text, {}), "agent": json.loads(text)})


def _from_json(content: bytes) -> dict[str, Any]:
    outer = json.loads(content)
    _check_header(outer)
    text = json.dumps(outer["agent"], allow_nan=False)
    _check_sum(outer["sha256"], _digest(text, {}))
    agent: dict[str, Any] = outer["agent"]
    return agent


def _to_npz(data: dict[str, Any]) -> bytes:
    arrays: dict[str, NDArray[Any]] = {}

    def keep(array: Any) -> dict[str, str]:
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(array)
        return {"array": name}

    text = json.dumps(data, default=keep, allow_nan=False)
    header = _dump({"sha256": _digest(text, arrays), "agent": json.loads(text)})
    buffer = io.BytesIO()
    arrays["header"] = np.frombuffer(header, dtype=np.uint8)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _from_npz(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    outer = json.loads(arrays.pop("header").tobytes())
    _check_header(outer)
    text = json.dumps(outer["agent"], allow_nan=False)
    _check_sum(outer["sha256"], _digest(text, arrays))

    def put_back(value: dict[str, Any]) -> Any:
        return arrays[value["array"]] if list(value) == ["array"] else value

    agent: dict[str, Any] = json.loads(text, object_hook=put_back)
    return agent


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _dump(body: dict[str, Any]) -> bytes:
    from allworlds import __version__

    header = {"format": FORMAT, "version": VERSION, "written_by": f"allworlds {__version__}"}
    return (json.dumps(header | body, allow_nan=False) + "\n").encode()


def _check_header(outer: Any) -> None:
    if not isinstance(outer, dict) or outer.get("format") != FORMAT:
        raise InvalidState("this is not a saved agent; agent.save writes one")
    if outer.get("version") != VERSION:
        raise InvalidState(
            f"the file is of version {outer.get('version')!r}, written by "
            f"{outer.get('written_by', 'something else')}, but this allworlds reads version {VERSION}; "
            "load it with the version that wrote it"
        )


def _check_sum(written: str, found: str) -> None:
    if written != found:
        raise InvalidState("the checksum is wrong: the file was damaged or edited; restore it from a copy")
