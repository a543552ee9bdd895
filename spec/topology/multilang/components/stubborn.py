"""A bolt that does not end: it takes no notice of SIGTERM, nor of the end of its input.

As its argument says, it works
    itself       in the process that was started
    session      in another process, which has left the group that it was started in
It has a helper, another process, that is no less stubborn and holds nothing of it. Of the words it is given it says
`hang` first that it hangs, and then does. It logs the process ids of itself and its helper, and tells the host the number
that is the second argument in place of its own.
"""

import os
import signal
import subprocess
import sys
import time

import wire

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(3600)"

signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen(
    [sys.executable, "-S", "-E", "-c", STUBBORN],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
)
helper.stdout.readline()
if sys.argv[1] == "session":
    worker = os.fork()
    if worker != 0:
        os.waitpid(worker, 0)
        sys.exit(0)
    os.setsid()
setup = wire.read()
wire.send({"pid": int(sys.argv[2]) if len(sys.argv) > 2 else os.getpid()})
wire.log("pids %d %d" % (os.getpid(), helper.pid))
for message in wire.tuples():
    if message["tuple"] == ["hang"]:
        wire.log("hanging")
        time.sleep(3600)
    wire.ack(message["id"])
