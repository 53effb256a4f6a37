"""The cockpit's server: a page, a few requests beside it, and one socket. A process of its own, never the loop's."""

import asyncio
import errno
import itertools
import logging
import re
import resource
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

from hilt import registry
from hilt.cockpit import desk
from hilt.cockpit.client import Client
from hilt.cockpit.connections import Connections
from hilt.cockpit.gate import Gate, Log, is_loopback
from hilt.cockpit.hub import Hub, sessions
from hilt.cockpit.library import Library
from hilt.cockpit.wire import without_paths
from hilt.faults import InputError
from hilt.job import plain

STATIC = Path(__file__).parent / "static"
SOCKETS = 32
MESSAGE_BYTES = 4096
OPEN_FILES = 4096
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){0,4}")
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


def build(out: Path, log: Log) -> FastAPI:
    """The application, without its gate."""
    library, stations = Library(out), desk.Desk(out)
    hub = Hub(library, log)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(hub.run()), asyncio.create_task(asyncio.to_thread(registry.systems))]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    _explain_errors(app)
    _serve_page(app)
    _serve_desk(app, stations)
    _serve_recordings(app, library)
    _serve_sockets(app, hub, log)
    return app


def _explain_errors(app: FastAPI) -> None:
    """Bad input is one sentence here too."""

    @app.exception_handler(InputError)
    def unknown(_: Request, error: InputError) -> JSONResponse:
        return _errors(404, [{"key": "", "sentence": without_paths(str(error))}])

    @app.exception_handler(desk.Wrong)
    def wrong(_: Request, error: desk.Wrong) -> JSONResponse:
        return _errors(422, error.errors)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"] if part != "body")
        return _errors(422, [{"key": key, "sentence": f"the request is not understood: {first['msg']}"}])


def _serve_page(app: FastAPI) -> None:
    @app.get("/")
    def page() -> Response:
        return _static("index.html")

    @app.get("/static/{file:path}")
    def static(file: str) -> Response:
        return _static(file)


def _serve_desk(app: FastAPI, stations: desk.Desk) -> None:
    """What can be run, and what runs."""

    @app.get("/api/systems")
    def systems() -> Response:
        return JSONResponse(desk.systems())

    @app.get("/api/rigs")
    def rigs() -> Response:
        return JSONResponse(desk.rigs())

    @app.get("/api/scenario/{system}/{name}")
    def sheet(system: str, name: str) -> Response:
        return JSONResponse(plain(desk.sheet(system, name)))

    @app.post("/api/check")
    def check(order: desk.Order) -> Response:
        errors = desk.check(order)
        return JSONResponse({"ok": False, "errors": errors} if errors else {"ok": True})

    @app.post("/api/stations")
    def launch(order: desk.Order) -> Response:
        return JSONResponse({"session": stations.launch(order)})

    @app.get("/api/sessions")
    def running() -> Response:
        return JSONResponse(sessions())


def _serve_recordings(app: FastAPI, library: Library) -> None:
    @app.get("/api/recordings")
    def recordings() -> Response:
        return JSONResponse(plain(library.list()))

    @app.get("/api/recordings/{name}")
    def recording(name: str) -> Response:
        return JSONResponse(plain(library.details(name)))

    @app.get("/api/report/{name}")
    def report(name: str) -> Response:
        return HTMLResponse(library.report(name), headers={"content-security-policy": REPORT_POLICY})


def _serve_sockets(app: FastAPI, hub: Hub, log: Log) -> None:
    """A conversation with each page; so many of them and no more."""
    clients: set[Client] = set()
    numbers = itertools.count(1)

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        if len(clients) >= SOCKETS:
            log.once(f"refused a socket: {SOCKETS} are open already")
            await websocket.close(1013)
            return
        client = Client(websocket, hub, next(numbers), log)
        clients.add(client)
        try:
            await websocket.accept()
            await client.converse()
        finally:
            clients.discard(client)


def _errors(status: int, errors: list[desk.Error]) -> JSONResponse:
    return JSONResponse({"errors": errors}, status)


def _static(name: str) -> Response:
    """A file of the built page, and nothing beside it."""
    path = STATIC / name
    if not _FILE.fullmatch(name) or not path.is_file() or not path.resolve().is_relative_to(STATIC.resolve()):
        if name == "index.html":
            return Response("The page is not built; run tools/build_page.sh once.", 503, media_type="text/plain")
        return Response("There is no such file.", 404, media_type="text/plain")
    return FileResponse(path, headers={"cache-control": "no-cache"})


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _bind(host: str, port: int) -> socket.socket:
    """The port, or one sentence."""
    found = None
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, number)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError) as error:
        if found is not None:
            found.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is taken; end what uses it, or choose another with --port") from None
        raise InputError(f"cannot listen on port {port} of {host}: {error}; choose others with --host and --port") from None
    return found


def _permit_files() -> None:
    """A thousand connections are refused by us, and not by a limit that would also keep us from a recording."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


class _Once(logging.Filter):
    """The libraries' words too are said once, and without addresses, which have the token."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def filter(self, record: logging.LogRecord) -> bool:
        self._log.once(f"{record.msg}".strip() + (f": {record.exc_info[1]!r}" if record.exc_info else ""))
        return False


def serve(host: str, port: int, out: Path, token: str | None = None, ready: Callable[[str], None] | None = None) -> None:
    """Serve until interrupted. `ready` is called once with the address, the token in it, when it can be opened."""
    log = Log()
    if not is_loopback(host):
        print(
            f"hilt: the cockpit listens on {host}: whoever can reach it and has the token can move the robot, and what is "
            "sent is not encrypted; leave --host out to stay on this machine",
            file=sys.stderr,
        )
    bound = _bind(host, port)
    token = token or secrets.token_urlsafe(24)
    port = bound.getsockname()[1]
    _permit_files()
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(_Once(log))
    config = uvicorn.Config(
        Gate(build(out, log), token, host, port, log),  # type: ignore[arg-type]
        http=Connections.limited(log),
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=10.0,
        ws_ping_timeout=20.0,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    shown = f"[{host}]" if ":" in host else host
    _Server(config, lambda: ready(f"http://{shown}:{port}/?token={token}") if ready else None).run([bound])
