"""The front frame as a drogue: a cone about the frames' normal that opens towards the rod and guides its tip to the axis.

    δ = (a - a₀) cos α + (√(ρ² + r²) - r) sin α        a: tip along the normal, ρ: tip from the axis, r: rounding of the apex
    F = F(δ, δ') ∇δ                                    ∇δ = n cos α + (ρ/√(ρ² + r²)) sin α

The force is that of a potential wherever the tip is, so a lossless contact conserves energy even when it slides
through the apex, which is rounded with the rod's radius. A flat frame has α = 0.
"""

import math

from hilt.compiled import jit
from hilt.maths import vec


@jit
def depth_in_cone(p, n, at, along):
    """(δ, ∇δ) of a tip at `at`; `along`: its coordinate along the normal from midway between the frames."""
    off = vec.sub(at, vec.load(p.axis_W))
    across = vec.sub(off, vec.scale(vec.dot(n, off), n))
    long = math.sqrt(vec.dot(across, across) + p.apex * p.apex)
    depth = (along - p.free) * p.cone_cosine + (long - p.apex) * p.cone_sine
    return depth, vec.add(vec.scale(p.cone_cosine, n), vec.scale(p.cone_sine / long, across))
