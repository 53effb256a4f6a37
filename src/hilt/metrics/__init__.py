"""Results of a run, computed while its rows go by: metrics, ledger, survey, delays."""
