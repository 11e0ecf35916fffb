"""Recipes: the settings of a run, the methods they name, and the folders that a run writes."""
