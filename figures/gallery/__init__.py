"""The figures, one module each: computation of the numbers, and a drawing of only those numbers."""
