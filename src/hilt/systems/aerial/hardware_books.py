"""The world's side of aerial's ledger: the commanded pose of the tool, and the human's wrench as used by the tick."""

from hilt.compiled import jit
from hilt.core.stage import StageKind
from hilt.maths import so3, vec
from hilt.plant.books import BOOKS, book_world


@jit
def hardware_books_step(sig, x, p, dt):
    commanded = vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q)
    book_world(sig, x, p, commanded, (vec.load(sig.F_h_H.f), vec.load(sig.F_h_H.tau)))


HARDWARE_BOOKS = StageKind(
    "hardware-books",
    hardware_books_step,
    reads=("X_WB_true", "X_WB_cmd", "F_Bcm_true_W", "F_h_H"),
    writes=BOOKS.writes,
    state=BOOKS.state,
    params=BOOKS.params,
    pack=BOOKS.pack,
)
