"""Tasks so small that every answer of a real Llama can be enumerated, and the Llama that starts them."""
