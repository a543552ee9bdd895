// The word count with components in Python, which use Storm's own library.

import { field, grouping, shellBolt, shellSpout, topology } from "signalbox/topology";
import { PENDING, TASKS } from "./word-count.mjs";

const program = (role) => ({ command: "python3", args: ["words.py", role] });
const TEXT = { text: field.text };
const WORD = { word: field.text };

export default topology("python", { maxPending: PENDING, ackers: 1, retries: 0 })
  .spout("lines", shellSpout({ ...program("lines"), streams: { lines: TEXT, end: WORD } }))
  .bolt("split", shellBolt({ ...program("split"), input: TEXT, streams: { words: WORD } }), {
    tasks: TASKS,
    from: { "lines.lines": grouping.shuffle() },
  })
  .bolt("count", shellBolt({ ...program("count"), input: WORD }), {
    tasks: TASKS,
    from: { "split.words": grouping.fields("word"), "lines.end": grouping.all() },
  })
  .build();
