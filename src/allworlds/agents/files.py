"""Saved agents on disk: versioned, checksummed, written whole or not at all, never pickled.

``.json`` holds everything as text; doubles are written so that they read back to the same bits. ``.npz`` holds
the arrays in binary and the rest as JSON inside; for many arms it is smaller and faster. Both carry a SHA-256
of their contents, so a file that was cut short or edited is noticed before anything is built from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter, InvalidState

FORMAT = "allworlds agent"
VERSION = 3
"""Raised when a file of the old version could no longer be read rightly."""


def as_path(path: object) -> Path:
    """A name or a path, as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidParameter(f"path is {path!r}; expected the name of a file ending in .json or .npz")
    return Path(path)


def write_file(path: Path, data: dict[str, Any]) -> None:
    """Write ``data``, a tree of plain values and arrays, under a temporary name, sync it and rename it."""
    suffix = _suffix(path)
    content = _to_json(data) if suffix == ".json" else _to_npz(data)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # the umask decides who may read
    except OSError as error:
        raise InvalidParameter(f"cannot write to {path.parent}: {error.strerror}; choose another directory") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_directory(path.parent)
    except OSError as error:
        raise InvalidParameter(
            f"cannot write {path}: {error.strerror or error}; the old file, if any, is untouched"
        ) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _sync_directory(directory: Path) -> None:
    """Make the new name durable too, where directories can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_file(path: Path) -> dict[str, Any]:
    """The tree that :func:`write_file` wrote, or an error that says what is wrong with the file."""
    suffix = _suffix(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidState(f"cannot read {path}: {error.strerror}") from None
    try:
        return _from_json(content) if suffix == ".json" else _from_npz(content)
    except InvalidState as error:
        raise InvalidState(f"{path}: {error}") from None
    except Exception:  # a damaged archive can raise nearly anything before its checksum is reached
        raise InvalidState(
            f"{path} is no saved agent, or it was cut short; restore it from a copy that agent.save wrote"
        ) from None


def _suffix(path: Path) -> str:
    if path.suffix not in (".json", ".npz"):
        raise InvalidParameter(f"{path.name!r} ends in {path.suffix!r}; expected a name ending in .json or .npz")
    return path.suffix


def _to_json(data: dict[str, Any]) -> bytes:
    text = json.dumps(data, default=_as_list, allow_nan=False)
    return _dump({"sha256": hashlib.sha256(text.encode()).hexdigest(), "agent": json.loads(text)})


def _from_json(content: bytes) -> dict[str, Any]:
    outer = json.loads(content)
    _check_header(outer)
    text = json.dumps(outer["agent"], allow_nan=False)
    _check_sum(outer["sha256"], text.encode())
    agent: dict[str, Any] = outer["agent"]
    return agent


def _to_npz(data: dict[str, Any]) -> bytes:
    arrays: dict[str, NDArray[Any]] = {}

    def keep(array: Any) -> dict[str, str]:
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(array)
        return {"array": name}

    text = json.dumps(data, default=keep, allow_nan=False)
    header = _dump({"sha256": _npz_sum(text, arrays), "agent": json.loads(text)})
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
    if outer["sha256"] != _npz_sum(text, arrays):
        raise InvalidState("the checksum is wrong: the file was damaged or edited; restore it from a copy")

    def put_back(value: dict[str, Any]) -> Any:
        return arrays[value["array"]] if list(value) == ["array"] else value

    agent: dict[str, Any] = json.loads(text, object_hook=put_back)
    return agent


def _npz_sum(text: str, arrays: dict[str, NDArray[Any]]) -> str:
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
        raise InvalidState("this is no saved agent; agent.save writes one")
    if outer.get("version") != VERSION:
        raise InvalidState(
            f"the file is of version {outer.get('version')!r}, written by "
            f"{outer.get('written_by', 'something else')}, but this allworlds reads version {VERSION}; "
            "load it with the version that wrote it"
        )


def _check_sum(expected: str, content: bytes) -> None:
    if hashlib.sha256(content).hexdigest() != expected:
        raise InvalidState("the checksum is wrong: the file was damaged or edited; restore it from a copy")


def _as_list(array: Any) -> Any:
    return array.tolist()
