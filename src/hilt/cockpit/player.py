"""One recording, or several side by side on one time axis, as one client watches them: where it is and how fast it plays."""

from typing import Any

import numpy as np

from hilt.cockpit import columns, differences, presets, stage_view, status
from hilt.cockpit.film import Film
from hilt.cockpit.history import Range
from hilt.cockpit.wire import without_paths
from hilt.core.faults import InputError

FASTEST = 100.0


class Player:
    """The position in time, which follows the given clock. Several films share the axis: each is shifted by its own zero."""

    def __init__(self, films: list[Film], align: str = "start") -> None:
        self.films = films
        self.zeros = [0.0 if len(films) == 1 else self._zero(film, align) for film in films]
        self.prefixes = [""] if len(films) == 1 else [f"{i + 1}/" for i in range(len(films))]
        spans = [(film.span[0] - zero, film.span[1] - zero) for film, zero in zip(films, self.zeros, strict=True)]
        self.span = min(a for a, _ in spans), max(b for _, b in spans)
        self.views = [stage_view.StageView(film.system, film.values) for film in films]
        self.names = {f"{prefix}{name}" for prefix, film in self._each() for name in film.columns}
        self.t = self.span[0]
        self.speed = 0.0
        self._since = 0.0
        self.timing = self._timing(films[0])
        self._stored_at_start = status.stored(films[0].system, films[0].rows[:1])
        self.frame()  # now, while opening: the first pose may have to be compiled
        self.ledger()

    @staticmethod
    def _zero(film: Film, align: str) -> float:
        if align == "start":
            return film.span[0]
        if film.first_contact is None:
            raise InputError(
                f"{film.name} never touches anything, so it cannot be aligned at the first contact; align at the start"
            )
        return film.first_contact

    def _each(self) -> zip:
        return zip(self.prefixes, self.films, strict=True)

    def seek(self, t: float, now: float) -> None:
        for view in self.views:
            view.begin()
        self._go_to(t, now)

    def _go_to(self, t: float, now: float) -> None:
        self.t, self._since = min(max(t, self.span[0]), self.span[1]), now

    def play(self, speed: float, now: float) -> None:
        if self.t >= self.span[1]:
            self.seek(self.span[0], now)
        self.speed, self._since = min(max(speed, 0.0), FASTEST), now

    def pause(self, now: float) -> None:
        self.move(now)
        self.speed = 0.0

    def move(self, now: float) -> bool:
        """Advance by the time that has passed; return whether anything has changed."""
        if not self.speed:
            return False
        self._go_to(self.t + self.speed * (now - self._since), now)
        if self.t >= self.span[1]:
            self.speed = 0.0
        return True

    def frame(self) -> tuple[dict[str, Any], np.ndarray]:
        """Return header and scene numbers of the present time."""
        rows = [film.rows[film.at(self.t + zero)] for film, zero in zip(self.films, self.zeros, strict=True)]
        host, *guests = self.views
        poses = [host.pose(rows[0]), *(guest.pose_as_guest(row) for guest, row in zip(guests, rows[1:], strict=True))]
        cuts = [8 * view.nodes for view in self.views]
        scene = [pose[:cut] for pose, cut in zip(poses, cuts, strict=True)] + [p[c:] for p, c in zip(poses, cuts, strict=True)]
        header = {
            "type": "frame",
            "t": self.t,
            "tick": int(rows[0]["tick"]),
            "state": "PLAYING" if self.speed else "PAUSED",
            "run": 0,
            "nodes": sum(view.nodes for view in self.views),
            "arrows": sum(view.arrows for view in self.views),
            "plots": {"names": [], "n": 0, "t0": 0.0},
        }
        return header, np.concatenate(scene)

    def ledger(self) -> dict[str, Any]:
        """Return the ledger of the first film at the present time."""
        film = self.films[0]
        row = film.at(self.t + self.zeros[0])
        return status.ledger(film.system, film.rows[row : row + 1], self._stored_at_start)

    @staticmethod
    def _timing(film: Film) -> dict[str, Any]:
        tally = status.Timing(film.values.loop.period)
        tally.note(film.rows)
        return tally.as_json(1.0 / film.values.loop.period, lost=0)

    def range(self, names: list[str], begin: float, end: float, points: int) -> Range:
        """Return the range of a film; several films share common buckets, with NaN where one of them has no row."""
        if len(self.films) == 1:
            return self.films[0].range(names, begin, end, points)
        period = min(film.values.loop.period for film in self.films)
        begin, end = max(begin, self.span[0]), min(end, self.span[1])
        count = max(1, min(points, round((end - begin) / period) + 1)) if end >= begin else 0
        width = max(period, (end - begin + period) / max(count, 1))
        edges = begin - 0.5 * period + width * np.arange(count + 1)
        low = np.full((len(names), count), np.nan, np.float32)
        high = low.copy()
        for line, name in enumerate(names):
            which = self.prefixes.index(f"{name.partition('/')[0]}/")
            film, leaf = self.films[which], name.partition("/")[2]
            film.take([leaf])
            places = np.searchsorted(film.times, edges + self.zeros[which])
            some = np.flatnonzero(places[1:] > places[:-1])
            if len(some):
                low[line, some], high[line, some] = film.extremes(leaf, places[some], int(places[some[-1] + 1]))
        return Range(edges[:-1] + 0.5 * width, low, high, width <= 1.5 * period)

    def _differences(self) -> list[dict[str, Any]]:
        """Return what differs between the scenarios of films of one system; different systems have little in common."""
        systems = {film.system.name for film in self.films}
        if len(self.films) == 1 or len(systems) > 1:
            return []
        found = differences.between(systems.pop(), [film.values.model_dump(mode="json") for film in self.films])
        return [{"key": key, "values": without_paths(values)} for key, values in found]

    def describe(self) -> dict[str, Any]:
        """Return what a page has to know about it."""
        scenes = [view.scene for view in self.views]
        return {
            "info": [
                {
                    "name": film.name,
                    "system": film.system.name,
                    "scenario": film.scenario_name,
                    "values": film.values.model_dump(mode="json"),
                    "period": film.values.loop.period,
                    "first_contact": film.first_contact,
                }
                for film in self.films
            ],
            "scene": scenes[0] if len(scenes) == 1 else stage_view.together(scenes, self.prefixes),
            "signals": [each for prefix, film in self._each() for each in columns.describe(film.rows.dtype, prefix)],
            "presets": presets.of([film.system for film in self.films], self.prefixes, [f.name for f in self.films]),
            "differences": self._differences(),
            "span": list(self.span),
            "result": [film.result and without_paths({**film.result, "recording": film.name}) for film in self.films],
        }
