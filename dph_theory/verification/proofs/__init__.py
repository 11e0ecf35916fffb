"""How a claim of a derivation is decided: tried at points in 50 digits, then by two independent deciders."""
