"""Measured accuracies of the default method at given confidences, on real data sets.

Written by `python bench/real_confidence.py --write`, which says how; run it again when the method changes.
"""

METHOD = "anchored"
SETTINGS = {
    "max_iterations": 4,
    "vote_share": 0.5,
    "own_share": 0.5,
    "class_prior": 0.5,
    "skill_power": 0.75,
    "prior_votes": 2.0,
    "coin_share": 0.3,
}
CONSTANTS = {
    "LEAST_SHARE": 0.001,
    "LEAST_SKILL": 0.001,
    "ACCURACY_MARGIN": 0.02,
    "CALIBRATION_VOTES": 2.0,
    "DESIGN_POWER": 0.25,
}
SAMPLE_CONFIDENCE = 0.75898828  # mean on tests/data/animals: changes when the method does
N_SETS = 80
N_FAMILIES = 37

# confidence; then accuracy: 10th percentile, mean and 90th percentile over families; mean of families where
# people voted; mean of families where machines did (LLMs, systems, labelling functions)
BINS = (
    (0.347, 0.148, 0.297, 0.432, 0.295, 0.3),
    (0.459, 0.277, 0.468, 0.582, 0.428, 0.513),
    (0.549, 0.441, 0.59, 0.728, 0.562, 0.627),
    (0.658, 0.477, 0.656, 0.813, 0.653, 0.661),
    (0.755, 0.592, 0.743, 0.888, 0.746, 0.737),
    (0.848, 0.646, 0.848, 0.973, 0.892, 0.791),
    (0.92, 0.67, 0.903, 0.996, 0.976, 0.808),
    (0.968, 0.908, 0.963, 0.997, 0.99, 0.936),
)

# tasks of a subset; 10th and 90th percentile over families of accuracy minus mean confidence
SUBSETS = ((10, -0.25, 0.17), (20, -0.2, 0.13), (50, -0.19, 0.12), (100, -0.18, 0.11), (200, -0.15, 0.1))
