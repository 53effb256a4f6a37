"""The boundary of a region of the unit square: a coarse grid, then bisection along the edges of cells that it crosses.

A finer grid would cost its square; bisection costs a few points for each crossing. Anything smaller than a cell may be missed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Inside = Callable[[np.ndarray], np.ndarray]  # n points (n, 2) -> n booleans
HALVINGS = 10  # of a cell's edge: a thousandth of a cell


@dataclass(frozen=True)
class Boundary:
    """Lines of points on the boundary, the coarse grid, and the number of points evaluated."""

    lines: tuple[np.ndarray, ...]
    patches: tuple[np.ndarray, ...]  # polygons, at most two per cell, that together cover the region inside
    grid: np.ndarray  # yes or no at [i, j], i along x
    tried: int

    @property
    def points(self) -> np.ndarray:
        return np.concatenate(self.lines) if self.lines else np.zeros((0, 2))


def find(inside: Inside, columns: int, rows: int, halvings: int = HALVINGS) -> Boundary:
    """Find the boundary between inside and outside; every batch of points is one call of `inside`."""
    across, up = np.meshgrid(np.linspace(0.0, 1.0, columns), np.linspace(0.0, 1.0, rows), indexing="ij")
    corners = np.stack([across, up], axis=-1)
    grid = np.asarray(inside(corners.reshape(-1, 2)), bool).reshape(columns, rows)
    edges = _crossed(grid)
    if not edges:
        return Boundary(
            (), (np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),) if grid.all() else (), grid, grid.size
        )
    ends = np.array([[corners[a], corners[b]] for a, b in edges])
    first = np.array([grid[a] for a, _ in edges])
    crossings, tried = _bisected(inside, ends, first, halvings)
    saddles = _saddles(grid)
    middles = np.array([[(i + 0.5) / (columns - 1), (j + 0.5) / (rows - 1)] for i, j in saddles]).reshape(-1, 2)
    centres = dict(zip(saddles, np.asarray(inside(middles), bool).tolist(), strict=True)) if saddles else {}
    number = {edge: n for n, edge in enumerate(edges)}
    cells = list(np.ndindex(columns - 1, rows - 1))
    links = [link for cell in cells for link in _links(grid, cell, centres)]
    chains = _chained(len(edges), [(number[a], number[b]) for a, b in links])
    at = {edge: crossings[n] for edge, n in number.items()}
    patches = [patch for cell in cells for patch in _patches(grid, cell, centres, corners, at)]
    return Boundary(tuple(crossings[chain] for chain in chains), tuple(patches), grid, grid.size + tried + len(saddles))


Corner = tuple[int, int]
Edge = tuple[Corner, Corner]


def _crossed(grid: np.ndarray) -> list[Edge]:
    """Return the edges between neighbours of which one is inside and one is not."""
    flat = [((int(i), int(j)), (int(i) + 1, int(j))) for i, j in np.argwhere(grid[:-1] != grid[1:])]
    upright = [((int(i), int(j)), (int(i), int(j) + 1)) for i, j in np.argwhere(grid[:, :-1] != grid[:, 1:])]
    return flat + upright


def _bisected(inside: Inside, ends: np.ndarray, first: np.ndarray, halvings: int) -> tuple[np.ndarray, int]:
    """Bisect all edges at once; `first` tells whether their first ends are inside."""
    low, high = ends[:, 0].copy(), ends[:, 1].copy()
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        same = (np.asarray(inside(middle), bool) == first)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return 0.5 * (low + high), halvings * len(ends)


def _around(i: int, j: int) -> list[Edge]:
    """The edges of a cell: below, right, above, left."""
    return [
        ((i, j), (i + 1, j)),
        ((i + 1, j), (i + 1, j + 1)),
        ((i, j + 1), (i + 1, j + 1)),
        ((i, j), (i, j + 1)),
    ]


def _saddles(grid: np.ndarray) -> list[Corner]:
    """Return cells whose opposite corners agree and whose adjacent ones differ: their middles decide which are connected."""
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return [(int(i), int(j)) for i, j in np.argwhere((a == c) & (b == d) & (a != b))]


def _links(grid: np.ndarray, cell: Corner, centres: dict[Corner, bool]) -> list[tuple[Edge, Edge]]:
    """Return the pairs of crossings that the boundary connects in a cell."""
    below, right, above, left = _around(*cell)
    crossed = [edge for edge in (below, right, above, left) if grid[edge[0]] != grid[edge[1]]]
    if len(crossed) == 2:
        return [(crossed[0], crossed[1])]
    if len(crossed) == 4:
        # The middle belongs to the corner at the lower left, or it separates that corner from the opposite one.
        return [(below, right), (above, left)] if centres[cell] == grid[cell] else [(below, left), (above, right)]
    return []


def _patches(
    grid: np.ndarray, cell: Corner, centres: dict[Corner, bool], corners: np.ndarray, at: dict[Edge, np.ndarray]
) -> list[np.ndarray]:
    """Return the part of a cell that is inside as polygons of its inside corners and crossings."""
    i, j = cell
    below, right, above, left = _around(i, j)
    around = [((i, j), below), ((i + 1, j), right), ((i + 1, j + 1), above), ((i, j + 1), left)]
    if cell in centres and not centres[cell]:  # two separate corners
        before = {corner: around[n - 1][1] for n, (corner, _) in enumerate(around)}
        return [np.array([at[before[corner]], corners[corner], at[edge]]) for corner, edge in around if grid[corner]]
    outline = []
    for corner, edge in around:
        if grid[corner]:
            outline.append(corners[corner])
        if edge in at:
            outline.append(at[edge])
    return [np.array(outline)] if len(outline) > 2 else []


def _chained(count: int, links: list[tuple[int, int]]) -> list[list[int]]:
    """Join pairs of neighbours into lines: open ones from their ends, then rings, which end where they began."""
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        neighbours[a].append(b)
        neighbours[b].append(a)
    left, chains = set(range(count)), []
    for start in sorted(range(count), key=lambda n: len(neighbours[n])):
        if start not in left:
            continue
        chain, at = [start], start
        left.discard(start)
        while onward := [n for n in neighbours[at] if n in left]:
            at = onward[0]
            left.discard(at)
            chain.append(at)
        if len(chain) > 2 and start in neighbours[at]:
            chain.append(start)
        chains.append(chain)
    return chains
