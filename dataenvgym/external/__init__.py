"""Programs outside this process: LLaMA-Factory and vLLM, each in an environment of its own.

environments   pinned environments: their folders, checks and installation
processes      child processes that never outlive their use
guard          a process between us and each of them, which ends them
ports          TCP ports that are free, or who uses them

The two cannot share one environment, because they exclude each other's versions of transformers,
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
