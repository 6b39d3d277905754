"""Proof that what comes out of the reducer is accepted wherever what went in was.

`pytest tests/acceptance` takes a share of the histories and prints the tables, `ACCEPTANCE=full`
in the environment makes it take all. `python -m tests.acceptance --full --write` puts the tables
into docs/acceptance.md.
"""
