"""Numbers out of traces: runs side by side, who was better and how sure we are, slopes, panels."""
