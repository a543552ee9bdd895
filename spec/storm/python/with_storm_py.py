"""The word count with storm.py, as Apache Storm ships it. Its argument says which component it is."""

import sys

import storm
from common import Source, text, throw_once


class Lines(storm.Spout):
    def initialize(self, conf, context):
        self.source = Source()

    def nextTuple(self):
        line = self.source.take()
        if line is not None:
            storm.emit([line, text(line)], stream="lines", id=line)

    def ack(self, id):
        self.source.acked(id)

    def fail(self, id):
        self.source.failed(id)


class Split(storm.BasicBolt):
    def process(self, tup):
        line, words = tup.values
        if line % 10 == 3:
            throw_once("line-%d" % line)
        for at, word in enumerate(words.split(" ")):
            storm.emit([line, at, word], stream="words")


class Count(storm.Bolt):
    def initialize(self, conf, context):
        self.counts = {}

    def process(self, tup):
        line, at, word = tup.values
        self.counts[word] = self.counts.get(word, 0) + 1
        storm.emit([line, at, word, self.counts[word]], stream="counts", anchors=[tup])
        storm.ack(tup)


{"lines": Lines, "split": Split, "count": Count}[sys.argv[1]]().run()
