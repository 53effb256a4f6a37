"""A scanner for the small subset of XML that RSI uses, and nothing more.

    packet   = <Rob attributes> element* </Rob>        or with Sen as the root
    element  = <Name attributes/>  or  <Name attributes>text</Name>
    attribute = Name="value"

Attributes come in any order, with any white space. A packet with entities, comments, declarations or nested elements is
refused. Unknown elements are skipped; each known element may appear once, with all its numbers.
Numbers are plain decimals of at most 18 digits, each within ±1e7: no hexadecimal, no infinity, no nan.
It reads bytes below `n` only; the tests also run it with bounds checks.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record

OK, BAD_LENGTH, BAD_SYNTAX, BAD_ROOT, BAD_NUMBER, TWICE, UNKNOWN_ATTRIBUTE, MISSING = 0, 1, 2, 3, 4, 5, 6, 7

# The elements that hilt knows; each of the first six has six numbers.
RIST, RSOL, AIPOS, ASPOS, RKORR, AK, DELAY, IPOC, ROB, SEN = range(10)
_WORDS = (b"RIst", b"RSol", b"AIPos", b"ASPos", b"RKorr", b"AK", b"Delay", b"IPOC", b"Rob", b"Sen")
_LONGEST = 8
_NAMES = np.array([list(word.ljust(_LONGEST, b"\0")) for word in _WORDS], np.uint8)
_LENGTHS = np.array([len(word) for word in _WORDS])

PACKET = record(value=("f8", (6, 6)), delay="i8", ipoc="i8", seen="i8")

_LARGEST = 1e7
_NOTHING = -1


@jit
def _blank(c):
    return c == 32 or c == 9 or c == 10 or c == 13


@jit
def _letter(c):
    """Whether a byte may be part of a name."""
    return 65 <= c <= 90 or 97 <= c <= 122 or 48 <= c <= 57 or c == 46 or c == 95


@jit
def _skip(b, i, n):
    while i < n and _blank(b[i]):
        i += 1
    return i


@jit
def _name_end(b, i, n):
    """Return the index after the name that starts at i; i itself if there is none."""
    if i < n and (48 <= b[i] <= 57 or b[i] == 46):
        return i
    while i < n and _letter(b[i]):
        i += 1
    return i


@jit
def _which(b, i, j):
    """Return the index of the known name in b[i:j], or -1."""
    for k in range(_LENGTHS.size):
        if j - i == _LENGTHS[k]:
            same = True
            for m in range(_LENGTHS[k]):
                if b[i + m] != _NAMES[k, m]:
                    same = False
            if same:
                return k
    return _NOTHING


@jit
def _column(b, i, j, element):
    """Return which of an element's numbers the attribute b[i:j] is, or -1: X Y Z A B C, A1 to A6, D."""
    if element == DELAY:
        return 0 if j - i == 1 and b[i] == 68 else _NOTHING
    if element in (AIPOS, ASPOS, AK):
        return int(b[i + 1]) - 49 if j - i == 2 and b[i] == 65 and 49 <= b[i + 1] <= 54 else _NOTHING
    if element <= RKORR and j - i == 1:
        if 88 <= b[i] <= 90:
            return int(b[i]) - 88
        if 65 <= b[i] <= 67:
            return int(b[i]) - 62
    return _NOTHING


@jit
def _number(b, i, j):
    """Return the decimal in b[i:j], within two units in the last place, and whether it is valid."""
    sign, started, point, digits, exponent = 1.0, False, False, 0, 0
    whole = np.int64(0)
    if i < j and (b[i] == 45 or b[i] == 43):
        sign = -1.0 if b[i] == 45 else 1.0
        i += 1
    while i < j and (48 <= b[i] <= 57 or (b[i] == 46 and not point)):
        if b[i] == 46:
            point = True
        else:
            started = True
            digits += 1 if whole > 0 or b[i] != 48 else 0  # leading zeros do not count
            exponent -= 1 if point else 0
            if digits > 18 or exponent < -40:
                return 0.0, False  # before the sum overflows
            whole = whole * 10 + (np.int64(b[i]) - 48)
        i += 1
    if started and i < j and (b[i] == 101 or b[i] == 69):
        i += 1
        turn, power = 1, 0
        if i < j and (b[i] == 45 or b[i] == 43):
            turn = -1 if b[i] == 45 else 1
            i += 1
        first = i
        while i < j and i - first < 3 and 48 <= b[i] <= 57:
            power = power * 10 + (int(b[i]) - 48)
            i += 1
        started = i > first
        exponent += turn * power
    value = float(whole)
    if exponent < 0:
        value = value / 10.0 ** float(min(-exponent, 308))
    elif value > 0.0:
        value = value * 10.0 ** float(min(exponent, 308))
    return sign * value, started and i == j and value <= _LARGEST


@jit
def _count(b, i, j):
    """Return the whole number in b[i:j], or -1."""
    if i >= j or j - i > 18:
        return np.int64(_NOTHING)
    whole = np.int64(0)
    for k in range(i, j):
        if not 48 <= b[k] <= 57:
            return np.int64(_NOTHING)
        whole = whole * 10 + (np.int64(b[k]) - 48)
    return whole


@jit
def _attributes(b, i, n, element, out):
    """Read the attributes of a tag from b[i]; returns their end, a code, and a mask of the numbers found."""
    found = 0
    while True:
        start = _skip(b, i, n)
        if start >= n:
            return start, BAD_SYNTAX, found
        if b[start] == 62 or b[start] == 47:  # > or /
            return start, OK, found
        end = _name_end(b, start, n)
        equals = _skip(b, end, n)
        if start == i or end == start or equals >= n or b[equals] != 61:
            return start, BAD_SYNTAX, found
        first = _skip(b, equals + 1, n)
        if first >= n or (b[first] != 34 and b[first] != 39):
            return first, BAD_SYNTAX, found
        quote = b[first]
        first += 1
        last = first
        while last < n and b[last] != quote:
            if b[last] == 60 or b[last] == 38 or b[last] < 32 or b[last] > 126:  # < and & would need a real XML reader
                return last, BAD_SYNTAX, found
            last += 1
        if last >= n:
            return last, BAD_SYNTAX, found
        i = last + 1
        if element in (_NOTHING, IPOC):
            continue
        column = _column(b, start, end, element)
        if column == _NOTHING:
            return start, UNKNOWN_ATTRIBUTE, found
        if found >> column & 1:
            return start, TWICE, found
        found |= 1 << column
        if element == DELAY:
            out.delay = _count(b, first, last)
            if out.delay < 0:
                return first, BAD_NUMBER, found
        else:
            value, good = _number(b, first, last)
            if not good:
                return first, BAD_NUMBER, found
            out.value[element, column] = value


@jit
def scan(b, n, root, out):
    """Fill `out` from the packet in b[:n] whose root is ROB or SEN; OK or a code. `out.seen` has a bit for each element."""
    out.seen = 0
    i = _skip(b, 0, n)
    if i >= n or b[i] != 60:
        return BAD_SYNTAX
    end = _name_end(b, i + 1, n)
    if _which(b, i + 1, end) != root:
        return BAD_ROOT
    i, code, _ = _attributes(b, end, n, _NOTHING, out)
    if code != OK:
        return code
    if b[i] != 62:
        return BAD_SYNTAX
    i += 1
    while True:
        i = _skip(b, i, n)
        if i + 1 >= n or b[i] != 60:
            return BAD_SYNTAX
        if b[i + 1] == 47:
            break
        start, end = i + 1, _name_end(b, i + 1, n)
        element = _which(b, start, end)
        if end == start or element >= ROB:
            return BAD_SYNTAX
        if element != _NOTHING:
            if out.seen >> element & 1:
                return TWICE
            out.seen |= 1 << element
        i, code, found = _attributes(b, end, n, element, out)
        if code != OK:
            return code
        if (element == DELAY and found != 1) or (_NOTHING < element <= AK and found != 63):
            return MISSING
        first = i + 1
        if b[i] == 47:  # <Name ... />
            if first >= n or b[first] != 62:
                return BAD_SYNTAX
            if element == IPOC:
                return MISSING
            i = first + 1
            continue
        last = first
        while last < n and b[last] != 60:
            # Only IPOC, and unknown elements, have text.
            good = _blank(b[last]) or (32 < b[last] < 127 and b[last] != 38 and b[last] != 62 and not 0 <= element <= DELAY)
            if not good:
                return BAD_SYNTAX
            last += 1
        i = last + 2 + (end - start)
        if i >= n or b[last + 1] != 47 or b[i] != 62:
            return BAD_SYNTAX
        for k in range(end - start):
            if b[last + 2 + k] != b[start + k]:
                return BAD_SYNTAX
        i += 1
        if element == IPOC:
            first = _skip(b, first, last)
            stop = last
            while stop > first and _blank(b[stop - 1]):
                stop -= 1
            out.ipoc = _count(b, first, stop)
            if out.ipoc < 0:
                return BAD_NUMBER
    if _which(b, i + 2, _name_end(b, i + 2, n)) != root:
        return BAD_SYNTAX
    i = _skip(b, _name_end(b, i + 2, n), n)
    if i >= n or b[i] != 62 or _skip(b, i + 1, n) != n:
        return BAD_SYNTAX
    return OK if out.seen >> IPOC & 1 else MISSING
