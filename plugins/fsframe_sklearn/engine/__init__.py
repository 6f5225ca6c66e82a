"""What the stages share: estimators by name, rows and folds, models fitted and asked."""
