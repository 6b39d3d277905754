"""How the unit tests run: Hypothesis profiles, and no tracing to anywhere."""

import os

from hypothesis import HealthCheck, settings

# A developer's tracing settings would make LangChain look for a server.
os.environ["LANGSMITH_TRACING"] = "false"

# A slow machine is no finding, neither in running examples nor in drawing them.
_slow_is_fine = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, suppress_health_check=_slow_is_fine)
# The same examples on every run: what fails in CI fails at home.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=200,
    suppress_health_check=_slow_is_fine,
    print_blob=True,
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)
