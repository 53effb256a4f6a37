"""Moving bodies: integrators of translation and rotation, and MuJoCo for bodies with joints."""
