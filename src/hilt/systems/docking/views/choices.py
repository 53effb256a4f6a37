"""Colours of scenario choices: a method has the same colour in every figure."""

from hilt.report.colours import CONTROLLER, CYCLE, MADE, MEASURED

COLOUR_OF_METHOD = {"none": MADE, "pic": CYCLE[1], "dac": CONTROLLER, "pida": MEASURED, "pida-literal": CYCLE[4]}
COLOUR_OF_METHOD |= dict.fromkeys(("twin", "twin guarded", "guarded"), CYCLE[3])
COLOUR_OF_METHOD |= dict.fromkeys(("twin realtime", "realtime"), CYCLE[5])

COLOURS = {"compensate.method": COLOUR_OF_METHOD}
