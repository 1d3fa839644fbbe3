"""Atomic writes, file locks, available memory, archives with size limits, and checks of arrays."""
