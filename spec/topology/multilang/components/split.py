"""A bolt that splits lines into words. Some words are the end of it, one way or another:

die          it throws
hang         it never answers again
double-ack   it acks the line twice
junk         it prints what is no message
late-anchor  it emits anchored to the line after it acked it
fail         it fails the line

At the word `pid` it logs its process id.
"""

import os
import sys
import time

import wire

wire.handshake()
for message in wire.tuples():
    id = message["id"]
    if message["stream"] == wire.TICK:
        wire.log("tick")
        wire.ack(id)
        continue
    words = message["tuple"][0].split(" ")
    for word in words:
        if word == "pid":
            wire.log("pid %d" % os.getpid())
        if word == "die":
            print("about to die", file=sys.stderr, flush=True)
            raise ValueError("the word is die")
        if word == "hang":
            time.sleep(3600)
        if word == "junk":
            print("junk: loading the model", flush=True)
        if word not in ("fail", "late-anchor", "double-ack"):
            wire.emit([word], stream="words", anchors=[id])
    if "fail" in words:
        wire.fail(id)
        continue
    wire.ack(id)
    if "double-ack" in words:
        wire.ack(id)
    if "late-anchor" in words:
        wire.emit(["late"], stream="words", anchors=[id])
