"""Speed and saving, measured: `python -m tests.benchmarks`, `python -m tests.benchmarks.cache`."""
