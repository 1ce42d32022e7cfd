"""A worker process: reads questions from its standard input and writes replies to its output.

It ends when its input does, so that none outlives the server, however that ended.
"""

from __future__ import annotations

import os
import sys
import threading
from queue import Queue
from typing import BinaryIO

from hushtable.web.exchange import LENGTH, packed, read_asked
from hushtable.web.tasks import Opened, carry_out

READY = b"\x01"


def main() -> None:
    """Answer until there is nothing more to read."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    # What a library prints must not be read as a reply.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _warm_up()
    questions: Queue[bytes] = Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, questions), daemon=True).start()
    output.write(READY)
    opened = Opened()
    while True:
        view = memoryview(packed(carry_out(read_asked(questions.get()), opened)))
        while view:
            view = view[output.write(view) or 0 :]


def _listen(source: BinaryIO, questions: Queue[bytes]) -> None:
    """Take in questions, and end the process when the server is gone, also amid an answer."""
    while (head := source.read(LENGTH.size)) and len(head) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        questions.put(source.read(length))
    os._exit(0)


def _warm_up() -> None:
    """Load what nearly every question needs before the first one waits for it."""
    import hushtable.query.sql
    import hushtable.release
    import hushtable.web.page  # noqa: F401


if __name__ == "__main__":
    main()
