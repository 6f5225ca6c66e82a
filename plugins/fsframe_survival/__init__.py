"""Survival data: Cox's score test of each feature, and the proportional hazards model."""
