// Whoever has the answer of a queue may lose the machine at that instant: the next program finds its effect.

import { System } from "signalbox";
import { memory } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import type { DeadLetters } from "../../../lib/pipeline/queues/dead-letters.js";
import { type MessageQueue, openQueues } from "../../../lib/pipeline/queues/queues.js";
import { dead as givenUp } from "../../../lib/pipeline/queues/status.js";
import { LossySource } from "../../support/lossy-store.js";

type Jobs = MessageQueue<string>;

interface Drill {
  /** What is asked before. */
  readonly before?: (jobs: Jobs) => Promise<unknown>;
  /** What is asked. Its answer is the last that the program gets. */
  act(jobs: Jobs): Promise<unknown>;
  /** What the next program finds. */
  seen(jobs: Jobs): Promise<unknown>;
  readonly expected: unknown;
}

const ready = async (jobs: Jobs): Promise<number> => (await jobs.counts()).ready;
const dead = async (jobs: Jobs): Promise<number> => (await jobs.counts()).dead;

/** Publishes a message that is given up. */
async function giveUp(jobs: Jobs): Promise<void> {
  await jobs.publish("bad", { id: "bad" });
  const subscription = await jobs.subscribe({}, () => givenUp("bad"));
  while ((await dead(jobs)) === 0) await new Promise((resolve) => setImmediate(resolve));
  await subscription.stop();
}

/** All operations of a queue: whoever adds one says here what it leaves, or that it changes nothing. */
const OF_QUEUE: Record<Exclude<keyof Jobs, "name" | "deadLetters">, Drill | "changes nothing"> = {
  publish: { act: (jobs) => jobs.publish("a"), seen: ready, expected: 1 },
  publishMany: {
    act: (jobs) => jobs.publishMany([{ value: "a" }, { value: "b" }]),
    seen: ready,
    expected: 2,
  },
  // What a handler returns is settled in a commit, and nobody gets an answer.
  subscribe: "changes nothing",
  counts: "changes nothing",
  heartbeats: "changes nothing",
  child: "changes nothing",
};

const OF_DEAD_LETTERS: Record<keyof DeadLetters<string>, Drill | "changes nothing"> = {
  replay: { before: giveUp, act: (jobs) => jobs.deadLetters.replay("bad"), seen: ready, expected: 1 },
  remove: { before: giveUp, act: (jobs) => jobs.deadLetters.remove("bad"), seen: dead, expected: 0 },
  retry: { before: giveUp, act: (jobs) => jobs.deadLetters.retry("bad"), seen: ready, expected: 1 },
  edit: { before: giveUp, act: (jobs) => jobs.deadLetters.edit("bad", "good"), seen: ready, expected: 1 },
  drop: {
    before: giveUp,
    act: (jobs) => jobs.deadLetters.drop("bad", { reason: "spam" }),
    seen: async (jobs) => [await dead(jobs), (await all(jobs.deadLetters.records()))[0]?.fate],
    expected: [0, "dropped"],
  },
  list: "changes nothing",
  records: "changes nothing",
};

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const drillsOf = (of: string, table: Readonly<Record<string, Drill | "changes nothing">>) =>
  Object.entries(table).flatMap(([name, drill]) =>
    drill === "changes nothing" ? [] : [[`${of}.${name}`, drill] as const],
  );

test.each([...drillsOf("queue", OF_QUEUE), ...drillsOf("deadLetters", OF_DEAD_LETTERS)])(
  "%s is durable when it is answered [Y281]",
  async (_name, drill) => {
    const store = new LossySource(memory());
    const first = await live(store);
    await drill.before?.(first.jobs);
    await drill.act(first.jobs);
    store.kill();
    await first.system.stop({ timeoutMs: 0 });
    await store.bury();
    expect(await drill.seen((await live(store)).jobs)).toEqual(drill.expected);
  },
);

async function live(store: LossySource): Promise<{ system: System; jobs: Jobs }> {
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return { system, jobs: (await openQueues(system, { store })).queue<string>("jobs", { attempts: 1 }) };
}
