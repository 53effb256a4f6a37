"""What a run amounts to, computed while its rows go by: metrics, ledger, survey, delays."""
