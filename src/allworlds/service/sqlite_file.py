"""Whether a file can be a journal: a SQLite database, on a disk of this machine, that no other process serves."""

from __future__ import annotations

import os
import re
from pathlib import Path

from allworlds.foundation.errors import InvalidParameter

NETWORK = re.compile(
    r"nfs4?|cifs|smb3|smbfs|ncpfs|9p|afs|coda|ceph|lustre|gpfs|beegfs|ocfs2|davfs"
    r"|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|davfs)"
)
"""Types of file systems over a network, as in /proc/mounts."""


def check_kind(path: Path) -> None:
    """Raise InvalidParameter if the file is there and is not a SQLite database."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise InvalidParameter(f"cannot read the database {str(path)!r}: {problem.strerror}") from None
    if head not in (b"", b"SQLite format 3\0"):
        raise InvalidParameter(f"{str(path)!r} is not a SQLite database; expected one, or a name that is not taken yet")


def own(path: Path) -> int:
    """Lock the file beside ``path`` for this process; raise InvalidParameter if another one has it."""
    import fcntl  # POSIX only, as the service is

    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as problem:
        raise InvalidParameter(
            f"cannot write beside the database {str(path)!r}: {problem.strerror}; expected a folder that is there and "
            "can be written to"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise InvalidParameter(
            f"another process serves the database {str(path)!r}; a SQLite file has one process; stop that one, or "
            "take postgresql:// for several"
        ) from None
    return handle


def check_local(path: Path, mounts: str = "/proc/mounts") -> None:
    """Raise InvalidParameter if the file is on a network file system; where there is no list of mounts, trust."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    folder = path.resolve().parent
    best, kind = "", ""
    for line in lines:
        words = line.split(" ")
        if len(words) < 3:
            continue
        mount = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if folder.is_relative_to(mount) and len(mount) >= len(best):  # of mounts on one folder the last counts
            best, kind = mount, words[2]
    if NETWORK.fullmatch(kind):
        raise InvalidParameter(
            f"the database {str(path)!r} is on a network file system ({kind} at {best}), which does not keep SQLite's "
            "promises; expected a local disk; try another folder, or postgresql://"
        )
