// A host with good messages, whose adapter fails at first, and at most one bad one: `poison-child.js STORE KIND`.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { GOOD, isPoison, type PoisonKind, READY } from "../flows/poison.js";
import { storeAt } from "../stores.js";

const [place = "", kind = "none"] = process.argv.slice(2);
/** How long good messages take at most, in milliseconds. */
const MOST_MS = 400;
const HANG_MS = 60_000;

const DEEDS: Readonly<Record<PoisonKind, () => unknown>> = {
  exit: () => process.exit(1),
  uncaught: () =>
    void setTimeout(() => {
      throw new Error("nobody catches this");
    }),
  memory: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(100_000).fill(all));
  },
  spin: () => {
    for (;;);
  },
  // A stack that ends outside of JavaScript: no error is thrown.
  stack: () => process.kill(process.pid, "SIGSEGV"),
  abort: () => process.abort(),
};

const work = queue<number | string>("work");
const works = route("works", { from: work, concurrency: 10 }).via("work", async (value, ctx) => {
  if (typeof value === "number") {
    await ctx.sleep((MOST_MS * value) / GOOD);
    if (ctx.attempt === 1) throw new Error("the first attempt fails");
    return;
  }
  await ctx.sleep(MOST_MS / GOOD);
  DEEDS[value as PoisonKind]();
  await pause(HANG_MS);
});
const pipeline = definePipeline("poison", { routes: [works] });

const system = new System({ name: "host", report: false });
const host = await system.start(pipelineHost({ store: storeAt(JSON.parse(place)), pipelines: [pipeline] }));
const values: (number | string)[] = Array.from({ length: GOOD }, (_, n) => n);
if (isPoison(kind)) values.splice(GOOD / 2, 0, kind);
await host.start(pipeline, { id: "one", messages: { to: work, values } });
console.log(READY);
await host.get("one").completed();
process.exit(0);
