"""The public functions and classes of Finegold."""
