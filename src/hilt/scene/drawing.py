"""A scene together with the function that moves it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hilt.scene.shapes import Scene


@dataclass(frozen=True)
class Drawing:
    """`pose(row, x, p, out)`: row, state and parameters are arrays of one record, out is float32."""

    scene: Scene
    pose: Callable[..., None]
    x: np.ndarray
    p: np.ndarray
