"""What is installed beside the package: LLaMA-Factory, vLLM, and a real language model.

environments   pinned environments: their folders, checks and installation
models         language models from Python packages, as folders in Hugging Face format
gguf           converts the file of such a model
memory         free memory, also in a container
processes      child processes that never outlive their use, their logs, and free ports
guard          a process between us and each of them, which ends them

The two programs cannot share one environment, because they exclude each other's versions of
transformers, and neither has to share ours. The pins are in the folder `external/` of the
repository, which is installed with the package.
"""
