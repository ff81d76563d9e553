"""What a stage's workers must have, as Beam's resource hints, for the stages that run a model."""

from transforms.context import RunContext


def cutting_hints(context: RunContext) -> dict[str, str]:
    """What the workers that cut must have: something only where vLLM runs beside them."""
    plan = context.asking
    if plan is None or plan.llm.llm_url is not None:
        return {}
    return resource_hints(plan.server.llm_accelerator, plan.server.llm_min_ram_gb)


def resource_hints(accelerator: str | None, min_ram_gb: float | None) -> dict[str, str]:
    """Beam's hints to the runner; local runners pay no heed to them.

    >>> resource_hints("type:nvidia-l4;count:1", 16), resource_hints(None, None)
    ({'accelerator': 'type:nvidia-l4;count:1', 'min_ram': '16GB'}, {})
    """
    hints = {"accelerator": accelerator, "min_ram": f"{min_ram_gb:g}GB" if min_ram_gb is not None else None}
    return {name: value for name, value in hints.items() if value is not None}
