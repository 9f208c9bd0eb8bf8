"""How a process ends, forks and freezes without losing spans.

What is covered: normal exit (also after other libraries closed their pools), `sys.exit` and
uncaught errors; workers forked from a running process (gunicorn with preload); children of
`multiprocessing` by fork, spawn and forkserver, which leave through `os._exit`; SIGTERM, when the
hook is installed; frozen processes (call `flush` before the freeze and look at its answer). `kill
-9` and a child that calls `os._exit` by itself cannot be helped: they lose what ended within the
last export interval. `multiprocessing.Pool.terminate()` (also the end of `with Pool()`) kills its
workers by SIGTERM: close and join the pool, or install the hook in the workers.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from _thread import start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SettingsError
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

    from spanwitness.export.processor import ExportProcessor

__all__ = ["Lifecycle"]

_AFTER_ALL_OTHERS: Final = -100


class Lifecycle:
    """Ties an export processor to the process it lives in.

    Args:
        processor: What to flush, stop and start again.
        end_open: Ends spans that are still open (generators suspended at exit), marked as
        unfinished;
            called before the last flush.
    """

    def __init__(
        self, processor: ExportProcessor, *, end_open: Callable[[], object] | None = None
    ) -> None:
        self._processor = processor
        self._end_open = end_open
        self._is_installed = False
        self._is_known_to_multiprocessing = False
        self._is_terminating = False
        self._previous: Callable[[int, FrameType | None], object] | int | None = None
        self._sigterm_timeout_s: float | None = None

    def install(self) -> None:
        """Register for exit, fork and `multiprocessing`; a second call does nothing.

        Call it after the tracer provider was made: exit callbacks run in reverse order, and the
        provider's own would end the processor before open spans are ended.
        """
        if self._is_installed:
            return
        self._is_installed = True
        atexit.register(self.finish)
        weak_self = weakref.ref(self)

        def begin_anew() -> None:
            if (lifecycle := weak_self()) is not None and lifecycle._is_installed:  # noqa: SLF001
                lifecycle.after_fork_in_child()

        os.register_at_fork(after_in_child=begin_anew)
        self._join_multiprocessing()

    def remove(self) -> None:
        """Undo `install` and `install_sigterm_hook`."""
        self._is_installed = False
        atexit.unregister(self.finish)
        is_main = threading.current_thread() is threading.main_thread()
        # Elsewhere the hook stays; it has nothing to flush and goes on to the handler before it.
        if is_main and self._previous is not None and self._is_hooked():
            signal.signal(signal.SIGTERM, self._previous)
            self._previous = None

    def _is_hooked(self) -> bool:
        return signal.getsignal(signal.SIGTERM) == self._on_sigterm

    def finish(self) -> None:
        """End open spans, deliver what is left and stop, within the bound of the settings."""
        if self._end_open is not None:
            with guard("export.end_open"):
                self._end_open()
        self._processor.stop()

    def after_fork_in_child(self) -> None:
        """Begin anew in the child of a fork."""
        self._is_terminating = False
        self._processor.after_fork_in_child()
        with guard("export.multiprocessing"):
            self._join_multiprocessing()

    def install_sigterm_hook(self, timeout_s: float | None = None) -> None:
        """Flush on SIGTERM, then do what would have happened without us.

        A handler that was there before is called; without one the process dies of the signal. Works
        beside asyncio: a handler given to `loop.add_signal_handler` before runs as well, one given
        later replaces ours (the exit that follows flushes). A second SIGTERM does not wait again.

        Args:
            timeout_s: The longest time for ending open spans, and again for delivering; `None`
            takes
                the exit's bound.

        Raises:
            SettingsError: Not called in the main thread (Python allows signal handlers only there),
                or the present handler was not set from Python and could not be called.
        """
        if threading.current_thread() is not threading.main_thread():
            raise SettingsError("install_sigterm_hook: call it in the main thread")
        previous = signal.getsignal(signal.SIGTERM)
        if previous is None:
            raise SettingsError(
                "install_sigterm_hook: SIGTERM has a handler that was not set from Python"
            )
        self._sigterm_timeout_s = timeout_s
        if self._is_hooked():
            return
        self._previous = previous
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        previous = self._previous
        if not self._is_terminating:
            self._is_terminating = True
            with guard("export.sigterm"):
                self._flush_for(previous)
        if callable(previous):
            try:
                previous(number, frame)
            finally:
                self._is_terminating = False
        elif self._is_deadly(previous):
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self._is_terminating = False

    @staticmethod
    def _is_deadly(previous: object) -> bool:
        # The kernel does not kill process 1 (of a container) by a signal it has no handler for.
        return previous == signal.SIG_DFL and os.getpid() != 1

    def _flush_for(self, previous: object) -> None:
        timeout_s = self._sigterm_timeout_s
        bound_s = self._processor.exit_timeout_s if timeout_s is None else timeout_s
        if self._is_deadly(previous):
            # Nothing that is open will end by itself.
            self._end_open_aside(bound_s)
            self._processor.stop(bound_s)
        else:
            self._processor.flush(bound_s)

    def _end_open_aside(self, timeout_s: float) -> None:
        """End open spans on another thread, and wait for it so long and no longer.

        The signal may have interrupted this thread while it held a lock that the callback needs.
        The low-level call is used because `Thread.start` takes a lock of its own.
        """
        if self._end_open is None:
            return
        end_open = self._end_open
        done: SimpleQueue[None] = SimpleQueue()

        def run() -> None:
            with guard("export.end_open"):
                end_open()
            done.put(None)

        start_new_thread(run, ())
        with suppress(Empty):
            done.get(timeout=timeout_s)

    def _join_multiprocessing(self) -> None:
        """Have children of `multiprocessing` finish: they leave by `os._exit`, past `atexit`.

        A finalizer of `multiprocessing` runs before that. Its registry is emptied when a child
        starts, so the finalizer is registered by an after-fork callback, which (whatever its name)
        runs at the start of every child that has one: forked, spawned, or forked from the server.
        """
        util = sys.modules.get("multiprocessing.util")
        if util is None or self._is_known_to_multiprocessing:
            return
        self._is_known_to_multiprocessing = True
        util.register_after_fork(self, _finish_with_child)
        process = sys.modules.get("multiprocessing.process")
        if process is not None and process.parent_process() is not None:
            _register_finalizer(util, self)


def _finish_with_child(lifecycle: Lifecycle) -> None:
    _register_finalizer(sys.modules["multiprocessing.util"], lifecycle)


def _register_finalizer(util: ModuleType, lifecycle: Lifecycle) -> None:
    util.Finalize(None, lifecycle.finish, exitpriority=_AFTER_ALL_OTHERS)
