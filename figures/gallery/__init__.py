"""The figures, a module each: what it computes, and how it draws nothing but those numbers."""
