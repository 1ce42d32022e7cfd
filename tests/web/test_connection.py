"""What is left of a connection that its client has reset."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from hushtable.web.connection import Connection


async def _application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("problem", [None, ConnectionResetError()])
def test_no_clock_runs_for_a_connection_that_is_lost(problem: Exception | None) -> None:
    async def lost() -> bool:
        config = uvicorn.Config(_application, http=Connection, timeout_keep_alive=1000)
        here, there = socket.socketpair()
        with there:
            loop = asyncio.get_running_loop()
            _, kept = await loop.connect_accepted_socket(
                lambda: Connection(config, ServerState(), {}), here
            )
            there.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            while kept.timeout_keep_alive_task is None:  # until it has answered
                await asyncio.sleep(0.001)
            clock = kept.timeout_keep_alive_task
            kept.connection_lost(problem)
            stopped = clock.cancelled() and kept.timeout_keep_alive_task is None
            kept.transport.abort()
            return stopped

    assert asyncio.run(lost())
