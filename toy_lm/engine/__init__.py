"""The exact engine: Markov models and automata as verifiers, by dynamic programming, never by enumeration."""
