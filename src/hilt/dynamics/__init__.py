"""Bodies that move: integrators of translation and rotation, and MuJoCo for what has joints."""
