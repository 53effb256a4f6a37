"""One stage, packed as its system packs it, but from any object that has the sections it needs."""

from types import SimpleNamespace


def pack(system, kind, p, values):
    block = next(block for block in system.blocks if block.kind.pack is kind.pack)  # a link comes in several sizes
    period = values.loop.period if hasattr(values, "loop") else None
    kind.pack(p, block.section(values), SimpleNamespace(period=period, noise_key=getattr(values, "noise_key", None)))
