"""Votes: annotations, names and codes, repeated votes, data frames, simulation."""
