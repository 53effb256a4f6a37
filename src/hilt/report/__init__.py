"""Reports: tables for the terminal, pictures and pages."""

import logging

# Without a writable home, matplotlib uses a temporary folder and logs two paragraphs about it.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
