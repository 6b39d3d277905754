"""The package broken on purpose, one small change at a time: `make mutants`."""
