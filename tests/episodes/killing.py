"""Kills a run before its next file appears."""


class Killed(BaseException):
    """Stands for SIGKILL: after it no file is renamed into its place any more."""


class FilesLeft:
    """How many files may still appear before the run is killed.

    Attributes:
        left: as many as that.
        seen: the names of those that appeared.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.allow_all()

    def allow_all(self) -> None:
        """Let the run live."""
        self.left = 10**6
