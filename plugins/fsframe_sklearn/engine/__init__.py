"""Shared by the stages: estimators by name, rows and folds, penalised paths."""
