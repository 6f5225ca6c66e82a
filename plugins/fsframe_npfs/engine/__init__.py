"""The tests behind NPFS: draws, counts, null distributions, decisions."""
