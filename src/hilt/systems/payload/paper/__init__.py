"""The papers that payload is measured against, by key."""

PAPERS = {"yang2018": "hilt.systems.payload.paper.yang2018"}
