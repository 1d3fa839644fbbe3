"""What LLM judges are worth: scores, comparisons, panels, and the ranking of the systems that they
judged.
"""
