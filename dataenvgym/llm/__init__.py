"""Large language models behind OpenAI-compatible servers.

ChatClient (client)       what the rest of the package uses, from any thread
└── Dispatcher (dispatcher)   its queue and its requests, in one event loop
    ├── LoopThread (loop)     that loop, in a daemon thread
    ├── Revival (revival)     the one call that brings a dead server back
    └── payloads, transient   requests and answers as bytes; what is worth another try
"""

from dataenvgym.llm.client import ChatClient, ask_all, key_from

__all__ = ["ChatClient", "ask_all", "key_from"]
