"""A spout of the lines that its arguments are. A line that fails is emitted again, until it is acked."""

import sys

import wire

wire.handshake()
lines = sys.argv[1:]
todo = list(range(len(lines)))


def next():
    if todo:
        line = todo.pop(0)
        wire.emit([lines[line]], stream="lines", id=line)


def acked(line):
    wire.log("done: %s" % lines[line])


def failed(line):
    wire.log("again: %s" % lines[line], 3)
    todo.append(line)


wire.run_spout(next, acked, failed)
