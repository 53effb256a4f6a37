"""Recordings: MCAP files that outlive the run, read back chunk by chunk, and replayed."""
