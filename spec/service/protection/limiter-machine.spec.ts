// The rule of a rate limiter, without a process: exact against a model that counts in fractions of unlimited precision.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type LimiterConfig,
  type LimiterEffect,
  type LimiterEvent,
  type LimiterMachine,
  rateOf,
  waitMs,
} from "../../../lib/service/protection/limiter-machine.js";
import { sized } from "../../support/proof.js";

class Driven {
  machine: LimiterMachine;
  now = 0;
  lastId = 0;
  readonly alarms = new Map<string, number>();
  readonly granted: number[] = [];

  constructor(permits: number, perMs: number, burst: number, more: Partial<LimiterConfig> = {}) {
    this.machine = initial({ ...rateOf(permits, perMs, burst), maxWaiting: 1_000, maxKeys: 10, ...more });
  }

  ask(permits = 1, key = ""): "granted" | "waits" | { reason: string; retryAfterMs: number } {
    const id = ++this.lastId;
    const effects = this.run({ type: "ask", id, key, permits, now: this.now });
    const answer = effects.find((one) => one.type !== "alarm");
    if (answer?.type === "refuse") return { reason: "waiting", retryAfterMs: answer.retryAfterMs };
    return answer === undefined ? "waits" : "granted";
  }

  leave(id: number, key = ""): void {
    this.run({ type: "leave", id, key, now: this.now });
  }

  /** Goes from alarm to alarm, as the timers of a limiter do. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const [next] = [...this.alarms].sort((a, b) => a[1] - b[1]);
      if (next === undefined || next[1] > end) break;
      this.now = Math.max(this.now, next[1]);
      this.alarms.delete(next[0]);
      this.run({ type: "due", key: next[0], now: this.now });
    }
    this.now = end;
  }

  run(event: LimiterEvent): readonly LimiterEffect[] {
    const [machine, effects] = decide(this.machine, event);
    this.machine = machine;
    for (const effect of effects) {
      if (effect.type === "grant") this.granted.push(effect.id);
      if (effect.type !== "alarm") continue;
      if (effect.inMs === undefined) this.alarms.delete(effect.key);
      else this.alarms.set(effect.key, this.now + effect.inMs);
    }
    return effects;
  }
}

describe("a bucket", () => {
  it("gives its burst at once, and then a permit at each interval", () => {
    const limiter = new Driven(2, 1_000, 3);
    expect([1, 2, 3, 4, 5].map(() => limiter.ask())).toEqual([
      "granted",
      "granted",
      "granted",
      "waits",
      "waits",
    ]);
    limiter.pass(499);
    expect(limiter.granted).toEqual([1, 2, 3]);
    limiter.pass(1);
    expect(limiter.granted).toEqual([1, 2, 3, 4]);
    limiter.pass(500);
    expect(limiter.granted).toEqual([1, 2, 3, 4, 5]);
  });

  it("does not drift: three permits in seven milliseconds, for eleven days", () => {
    const limiter = new Driven(3, 7, 1, { maxWaiting: 1 });
    const days = 11 * 86_400_000;
    limiter.ask();
    limiter.pass(days);
    // The bucket is full again. After that each permit is due at a multiple of 7/3 ms, in whole microseconds.
    const began = limiter.now;
    limiter.ask();
    const times: number[] = [];
    for (let i = 0; i < 300; i++) {
      expect(limiter.ask()).toBe("waits");
      limiter.pass([...limiter.alarms.values()][0]! - limiter.now);
      times.push(Math.round((limiter.now - began) * 1_000));
    }
    expect(times).toEqual(times.map((_, i) => Math.ceil(((i + 1) * 7_000) / 3)));
  });

  it("gets nothing from a clock that goes back, and no more than its burst from one that jumps ahead", () => {
    const limiter = new Driven(1, 10, 2);
    limiter.now = 1_000;
    limiter.ask();
    limiter.ask();
    limiter.now = 500;
    expect(limiter.ask()).toBe("waits");
    limiter.now = Number.MAX_SAFE_INTEGER / 1_000_000;
    limiter.run({ type: "due", key: "", now: limiter.now });
    expect(limiter.granted).toHaveLength(3);
    expect(limiter.ask()).toBe("granted");
    expect(limiter.ask()).toBe("waits");
  });

  const rates = fc.record({
    permits: fc.integer({ min: 1, max: 1_000 }),
    perMs: fc.integer({ min: 1, max: 100_000 }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  const steps = fc.array(
    fc.record({ passMs: fc.integer({ min: 0, max: 2_000 }), asks: fc.nat({ max: 5 }) }),
    {
      maxLength: 40,
    },
  );

  it("gives as many permits as a model of unlimited precision, at the same microseconds [G6]", () => {
    fc.assert(
      fc.property(rates, steps, ({ permits, perMs, burst }, all) => {
        const limiter = new Driven(permits, perMs, burst, { maxWaiting: 0 });
        // Tokens times perUs, so that the model is exact: each microsecond adds `permits`.
        const one = BigInt(perMs) * 1_000n;
        let tokens = BigInt(burst) * one;
        for (const { passMs, asks } of all) {
          limiter.pass(passMs);
          tokens += BigInt(passMs) * 1_000n * BigInt(permits);
          if (tokens > BigInt(burst) * one) tokens = BigInt(burst) * one;
          for (let i = 0; i < asks; i++) {
            const fits = tokens >= one;
            const answer = limiter.ask();
            expect(answer === "granted").toBe(fits);
            if (fits) tokens -= one;
            else {
              const us = (one - tokens + BigInt(permits) - 1n) / BigInt(permits);
              expect(answer).toEqual({ reason: "waiting", retryAfterMs: Number(us) / 1_000 });
            }
          }
        }
      }),
      { numRuns: sized(200) },
    );
  });
});

describe("those that wait", () => {
  it("are served in the order in which they came, also when a later one needs less", () => {
    const limiter = new Driven(1, 100, 4);
    limiter.ask(4);
    expect([limiter.ask(3), limiter.ask(1)]).toEqual(["waits", "waits"]);
    limiter.pass(299);
    expect(limiter.granted).toEqual([1]);
    limiter.pass(1);
    expect(limiter.granted).toEqual([1, 2]);
    limiter.pass(100);
    expect(limiter.granted).toEqual([1, 2, 3]);
  });

  it("take no permit once they have left, and those behind go on at once if they can", () => {
    const limiter = new Driven(1, 100, 4);
    limiter.ask(4);
    limiter.ask(4);
    limiter.ask(2);
    limiter.pass(200);
    limiter.leave(2);
    expect(limiter.granted).toEqual([1, 3]);
    expect(limiter.alarms.size).toBe(0);
  });

  it("are as many as may; the next one is refused, with the time after which all have been served", () => {
    const limiter = new Driven(1, 100, 1, { maxWaiting: 2 });
    limiter.ask();
    limiter.ask();
    limiter.ask();
    limiter.pass(50);
    expect(limiter.ask()).toEqual({ reason: "waiting", retryAfterMs: 250 });
    limiter.leave(2);
    expect(limiter.ask()).toBe("waits");
  });

  it("get permits back that another caller did not take", () => {
    const limiter = new Driven(1, 100, 1);
    limiter.ask();
    limiter.ask();
    limiter.run({ type: "return", key: "", permits: 1, now: 0 });
    expect(limiter.granted).toEqual([1, 2]);
  });

  const acts = fc.array(
    fc.oneof(
      fc.record({
        do: fc.constant("ask" as const),
        permits: fc.integer({ min: 1, max: 3 }),
        key: fc.constantFrom("a", "b"),
      }),
      fc.record({ do: fc.constant("leave" as const), id: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 300 }) }),
    ),
    { maxLength: 60 },
  );

  it("are served in order of arrival for each key, whatever leaves, and each at most once [G7]", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const limiter = new Driven(1, 100, 3, { maxWaiting: 5 });
        const keys = new Map<number, string>();
        const gone = new Set<number>();
        for (const one of all) {
          if (one.do === "pass") limiter.pass(one.ms);
          else if (one.do === "ask") {
            if (typeof limiter.ask(one.permits, one.key) === "string") keys.set(limiter.lastId, one.key);
          } else if (!limiter.granted.includes(one.id) && keys.has(one.id)) {
            gone.add(one.id);
            limiter.leave(one.id, keys.get(one.id));
          }
        }
        limiter.pass(100_000);
        expect(limiter.machine.waiting).toBe(0);
        for (const key of ["a", "b"]) {
          const served = limiter.granted.filter((id) => keys.get(id) === key);
          const left = [...keys.keys()].filter((id) => keys.get(id) === key && !gone.has(id));
          expect(served).toEqual(left);
        }
      }),
      { numRuns: sized(300) },
    );
  });
});

describe("keys", () => {
  it("have a bucket each", () => {
    const limiter = new Driven(1, 100, 1);
    expect([limiter.ask(1, "a"), limiter.ask(1, "b"), limiter.ask(1, "a")]).toEqual([
      "granted",
      "granted",
      "waits",
    ]);
    expect(waitMs(limiter.machine, "a", 1, 0)).toBe(200);
    expect(waitMs(limiter.machine, "c", 1, 0)).toBe(0);
  });

  it("are maxKeys at most: the one that was used longest ago is forgotten, and no new one is refused [G8]", () => {
    const limiter = new Driven(1, 100, 2, { maxKeys: 3 });
    for (const key of ["a", "b", "c"]) expect(limiter.ask(1, key)).toBe("granted");
    expect([limiter.ask(1, "a"), limiter.ask(1, "d")]).toEqual(["granted", "granted"]);
    expect([...limiter.machine.buckets.keys()]).toEqual(["c", "a", "d"]);
    // The key that was used lately has kept its debt.
    expect(limiter.ask(1, "a")).toBe("waits");
  });

  it("with waiting callers are kept, beyond maxKeys if need be [G8]", () => {
    const limiter = new Driven(1, 100, 1, { maxKeys: 2 });
    for (const key of ["a", "a", "b", "b"]) limiter.ask(1, key);
    expect([limiter.ask(1, "c"), limiter.ask(1, "d")]).toEqual(["granted", "granted"]);
    expect([...limiter.machine.buckets.keys()].sort()).toEqual(["a", "b", "d"]);
    limiter.pass(100);
    expect(limiter.granted).toContain(2);
    expect(limiter.granted).toContain(4);
    expect(limiter.ask(1, "e")).toBe("granted");
    expect(limiter.machine.buckets.size).toBe(2);
  });

  it("are as many as maxKeys and those that wait, at most, whatever is asked for [G8]", () => {
    const key = fc.integer({ min: 0, max: 30 }).map(String);
    const step = fc.oneof(
      fc.tuple(fc.constant("ask" as const), key),
      fc.tuple(fc.constant("pass" as const), fc.integer({ min: 0, max: 300 }).map(String)),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: sized(100, 1, 100) }), (steps) => {
        const limiter = new Driven(1, 100, 2, { maxKeys: 4, maxWaiting: 6 });
        for (const [what, value] of steps) {
          const isNew = !limiter.machine.buckets.has(value);
          if (what === "pass") limiter.pass(Number(value));
          else if (limiter.ask(1, value) !== "granted") expect(isNew).toBe(false);
          const { buckets, waiting } = limiter.machine;
          expect(buckets.size).toBeLessThanOrEqual(4 + waiting);
          let queued = 0;
          for (const bucket of buckets.values()) queued += bucket.waiting.length;
          expect(queued).toBe(waiting);
        }
      }),
    );
  });
});
