"""A verifiable SQL task that needs nothing from outside: databases, questions, and a small Llama to start from."""
