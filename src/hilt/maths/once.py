"""The same functions without the compiler, for what is computed only once: the start of a scenario, a posture, a check.

Compiling a function for a single call takes longer than the call. In a tick or a loop use the modules themselves.
"""

from hilt.compiled.interpreted import interpreted_module
from hilt.maths import chain as _chain
from hilt.maths import linear as _linear
from hilt.maths import so3 as _so3
from hilt.maths import spatial as _spatial
from hilt.maths import vec as _vec

vec, so3, spatial, linear, chain = map(interpreted_module, (_vec, _so3, _spatial, _linear, _chain))
