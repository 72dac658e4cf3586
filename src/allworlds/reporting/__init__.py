"""Figures, drawn on axes that the caller hands in, and pages. The only room that imports Matplotlib."""
