"""Times until an event: Cox's score test for each feature, and his model of risks."""
