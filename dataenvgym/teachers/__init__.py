"""Large language models: a client of OpenAI-compatible servers, and teachers that answer engines.

Teacher, StudentTeacher (teacher)   ask a server, or the student
└── MeteredTeacher (metered_teacher)   `ask`, from any thread
    ├── FolderCache, RedisCache (cache)   stored replies
    └── TeacherLog (teacher_log)   the account, and every call, one line each, in the run directory
ChatClient (client)       used by the rest of the package, from any thread
└── Dispatcher (dispatcher)   its queue and its requests, in one event loop
    ├── LoopThread (loop)     that loop, in a daemon thread
    ├── Session               the connections to the server
    ├── Revival               restarts a dead server, once for all its callers
    └── payloads              requests and answers as bytes
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.teachers.budget import count_malformed
    from dataenvgym.teachers.client import ChatClient, ask_all, key_from
    from dataenvgym.teachers.teacher import StudentTeacher, Teacher
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "ChatClient",
    "StudentTeacher",
    "Teacher",
    "ask_all",
    "count_malformed",
    "key_from",
]
