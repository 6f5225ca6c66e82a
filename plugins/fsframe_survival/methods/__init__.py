"""One method each."""
