// `npm run codecs`: how many messages a codec encodes and decodes in a second of the processor, ours beside others. Each pair of a codec and a kind of
// message runs in processes of its own, the codecs in turn. No speed is given for what comes back different.

import { CODECS, type CodecName, flawOf, KINDS, nameOf } from "./codecs.js";
import { HERE, measure } from "./measure.js";
import { median } from "./program.js";
import { format, tableOf } from "./result.js";

const TURNS = 3;
const ROUNDS = 5;

const names = Object.keys(CODECS) as CodecName[];
const turns = process.argv.includes("--quick") ? 1 : TURNS;

const shown = (perCpuSecond: readonly number[]): string =>
  format(median(perCpuSecond), "perSecond").replace("/s", "");

const lines = Object.entries(KINDS).map(([kind, of]) => {
  process.stderr.write(`${kind} ...\n`);
  const flaws = names.map((codec) => flawOf(codec, of));
  const speeds = names.map((): number[] => []);
  for (let turn = 0; turn < turns; turn++)
    for (const [i, codec] of names.entries())
      if (flaws[i] === undefined)
        speeds[i]?.push(
          ...measure(HERE, "codecs", nameOf(codec, kind), ROUNDS).map((run) => run.perCpuSecond as number),
        );
  return [
    kind,
    ...names.map((_, i) => (flaws[i] === undefined ? shown(speeds[i] ?? []) : `cannot: ${flaws[i]}`)),
  ];
});

console.log(`Messages for a second of the processor, each encoded and decoded; Node ${process.version}\n`);
console.log(tableOf([["message with", ...names], ...lines]));
