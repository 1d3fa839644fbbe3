"""How votes come in and labels go out: readers, writers, write-back, databases, folders of many
files.
"""
