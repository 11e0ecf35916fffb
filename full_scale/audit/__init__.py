"""Questions to a trainer as it runs: what does its loss minimise?"""
