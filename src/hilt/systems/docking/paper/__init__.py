"""The papers that docking is measured against, by key."""

PAPERS = {"he2022": "hilt.systems.docking.paper.he2022", "twin": "hilt.systems.docking.paper.twin_claims"}
