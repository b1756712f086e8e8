"""What an interrupt (Ctrl-C), SIGTERM and SIGHUP do to the process of a command: it ends within a second, with status 128 + the signal.

Until the command begins, the process ends at once.  From then on the first signal is a KeyboardInterrupt where Python runs, so that
temporary files go.  Native code (a long run, LLVM) does not hear of that: a thread that the signal wakes ends the process
GRACE_SECONDS later, whatever it does then.  A second signal ends it at once.  Signals that the process was started to ignore stay ignored.

This module loads nothing but what Python has loaded itself, as it is there to be early: an interrupt before `take` is Python's own.
"""

import _thread
import os
import time

TYPE_CHECKING = False  # type checkers know the name
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # the part of it that is in C: the other one loads modules

GRACE_SECONDS = 0.5
_DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
_SHOW_CURSOR = b"\x1b[?25h"


class Interrupts:
    """The signals that end this process.  number: of the signal that came; 0: none."""

    def __init__(self) -> None:
        self.number = 0
        self._begun = False
        self._wakes = -1

    def take(self) -> None:
        """Handle the signals from here on: the process ends at once."""
        for number, default in _DEFAULTS.items():
            if signal.getsignal(number) == default:
                signal.signal(number, self._handle)

    def begin(self) -> None:
        """Make the first signal, from here on, a KeyboardInterrupt, and the end of the process a little later."""
        self._wakes, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            _thread.start_new_thread(self._watch, ())
        except RuntimeError:  # no further thread: then native code ends first
            pass
        self._begun = True

    def end(self) -> None:
        """Make a signal the end of the process at once again: there is nothing left to interrupt."""
        self._begun = False

    def _handle(self, number: int, frame: "FrameType | None") -> None:
        first = not self.number
        self.number = self.number or number
        if not first or not self._begun:
            _exit(number)
        raise KeyboardInterrupt

    def _watch(self) -> None:
        number = os.read(self._wakes, 1)[0]
        time.sleep(GRACE_SECONDS)
        _exit(number)


def _exit(number: int) -> None:
    """End the process, on a terminal with a cursor, which a line of progress hides."""
    os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    os._exit(128 + number)
