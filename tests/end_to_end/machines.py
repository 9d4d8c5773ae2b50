"""The settings of state machines at the local stack."""

from hypothesis import HealthCheck, Phase, settings


def at_the_stack(examples: int, steps: int) -> settings:
    """Settings of a machine with so many examples of so many steps."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        # A failure is told as it was met: to look for a smaller one takes minutes over HTTPS.
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
