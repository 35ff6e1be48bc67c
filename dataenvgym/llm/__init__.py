"""Large language models: a client of OpenAI-compatible servers, and teachers that answer engines.

Teacher (teacher), StudentTeacher (student_teacher)   ask a server, or the student
└── MeteredTeacher (metered_teacher)   `ask`, from any thread
    ├── TeacherAsk (teacher_ask)    one call to `ask`
    ├── ReplyCache (cache)        in a folder, or in Redis (redis_cache)
    └── TeacherLog (teacher_log)       its calls and costs, in the run directory
        ├── Account (budget)      costs so far, and the rest of the budget
        └── Transcript (transcript)   every call, one line each
ChatClient (client)       used by the rest of the package, from any thread
└── Dispatcher (dispatcher)   its queue and its requests, in one event loop
    ├── LoopThread (loop)     that loop, in a daemon thread
    ├── Session (session)     the connections to the server
    ├── Revival               restarts a dead server, once for all its callers
    └── payloads              requests and answers as bytes
"""

from dataenvgym.llm.budget import TeacherUsage, count_malformed
from dataenvgym.llm.client import ChatClient, ask_all, key_from
from dataenvgym.llm.student_teacher import StudentTeacher
from dataenvgym.llm.teacher import Teacher

__all__ = [
    "ChatClient",
    "StudentTeacher",
    "Teacher",
    "TeacherUsage",
    "ask_all",
    "count_malformed",
    "key_from",
]
