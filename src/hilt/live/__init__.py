"""A run in wall time: session and station, mailbox, ring, recorder process, and a core for each live loop."""
