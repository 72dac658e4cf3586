"""What every room uses: errors, argument checks, atomic files, specs and the description of the machine."""
