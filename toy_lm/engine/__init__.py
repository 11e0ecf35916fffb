"""The exact engine: Markov models and validity automata, by dynamic programming, never by enumeration."""
