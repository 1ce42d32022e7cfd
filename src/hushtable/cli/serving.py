"""Commands that show releases in a browser: explore, for oneself, and serve, for others."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.completing import folders
from hushtable.cli.options import allow_option, ledger_option
from hushtable.cli.show import open_release, print_json, say
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute


LOCAL = ("localhost", "127.0.0.1", "::1")
_IDLE = 10
"""Seconds that a connection may be kept without a request."""
_MOST_CONNECTIONS = 500


@click.command()
@click.argument("releases", nargs=-1, metavar="[RELEASE]...", shell_complete=folders)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--seconds", type=float, help="The longest that a question may take.  [default: 60]")
@click.option("--memory", type=int, help="Megabytes a question may take.  [default: 4096]")
@json_option
@click.option("--schema", type=FilePath, help="Also show the owner's page of this schema.")
@ledger_option
@allow_option
def explore(
    releases: tuple[str, ...],
    port: int,
    no_browser: bool,
    seconds: float | None,
    memory: int | None,
    as_json: bool,
    schema: Path | None,
    ledger: Path | None,
    allow_paths: tuple[Path, ...],
) -> None:
    """Look into releases in the browser, on this machine alone.

    With --schema there is a page for the owner too: what was spent, and what another release would
    give. It publishes nothing.

    Example: hush explore census.release

    Example: hush explore --schema census.toml
    """
    if ledger is not None and schema is None:
        raise OptionError("--ledger is about --schema, which is not given")
    if not releases and schema is None:
        raise click.MissingParameter(param_type="argument", param_hint="'RELEASE'")
    for release in releases:
        open_release(release)
    _check_installed()
    import secrets
    import webbrowser

    from hushtable.web.application import Settings, site
    from hushtable.web.limits import Limits
    from hushtable.web.shelf import Shelf

    token = secrets.token_urlsafe(24)
    limits = Limits.from_environment(
        seconds=60.0 if seconds is None else seconds, memory=4096 if memory is None else memory
    )
    shelf = Shelf.of_releases(releases)
    more = () if schema is None else _owner(schema, ledger, allow_paths)
    listening = _listen("127.0.0.1", port)
    names = list(shelf.releases())
    path = f"/{quote(names[0])}" if len(names) == 1 else "/"
    path = path if schema is None else "/-/owner"
    address = f"http://127.0.0.1:{listening.getsockname()[1]}{path}?token={token}"
    _announce(address, "open this address in a browser on this machine; Ctrl-C ends it", as_json)

    if not no_browser:  # it listens already: the page is answered when the server has started
        webbrowser.open(address)
    _serve(site(shelf, Settings(limits, hosts=LOCAL, token=token), more), listening)


@click.command()
@click.argument("folder", metavar="FOLDER", shell_complete=folders)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option("--workers", type=int, help="Processes that answer.  [default: one a core]")
@click.option("--seconds", type=float, help="The longest a question may take.  [default: 15]")
@click.option("--memory", type=int, help="Megabytes a question may take.  [default: 1024]")
@click.option("--rows", type=int, help="The most rows an answer may have.  [default: 100000]")
@click.option("--queue", type=int, help="Questions that may wait.  [default: 256]")
@click.option("--allow-host", "hosts", multiple=True, help="Answer only to this name (repeatable).")
@click.option("--root-path", default="", help="The path under which a proxy shows the site.")
@click.option("--forwarded", is_flag=True, help="A proxy says who asks, by X-Forwarded-For.")
@click.option("--cors", is_flag=True, help="Let pages of other sites read answers.")
@click.option("--access-log", is_flag=True, help="Print every request, questions included.")
@json_option
def serve(
    folder: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    root_path: str,
    forwarded: bool,
    cors: bool,
    access_log: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Serve the releases of a folder to others; new ones appear by themselves.

    It answers questions and nothing else: releases are only read, and every question has limits.

    Example: hush serve releases --port 8000
    """
    _check_installed()
    from hushtable.web.application import Settings, app
    from hushtable.web.limits import Limits

    settings = Settings(
        limits=Limits.from_environment(**limits), cors=cors, hosts=hosts, forwarded=forwarded
    )
    application = app(folder, settings)
    listening = _listen(host, port)
    number = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{number}{root_path}/"
    _announce(address, f"serves the releases of {folder}; Ctrl-C ends it", as_json)
    _serve(application, listening, root_path=root_path, access_log=access_log)


def _announce(address: str, words: str, as_json: bool) -> None:
    """Where the site is, at once: what waits for it reads from a pipe."""
    if as_json:
        print_json({"url": address}, indent=None)
    else:
        say(address)
        say(words)
    sys.stdout.flush()


def _owner(
    schema: Path, ledger: Path | None, allow_paths: tuple[Path, ...]
) -> tuple[BaseRoute, ...]:
    from hushtable.web.owner import owner_routes

    return tuple(owner_routes(schema, ledger, allow_paths))


def _check_installed() -> None:
    try:
        import jinja2  # noqa: F401
        import psutil  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError:
        raise OptionError("the browser needs an extra: pip install 'hushtable[web]'") from None


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything is started or opened."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, reuse_port=False)
    except OSError as problem:
        raise OptionError(
            f"port {port} of {host} cannot be listened on"
            f" ({problem.strerror or 'no such address'}): choose another by --port or --host"
        ) from None
    # Connections inherit it: else the end of every answer waits for a sign of the client.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _serve(
    application: Starlette,
    listening: socket.socket,
    *,
    root_path: str = "",
    access_log: bool = False,
) -> None:
    """Serve until a signal ends it."""
    import uvicorn

    from hushtable.web.connection import Connection

    config = uvicorn.Config(
        application,
        root_path=root_path.rstrip("/"),
        access_log=access_log,
        log_level="info" if access_log else "warning",
        server_header=False,
        date_header=True,
        timeout_keep_alive=_IDLE,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=64 * 1024,
        http=Connection,
        ws="none",
        proxy_headers=False,
    )
    with listening:
        uvicorn.Server(config).run(sockets=[listening])
