"""How many of a model's answers to each prompt are correct: a file of counts from a model and a reward."""
