// Three stages on BullMQ: a queue and a worker for each, in one process, and what a stage returns is added to the queue of the next. It
// keeps no lineage, and nobody is told when all is done: the last worker counts.

import { Queue, Worker } from "bullmq";
import { benchRedis } from "./bench-redis.js";
import {
  type Enriched,
  enrich,
  type Parsed,
  parse,
  type Reading,
  readings,
  total,
  totalsOf,
} from "./pipelines.js";
import { type Program, Stopwatch } from "./program.js";
import { SIZES } from "./sizes.js";

/** Jobs that a worker has in work at a time: with more, or fewer, the chain is slower. */
const CONCURRENCY = 100;
/** Jobs that are added at a time. */
const BULK = 500;
/** A run takes many seconds: one is measured, after one of a fifth of the messages. */
const WARM_UP = 0.2;

let runs = 0;

/** All messages through the chain. Gives the sum of what comes out, and how long it took. */
async function runAll(
  messages: number,
): Promise<{ readonly sum: number; readonly taken: ReturnType<Stopwatch["read"]> }> {
  const connection = { path: benchRedis(), maxRetriesPerRequest: null };
  const options = { connection, prefix: `bench-${process.pid}-${runs++}` };
  const defaultJobOptions = { removeOnComplete: true };
  const first = new Queue<Reading>("first", { ...options, defaultJobOptions });
  const second = new Queue<Parsed>("second", { ...options, defaultJobOptions });
  const third = new Queue<Enriched>("third", { ...options, defaultJobOptions });
  const working = { ...options, concurrency: CONCURRENCY };
  let sum = 0;
  let count = 0;
  let done!: () => void;
  const allDone = new Promise<void>((resolve) => {
    done = resolve;
  });
  const workers = [
    new Worker<Reading>("first", async ({ data }) => void (await second.add("parsed", parse(data))), working),
    new Worker<Parsed>(
      "second",
      async ({ data }) => void (await third.add("enriched", enrich(data))),
      working,
    ),
    new Worker<Enriched, number>("third", async ({ data }) => total(data).total, working),
  ];
  workers[2]?.on("completed", (_job, result: number) => {
    sum += result;
    if (++count === messages) done();
  });
  await Promise.all([...workers, first, second, third].map((one) => one.waitUntilReady()));
  const watch = new Stopwatch();
  let bulk: { readonly name: string; readonly data: Reading }[] = [];
  for (const data of readings(messages)) {
    bulk.push({ name: "reading", data });
    if (bulk.length < BULK) continue;
    await first.addBulk(bulk);
    bulk = [];
  }
  await first.addBulk(bulk);
  await allDone;
  const taken = watch.read();
  await Promise.all([...workers, first, second, third].map((one) => one.close()));
  return { sum, taken };
}

/** Messages through three stages; a message counts once. */
export function chain(messages: number): Program {
  return {
    operations: messages,
    expected: totalsOf(messages),
    once: true,
    run: async () => {
      await runAll(Math.ceil(messages * WARM_UP));
      const { sum, taken } = await runAll(messages);
      const { wallMs, cpuMs } = taken;
      return {
        counted: sum,
        figures: { perSecond: (messages * 1_000) / wallMs, perCpuSecond: (messages * 1_000) / cpuMs },
      };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "pipeline-sqlite-stages": chain(SIZES.pipelines.peer),
};
