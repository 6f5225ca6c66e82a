"""How informations are computed: bins, codes, joint counts, greedy selection."""
