// The rule of a circuit breaker, without a process: against a naive model that keeps every call that ever ended.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BreakerConfig,
  type BreakerEffect,
  type BreakerEvent,
  type BreakerMachine,
  decide,
  initial,
  type Permit,
  type Verdict,
} from "../../../lib/service/protection/breaker-machine.js";
import { sized } from "../../support/proof.js";

const CONFIG: BreakerConfig = {
  windowCalls: 4,
  windowMs: 1_000,
  minimumCalls: 2,
  failureRate: 0.5,
  slowRate: 1,
  slowMs: Number.POSITIVE_INFINITY,
  backoff: { minMs: 100, maxMs: 400, jitter: 0 },
  probes: 1,
  probeMs: 50,
};

/** A breaker that a test drives by hand. */
class Driven {
  machine: BreakerMachine;
  now = 0;
  readonly changes: string[] = [];

  constructor(config: Partial<BreakerConfig> = {}) {
    this.machine = initial({ ...CONFIG, ...config });
  }

  ask(): Permit | number {
    const effect = this.run({ type: "ask", now: this.now, roll: 0.5 });
    return effect?.type === "admit" ? effect.permit : (effect?.retryAfterMs as number);
  }

  end(permit: Permit | number, verdict: Verdict, durationMs = 0): void {
    if (typeof permit === "number") throw new Error("was rejected");
    this.run({ type: "settled", permit, verdict, durationMs, now: this.now, roll: 0.5 });
  }

  call(verdict: Verdict, durationMs = 0): void {
    this.end(this.ask(), verdict, durationMs);
  }

  run(event: BreakerEvent): Exclude<BreakerEffect, { type: "changed" }> | undefined {
    const [machine, effects] = decide(this.machine, event);
    this.machine = machine;
    let answer: Exclude<BreakerEffect, { type: "changed" }> | undefined;
    for (const effect of effects) {
      if (effect.type === "changed") this.changes.push(`${effect.from} -> ${effect.to}`);
      else answer = effect;
    }
    return answer;
  }
}

/** Opens, and waits until a probe is admitted. */
function waiting(config: Partial<BreakerConfig> = {}): Driven {
  const breaker = new Driven(config);
  breaker.call("failure");
  breaker.call("failure");
  breaker.now = 100;
  return breaker;
}

describe("a closed breaker", () => {
  it("opens at its share of failures, once there are enough calls", () => {
    const breaker = new Driven({ minimumCalls: 4 });
    for (const verdict of ["failure", "failure", "success"] as const) breaker.call(verdict);
    expect(breaker.machine.state).toBe("closed");
    breaker.call("success");
    expect(breaker.machine.state).toBe("open");
    expect(breaker.ask()).toBe(100);
  });

  it("opens at its share of slow calls", () => {
    const breaker = new Driven({ slowMs: 10, slowRate: 0.5 });
    breaker.call("success", 9);
    breaker.call("success", 10);
    expect(breaker.machine.state).toBe("open");
  });

  it("ignores calls that say nothing", () => {
    const breaker = new Driven();
    for (let i = 0; i < 10; i++) breaker.call("ignore");
    expect(breaker.machine.window.tally(0)).toEqual({ total: 0, failed: 0, slow: 0 });
  });

  const verdicts = fc.constantFrom<Verdict>("success", "failure", "ignore");
  const call = fc.record({
    afterMs: fc.nat({ max: 400 }),
    verdict: verdicts,
    durationMs: fc.constantFrom(0, 10, 20),
  });
  const configs = fc.record({
    windowCalls: fc.option(fc.integer({ min: 3, max: 6 }), { nil: undefined }),
    minimumCalls: fc.integer({ min: 1, max: 3 }),
    failureRate: fc.constantFrom(0.25, 0.5, 1),
    slowRate: fc.constantFrom(0.5, 1),
    slowMs: fc.constantFrom(20, Number.POSITIVE_INFINITY),
  });

  it("opens exactly when a model that keeps all calls says so [G1]", () => {
    fc.assert(
      fc.property(configs, fc.array(call, { maxLength: 30 }), (config, calls) => {
        const breaker = new Driven(config);
        const ended: { slice: number; failed: boolean; slow: boolean }[] = [];
        for (const { afterMs, verdict, durationMs } of calls) {
          breaker.now += afterMs;
          // Ten slices of 100 ms; the window is the present one and the nine before.
          const slice = Math.floor(breaker.now / 100);
          breaker.call(verdict, durationMs);
          if (verdict === "ignore") continue;
          ended.push({ slice, failed: verdict === "failure", slow: durationMs >= config.slowMs });
          const counted =
            config.windowCalls === undefined
              ? ended.filter((one) => one.slice > slice - 10)
              : ended.slice(-config.windowCalls);
          const part = (what: "failed" | "slow"): number =>
            counted.filter((one) => one[what]).length / counted.length;
          const opens =
            counted.length >= config.minimumCalls &&
            (part("failed") >= config.failureRate || part("slow") >= config.slowRate);
          expect(breaker.machine.state).toBe(opens ? "open" : "closed");
          if (opens) return;
        }
      }),
      { numRuns: sized(300) },
    );
  });
});

describe("an open breaker", () => {
  it("rejects until its time is over, and says how long that is", () => {
    const breaker = waiting();
    breaker.now = 40;
    expect(breaker.ask()).toBe(60);
    breaker.now = 100;
    expect(breaker.ask()).toEqual({ generation: 2, id: expect.any(Number) });
    expect(breaker.changes).toEqual(["closed -> open", "open -> half-open"]);
  });

  it("stays open longer each time that its probes fail, and starts anew after resetAfterMs without a failure", () => {
    const breaker = waiting();
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      breaker.call("failure");
      waits.push(breaker.ask() as number);
      breaker.now += waits.at(-1) as number;
    }
    expect(waits).toEqual([200, 400, 400]);
    breaker.call("success");
    breaker.now += 399;
    breaker.call("failure");
    breaker.call("failure");
    expect(breaker.ask()).toBe(400);
    breaker.now += 400;
    breaker.call("success");
    breaker.now += 400;
    breaker.call("failure");
    breaker.call("failure");
    expect(breaker.ask()).toBe(100);
  });

  it("is not kept open by the ends of calls from before", () => {
    const breaker = new Driven();
    const late = [breaker.ask(), breaker.ask(), breaker.ask()];
    breaker.call("failure");
    breaker.call("failure");
    breaker.now = 60;
    for (const permit of late) breaker.end(permit, "failure");
    expect(breaker.ask()).toBe(40);
    breaker.now = 100;
    breaker.call("success");
    expect(breaker.changes).toEqual(["closed -> open", "open -> half-open", "half-open -> closed"]);
  });
});

describe("a half-open breaker", () => {
  it("admits its probes and no more; when all have succeeded it closes [G3]", () => {
    const breaker = waiting({ probes: 2 });
    const first = breaker.ask();
    breaker.now = 110;
    const second = breaker.ask();
    breaker.now = 120;
    expect(breaker.ask()).toBe(30);
    breaker.end(second, "success");
    // The one that succeeded makes no room for a third.
    expect(breaker.ask()).toBe(30);
    breaker.end(first, "success");
    expect(breaker.machine.state).toBe("closed");
    expect(breaker.machine.window.tally(120)).toEqual({ total: 0, failed: 0, slow: 0 });
  });

  it("opens at the first probe that fails or is slow", () => {
    for (const [verdict, durationMs] of [
      ["failure", 0],
      ["success", 10],
    ] as const) {
      const breaker = waiting({ probes: 2, slowMs: 10 });
      const other = breaker.ask();
      breaker.call(verdict, durationMs);
      expect(breaker.machine.state).toBe("open");
      breaker.end(other, "success");
      expect(breaker.machine.state).toBe("open");
    }
  });

  it("admits another probe for one that said nothing", () => {
    const breaker = waiting();
    breaker.call("ignore");
    breaker.call("success");
    expect(breaker.machine.state).toBe("closed");
  });

  it("opens again when a probe does not end in its time", () => {
    const breaker = waiting();
    const lost = breaker.ask();
    breaker.now = 149;
    expect(breaker.ask()).toBe(1);
    breaker.now = 150;
    expect(breaker.ask()).toBe(200);
    expect(breaker.machine.state).toBe("open");
    breaker.end(lost, "success");
    expect(breaker.machine.state).toBe("open");
  });

  it("takes the end of a probe once", () => {
    const breaker = waiting({ probes: 2 });
    const probe = breaker.ask();
    breaker.end(probe, "success");
    breaker.end(probe, "success");
    expect(breaker.machine.state).toBe("half-open");
  });
});

const step = fc.oneof(
  fc.record({ do: fc.constant("ask" as const) }),
  fc.record({
    do: fc.constant("end" as const),
    which: fc.nat({ max: 20 }),
    verdict: fc.constantFrom<Verdict>("success", "failure", "ignore"),
  }),
  // Time may jump ahead, and a clock that goes back must do no harm.
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: -200, max: 500 }) }),
);

describe("in any order of events", () => {
  it("each permit counts at most once, in the state in which it was given [G2]", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 3 }), (steps, probes) => {
        const breaker = new Driven({ probes, windowCalls: undefined, windowMs: 1e9 });
        const given: Permit[] = [];
        let counted = 0;
        for (const one of steps) {
          const before = breaker.machine;
          if (one.do === "wait") breaker.now = Math.max(0, breaker.now + one.ms);
          else if (one.do === "ask") {
            const answer = breaker.ask();
            if (typeof answer === "number") expect(answer).toBeGreaterThan(0);
            else given.push(answer);
          } else {
            const permit = given[one.which % given.length];
            if (permit === undefined) continue;
            if (one.which < given.length) given.splice(one.which % given.length, 1);
            breaker.end(permit, one.verdict);
            if (permit.generation !== before.generation) expect(breaker.machine).toBe(before);
          }
          if (breaker.machine.generation !== before.generation) counted = 0;
          const { total } = breaker.machine.window.tally(breaker.now);
          expect(total).toBeLessThanOrEqual(counted + 1);
          counted = total;
          expect(breaker.machine.probes.size + breaker.machine.succeeded).toBeLessThanOrEqual(probes);
        }
      }),
      { numRuns: sized(300) },
    );
  });
});
