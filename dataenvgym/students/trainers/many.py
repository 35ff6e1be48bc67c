"""Many trainings of one call: those that share a frozen base take their steps together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dataenvgym.errors import ConfigurationError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.in_process import needed, prepare, train_alone, write_adapter
from dataenvgym.students.trainers.meeting import TrainingRequest
from dataenvgym.students.trainers.support import refuse_unsupported


def train_each(requests: Sequence[TrainingRequest], threads: int) -> None:
    """Train many adapters: at once where they share a frozen base, otherwise one by one.

    A training that cannot share its steps is done as `InProcessTrainer.train` does it: of another
    stage than `sft` or `pt`, in half precision, with layers that are not plain LoRA. Each request
    gets its own outcome (`TrainingRequest.done`).

    Args:
        threads: CPU cores to compute on.
    """
    groups: dict[tuple[str, str], deque[tuple[TrainingRequest, TrainingConfig]]] = {}
    for request in requests:
        with _failing_alone(request):
            config = TrainingConfig.read(request.config_path)
            refuse_unsupported(config)
            trainer = request.trainer
            draws_elsewhere = config.lora_dropout > 0 and trainer.device != "cpu"
            if config.stage in ("sft", "pt") and not (
                config.bf16 or trainer.left_out or draws_elsewhere or config.curriculum
            ):
                key = needed(config, "model_name_or_path"), trainer.device
                groups.setdefault(key, deque()).append((request, config))
            else:
                _train_alone(request, config)
    for (student, device), group in groups.items():
        _train_group(student, device, group, threads)


def _train_alone(request: TrainingRequest, config: TrainingConfig) -> None:
    own = request.trainer
    adapter = request.context.run(train_alone, config, own.threads, own.device, own.left_out)
    request.done.set_result(adapter)


@contextmanager
def _failing_alone(request: TrainingRequest) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  it is raised where `done` is read
        request.done.set_exception(error)


def _train_group(
    student: str,
    device_name: str,
    waiting: deque[tuple[TrainingRequest, TrainingConfig]],
    threads: int,
) -> None:
    """Train adapters of one student, as many at once as fill the machine."""
    import torch

    from dataenvgym.students.trainers.compute import resolve_device, workers
    from dataenvgym.students.trainers.student import load_base_model
    from dataenvgym.students.trainers.together import AdapterGroup, Trainee

    try:
        device = resolve_device(device_name)
        base = load_base_model(student, device=device, dtype=torch.float32)
    except ConfigurationError as error:
        for request, _ in waiting:
            request.done.set_exception(error)
        return
    with workers(threads, device) as run:
        group = AdapterGroup(base, run, threads)
        owners: dict[Trainee, TrainingRequest] = {}
        try:
            while waiting or owners:
                while waiting and not group.is_full:
                    request, config = waiting.popleft()
                    with _failing_alone(request):
                        model, objective = request.context.run(prepare, config, device, run)
                        trainee = Trainee.of(config, model, objective, request.context)
                        if trainee is None:
                            _train_alone(request, config)
                        else:
                            group.join(trainee)
                            owners[trainee] = request
                for trainee in group.round():
                    request = owners.pop(trainee)
                    with _failing_alone(request):
                        if trainee.error is not None:
                            raise trainee.error
                        own = trainee.config, trainee.model, trainee.log
                        request.done.set_result(request.context.run(write_adapter, *own))
        finally:  # after Ctrl-C some are left
            for trainee in owners:
                trainee.leave()
