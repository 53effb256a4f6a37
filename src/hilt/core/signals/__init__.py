"""The signal table; see table.py. The order of the imports is the order of the table."""

# isort: off
from hilt.core.signals import common as common, pair as pair, payload as payload, aerial as aerial, twin as twin
from hilt.core.signals.table import (
    FAULT as FAULT,
    FLOAT as FLOAT,
    INTEGER as INTEGER,
    LOOP as LOOP,
    PORT as PORT,
    POSE as POSE,
    TABLE as TABLE,
    TWIST as TWIST,
    UNITS_OF_PARTS as UNITS_OF_PARTS,
    WRENCH as WRENCH,
    Signal as Signal,
    declare as declare,
    leaves as leaves,
    record as record,
    row_type as row_type,
    unit_of as unit_of,
    whole as whole,
)
