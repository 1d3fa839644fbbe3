"""Run fits: the loop, acceleration, checkpoints, priors from earlier results, updates with new votes."""
