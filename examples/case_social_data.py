"""Social networks for the case of the circle: files of graph-tool's collection, read without graph-tool.

Debian's package ``python3-graph-tool`` carries them. It is downloaded once (45 MB), the network files are taken out
into the cache folder of the user, and the package is deleted; nothing is installed or run. Where that is not possible,
there are two small networks that come with networkx.

    python examples/case_social_data.py
"""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from case_data import NoData, cache_folder

PACKAGE = "python3-graph-tool"
NETWORKS = ("football", "netscience", "cond-mat-2003", "email-Enron")
MAGIC = b"\xe2\x9b\xbe gt"
NUMBERS = {0: "u1", 1: "i2", 2: "i4", 3: "i8", 4: "f8"}
STRING, WHOLE_GRAPH, PERSON = 6, 0, 1


class Network(NamedTuple):
    """People from 0, who knows whom, shape (E, 2), and their names where the file has them."""

    name: str
    n_people: int
    edges: np.ndarray
    labels: tuple[str, ...] | None


def fetch(folder: Path | None = None) -> Path:
    """The folder with the network files, which are fetched if they are not there."""
    folder = folder or cache_folder() / "networks"
    if all((folder / f"{name}.gt.gz").exists() for name in NETWORKS):
        return folder
    for tool in ("apt-get", "dpkg-deb", "tar"):
        if shutil.which(tool) is None:
            raise NoData(f"there is no {tool} here; expected Debian or a relative of it; or put *.gt.gz into {folder}")
    with tempfile.TemporaryDirectory() as work:
        try:
            subprocess.run(["apt-get", "download", PACKAGE], cwd=work, check=True, capture_output=True, timeout=300)
            package = next(Path(work).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", package.name, "files"], cwd=work, check=True, capture_output=True)
        except (subprocess.SubprocessError, OSError, StopIteration) as error:
            raise NoData(f"{PACKAGE} cannot be downloaded ({error}); try apt-get update first") from None
        folder.mkdir(parents=True, exist_ok=True)
        for name in NETWORKS:
            found = next(Path(work).glob(f"files/usr/lib/python3*/*/graph_tool/collection/{name}.gt.gz"), None)
            if found is None:
                raise NoData(f"{package.name} has no {name}.gt.gz; expected the collection of graph-tool 2.45")
            shutil.copyfile(found, folder / f"{name}.gt.gz")
    return folder


def load(name: str, folder: Path | None = None) -> Network:
    """A network: ``karate`` or ``miserables``, which come with networkx, or one of :data:`NETWORKS`, if it is there."""
    if name in ("karate", "miserables"):
        return _from_networkx(name)
    path = (folder or cache_folder() / "networks") / f"{name}.gt.gz"
    if not path.exists():
        raise NoData(f"there is no {path}; run python examples/case_social_data.py once")
    return read_gt(name, gzip.decompress(path.read_bytes()))


def _from_networkx(name: str) -> Network:
    import networkx as nx

    graph = nx.karate_club_graph() if name == "karate" else nx.les_miserables_graph()
    place = {node: i for i, node in enumerate(graph)}
    edges = np.array([(place[a], place[b]) for a, b in graph.edges()])
    return Network(name, len(place), edges, tuple(map(str, place)))


class _Reader:
    """Numbers one after the other out of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from(self.order + code, self.data, self.at)
        self.at += struct.calcsize(code)
        return int(value)

    def array(self, code: str, count: int) -> np.ndarray:
        values = np.frombuffer(self.data, self.order + code, count, self.at)
        self.at += values.nbytes
        return values

    def text(self) -> str:
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size : self.at].decode()

    order = "<"


def read_gt(name: str, data: bytes) -> Network:
    """The binary format of graph-tool: a header, the neighbours of each node, then properties, of which we take names.

    Self-loops and repeated edges are dropped; a directed edge counts as knowing each other.
    """
    if data[:6] != MAGIC:
        raise NoData(f"{name} begins with {data[:6]!r}; expected a file in graph-tool's binary format")
    reader = _Reader(data)
    reader.at, reader.order = 8, ">" if data[7] else "<"
    reader.text()  # who wrote the file
    reader.number("B")  # whether it is directed
    n_people = reader.number("Q")
    width = next(code for code, bits in (("u1", 8), ("u2", 16), ("u4", 32), ("u8", 64)) if n_people < 2**bits)
    circles = [reader.array(width, reader.number("Q")).astype(np.int64) for _ in range(n_people)]
    pairs = np.column_stack([np.repeat(np.arange(n_people), [len(c) for c in circles]), np.concatenate(circles)])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return Network(name, n_people, pairs, _labels(reader, n_people))


def _labels(reader: _Reader, n_people: int) -> tuple[str, ...] | None:
    """The property ``label``, if it stands before properties that we cannot read."""
    for _ in range(reader.number("Q")):
        owner, title, kind = reader.number("B"), reader.text(), reader.number("B")
        count = {WHOLE_GRAPH: 1, PERSON: n_people}.get(owner)
        if count is None or kind not in (*NUMBERS, STRING):
            return None
        if kind == STRING:
            texts = tuple(reader.text() for _ in range(count))
            if owner == PERSON and title == "label" and len(set(texts)) == n_people:
                return texts
        else:
            reader.array(NUMBERS[kind], count)
    return None


def main() -> None:
    try:
        folder = fetch()
    except NoData as error:
        print(error)
        return
    for name in NETWORKS:
        network = load(name, folder)
        print(f"{name}: {network.n_people:,} people, {len(network.edges):,} pairs who know each other")


if __name__ == "__main__":
    main()
