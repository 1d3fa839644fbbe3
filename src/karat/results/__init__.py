"""What was found: the data of a result, its file, tables, predictions and metrics."""
