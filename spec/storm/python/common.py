"""What the word counts with storm.py, pystorm and streamparse share. Arguments, in the environment: the number of lines, a
directory for what is to be known beyond a process, and `throws` for components that fail now and then."""

import os

LINES = int(os.environ["WORDS_LINES"])
DIRECTORY = os.environ["WORDS_DIRECTORY"]
THROWS = os.environ["WORDS_MODE"] == "throws"
WORDS_OF_A_LINE = 10


def text(line):
    return " ".join("w%d" % ((line * 7 + at * 3) % 50) for at in range(WORDS_OF_A_LINE))


def throw_once(what):
    """Throws, unless this has thrown before, in whatever process."""
    if not THROWS:
        return
    path = os.path.join(DIRECTORY, "thrown-" + what)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    raise ValueError("the first time of " + what)


class Source:
    """Lines that are to be emitted: those first that failed."""

    def __init__(self):
        self.path = os.path.join(DIRECTORY, "acked")
        done = set()
        if os.path.exists(self.path):
            with open(self.path) as file:
                done = {int(line) for line in file if line.strip()}
        self.queue = [line for line in range(LINES) if line not in done]

    def take(self):
        return self.queue.pop(0) if self.queue else None

    def acked(self, line):
        with open(self.path, "a") as file:
            file.write("%d\n" % int(line))

    def failed(self, line):
        self.queue.insert(0, int(line))
