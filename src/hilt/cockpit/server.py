"""The cockpit's application: a page, a few requests, and a socket. It runs in the back room, behind door and gate."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

from hilt.cockpit import desk, keys, maps
from hilt.cockpit.client import Client
from hilt.cockpit.gate import REPORT_POLICY, Log
from hilt.cockpit.hub import Hub, sessions
from hilt.cockpit.library import Library
from hilt.cockpit.sweeper import Sweeper
from hilt.cockpit.wire import without_paths
from hilt.cockpit.work import FORM_TIME, LIST_TIME, SYSTEMS_TIME, Overrun, Workbench
from hilt.core import registry
from hilt.core.faults import InputError

STATIC = Path(__file__).parent / "static"
SOCKETS = 32
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){0,4}")


def build(out: Path, token: str, log: Log, trust: Callable[[Any], None]) -> FastAPI:
    """Return the application, without its gate. `trust` is called with each socket that has shown a key."""
    library, forms, files, tables = Library(out), Workbench(out), Workbench(out), Workbench(out)
    hub, sweeper = Hub(library, log), Sweeper(out)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(hub.run()), asyncio.create_task(asyncio.to_thread(registry.systems))]
        yield
        for task in tasks:
            task.cancel()
        for bench in (forms, files, tables):
            bench.close()
        sweeper.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    _explain_errors(app)
    _serve_page(app)
    _serve_desk(app, desk.Desk(out), forms)
    _serve_recordings(app, library, files)
    maps.serve(app, out, sweeper, forms, tables, library)
    _serve_sockets(app, hub, log, token, trust)
    return app


def _explain_errors(app: FastAPI) -> None:
    """Answer bad input with one sentence here too."""

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


def _serve_desk(app: FastAPI, stations: desk.Desk, forms: Workbench) -> None:
    """Serve what can be run, and what is running."""

    async def errors_of(order: desk.Order) -> list[desk.Error]:
        """Report values that are too long or too deep at once; a worker checks the rest."""
        found: list[desk.Error] = desk.too_large(order)
        if found:
            return found
        try:
            found = await forms.do(FORM_TIME, "check", order.model_dump())
        except Overrun as error:
            return [{"key": "", "sentence": f"the form cannot be checked: {error}"}]
        return found

    @app.get("/api/systems")
    async def systems() -> Response:
        return JSONResponse(await forms.do(SYSTEMS_TIME, "systems"))

    @app.get("/api/rigs")
    async def rigs() -> Response:
        return JSONResponse(await forms.do(FORM_TIME, "rigs"))

    @app.get("/api/scenario/{system}/{name}")
    async def sheet(system: str, name: str) -> Response:
        return JSONResponse(await forms.do(FORM_TIME, "sheet", system, name))

    @app.post("/api/check")
    async def check(order: desk.Order) -> Response:
        errors = await errors_of(order)
        return JSONResponse({"ok": False, "errors": errors} if errors else {"ok": True})

    @app.post("/api/stations")
    async def launch(order: desk.Order) -> Response:
        if errors := await errors_of(order):
            raise desk.Wrong(errors)
        return JSONResponse({"session": await asyncio.to_thread(stations.launch, order)})

    @app.get("/api/sessions")
    def running() -> Response:
        return JSONResponse(sessions())


def _serve_recordings(app: FastAPI, library: Library, files: Workbench) -> None:
    @app.get("/api/recordings")
    async def recordings() -> Response:
        return JSONResponse(await files.do(LIST_TIME, "list"))

    @app.get("/api/recordings/{name}")
    async def recording(name: str) -> Response:
        """Opened here already, so that watching it starts quickly."""
        summary = await files.do(LIST_TIME, "summary", name)
        return JSONResponse({**summary, "first_contact": await asyncio.to_thread(library.first_contact, name)})

    @app.get("/api/report/{name}")
    def report(name: str) -> Response:
        return HTMLResponse(library.report(name), headers={"content-security-policy": REPORT_POLICY})


def _serve_sockets(app: FastAPI, hub: Hub, log: Log, token: str, trust: Callable[[Any], None]) -> None:
    """Serve the sockets of pages, at most SOCKETS at a time."""
    clients: set[Client] = set()

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        if len(clients) >= SOCKETS:
            log.once(f"refused a socket: {SOCKETS} are open already")
            await websocket.close(1013, "Too many pages are open; close one.")
            return
        client = Client(websocket, hub, log)
        if keys.role_of(token, await client.key()) is None:
            log.once("refused a socket: no key, or a wrong one")
            with suppress(WebSocketDisconnect, RuntimeError, OSError):  # it may have closed by itself
                await websocket.close(4403, "This page has no key; open a new link: hilt cockpit --link.")
            return
        trust(websocket.scope)
        clients.add(client)
        try:
            await client.converse()
        finally:
            clients.discard(client)


def _errors(status: int, errors: list[desk.Error]) -> JSONResponse:
    return JSONResponse({"errors": errors}, status)


def _static(name: str) -> Response:
    """Return a file of the built page, and nothing outside it."""
    path = STATIC / name
    if not _FILE.fullmatch(name) or not path.is_file() or not path.resolve().is_relative_to(STATIC.resolve()):
        if name == "index.html":
            return Response("The page is not built; run: make cockpit", 503, media_type="text/plain")
        return Response("There is no such file.", 404, media_type="text/plain")
    return FileResponse(path, headers={"cache-control": "no-cache"})
