// One program for every runtime: links, restarts, a dispatch with a crash, and a topology whose sums are exact. Prints the
// same lines everywhere.

import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import { bolt, field, grouping, spoutFrom, topology } from "signalbox/topology";

const lines = [];
const reports = [];
const system = new System({ name: "smoke", report: (_text, { event }) => reports.push(event) });

// Links: a process dies with the process that it is linked to, and a third process receives the exit signal.
const ends = [];
const done = new Promise((resolve) => {
  system.spawn({
    init: (ctx) => {
      ctx.trapExit(true);
      const middle = ctx.spawnLink({
        init: (inner) =>
          void inner.spawnLink({
            init: (deep) => void deep.sendAfter(deep.self, "die", 5),
            handle: () => {
              throw new Error("deep end");
            },
          }),
        handle: () => undefined,
      });
      ends.push(middle.id > 0);
    },
    handle: () => undefined,
    signal: (_ctx, signal) => {
      ends.push(signal.type, signal.reason.type, signal.reason.error.message);
      resolve();
    },
  });
});
await done;
lines.push(`links: ${ends.join(", ")}`);

// A supervisor restarts a server and consumers. A dispatch is re-routed to the other consumer.
const Till = defineServer({
  init: (_ctx, cash) => ({ cash }),
  calls: { pay: (state, amount) => (state.cash += amount) },
  casts: {
    drop: () => {
      throw new Error("dropped");
    },
  },
});
const group = new ConsumerGroup({ name: "clerks", maxAttempts: 5, patienceMs: 5_000 });
let tries = 0;
const clerk = consumer(
  async (amount) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (++tries % 3 === 0) throw new Error("tired");
    return Till.at(system, "till").call.pay(amount);
  },
  { group },
);
await system.start(
  supervisor({
    intensity: 100,
    children: [
      { id: "till", name: "till", start: Till, args: [50] },
      { id: "clerk-1", start: clerk },
      { id: "clerk-2", start: clerk },
    ],
  }),
);
const replies = [];
let rerouted = 0;
for (let n = 1; n <= 7; n++) {
  const { reply, reroutedFrom } = await system.dispatch(group, n);
  replies.push(reply);
  rerouted += reroutedFrom.length;
}
lines.push(`dispatch: ${replies.join(" ")}, ${rerouted} re-routed`);
Till.at(system, "till").cast.drop();
await system.idle();
lines.push(`supervisor: ${await Till.at(system, "till").call.pay(1)} after a restart`);

// A topology whose tasks crash: every number is counted once.
const numbers = Array.from({ length: 1_000 }, (_, n) => ({ n }));
const sums = new Map();
let worked = 0;
const add = bolt({
  input: { n: field.number },
  execute: ({ values: { n } }) => {
    if (++worked % 200 === 0) throw new Error("overworked");
    sums.set(n, n);
  },
});
const sum = topology("sum")
  .spout("numbers", spoutFrom(numbers, { fields: { n: field.number } }))
  .bolt("add", add, { tasks: 3, from: { "numbers.items": grouping.shuffle() } })
  .build();
const running = await system.start(sum);
await running.finished();
await running.stop();
const total = [...sums.values()].reduce((all, n) => all + n, 0);
lines.push(`topology: ${sums.size} numbers, sum ${total}`);

await system.stop();
const count = (event) => reports.filter((one) => one === event).length;
lines.push(
  `reports: ${count("restart") > 0 ? "restarts" : "none"}, owners ${count("host") === 0 ? "known" : "unknown"}`,
);
console.log(lines.join("\n"));
