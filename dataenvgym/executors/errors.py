"""Sends errors from one process to another.

Pickle restores an exception by calling its class with `args`, which fails for classes with other
arguments; Ray wraps errors into its own error with a page of text. A `CarriedError` is plain data
instead: the name of the class, the arguments, the attributes. The restored exception has the class,
the message and the attributes of the original; the traceback is a note.
"""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from typing import Any

from dataenvgym.errors import DataEnvGymError
from dataenvgym.own_modules import import_own


@dataclass(frozen=True)
class CarriedError:
    """An exception as data.

    Attributes:
        module, name: of its class.
        args, attributes: of the exception, except those that cannot be pickled.
        text: its class and message.
        trace: the traceback, as text.
    """

    module: str
    name: str
    args: tuple[Any, ...]
    attributes: dict[str, Any]
    text: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> CarriedError:
        attributes = {k: v for k, v in vars(error).items() if k != "__notes__" and _travels(v)}
        return cls(
            module=type(error).__module__,
            name=type(error).__qualname__,
            args=tuple(arg if _travels(arg) else repr(arg) for arg in error.args),
            attributes=attributes,
            text=f"{type(error).__name__}: {error}",
            trace="".join(traceback.format_exception(error)),
        )

    def error(self) -> BaseException:
        """Restore the exception; a `DataEnvGymError` with its text if the class is unknown here."""
        try:
            kind: Any = import_own(self.module)
            for part in self.name.split("."):
                kind = getattr(kind, part)
            error = kind.__new__(kind, *self.args)
            error.args = self.args
            error.__dict__.update(self.attributes)
        except (ImportError, AttributeError, TypeError):
            error = DataEnvGymError(self.text)
        assert isinstance(error, BaseException)
        error.add_note(f"In another process:\n{self.trace}")
        return error


def _travels(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001  a class may raise anything while it is pickled
        return False
    return True
