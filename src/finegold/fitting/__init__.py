"""Run fits: the loop, checkpoints, priors from earlier results, updates with new votes."""
