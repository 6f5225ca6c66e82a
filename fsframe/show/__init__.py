"""Results and tables shown: as text, JSON, HTML, frames, LaTeX and plots."""
