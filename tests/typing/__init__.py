"""What type checkers must make of the public API."""
