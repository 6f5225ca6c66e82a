"""How Relief scores are computed: columns, distances, neighbours, sums over pairs."""
