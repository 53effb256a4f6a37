"""How a run is shown: report, pictures, scene."""
