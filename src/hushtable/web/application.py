"""The web application: routes to workers, and what every answer carries.

It reads releases and nothing else, and answers GET alone. Answers are made in worker processes
(`workers.py`); what is here only finds the release and passes bytes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from hushtable.errors import OptionError
from hushtable.web.exchange import Asked, Reply
from hushtable.web.guards import ALWAYS, Guard, Headers
from hushtable.web.lanes import Lanes
from hushtable.web.limits import Limits
from hushtable.web.openapi import description
from hushtable.web.shelf import Shelf
from hushtable.web.static_files import BUNDLE, is_static, static_file
from hushtable.web.tasks import INDEX, TASKS, identity, refused
from hushtable.web.turns import Busy

RETRY = "5"
"""Seconds after which a client that was sent away may come back."""
_VARY = "Accept-Encoding"


@dataclass(frozen=True)
class Settings:
    """How a site is served."""

    limits: Limits = field(default_factory=Limits.from_environment)
    cors: bool = False
    hosts: tuple[str, ...] = ()
    """Names by which the site may be called; any where there are none."""
    token: str | None = None
    """What the first request must bring, where only one person may look."""
    forwarded: bool = False
    """Whether a proxy in front says by X-Forwarded-For who asks."""


def app(folder: str | Path | None = None, settings: Settings | None = None) -> Starlette:
    """An ASGI application for the releases of a folder, by default that of HUSHTABLE_FOLDER."""
    chosen = folder if folder is not None else os.environ.get("HUSHTABLE_FOLDER")
    if not chosen:
        raise OptionError("name the folder of the releases: app(folder), or HUSHTABLE_FOLDER")
    return site(Shelf.of_folder(chosen), settings or _from_environment())


def _from_environment() -> Settings:
    def is_on(name: str) -> bool:
        return os.environ.get(f"HUSHTABLE_{name}", "").lower() in ("1", "on", "true", "yes")

    hosts = tuple(os.environ.get("HUSHTABLE_HOSTS", "").replace(",", " ").split())
    return Settings(cors=is_on("CORS"), hosts=hosts, forwarded=is_on("FORWARDED"))


def site(shelf: Shelf, settings: Settings, more: tuple[BaseRoute, ...] = ()) -> Starlette:
    """An ASGI application for a shelf, with more routes of the caller's own."""
    lanes = Lanes(settings.limits)
    pages = _Pages(shelf, settings, lanes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        warming = asyncio.ensure_future(lanes.warm_up())
        # The script of the charts takes a second to put together, once.
        bundling = asyncio.ensure_future(asyncio.to_thread(static_file, BUNDLE))
        yield
        for task in (warming, bundling):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await lanes.close()

    routes = [
        Route("/", pages.index),
        *more,
        Route("/-/health", pages.health),
        Route("/-/openapi.json", pages.openapi),
        Route("/-/static/{name}", pages.static),
        Route("/robots.txt", pages.robots),
        Route("/favicon.ico", pages.icon),
        Route("/{name}.json", pages.task("answer.json")),
        Route("/{name}/info.json", pages.task("info.json")),
        Route("/{name}/download.csv", pages.task("download.csv")),
        Route("/{name}/download.parquet", pages.task("download.parquet")),
        Route("/{name}", pages.task("page")),
    ]
    guards = [
        Middleware(Headers, cors=settings.cors),
        Middleware(Guard, hosts=settings.hosts, token=settings.token),
    ]
    return Starlette(
        routes=routes,
        middleware=guards,
        lifespan=lifespan,
        exception_handlers={404: _nothing_here, 405: _only_get, 500: _broken},
    )


@dataclass(frozen=True, eq=False)
class _Pages:
    """The answers of a site."""

    shelf: Shelf
    settings: Settings
    lanes: Lanes

    async def health(self, request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(description(_root(request)))

    async def robots(self, request: Request) -> Response:
        # Each page leads to many others, which say nothing new.
        return PlainTextResponse("User-agent: *\nDisallow: /*?\nDisallow: /-/\n")

    async def icon(self, request: Request) -> Response:
        return await self._file(request, "icon.svg")

    async def static(self, request: Request) -> Response:
        return await self._file(request, request.path_params["name"])

    async def _file(self, request: Request, name: str) -> Response:
        if not is_static(name):
            return _nothing_here(request)
        found = await asyncio.to_thread(static_file, name)
        packed = _reads_gzip(request)
        mark = f'"{found.mark}{"-gzip" if packed else ""}"'
        headers = {"ETag": mark, "Cache-Control": "public, max-age=3600", "Vary": _VARY}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        if packed:
            headers["Content-Encoding"] = "gzip"
        return Response(found.compressed if packed else found.content, 200, headers, found.kind)

    async def index(self, request: Request) -> Response:
        listed = tuple((quote(name), str(path)) for name, path in self.shelf.releases().items())
        packed = _reads_gzip(request)
        return await self._ask(request, Asked(INDEX, "", "", listed, _root(request), gzip=packed))

    def task(self, task: str):  # type: ignore[no-untyped-def]
        """What answers a request about one release."""
        assert task in TASKS

        async def answer(request: Request) -> Response:
            name = request.path_params["name"]
            folder = self.shelf.find(name)
            if folder is None:
                return _nothing_here(request)
            limits = self.settings.limits
            asked = Asked(task, str(folder), quote(name), (), _root(request), limits.rows)
            if len(request.scope["query_string"]) > limits.sql:  # which is not read then
                line = f"the question is longer than {limits.sql:,} characters"
                return _response(refused(asked, line, 400))
            query = tuple(request.query_params.multi_items())
            asked = msgspec.structs.replace(asked, query=query, gzip=_reads_gzip(request))
            mark = _mark(asked)
            if request.headers.get("if-none-match") == mark:
                return Response(status_code=304, headers={"ETag": mark})
            return await self._ask(request, asked, mark)

        return answer

    async def _ask(self, request: Request, asked: Asked, mark: str | None = None) -> Response:
        answering = asyncio.ensure_future(self.lanes.ask(asked, self._client(request)))
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return Response(status_code=499)  # nobody reads it
            reply = answering.result()
        except Busy:
            line = "too many questions at once: try again in a few seconds"
            return _response(refused(asked, line, 503))
        finally:
            for task in (answering, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, Busy):
                    await task
        response = _response(reply)
        if mark is not None and reply.status == 200:
            # A release never changes; what stands under its name may.
            response.headers["ETag"] = mark
        return response

    def _client(self, request: Request) -> str:
        """Who asks, as far as it is known."""
        address = request.client.host if request.client else ""
        said = request.headers.getlist("x-forwarded-for")
        if self.settings.forwarded and said:  # the last is the proxy's own
            address = said[-1].rpartition(",")[2].strip()
        return household(address)


def household(address: str) -> str:
    """Who shares an address: of IPv6, one client has all those that begin alike."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if known.version == 6 and known.ipv4_mapped is None:
        return str(ipaddress.ip_network((known, 64), strict=False))
    return str(known)


async def _left(request: Request) -> None:
    """Return when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _reads_gzip(request: Request) -> bool:
    """Whether the client says so, and does not say that it would rather not."""
    said = request.headers.get("accept-encoding", "").lower().replace(" ", "").split(",")
    return any(one.partition(";")[0] == "gzip" and not one.endswith(";q=0") for one in said)


def _root(request: Request) -> str:
    return quote(str(request.scope.get("root_path", "")).rstrip("/"))


def _mark(asked: Asked) -> str:
    """What changes when the answer may: the release, the question, this software."""
    from hushtable import __version__

    seen = repr((__version__, asked, identity(Path(asked.folder))))
    return '"' + hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()[:32] + '"'


def _response(reply: Reply) -> Response:
    headers = dict(reply.headers) | {"Cache-Control": "no-cache", "Vary": _VARY}
    if reply.status == 503:
        headers["Retry-After"] = RETRY
    return Response(reply.body, reply.status, headers, reply.kind)


def _nothing_here(request: Request, _: Exception | None = None) -> Response:
    return _plain_refusal(request, "there is nothing here; the first page lists all releases", 404)


def _only_get(request: Request, _: Exception) -> Response:
    return _plain_refusal(request, "a release only answers questions: use GET", 405)


def _broken(request: Request, _: Exception) -> Response:
    response = _plain_refusal(request, "internal error; please report it", 500)
    response.headers.update(ALWAYS)  # what failed may have been what puts them on
    return response


def _plain_refusal(request: Request, line: str, status: int) -> Response:
    wants_page = "text/html" in request.headers.get("accept", "")
    asked = Asked("page" if wants_page else "answer.json", "", "", (), _root(request))
    return _response(refused(asked, line, status))
