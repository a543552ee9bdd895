"""The word count with pystorm. Its argument says which component it is."""

import sys

from common import Source, text, throw_once
from pystorm import Bolt, Spout


class Lines(Spout):
    def initialize(self, conf, context):
        self.source = Source()

    def next_tuple(self):
        line = self.source.take()
        if line is not None:
            self.emit([line, text(line)], stream="lines", tup_id=line)

    def ack(self, tup_id):
        self.source.acked(tup_id)

    def fail(self, tup_id):
        self.source.failed(tup_id)


class Split(Bolt):
    def process(self, tup):
        line, words = tup.values
        if line % 10 == 3:
            throw_once("line-%d" % line)
        for at, word in enumerate(words.split(" ")):
            self.emit([line, at, word], stream="words")


class Count(Bolt):
    auto_ack = False

    def initialize(self, conf, context):
        self.counts = {}

    def process(self, tup):
        line, at, word = tup.values
        self.counts[word] = self.counts.get(word, 0) + 1
        self.emit([line, at, word, self.counts[word]], stream="counts", need_task_ids=True)
        self.ack(tup)


if __name__ == "__main__":
    {"lines": Lines, "split": Split, "count": Count}[sys.argv[1]]().run()
