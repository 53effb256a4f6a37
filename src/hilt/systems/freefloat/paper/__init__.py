"""The papers that freefloat is measured against, by key."""

PAPERS = {"destefano2017": "hilt.systems.freefloat.paper.destefano2017"}
