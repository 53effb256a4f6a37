"""Encoders, force and observed tip, from some time before a touch to the end of the contact.

Two banks: one is filled while the other is being learnt from. In flight a bank keeps the last PAST seconds.
"""

from hilt.compiled import jit
from hilt.core.signals import record

KEPT = 2048  # samples, a power of two
PAST = 1.0  # s

BANK = record(
    first="i8",
    count="i8",
    lost="i8",  # whether older samples were overwritten
    **dict.fromkeys(("x_m", "v_m", "force", "tip", "tip_v"), KEPT),
)


@jit
def clear(bank):
    bank.first = bank.count = bank.lost = 0


@jit
def place(bank, n):
    """Index of sample n; the oldest is 0."""
    return (bank.first + n) & (KEPT - 1)


@jit
def remember(bank, past, sig, touching):
    """Store one sample; in contact all samples are kept while there is room."""
    if touching and bank.count == KEPT:
        return
    at = place(bank, bank.count)
    bank.x_m[at], bank.v_m[at], bank.force[at] = sig.x_m_late, sig.v_m_late, sig.F_n
    bank.tip[at], bank.tip_v[at] = sig.x_late, sig.v_late
    if touching or bank.count < past:
        bank.count += 1
    else:
        bank.first, bank.lost = place(bank, 1), 1
