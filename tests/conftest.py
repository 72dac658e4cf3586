"""Property tests draw the same examples every time, and the first call may compile. Ctrl-C can be tested."""

from __future__ import annotations

import signal

from hypothesis import settings

# A shell that starts the tests in the background ignores Ctrl-C, and what the tests start would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
