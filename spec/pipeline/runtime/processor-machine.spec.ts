import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message } from "../../../lib/pipeline/ledger/ledger.js";
import {
  decide,
  initial,
  MOST_AT_ONCE,
  type ProcessorConfig,
  type ProcessorEffect,
  type ProcessorEvent,
} from "../../../lib/pipeline/runtime/processor-machine.js";

const config: ProcessorConfig = { concurrency: 2, prefetch: 10, fanOut: 5 };
const message = (n: number): Message => ({
  id: `10.${n}`,
  queue: "in",
  value: n,
  key: undefined,
  attempts: 0,
  errors: [],
});
const messages = (count: number, from = 0) => Array.from({ length: count }, (_, i) => message(from + i));

/** A machine that is fed events one by one. */
function machine(
  given: Partial<ProcessorConfig> = {},
): (event: ProcessorEvent) => readonly ProcessorEffect[] {
  let state = initial({ ...config, ...given });
  return (event: ProcessorEvent): readonly ProcessorEffect[] => {
    const [next, effects] = decide(state, event);
    state = next;
    return effects;
  };
}

/** What a machine does besides asking for messages. */
function quiet(given: Partial<ProcessorConfig> = {}): (event: ProcessorEvent) => readonly ProcessorEffect[] {
  const feed = machine(given);
  return (event) => feed(event).filter(({ type }) => type !== "want");
}

describe("a processor", () => {
  test("asks for as many messages as its prefetch allows", () => {
    expect(machine()({ type: "start" })).toEqual([{ type: "want", count: 10 }]);
  });

  test("gives each worker one message at a time, as soon as the gates let it in", () => {
    const feed = quiet();
    feed({ type: "start" });
    const [a, b, c] = messages(3) as [Message, Message, Message];
    expect(feed({ type: "arrived", messages: [a, b, c] })).toEqual([
      { type: "enter", worker: 0 },
      { type: "enter", worker: 1 },
    ]);
    expect(feed({ type: "entered", worker: 0 })).toEqual([{ type: "assign", worker: 0, messages: [a] }]);
    expect(feed({ type: "entered", worker: 1 })).toEqual([{ type: "assign", worker: 1, messages: [b] }]);
    expect(feed({ type: "worked", worker: 1, count: 1, children: 1 })).toEqual([
      { type: "leave", worker: 1 },
      { type: "enter", worker: 1 },
    ]);
    expect(feed({ type: "entered", worker: 1 })).toEqual([{ type: "assign", worker: 1, messages: [c] }]);
  });

  test("gives its only worker many messages at a time", () => {
    const feed = quiet({ concurrency: 1, prefetch: 1_000, fanOut: 1_000 });
    feed({ type: "start" });
    feed({ type: "arrived", messages: messages(100) });
    expect(feed({ type: "entered", worker: 0 })).toEqual([
      { type: "assign", worker: 0, messages: messages(MOST_AT_ONCE) },
    ]);
  });

  test("takes back what a worker had not begun when it exits, and counts an attempt of the message at hand", () => {
    const feed = quiet({ concurrency: 1, fanOut: 1_000 });
    feed({ type: "start" });
    feed({ type: "arrived", messages: messages(4) });
    feed({ type: "entered", worker: 0 });
    feed({ type: "worked", worker: 0, count: 1, children: 0 });
    expect(feed({ type: "down", worker: 0 })).toEqual([
      { type: "crashed", message: message(1) },
      { type: "enter", worker: 1 },
    ]);
    expect(feed({ type: "entered", worker: 1 })).toEqual([
      { type: "assign", worker: 1, messages: messages(2, 2) },
    ]);
  });

  test("waits while a queue that it publishes to is above its mark, and holds no permit meanwhile", () => {
    const feed = quiet();
    feed({ type: "start" });
    feed({ type: "arrived", messages: messages(1) });
    expect(feed({ type: "above", queue: "out" })).toEqual([{ type: "await below", queue: "out" }]);
    expect(feed({ type: "entered", worker: 0 })).toEqual([{ type: "leave", worker: 0 }]);
    expect(feed({ type: "drained", queue: "out" })).toEqual([{ type: "enter", worker: 0 }]);
  });

  test("waits while its children are not committed", () => {
    const feed = quiet({ concurrency: 1 });
    feed({ type: "start" });
    feed({ type: "arrived", messages: messages(2) });
    feed({ type: "entered", worker: 0 });
    expect(feed({ type: "worked", worker: 0, count: 1, children: 5 })).toEqual([]);
    feed({ type: "worked", worker: 0, count: 1, children: 0 });
    feed({ type: "arrived", messages: messages(1, 2) });
    expect(feed({ type: "published", children: 5 })).toEqual([{ type: "enter", worker: 0 }]);
  });

  test("stops when its workers have come to the end of their messages", () => {
    const feed = quiet();
    feed({ type: "start" });
    feed({ type: "arrived", messages: messages(2) });
    feed({ type: "entered", worker: 0 });
    expect(feed({ type: "stop" })).toEqual([]);
    expect(feed({ type: "entered", worker: 1 })).toEqual([{ type: "leave", worker: 1 }]);
    expect(feed({ type: "worked", worker: 0, count: 1, children: 0 })).toEqual([
      { type: "leave", worker: 0 },
      { type: "stopped" },
    ]);
  });
});

/** What may happen next, besides what the machine does: chosen by a number. */
type Choice =
  | "serve"
  | "let in"
  | "work"
  | "give back"
  | "admit"
  | "crash"
  | "commit"
  | "fill"
  | "drain"
  | "limit"
  | "pause"
  | "resume";
const choices = fc.array(
  fc.record({
    what: fc.constantFrom<Choice>(
      ...([
        "serve",
        "serve",
        "let in",
        "let in",
        "work",
        "work",
        "work",
        "crash",
        "give back",
        "admit",
      ] as const),
      ...(["commit", "commit", "fill", "drain", "limit", "pause", "resume"] as const),
    ),
    roll: fc.nat({ max: 1_000 }),
  }),
  { maxLength: 300 },
);

/** A world of naive lists around the machine: it keeps count of each message and each permit. */
class World {
  readonly config: ProcessorConfig;
  readonly feed: (event: ProcessorEvent) => readonly ProcessorEffect[];
  demand = 0;
  /** Messages that the ledger gives next. */
  next = 0;
  readonly waiting: number[] = [];
  readonly working = new Map<number, Message[]>();
  readonly permits = new Set<number>();
  readonly done: Message[] = [];
  readonly retried: Message[] = [];
  uncommitted = 0;
  above = false;
  limit: number;
  admits = Number.POSITIVE_INFINITY;

  constructor(config: ProcessorConfig) {
    this.config = config;
    this.feed = machine(config);
    this.limit = config.concurrency;
  }

  tell(event: ProcessorEvent): void {
    const before = this.uncommitted;
    const isPaused = this.isPaused;
    for (const effect of this.feed(event)) {
      switch (effect.type) {
        case "want":
          this.demand += effect.count;
          break;
        case "enter":
          this.waiting.push(effect.worker);
          break;
        case "assign":
          // No gate is open that should be closed.
          expect([this.above, before >= this.config.fanOut, isPaused]).toEqual([false, false, false]);
          expect(this.permits.has(effect.worker) && !this.working.has(effect.worker)).toBe(true);
          this.working.set(effect.worker, [...effect.messages]);
          expect(this.working.size).toBeLessThanOrEqual(this.admits);
          break;
        case "leave":
          expect(this.permits.delete(effect.worker)).toBe(true);
          expect(this.working.get(effect.worker) ?? []).toEqual([]);
          this.working.delete(effect.worker);
          break;
        case "crashed":
          this.retried.push(effect.message);
          break;
        default:
      }
    }
    expect(this.working.size).toBeLessThanOrEqual(this.config.concurrency);
  }

  isPaused = false;
}

function happen(world: World, what: Choice, roll: number): void {
  const pick = <T>(list: readonly T[]): T | undefined => list[roll % Math.max(1, list.length)];
  switch (what) {
    case "serve": {
      const count = Math.min(world.demand, 1 + (roll % 20));
      if (count === 0) return;
      world.demand -= count;
      world.next += count;
      world.tell({ type: "arrived", messages: messages(count, world.next - count) });
      return;
    }
    case "let in": {
      const worker = pick(world.waiting);
      if (worker === undefined) return;
      world.waiting.splice(world.waiting.indexOf(worker), 1);
      world.permits.add(worker);
      world.tell({ type: "entered", worker });
      return;
    }
    case "work": {
      const [worker, given] = pick([...world.working].filter(([, { length }]) => length > 0)) ?? [];
      if (worker === undefined || given === undefined) return;
      const count = 1 + (roll % given.length);
      world.done.push(...given.splice(0, count));
      const children = roll % 3;
      world.uncommitted += children;
      world.tell({ type: "worked", worker, count, children });
      return;
    }
    case "give back": {
      const [worker] = pick([...world.working].filter(([, { length }]) => length > 0)) ?? [];
      if (worker === undefined) return;
      world.working.set(worker, []);
      world.tell({ type: "returned", worker });
      return;
    }
    case "admit":
      world.admits = roll % 3 === 0 ? Number.POSITIVE_INFINITY : roll % 3;
      world.tell({ type: "admit", most: world.admits });
      return;
    case "crash": {
      const worker = pick([...world.permits]);
      if (worker === undefined) return;
      world.permits.delete(worker);
      world.working.delete(worker);
      world.tell({ type: "down", worker });
      return;
    }
    case "commit": {
      const children = roll % (world.uncommitted + 1);
      world.uncommitted -= children;
      world.tell({ type: "published", children });
      return;
    }
    case "fill":
      world.above = true;
      world.tell({ type: "above", queue: "out" });
      return;
    case "drain":
      world.above = false;
      world.tell({ type: "drained", queue: "out" });
      return;
    case "limit":
      world.limit = 1 + (roll % world.config.concurrency);
      world.tell({ type: "limit", limit: world.limit });
      return;
    case "pause":
      world.isPaused = true;
      world.tell({ type: "pause" });
      return;
    case "resume":
      world.isPaused = false;
      world.tell({ type: "resume" });
      return;
    default:
      what satisfies never;
  }
}

/** Lets everything go on until nothing can. */
function settle(world: World): void {
  for (const what of ["drain", "resume", "admit"] as const) happen(world, what, 0);
  for (let step = 0; step < 10_000; step++) {
    const { uncommitted } = world;
    if (uncommitted > 0) happen(world, "commit", uncommitted);
    else if (world.waiting.length > 0) happen(world, "let in", 0);
    else if ([...world.working.values()].some(({ length }) => length > 0)) happen(world, "work", 0);
    else return;
  }
  throw new Error("it never comes to rest");
}

test("a processor loses no message and no permit, works on none twice, and stays within its limits", () => {
  const configs = fc.record({
    concurrency: fc.integer({ min: 1, max: 4 }),
    prefetch: fc.integer({ min: 1, max: 200 }),
    fanOut: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(configs, choices, (given, plan) => {
      const world = new World(given);
      world.tell({ type: "start" });
      for (const { what, roll } of plan) {
        happen(world, what, roll);
        const inWork = [...world.working.values()].flat().length;
        const kept = world.next - world.done.length - world.retried.length;
        // In memory or asked for: never more than prefetch.
        expect(kept + world.demand).toBeLessThanOrEqual(given.prefetch);
        expect(inWork).toBeLessThanOrEqual(kept);
      }
      settle(world);
      const ids = [...world.done, ...world.retried].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBe(world.next);
      expect([world.permits.size, world.working.size]).toEqual([0, 0]);
      // It goes on asking: with nothing in memory, most of its prefetch is asked for.
      expect(world.demand).toBeGreaterThan(given.prefetch / 2);
      expect(world.feed({ type: "stop" })).toEqual([{ type: "stopped" }]);
    }),
  );
});
