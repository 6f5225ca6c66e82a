"""What the stages share: estimators by name, rows and folds, fitted models."""
