"""Where blocks of tasks run. An engine scatters the votes and sums what a method computes on each block."""
