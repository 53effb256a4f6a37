"""docking: contact through a robot that answers late (He & Shen 2022), and our own method, the twin."""
