"""What results depend on besides the configuration: versions, the processor and the mathematical library.

``exp`` may differ in its last bit with the instruction set of the processor and the C library. Results are promised to
be equal, bit for bit, for the same version on the same kind of machine, so the kind of machine is stored with them.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

from allworlds import __version__


def versions() -> dict[str, str]:
    """The versions of the package, of Python and of the numerical libraries."""
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
    """Whether two machines should give the same bits: they differ at most in the number of cores."""
    return {**one, "cores": 0} == {**other, "cores": 0}
