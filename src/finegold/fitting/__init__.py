"""Run fits: the loop, sets of labels, predictions of models, priors from earlier results."""
