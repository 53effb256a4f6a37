"""Requests of the tab *Maps*: sweeps of the folder, charts of them, and orders to start, cancel, continue and open."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from hilt.cockpit import desk, sweep_folder
from hilt.cockpit.gate import REPORT_POLICY
from hilt.cockpit.library import Library
from hilt.cockpit.sweep_order import SweepOrder
from hilt.cockpit.sweeper import CONTINUE, Sweeper
from hilt.cockpit.work import FORM_TIME, LIST_TIME, Overrun, Workbench
from hilt.core.faults import InputError

Word = Annotated[str, Query(max_length=200)]


class Point(BaseModel):
    """A scenario of a sweep."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(ge=0)


def serve(app: FastAPI, out: Path, sweeper: Sweeper, forms: Workbench, tables: Workbench, library: Library) -> None:
    async def checked(order: SweepOrder) -> dict[str, Any]:
        if errors := desk.too_large(order.base):
            return {"ok": False, "errors": errors}
        try:
            found: dict[str, Any] = await forms.do(FORM_TIME, "check_sweep", order.model_dump())
        except Overrun as error:
            found = {"ok": False, "errors": [{"key": "", "sentence": f"the sweep cannot be checked: {error}"}]}
        return found

    @app.get("/api/maps")
    async def sweeps() -> Response:
        found = await tables.do(LIST_TIME, "sweeps")
        return JSONResponse([{**each, **_state(sweeper, each["name"], each["written"] == each["chunks"])} for each in found])

    @app.get("/api/maps/{name}")
    async def chart(name: str, metric: Word = "", seen: Word = "") -> Response:
        try:
            found = await tables.do(LIST_TIME, "chart", name, metric, seen)
        except InputError:
            if (state := sweeper.state(name)) is None and not sweeper.end_of(name):
                raise
            return JSONResponse({"name": name, **(state or {"state": "gone", "sentence": sweeper.end_of(name)})})
        return JSONResponse({"name": name, **found, **_state(sweeper, name, found["whole"])})

    @app.get("/api/maps/{name}/report")
    def report(name: str) -> Response:
        return HTMLResponse(sweep_folder.report(out, name), headers={"content-security-policy": REPORT_POLICY})

    @app.post("/api/maps/check")
    async def check(order: SweepOrder) -> Response:
        return JSONResponse(await checked(order))

    @app.post("/api/maps")
    async def start(order: SweepOrder) -> Response:
        found = await checked(order)
        if not found["ok"]:
            raise desk.Wrong(found["errors"])
        await _ordered(sweeper.start(found["name"], order))
        return JSONResponse({"map": found["name"]})

    @app.post("/api/maps/{name}/continue")
    async def resume(name: str) -> Response:
        await tables.do(LIST_TIME, "chart", name, "", "")  # refuses what is not a sweep
        await _ordered(sweeper.start(name))
        return JSONResponse({"map": name})

    @app.post("/api/maps/{name}/cancel")
    async def cancel(name: str) -> Response:
        sweeper.cancel(name)
        return JSONResponse({"map": name})

    @app.post("/api/maps/{name}/open")
    async def open_run(name: str, point: Point) -> Response:
        await tables.do(LIST_TIME, "chart", name, "", "")

        def is_there(recording: str) -> bool:
            try:
                return library.path(recording).is_file()
            except InputError:
                return False

        return JSONResponse({"recording": await sweeper.open(name, point.number, is_there)})


async def _ordered(starting: Any) -> None:
    """Report an order that cannot be carried out now as an error in the order, not as an unknown address."""
    try:
        await asyncio.shield(starting)
    except InputError as error:
        raise desk.Wrong([{"key": "", "sentence": str(error)}]) from None


def _state(sweeper: Sweeper, name: str, whole: bool) -> dict[str, Any]:
    """Return the state of a sweep: running, complete, or waiting to be continued."""
    going = sweeper.state(name)
    if going is not None:
        return going
    if whole:
        return {"state": "whole", "sentence": ""}
    return {"state": "unfinished", "sentence": sweeper.end_of(name) or f"It is not finished. {CONTINUE}"}
