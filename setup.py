"""What is in the package and what it needs; its name and description are in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

SHIPPED = ("configs", "external")
FOLDERS = sorted(str(p) for s in SHIPPED for p in (Path(s), *Path(s).rglob("*")) if p.is_dir())

setup(
    # Configuration and pins live at the top of the repository and are installed in the package.
    packages=[
        *find_packages(include=["dataenvgym", "dataenvgym.*"]),
        *("dataenvgym." + folder.replace("/", ".") for folder in FOLDERS if folder != "external"),
    ],
    package_dir={"dataenvgym." + f.replace("/", "."): f for f in FOLDERS if f != "external"},
    include_package_data=False,  # exactly these files
    package_data={
        "": ["*.yaml", "py.typed"],
        **{"dataenvgym." + f.replace("/", "."): ["*.txt"] for f in FOLDERS if "external/" in f},
        "dataenvgym.students.pocket": ["weights/*/*"],
        "dataenvgym.studies": ["noise_models/*.json"],
        "dataenvgym.environments.simulation": ["fitted/*.json"],
        "dataenvgym.domains.tool_use": ["worlds/*.json", "worlds/*.jsonl"],
        "dataenvgym.domains.social": ["content/*.json"],
    },
    install_requires=[
        "aiohttp>=3.10",
        "datasketch>=1.6",
        "gymnasium>=1.2",
        "hydra-core>=1.3.2",
        "jinja2>=3.1",
        "jsonschema>=4.20",
        "latex2sympy2-extended>=1.10",
        "math-verify[antlr4_9_3]>=0.8",  # Hydra needs antlr 4.9
        "matplotlib>=3.9",
        "numpy>=2.0",
        "omegaconf>=2.3",
        "orjson>=3.10",
        "peft>=0.18",
        "psutil>=5.9",
        "pydantic>=2.12",
        "pyyaml>=6.0",
        "rich>=13.7",
        "safetensors>=0.4",
        "scipy>=1.11",
        "sh>=2.2",
        "sympy>=1.13",
        "tokenizers>=0.21",
        "torch>=2.6",
        "transformers>=5.6",
    ],
    extras_require={
        "alfworld": ["alfworld>=0.4"],
        "datasets": ["datasets>=3.0"],
        "ifeval": ["if-verifiable>=0.1.2"],
        "inspect": ["inspect-ai>=0.3.200"],
        "docs": ["mkdocs>=1.6,<2", "mkdocs-material>=9.7", "mkdocstrings[python]>=1.0"],
        "mcp": ["mcp>=2.3,<3"],
        "pandas": ["pandas>=2.0"],
        "pettingzoo": ["pettingzoo>=1.25"],
        "ray": ["ray>=2.40"],
        "redis": ["redis>=5.0"],
        "retrieval": ["bm25s>=0.2.13"],
        "rl": ["stable-baselines3>=2.4"],
        "smollm2": ["gguf>=0.19"],
        "slurm": ["submitit>=1.5"],
        "skills": ["scikit-learn>=1.5"],
        "reasoning-gym": ["reasoning-gym>=0.1.25"],
        "tensorboard": ["tensorboard>=2.18"],
        "textworld": ["textworld>=1.7"],
        "wandb": ["wandb>=0.19"],
        "mlflow": ["mlflow>=2.20"],
        "zmq": ["pyzmq>=26.0"],
    },
)
