"""Another process with a student: does what its standard input says, one line at a time.

driver.py '{"student": ..., "command": [...], ...}'
"""

import json
import sys

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.predictors import VllmPredictor


def main() -> None:
    predictor = VllmPredictor(**json.loads(sys.argv[1]))
    for line in sys.stdin:
        match line.split():
            case ["ask", text]:
                (reply,) = predictor.predict(
                    [(Message(role="user", content=text),)], SamplingParameters()
                )
                print(json.dumps({"reply": str(reply), "pid": predictor.server.pid}), flush=True)
            case ["end"]:
                return


if __name__ == "__main__":
    main()
