// When a failed attempt is repeated: pure.

import { describe, expect, it } from "vitest";
import {
  decide,
  type Failed,
  initial,
  type RetryConfig,
} from "../../../lib/service/protection/retry-machine.js";

const CONFIG: RetryConfig = {
  attempts: 3,
  backoff: { minMs: 100, maxMs: 1_000, jitter: 0 },
  deadlineMs: Number.POSITIVE_INFINITY,
  maxRetryAfterMs: 5_000,
};

function decision(config: Partial<RetryConfig>, failed: Partial<Failed>): unknown {
  const machine = initial({ ...CONFIG, ...config }, 0);
  const event: Failed = {
    type: "failed",
    now: 0,
    roll: 0.5,
    isRetryable: true,
    retryAfterMs: undefined,
    hasBudget: true,
    ...failed,
  };
  const [, [effect]] = decide(machine, event);
  return effect?.type === "retry" ? effect.inMs : effect?.why;
}

describe("after a failure", () => {
  it("the waits grow, until no attempt is left", () => {
    let machine = initial(CONFIG, 0);
    const told: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const [next, [effect]] = decide(machine, {
        ...{ type: "failed", now: 0, roll: 0.5, isRetryable: true, retryAfterMs: undefined, hasBudget: true },
      });
      machine = next;
      told.push(effect);
    }
    expect(told).toEqual([
      { type: "retry", attempt: 2, inMs: 100 },
      { type: "retry", attempt: 3, inMs: 200 },
      { type: "give-up", why: "attempts" },
    ]);
  });

  it("the wait is at least what the error asks for", () => {
    expect(decision({}, { retryAfterMs: 5_000 })).toBe(5_000);
    expect(decision({}, { retryAfterMs: 50 })).toBe(100);
    expect(decision({}, { retryAfterMs: 5_001 })).toBe("retry-after");
  });

  it("there is no wait up to the deadline or beyond", () => {
    expect(decision({ deadlineMs: 1_000 }, { now: 899 })).toBe(100);
    expect(decision({ deadlineMs: 1_000 }, { now: 900 })).toBe("deadline");
    expect(decision({ deadlineMs: 1_000 }, { retryAfterMs: 1_000 })).toBe("deadline");
  });

  it("it is the end when another attempt would not help, or the budget is spent", () => {
    expect(decision({}, { isRetryable: false })).toBe("not-retryable");
    expect(decision({}, { hasBudget: false })).toBe("budget");
    expect(decision({ attempts: 1 }, { hasBudget: false })).toBe("attempts");
  });
});
