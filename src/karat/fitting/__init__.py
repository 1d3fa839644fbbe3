"""How a fit proceeds: the loop, acceleration, checkpoints, earlier results, new votes."""
