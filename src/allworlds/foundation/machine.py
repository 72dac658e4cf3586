"""What numbers depend on besides the configuration: versions, the processor and its mathematics.

``exp`` may differ in its last bit with the processor's instruction set and with the C library. Equal bits are promised
for the same version on the same kind of machine; so the kind of machine is kept with the results.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

from allworlds import __version__


def versions() -> dict[str, str]:
    """Of the package, of Python and of the libraries that compute."""
    libraries = {name: metadata.version(name) for name in ("numpy", "numba")}
    return {"allworlds": __version__, "python": ".".join(map(str, sys.version_info[:3])), **libraries}


def machine() -> dict[str, Any]:
    """The kind of machine, as plain data.

    >>> sorted(machine())
    ['architecture', 'cores', 'llvm', 'math_library', 'processor', 'simd', 'system']
    """
    import llvmlite.binding as llvm
    import numpy as np

    found: Any = np.show_config(mode="dicts")
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "processor": llvm.get_host_cpu_name(),
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "math_library": " ".join(part for part in platform.libc_ver() if part) or "unknown",
        "simd": sorted(found.get("SIMD Extensions", {}).get("found", [])),
    }


def same_kind(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two machines are expected to give the same bits: all agrees but the number of cores."""
    return {**one, "cores": 0} == {**other, "cores": 0}
