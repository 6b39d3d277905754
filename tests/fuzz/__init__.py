"""A longer look at what the tests look at shortly: `make fuzz SECONDS=600`."""

from hypothesis import HealthCheck, settings

# Before any property is imported: each keeps the profile that it was made under. The number of
# examples is what one property is given before the next has its turn.
settings.register_profile(
    "fuzz",
    max_examples=50,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")
