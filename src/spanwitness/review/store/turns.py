"""Writers of one SQLite file take turns in the order in which they came, also across processes.

SQLite lets writers wait by trying again at random, so an unlucky one may wait for seconds while
others write a hundred times. Here each writer draws a number and waits for the one before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Turns", "turns_of"]

_DOOR: Final = 0
_FIRST_TICKET: Final = 1 << 10
_N_TICKETS: Final = 1 << 30
_MAX_WAIT_S: Final = 20.0
_NAP_S: Final = 0.0005
_LONG_NAP_S: Final = 0.002


class Turns:
    """A queue of writers: first come, first served.

    Threads of this process queue in memory; the first of them queues with other processes by byte
    locks on a file beside the database. A process that dies loses its locks, so nobody waits for
    it; then, and after `_MAX_WAIT_S`, two may think that it is their turn: it is SQLite's own lock
    that keeps them apart, this one only gives the order.

    Args:
        path: The lock file; it is made when it is not there. It holds one number.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_taken = False
        self._handle: int | None = None
        self._pid = os.getpid()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this writer's turn; it ends with the block."""
        self._enter()
        ticket: int | None = None
        try:
            # A file system without byte locks leaves the order to SQLite.
            with contextlib.suppress(OSError):
                ticket = self._draw()
                self._wait_for(ticket - 1)
            yield
        finally:
            if ticket is not None:
                with contextlib.suppress(OSError):
                    self._unlock(ticket)
            self._leave()

    # --- threads of this process

    def _enter(self) -> None:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        mine.wait()

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False

    # --- processes

    def _draw(self) -> int:
        """Take the next number and lock it."""
        handle = self._open()
        fcntl.lockf(handle, fcntl.LOCK_EX, 1, _DOOR)
        try:
            text = os.pread(handle, 16, 0)
            number = (int(text) + 1) % _N_TICKETS if text.strip().isdigit() else 1
            os.pwrite(handle, b"%016d" % number, 0)
            fcntl.lockf(handle, fcntl.LOCK_EX, 1, _FIRST_TICKET + number)
        finally:
            fcntl.lockf(handle, fcntl.LOCK_UN, 1, _DOOR)
        return number

    def _wait_for(self, ticket: int) -> None:
        """Wait until the holder of a number is done or dead."""
        handle = self._open()
        place = _FIRST_TICKET + ticket % _N_TICKETS
        give_up = time.monotonic() + _MAX_WAIT_S
        nap = _NAP_S
        while True:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):
                if time.monotonic() > give_up:
                    return
                time.sleep(nap)
                nap = min(nap * 1.5, _LONG_NAP_S)
            else:
                fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)
                return

    def _unlock(self, ticket: int) -> None:
        fcntl.lockf(self._open(), fcntl.LOCK_UN, 1, _FIRST_TICKET + ticket)

    def _open(self) -> int:
        if self._handle is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._handle = os.open(self._path, flags, 0o600)
        return self._handle


_by_path: dict[str, Turns] = {}
_by_path_lock = threading.Lock()


def turns_of(path: Path) -> Turns:
    """Return the turns of a lock file, one object a process.

    Byte locks belong to the process: closing a second handle of the file would drop them all, so
    there is one, and it stays open.
    """
    key = os.path.realpath(path)
    with _by_path_lock:
        found = _by_path.get(key)
        if found is None:
            found = _by_path[key] = Turns(path)
        return found


def _after_fork() -> None:
    global _by_path_lock  # noqa: PLW0603
    # Another thread of the parent may have held a lock of ours, and its turn is not the child's.
    _by_path_lock = threading.Lock()
    for turns in _by_path.values():
        turns.__init__(turns._path)  # type: ignore[misc]  # noqa: SLF001


os.register_at_fork(after_in_child=_after_fork)
