"""One ``jit`` decorator for the whole package, with a disk cache that is never stale.

Numba's own cache looks only at the file of the function it compiles. A kernel that calls a kernel of
another file keeps running the old code after that other file has changed, silently. Here every entry
is also stamped with a digest of the sources of *all* rooms that kernels live in or may call: any change
there compiles again, no change never does. The rooms above play and agents compile nothing and do not count.

A learner from outside the package, such as the floors of ``benchmarks/speed``, is a guest: code compiled for it, or by
it, is kept in files of its own that are also stamped with the guest's sources. Processes that cannot import the guest
never open these files.

Kernels release the GIL (seeds run in threads of one process) and follow IEEE arithmetic exactly: no
``fastmath``, and a division by zero is an infinity, not an exception.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
WITHOUT_KERNELS = ("cli", "adapters", "client", "workflows", "reporting", "service", "experiments", "analysis")
"""Rooms that no kernel lives in, and that no kernel can call: the import contract puts them above all that do."""


@functools.cache
def source_digest() -> str:
    """Digest of every source file that compiled code could depend on: the stamp of all compiled code."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(str(place).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def guest_digest(name: str) -> str | None:
    """Digest of all sources of a package outside this one, or of a single module; None where there is no file.

    None also for ``__main__``: what one script or notebook calls ``State`` is not what the next one does.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or name == "__main__":
        return None
    path = Path(file)
    digest = hashlib.sha256()
    for source in sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]:
        digest.update(str(source).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def jit(function: Function) -> Function:
    """Compile ``function`` on first use, or find it on disk; plain Python where jit is disabled."""
    return _compiled(function, _nrt=True, forceinline=False)


def lean_jit(function: Function) -> Function:
    """The same for a kernel of a round: it may not make arrays, and so need not count who holds them.

    Numba counts the references to every array that is handed on, with an atomic instruction each; in a round of a
    hundred nanoseconds that took more time than all arithmetic. A kernel that makes no array needs no count.
    """
    return _compiled(function, _nrt=False, forceinline=False)


def inline_jit(function: Function) -> Function:
    """The same, always part of the caller: a few instructions that loops repeat, so that loops can be vectorised.

    Also what is handed a whole state or world: a call would copy each of its hundred words.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:
    """Both options are always said: what is not, Numba takes over from the kernel that happens to call first."""
    if config.DISABLE_JIT:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
    with contextlib.suppress(RuntimeError):  # no directory can be written: compile anew in every process
        dispatcher._cache = _StampedCache(dispatcher.py_func)
    return cast(Function, dispatcher)


def _stamped(locator: type) -> type:
    """Numba's ``locator`` of cache files, whose stamp also covers all rooms with kernels."""

    def get_source_stamp(self: Any) -> tuple[str, Any]:
        return source_digest(), locator.get_source_stamp(self)  # type: ignore[attr-defined]

    return type(f"Stamped{locator.__name__}", (locator,), {"get_source_stamp": get_source_stamp})


class _StampedImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = tuple(_stamped(locator) for locator in CompileResultCacheImpl._locator_classes)


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """A cache that compiles again where it cannot read what an older version of the package left."""

    _impl_class = _StampedImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._own_file: IndexDataCacheFile = self._cache_file

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._choose_file(sig):
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # an index may name a class that no longer exists, or be cut short
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._choose_file(sig):
            super().save_overload(sig, data)

    def _choose_file(self, sig: Any) -> bool:
        """Turn to the files of this signature's guests.

        False where a guest has no sources to watch, and for a class that has taken over the name of another, which
        the files would confuse (``learners/dispatch.py`` numbers it with ``#``).
        """
        classes = list(_classes_in(sig))
        modules = {self._py_func.__module__, *(found.__module__ for found in classes)}
        guests = sorted({module.partition(".")[0] for module in modules} - {PACKAGE.name})
        digests = [guest_digest(guest) for guest in guests]
        if guests:
            name, stamp = ".".join([self._impl.filename_base, *guests]), (self._own_file._source_stamp, *digests)
            self._cache_file = IndexDataCacheFile(self._cache_path, name, stamp)
        else:
            self._cache_file = self._own_file
        return None not in digests and not any("#" in found.__name__ for found in classes)


def _classes_in(sig: Any) -> Iterator[type]:
    """The classes of all named tuples in the types of a signature, however deep."""
    if hasattr(sig, "instance_class"):
        yield sig.instance_class
    for part in sig if isinstance(sig, tuple) else getattr(sig, "types", ()):
        yield from _classes_in(part)
