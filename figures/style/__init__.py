"""How figures look: widths, fonts and colours, and means over seeds with their intervals."""
