"""A bolt that counts words, and says what it has counted after each. It asks which tasks its tuples go to."""

import wire

setup = wire.handshake()
counts = {}
start = setup["conf"].get("start", 0)
for message in wire.tuples():
    id = message["id"]
    if message["stream"] == wire.TICK:
        wire.send({"command": "metrics", "name": "words", "params": len(counts)})
        wire.ack(id)
        continue
    word = message["tuple"][0]
    counts[word] = counts.get(word, start) + 1
    tasks = wire.emit([word, counts[word]], stream="counts", anchors=[id], need_task_ids=True)
    wire.log("%s went to %s" % (word, tasks), 1)
    wire.ack(id)
