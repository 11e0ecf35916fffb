"""Recipes: the settings of a run, the methods available to it, and the folders that it writes."""
