"""Signals that end a process end a command cleanly: everything is tidied up first."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

# Windows has no hang-up, but a break.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
SIGNALS: tuple[int, ...] = tuple(getattr(signal, n) for n in _NAMES if hasattr(signal, n))

received: list[int] = []
"""The signal that stopped the command, if one did."""


def stop_cleanly() -> None:
    """Let signals that end a process raise an exception, so that everything is cleaned up.

    Those that are ignored, as `nohup` does, stay ignored.
    """
    received.clear()
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)


def check_stopped() -> None:
    """Stop between two steps if a signal came whose exception was lost on its way.

    Python drops exceptions in finalisers, and libraries may catch what they should not.
    """
    if received:
        raise KeyboardInterrupt


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Stop once; what comes while cleaning up must not stop that."""
    received.append(number)
    for later in SIGNALS:
        signal.signal(later, signal.SIG_IGN)
    raise KeyboardInterrupt
