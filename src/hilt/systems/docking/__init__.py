"""docking: contact through a robot with a delay (He & Shen 2022), and our own method, the twin."""
