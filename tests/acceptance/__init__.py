"""Proof that what comes out of the reducer is accepted wherever what went in was.

`python -m tests.acceptance` prints the table, `--write` puts it into the README, `--full` takes
every history.
"""
