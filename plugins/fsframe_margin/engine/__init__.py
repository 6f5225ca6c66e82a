"""How margins are computed: passes over pairs of rows, descents, tuning."""
