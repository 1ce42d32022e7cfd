"""A worker that can also misbehave, in each of the ways that a server must survive."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from hushtable.web import tasks, worker
from hushtable.web.exchange import Asked, Reply

TASKS = ("sleep", "compute", "grow", "die", "large", "noisy", "fail", "echo")


def sleep(release: Any, asked: Asked) -> Reply:
    time.sleep(float(asked.query[0][1]))
    return _reply("awake")


def compute(release: Any, asked: Asked) -> Reply:
    end = time.process_time() + float(asked.query[0][1])
    while time.process_time() < end:
        pass
    return _reply("computed")


def grow(release: Any, asked: Asked) -> Reply:
    held = []
    for _ in range(300):
        held.append(bytearray(os.urandom(1) * (4 * 2**20)))
        time.sleep(0.01)
    time.sleep(1000)  # whoever looks late still sees it
    return _reply(f"grown to {len(held)}")


def die(release: Any, asked: Asked) -> Reply:
    os._exit(3)


def large(release: Any, asked: Asked) -> Reply:
    return Reply(200, "text/plain", bytes(3 * 2**20))


def noisy(release: Any, asked: Asked) -> Reply:
    print("x" * 100_000, flush=True)
    os.write(1, b"y" * 100_000)
    sys.stderr.write("z" * 100_000)
    return _reply("quiet")


def fail(release: Any, asked: Asked) -> Reply:
    raise RuntimeError("a secret in a message")


def echo(release: Any, asked: Asked) -> Reply:
    return _reply(f"{os.getpid()}")


def _reply(text: str) -> Reply:
    return Reply(200, "text/plain", text.encode())


if __name__ == "__main__":
    tasks.TASKS.update({name: f"tests.web.trying_worker:{name}" for name in TASKS})
    worker.main()
