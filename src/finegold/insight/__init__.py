"""Whether votes and labels can be trusted: agreement, flips, spammers, copies, calibration."""
