"""The long run: python -m tests.fuzz --cases 20000 --seed 1."""

from tests.fuzz.run import main

raise SystemExit(main())
