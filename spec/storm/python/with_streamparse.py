"""The word count with streamparse; `streamparse_run` is told which class."""

from common import Source, text, throw_once
from streamparse import BatchingBolt, Bolt, Spout, Stream


class Lines(Spout):
    outputs = [Stream(fields=["line", "text"], name="lines")]

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
    outputs = [Stream(fields=["line", "at", "word"], name="words")]

    def process(self, tup):
        line, words = tup.values
        if line % 10 == 3:
            throw_once("line-%d" % line)
        for at, word in enumerate(words.split(" ")):
            self.emit([line, at, word], stream="words")


class Count(BatchingBolt):
    """Its ticks close its batches."""

    outputs = [Stream(fields=["line", "at", "word", "count"], name="counts")]

    def initialize(self, conf, context):
        self.counts = {}

    def group_key(self, tup):
        return tup.values[2]

    def process_batch(self, key, tups):
        for tup in tups:
            line, at, word = tup.values
            self.counts[word] = self.counts.get(word, 0) + 1
            self.emit([line, at, word, self.counts[word]], stream="counts")
