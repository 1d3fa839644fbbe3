"""The results of fits: their data, saved files, tables, predictions and metrics."""
