"""Reports: tables for the terminal, pictures and pages."""

import logging

# Without a home that can be written to, matplotlib takes a private temporary folder, and says so in two paragraphs.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
