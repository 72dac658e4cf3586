"""What the commands do, callable from Python too."""
