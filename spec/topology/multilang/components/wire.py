"""The multilang protocol with nothing but the standard library: what the components beside this file share."""

import json
import os
import sys

HEARTBEAT = "__heartbeat"
TICK = "__tick"


def read():
    """The next message of the host; ends this program when the host has gone."""
    lines = []
    for line in sys.stdin:
        if line.strip() == "end":
            return json.loads("".join(lines))
        lines.append(line)
    sys.exit(0)


def send(message):
    sys.stdout.write(json.dumps(message) + "\nend\n")
    sys.stdout.flush()


def handshake():
    setup = read()
    open(os.path.join(setup["pidDir"], str(os.getpid())), "w").close()
    send({"pid": os.getpid()})
    return setup


def emit(values, need_task_ids=False, **more):
    """Emits; with need_task_ids, waits for the ids. Tuples that come meanwhile are kept for `tuples`."""
    message = {"command": "emit", "tuple": values, **more}
    if not need_task_ids:
        message["need_task_ids"] = False
    send(message)
    while need_task_ids:
        answer = read()
        if isinstance(answer, list):
            return answer
        waiting.append(answer)
    return None


def ack(id):
    send({"command": "ack", "id": id})


def fail(id):
    send({"command": "fail", "id": id})


def log(text, level=2):
    send({"command": "log", "msg": text, "level": level})


waiting = []


def tuples():
    """Tuples and ticks, for ever; heartbeats are answered."""
    while True:
        message = waiting.pop(0) if waiting else read()
        if message["stream"] == HEARTBEAT:
            send({"command": "sync"})
        else:
            yield message


def run_spout(next, ack=lambda id: None, fail=lambda id: None):
    """Answers commands, for ever."""
    while True:
        message = read()
        command = message["command"]
        if command == "next":
            next()
        elif command == "ack":
            ack(message["id"])
        elif command == "fail":
            fail(message["id"])
        else:
            log(command, 1)
        send({"command": "sync"})
