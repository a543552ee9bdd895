// The machine of task streams against a model that is written another way: it keeps the whole history, and derives from it what
// may be read, what is handed out, and when the stream ends.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type StreamConfig,
  type StreamEffect,
  type StreamEvent,
} from "../../../lib/behaviour/task/stream-machine.js";
import { sized } from "../../support/proof.js";

type Effect = StreamEffect<string, number>;

/** One thing that the world may do next. What makes no sense at the moment is skipped. */
type Move =
  | { readonly do: "take"; readonly count: number }
  | { readonly do: "ask" | "answer" | "end of input" | "failure of input" | "close" }
  | { readonly do: "finish" | "fail" | "time out"; readonly nth: number };

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("take" as const), count: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("answer" as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("finish" as const), nth: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("fail" as const, "time out" as const), nth: fc.nat(5) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("end of input" as const, "failure of input" as const, "close" as const),
    }),
  },
);

const config: fc.Arbitrary<StreamConfig> = fc
  .record({
    concurrency: fc.integer({ min: 1, max: 4 }),
    more: fc.nat(3),
    ordered: fc.boolean(),
    failsFast: fc.boolean(),
  })
  .map(({ concurrency, more, ordered, failsFast }) => ({
    concurrency,
    maxAhead: concurrency + more,
    ordered,
    failsFast,
  }));

/** The world around the machine, and all that has happened in it. */
class World {
  readonly config: StreamConfig;
  #state: ReturnType<typeof initial<number>>;
  /** The input was asked, and has not answered. */
  reading = false;
  inputOver = false;
  inputClosed = false;
  started = 0;
  readonly running: number[] = [];
  /** Items whose results may be handed out, in the order in which their tasks ended. */
  readonly finished: number[] = [];
  readonly delivered: number[] = [];
  /** Results that the consumer holds and has not taken. */
  held = 0;
  asked = false;
  ended: unknown;
  exited = false;
  closed = false;
  failed: string | undefined;

  constructor(config: StreamConfig) {
    this.config = config;
    this.#state = initial(config);
  }

  feed(event: StreamEvent<string, number>): void {
    const [state, effects] = decide<string, number>(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    this.check();
  }

  get taken(): number {
    return this.delivered.length - this.held;
  }

  /** What has to be handed out next: by position in the input, or by time. */
  deliverable(): number[] {
    const order = this.config.ordered ? [...this.finished].sort((a, b) => a - b) : this.finished;
    const rest = order.slice(this.delivered.length);
    if (!this.config.ordered) return rest;
    const first = this.delivered.length;
    return rest.filter((item, place) => item === first + place);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "read":
        expect([this.reading, this.inputOver, this.closed, this.failed]).toEqual([
          false,
          false,
          false,
          undefined,
        ]);
        this.reading = true;
        break;
      case "start":
        expect(effect.index).toBe(this.started);
        this.running.push(this.started++);
        break;
      case "kill": {
        const at = this.running.indexOf(effect.index);
        if (at >= 0) this.running.splice(at, 1);
        break;
      }
      case "deliver":
        expect(this.asked).toBe(true);
        this.asked = false;
        expect(effect.results).toEqual(this.closed ? [] : this.deliverable());
        expect(effect.results.length > 0 || effect.end !== undefined).toBe(true);
        this.delivered.push(...effect.results);
        this.held = Math.max(0, effect.results.length - 1);
        this.ended = effect.end;
        break;
      case "close-input":
        expect([this.inputOver, this.inputClosed]).toEqual([false, false]);
        this.inputClosed = true;
        break;
      case "exit":
        expect(this.exited).toBe(false);
        this.exited = true;
        break;
      default:
        effect satisfies never;
    }
  }

  /** Holds after every event. */
  check(): void {
    const { concurrency, maxAhead } = this.config;
    const ahead = this.started + (this.reading ? 1 : 0) - this.taken;
    expect(this.running.length + (this.reading && !this.over ? 1 : 0)).toBeLessThanOrEqual(concurrency);
    if (!this.over) expect(ahead).toBeLessThanOrEqual(maxAhead);
    if (this.over) expect(this.running).toEqual([]);
    // Nothing is held back: what can be read is read, and what can be handed out is handed out.
    const mayRead = !this.over && !this.inputOver && this.running.length < concurrency;
    if (mayRead && this.began && this.started - this.taken < maxAhead) expect(this.reading).toBe(true);
    if (this.asked) expect(this.deliverable()).toEqual([]);
    const isDone = this.inputOver && this.running.length === 0 && !this.over;
    if (this.asked) expect(isDone).toBe(false);
    if (this.over && this.inputClosed === this.inputOver) expect(this.inputOver).toBe(false);
  }

  began = false;

  get over(): boolean {
    return this.closed || this.failed !== undefined;
  }
}

function play(world: World, one: Move): void {
  if (world.exited) return;
  switch (one.do) {
    case "ask": {
      if (world.asked) return;
      const taken = world.held;
      world.held = 0;
      world.asked = true;
      world.began = true;
      world.feed({ type: "asked", taken });
      return;
    }
    case "take": {
      const count = Math.min(world.held, one.count);
      if (count === 0) return;
      world.held -= count;
      world.feed({ type: "taken", count });
      return;
    }
    case "answer":
      if (!world.reading) return;
      world.reading = false;
      world.feed({ type: "read", item: "x" });
      return;
    case "end of input":
    case "failure of input":
      if (!world.reading) return;
      world.reading = false;
      if (one.do === "end of input") {
        if (!world.inputClosed) world.inputOver = true;
        world.feed({ type: "input-over" });
      } else {
        if (!world.over) world.failed = "input";
        if (!world.inputClosed) world.inputOver = true;
        world.feed({ type: "input-failed", error: "input" });
      }
      return;
    case "close":
      world.closed = true;
      world.feed({ type: "close", end: "done" });
      return;
    default: {
      const index = world.running[one.nth % Math.max(1, world.running.length)];
      if (index === undefined) return;
      if (one.do !== "time out") world.running.splice(world.running.indexOf(index), 1);
      const fails = one.do !== "finish" && world.config.failsFast;
      if (fails) world.failed = `task ${index}`;
      else world.finished.push(index);
      if (one.do === "time out")
        world.feed({ type: "timed-out", index, result: index, error: `task ${index}` });
      else
        world.feed({
          type: "finished",
          index,
          result: index,
          ...(one.do === "fail" ? { failure: { error: `task ${index}` } } : {}),
        });
    }
  }
}

describe("the machine of streams", () => {
  test.prop([config, fc.array(move, { maxLength: 80 })], { numRuns: sized(150, 1 / 25, 400) })(
    "reads, hands out and ends as its history says, at any time [B41]",
    (settings, moves) => {
      const world = new World(settings);
      for (const one of moves) play(world, one);
      // To the end: the consumer goes on, the input ends, tasks return.
      for (let i = 0; i < 200 && !world.exited; i++) {
        play(world, { do: "ask" });
        play(world, i < 5 ? { do: "answer" } : { do: "end of input" });
        play(world, { do: "finish", nth: 0 });
      }
      expect(world.exited).toBe(true);
      if (world.closed) return;
      expect(world.ended).toEqual(world.failed === undefined ? "done" : { error: world.failed });
      if (world.failed === undefined) expect(world.delivered).toHaveLength(world.started);
      if (settings.ordered) expect(world.delivered).toEqual(world.delivered.map((_, place) => place));
      else expect(world.delivered).toEqual(world.finished.slice(0, world.delivered.length));
    },
  );

  it("does nothing before the consumer asks, and nothing after its end", () => {
    const state = initial<number>({ concurrency: 2, maxAhead: 2, ordered: true, failsFast: true });
    expect(decide(state, { type: "close", end: "done" })[1]).toEqual([
      { type: "close-input" },
      { type: "exit" },
    ]);
    for (const event of [
      { type: "asked", taken: 0 },
      { type: "read", item: 1 },
      { type: "taken", count: 1 },
    ] as const)
      expect(decide(state, event)[1]).toEqual([]);
  });
});
