"""The papers that aerial is measured against, by key."""

PAPERS = {"cuniato2022": "hilt.systems.aerial.paper.cuniato2022"}
