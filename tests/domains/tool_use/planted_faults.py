"""A small clean world, and tools with one fault each, as source code."""

import textwrap

CLEAN = '''
import collections, ctypes, datetime, functools, itertools, math, os, random, secrets, socket
import subprocess, sys, tempfile, threading, time, uuid
from pathlib import Path

from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool

seen = []
counter = itertools.count()


class Book(Row):
    reader: str | None = None
    days: int = 0


class Wish(Row):
    reader: str


class Shelf(State):
    books: Table[Book]
    wishes: Table[Wish] = Table()
    notes: tuple[str, ...] = ()
    weight: float = 1.0


class Library(World[Shelf]):
    """A library."""

    name, policy = "library", "Every reader is a member. A book is lent for two weeks."
    time_limit = 0.5
    visits = 0

    def __init__(self):
        super().__init__()
        self.log = []

    def initial(self):
        readers = {5: "ann", 7: "bob", 10: "ann"}
        return Shelf(books={f"book_{n}": {"reader": readers.get(n)} for n in range(20)})

    @tool
    def reader_of(self, book_id: str) -> str:
        """Who has a book."""
        return self.found(book_id).reader or "it is here"

    @tool(writes=True)
    def lend(self, book_id: str, reader: str) -> str:
        """Lend a book."""
        if self.found(book_id).reader:
            raise ToolError("somebody has it")
        self.state.books[book_id] = self.found(book_id).changed(reader=reader)
        return "lent"

    @tool(writes=True)
    def extend(self, book_id: str, days: int = 7) -> str:
        """Lend a book longer."""
        if not 0 < days < 100:
            raise ToolError("at most 99 days")
        self.state.books[book_id] = self.found(book_id).changed(days=days)
        return f"{days} days more"

    @tool(writes=True)
    def wish(self, reader: str) -> str:
        """Note a wish; the result is its id."""
        wish_id = self.state.wishes.new_id("wish")
        self.state.wishes[wish_id] = Wish(reader=reader)
        return wish_id

    @check
    def has(self, book_id: str, reader: str) -> bool:
        return self.found(book_id).reader == reader

    @check
    def is_lent(self, book_id: str) -> bool:
        return self.found(book_id).reader is not None

    def found(self, book_id):
        if book_id not in self.state.books:
            raise ToolError(f"there is no {book_id}")
        return self.state.books[book_id]
'''

# name of the tool: the check that finds it, a part of the finding, its code
SAME, OUTSIDE, TOOLS = "same twice", "outside", "tools"
TOOL_FAULTS = {
    # clocks
    "now": (SAME, "datetime.now", "return str(datetime.datetime.now())"),
    "today": (SAME, "date.today", "return str(datetime.date.today())"),
    "utcnow": (SAME, "datetime.utcnow", "return str(datetime.datetime.utcnow())"),
    "clock": (SAME, "time.time", "return str(int(time.time()) // 10**9)"),
    "clock_ns": (SAME, "time.time_ns", "return str(time.time_ns() // 10**18)"),
    "monotonic": (SAME, "time.monotonic", "return str(time.monotonic() > 0)"),
    "process_time": (SAME, "time.process_time", "return str(time.process_time() < 0)"),
    "strftime": (SAME, "time.strftime", "return time.strftime('%Y')"),
    "localtime": (SAME, "time.localtime", "return str(time.localtime().tm_year)"),
    "ctime": (SAME, "time.ctime", "return time.ctime()[-4:]"),
    "zone": (SAME, "in another process", "return str(datetime.datetime(2026, 1, 5).timestamp())"),
    # chance
    "dice": (SAME, "the global random generator", "return str(random.randint(1, 1))"),
    "unseeded": (SAME, "without a seed", "return str(random.Random().random() < 2)"),
    "system_random": (SAME, "os.urandom", "return str(random.SystemRandom().random() < 2)"),
    "uuid_1": (SAME, "uuid", "return uuid.uuid1().hex[:0]"),
    "uuid_4": (SAME, "os.urandom", "return uuid.uuid4().hex[:0]"),
    "token": (SAME, "os.urandom", "return secrets.token_hex()[:0]"),
    "urandom": (SAME, "os.urandom", "return os.urandom(4).hex()[:0]"),
    # what differs between processes
    "hash_seed": (SAME, "in another process", "return str(hash('a reader'))"),
    "order_of_a_set": (SAME, "in another process", "return ' '.join(set('a b c d e f'.split()))"),
    "set_order": (SAME, "another state", "self.state.notes = tuple(set('abcdef')); return 'noted'"),
    "process_id": (SAME, "os.getpid", "return str(os.getpid())"),
    "parent": (SAME, "os.getppid", "return str(os.getppid())"),
    "address": (SAME, "in another process", "return str(id(World))"),
    "shown_address": (SAME, "in another process", "return repr(object.__new__(object) and tool)"),
    "thread_id": (SAME, "thread.get_ident", "return str(threading.get_ident())"),
    "file_time": (SAME, "os.stat", "return str(Path(__file__).stat().st_mtime)"),
    "folder": (SAME, "os.getcwd", "return os.getcwd()"),
    "variable": (OUTSIDE, "variable LIBRARY", "return os.environ.get('LIBRARY', 'no')"),
    # memory besides the state
    "remember": (SAME, "other results", "self.log.append(1); return str(len(self.log))"),
    "own_list": (OUTSIDE, "the world's attribute log", "self.log.append(1); return 'done'"),
    "own_field": (OUTSIDE, "the world's attribute last", "self.last = 'x'; return 'done'"),
    "of_the_class": (OUTSIDE, "the class's visits", "Library.visits += 1; return 'done'"),
    "of_the_module": (OUTSIDE, "the module's seen", "seen.append(1); return 'done'"),
    "count": (OUTSIDE, "the module's counter", "next(counter); return 'done'"),
    "marks": (OUTSIDE, "the class's marks", "self.marks.__func__.n = time; return 'done'"),
    "set_variable": (OUTSIDE, "variable", "os.environ['OPEN'] = str(len(os.environ)); return 'x'"),
    "write_file": (
        OUTSIDE,
        "writes the file",
        "Path(__file__ + '.log').write_text('x'); return 'x'",
    ),
    "start_program": (OUTSIDE, "subprocess.Popen", "subprocess.run(['true']); return 'done'"),
    "connect": (OUTSIDE, "socket.connect", "socket.socket().connect_ex(('127.1', 9)); return 'x'"),
    "in_place": (
        OUTSIDE,
        "a row in place",
        "vars(self.found('book_3'))['days'] = 3; return 'done'",
    ),
    # errors
    "unknown_id": (TOOLS, "KeyError", "return str(self.state.books[book_id].days)"),
    "unknown_in_list": (TOOLS, "KeyError", "return str([self.state.books[b].days for b in ids])"),
    "overflow": (TOOLS, "OverflowError", "return str(datetime.timedelta(minutes=minutes))"),
    "crash": (TOOLS, "ZeroDivisionError", "return str(1 / 0)"),
    "half": (TOOLS, "RuntimeError", "self.state.notes = ('x',); raise RuntimeError('half')"),
    "leave": (TOOLS, "SystemExit", "sys.exit(3)"),
    "endless": (TOOLS, "TimeoutError", "[None for _ in iter(int, 1)]"),
    "not_json": (TOOLS, "failed", "return object()"),
    "surrogate": (TOOLS, "UnicodeEncodeError", "return '\\ud800'"),
    "quiet_write": (TOOLS, "changed the state", "self.state.notes = ('x',); return 'read'"),
    "other_state": (TOOLS, "as the state", "self.state = {}; return 'done'"),
    "set_row_field": (TOOLS, "row.changed", "self.state.books['book_3'].days = 3; return 'done'"),
    "nan": (SAME, "differs from itself", "self.state.weight = float('nan'); return 'done'"),
    "five_megabytes": (TOOLS, "is cut", "return 'x' * 5_000_000"),
    "slow": (TOOLS, "takes", "time.sleep(0.2); return 'done'"),
}
READS = {"overflow", "quiet_write", "unknown_id", "unknown_in_list", "five_megabytes"}
ARGUMENTS = {
    "overflow": ", minutes: int",
    "unknown_id": ", book_id: str",
    "unknown_in_list": ", ids: list[str]",
}


def module_of(name, faults):
    """The source of the clean world and of a world with these faulty tools."""
    lines = [CLEAN, "class Faulty(Library):", '    """A library with faults."""', ""]
    for fault in faults:
        mark = "tool" if fault in READS else "tool(writes=True)"
        head = f"@{mark}\ndef {fault}(self{ARGUMENTS.get(fault, '')}) -> str:"
        code = f'{head}\n    """Do it."""\n    {TOOL_FAULTS[fault][2]}\n'
        lines.append(textwrap.indent(code, "    "))
    return "\n".join(lines)
