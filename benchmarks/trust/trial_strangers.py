TRIALS: dict = {}
