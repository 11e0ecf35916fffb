"""A verifiable SQL task that needs nothing from outside: databases, questions, a small Llama."""
