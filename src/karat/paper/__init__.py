"""Data sets, tables and figures of the PTBCC paper."""
