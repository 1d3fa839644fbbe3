"""Files that appear whole or not at all, locks, memory, and archives read with limits."""
