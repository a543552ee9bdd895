// All operations of a durable queue that change something, as drills of their answers.

import type { System } from "signalbox";
import type { StoreSource } from "signalbox/store";
import type { DeadLetters } from "../../../lib/pipeline/queues/dead-letters.js";
import { type MessageQueue, openQueues } from "../../../lib/pipeline/queues/queues.js";
import { dead as givenUp } from "../../../lib/pipeline/queues/status.js";
import { drillsOf, type NamedDrills, type NoDrill } from "../../support/answer-drills.js";
import { until } from "../../support/until.js";

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
  await until(async () => (await dead(jobs)) > 0);
  await subscription.stop();
}

/** All operations of a queue: whoever adds one says here what it leaves, or that it reads. */
const OF_QUEUE: Record<Exclude<keyof Jobs, "name" | "deadLetters">, Drill | NoDrill> = {
  publish: { act: (jobs) => jobs.publish("a"), seen: ready, expected: 1 },
  publishMany: {
    act: (jobs) => jobs.publishMany([{ value: "a" }, { value: "b" }]),
    seen: ready,
    expected: 2,
  },
  // What a handler returns is settled in a commit, and nobody gets an answer.
  subscribe: "reads",
  counts: "reads",
  signals: "reads",
  heartbeats: "reads",
  child: "reads",
};

const OF_DEAD_LETTERS: Record<keyof DeadLetters<string>, Drill | NoDrill> = {
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
  list: "reads",
  records: "reads",
};

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function jobsOf(system: System, store: StoreSource): Promise<Jobs> {
  return (await openQueues(system, { store })).queue<string>("jobs", { attempts: 1 });
}

export const QUEUE_DRILLS: NamedDrills = drillsOf<Drill>(
  { queue: OF_QUEUE, deadLetters: OF_DEAD_LETTERS },
  ({ before, act, seen, expected }) => ({
    ask: async (system, store) => {
      const jobs = await jobsOf(system, store);
      await before?.(jobs);
      return act(jobs);
    },
    look: async (system, store) => seen(await jobsOf(system, store)),
    expected,
  }),
);
