"""The word count with storm.py, Storm's own library for Python: the same lines, streams and pace as in pace.mjs and word-count.mjs."""

import json
import os
import sys
import time

import storm

WORDS_OF_A_LINE = 10
DIFFERENT = 50
LAST = "last"
FOLDER = os.environ["FIGURES_FOLDER"]
LINES = [
    " ".join("word%d" % ((line * 7 + at * 3) % DIFFERENT) for at in range(WORDS_OF_A_LINE))
    for line in range(DIFFERENT)
]


def write(name, value):
    """A file is there as a whole, or not at all."""
    path = os.path.join(FOLDER, name)
    with open(path + ".part", "w") as file:
        json.dump(value, file)
    os.replace(path + ".part", path)


class Lines(storm.Spout):
    def initialize(self, conf, context):
        self.warm_ms = float(os.environ["FIGURES_WARM_MS"])
        self.load_ms = float(os.environ["FIGURES_LOAD_MS"])
        self.lonely = int(os.environ["FIGURES_LONELY"])
        self.at_once = int(os.environ["FIGURES_AT_ONCE"])
        self.phase = "load"
        self.began = None
        self.seen = {"emitted": 0, "acked": 0, "failed": 0, "strange": 0, "aloneMs": []}
        self.in_flight = {}

    def nextTuple(self):
        if self.phase == "load":
            for _ in range(self.at_once):
                self.emit()
        elif self.phase != "over" and not self.in_flight:
            self.phase = "alone" if len(self.seen["aloneMs"]) < self.lonely else "over"
            if self.phase == "alone":
                self.emit()
            else:
                storm.emit([""], stream="end", id=LAST)

    def emit(self):
        number = self.seen["emitted"]
        self.seen["emitted"] += 1
        self.in_flight[number] = time.monotonic() * 1000
        storm.emit([LINES[number % DIFFERENT]], stream="lines", id=number)

    def ack(self, number):
        if number == LAST:
            write("seen", self.seen)
            return
        now = time.monotonic() * 1000
        since = self.in_flight.pop(number, None)
        if since is None:
            self.seen["strange"] += 1
        self.seen["acked"] += 1
        if self.phase == "load":
            if self.began is None:
                self.began = now
            if "from" not in self.seen:
                if now >= self.began + self.warm_ms:
                    self.note("from", now)
            elif now >= self.seen["from"]["ms"] + self.load_ms:
                self.note("to", now)
                self.phase = "drain"
        elif self.phase == "alone":
            self.seen["aloneMs"].append(now - since)

    def fail(self, number):
        self.seen["failed"] += 1

    def note(self, name, now):
        self.seen[name] = {"acked": self.seen["acked"], "ms": now}
        write(name, None)


class Split(storm.BasicBolt):
    def process(self, tup):
        for word in tup.values[0].split(" "):
            storm.emit([word], stream="words")


class Count(storm.BasicBolt):
    def initialize(self, conf, context):
        tasks = [int(task) for task, component in context["task->component"].items() if component == "count"]
        self.file = "counts-%d" % sorted(tasks).index(context["taskid"])
        self.counts = {}

    def process(self, tup):
        word = tup.values[0]
        if tup.stream == "words":
            self.counts[word] = self.counts.get(word, 0) + 1
        else:
            write(self.file, list(self.counts.items()))


{"lines": Lines, "split": Split, "count": Count}[sys.argv[1]]().run()
