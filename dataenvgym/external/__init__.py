"""Programs outside this process: LLaMA-Factory and vLLM, each in an environment of its own.

environments   pinned environments: where they are, whether they are whole, how they are built
processes      child processes that never outlive their use
guard          ... who sees to that: a process between us and them
ports          TCP ports that are free, or taken by whom

The two cannot share one environment (their ranges of transformers versions exclude each other),
and neither has to share ours. The pins are in the folder `external/` of the repository, which is
installed with the package.
"""

from dataenvgym.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    cache_directory,
    external_environment,
)

__all__ = ["ENVIRONMENTS", "ExternalEnvironment", "cache_directory", "external_environment"]
