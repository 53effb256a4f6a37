"""A run in wall time: session and station, mailbox, ring, recorder process, one core each."""
