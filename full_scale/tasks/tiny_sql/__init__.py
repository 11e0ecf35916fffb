"""A self-contained verifiable SQL task: databases, questions, a small Llama."""
