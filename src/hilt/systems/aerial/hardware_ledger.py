"""The world's side of aerial's ledger: the commanded pose of the tool, and the human's wrench as used by the tick."""

from hilt.compiled import jit
from hilt.core.stage import StageKind
from hilt.maths import so3, vec
from hilt.plant.world_ledger import WORLD_LEDGER, book_world


@jit
def hardware_ledger_step(sig, x, p, dt):
    commanded = vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q)
    book_world(sig, x, p, commanded, (vec.load(sig.F_h_H.f), vec.load(sig.F_h_H.tau)))


HARDWARE_LEDGER = StageKind(
    "hardware-ledger",
    hardware_ledger_step,
    reads=("X_WB_true", "X_WB_cmd", "F_Bcm_true_W", "F_h_H"),
    writes=WORLD_LEDGER.writes,
    state=WORLD_LEDGER.state,
    params=WORLD_LEDGER.params,
    pack=WORLD_LEDGER.pack,
)
