"""Classifiers to measure selections with: nearest neighbours, and any scikit-learn estimator."""
