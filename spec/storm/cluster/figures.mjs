// `npm run storm:figures`: tuples a second of one word count, in Java and exported from ours on a cluster of Apache Storm, and in our
// own host. The word counts run one after the other, in turns, each in processes of its own. Prints for each the median, the lowest
// and the highest, and how many times as fast as ours on Storm it was in the same turn. The machine should have nothing else to do.
//
//   figures/rounds.mjs     the turns                          figures/on-storm.mjs   submits and kills topologies
//   figures/measured.mjs   one run, and whether it is exact   figures/cpu.mjs        the time of the processor
//   figures/lines.mjs      the lines                          figures/pace.mjs       what the spout does when
//   figures/word-count.mjs, in-our-host.mjs                   ours
//   figures/in-python.mjs, words.py, storm-py.mjs             in Python, with Storm's own library
//   java/                                                     in Java
//   figures/one-program.mjs, component.mjs, profile.mjs       one component without Storm, and its profile: a script of its own

import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { OURS, rounds } from "./figures/rounds.mjs";
import { table } from "./figures/table.mjs";
import { PENDING, TASKS } from "./figures/word-count.mjs";
import { Missing, STORM_VERSION } from "./home.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    "warm-ms": { type: "string", default: "10000" },
    "load-ms": { type: "string", default: "10000" },
    lonely: { type: "string", default: "1000" },
    only: { type: "string", multiple: true, default: [] },
  },
});
const work = fileURLToPath(new URL("../../../.build/storm-figures", import.meta.url));

try {
  const [{ model }] = cpus();
  console.log(
    `${model}, ${cpus().length} processors, load ${loadavg()[0].toFixed(1)}, Node ${process.version}`,
  );
  const found = await rounds(work, {
    count: Number(values.rounds),
    warmMs: Number(values["warm-ms"]),
    loadMs: Number(values["load-ms"]),
    lonely: Number(values.lonely),
    only: values.only,
    print: (line) => console.log(line),
  });
  console.log(
    `\nStorm ${STORM_VERSION}, one worker, one acker, one spout, ${TASKS} tasks of each bolt, ${PENDING} lines pending\n`,
  );
  console.log(table(found, OURS));
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  console.log(`skip  ${error.message}`);
}
