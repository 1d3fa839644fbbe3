"""Seeded mutations of inputs, and what must hold for each."""
