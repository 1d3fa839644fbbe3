"""The public functions and classes of Karat."""
