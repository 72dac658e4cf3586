"""Numbers out of traces: runs side by side, slopes, panels, and what theory says about them."""
