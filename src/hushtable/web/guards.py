"""What every request must have, and what every answer carries."""

from __future__ import annotations

import hashlib
import secrets
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Headers:
    """Puts on every answer what a browser may do with it: next to nothing."""

    def __init__(self, app: ASGIApp, *, cors: bool = False) -> None:
        self._app = app
        self._headers = ALWAYS | (
            {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
            if cors
            else {}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, send_more)


class Guard:
    """Lets a request in: called by a name of the site, and with the token where there is one.

    Without the check of names, a page elsewhere could point a name of its own at this machine and
    read what a browser gets from here.
    """

    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...], token: str | None) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._token = token
        # Cookies know no ports: two sites of one machine need two names.
        self._cookie = "hushtable-" + hashlib.sha256((token or "").encode()).hexdigest()[:12]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = RequestHeaders(scope=scope)
        if self._hosts and _host(headers.get("host", "")) not in self._hosts:
            answer = PlainTextResponse("this site has another name", 400)
            await answer(scope, receive, send)
            return
        if self._token is None or scope["path"].endswith("/-/health") or self._knows(headers):
            await self._app(scope, receive, send)
            return
        await self._enter(scope)(scope, receive, send)

    def _knows(self, headers: RequestHeaders) -> bool:
        brought = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        return brought is not None and self._is_token(brought.value)

    def _is_token(self, text: str) -> bool:
        assert self._token is not None
        return secrets.compare_digest(text.encode(), self._token.encode())

    def _enter(self, scope: Scope) -> ASGIApp:
        """Take the token of the address, once, and keep it where no page sees it."""
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for key, value in given if key == "token"]
        if not tokens or not self._is_token(tokens[0]):
            return PlainTextResponse(
                "this page is for whoever started it: open the address that hush explore printed",
                403,
            )
        rest = urlencode([pair for pair in given if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # two slashes would lead to another host
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self._cookie, tokens[0], httponly=True, samesite="strict")
        return answer


def _host(text: str) -> str:
    """The name in a Host header, without its port."""
    if text.startswith("["):
        return text.partition("]")[0][1:].lower()
    return text.partition(":")[0].lower()
