"""Runs of docking in which the tick's measurements are corrupted, for tests of the twin."""

import numpy as np

FAULTS = ("frozen", "jumps", "nan", "gone", "turned")


def run(made, ticks, spoil, look):
    """What `look` returns after each tick of a bench whose measurements `spoil(k, row)` changes."""
    row, x, w, p = made.row, made.x, made.w, made.p
    found = []
    for k in range(ticks):
        row[0].tick = k
        row[0].t = k * p[0].dt
        made.code.plant(row, w, p)
        spoil(k, row[0])
        made.code.tick(row, x, p)
        found.append(look(row[0], x[0]))
    return found


def sensor(fault, begin, axes):
    """Corrupts force and encoder along `axes` axes; a lasting fault begins at tick `begin`."""
    random, held = np.random.default_rng(3), {}

    def spoil(k, sig):
        f, place = sig.F_So_S.f[:axes], sig.X_WB_meas.p[:axes]
        if k == begin:
            held["f"] = sig.F_So_S.f.copy()
        if fault == "frozen" and k > begin:
            sig.F_So_S.f[:] = held["f"]
        elif fault == "jumps" and random.random() < 0.05:
            f += 1e4 * random.standard_normal(axes)
            place += 0.01 * random.standard_normal(axes)
        elif fault == "nan" and random.random() < 0.05:
            f[axes // 2] = np.nan
            place[-1] = np.nan
        elif fault == "gone" and k > begin:
            sig.F_So_S.f[:] = 0.0
        elif fault == "turned":
            f *= -1.0

    return spoil
