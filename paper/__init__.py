"""The PTBCC paper, computed anew with Finegold: `make paper`, or `python -m paper --help`."""
