"""Real training of the atlas: each method on a Llama whose answers are all enumerated."""
