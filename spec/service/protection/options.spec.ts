// What each option of protection may be.

import { OptionError } from "signalbox";
import { circuitBreaker, PROTECTION_DEFAULTS, rateLimiter, retryPolicy } from "signalbox/service";
import { describe, expect, it } from "vitest";

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return (error as OptionError).path;
  }
  return "accepted";
}

describe("the options of a breaker", () => {
  it.each<[path: string, options: object]>([
    ["failureRate", { failureRate: 0 }],
    ["failureRate", { failureRate: 50 }],
    ["slowRate", { slowRate: Number.NaN }],
    ["slowMs", { slowMs: -1 }],
    ["windowMs", { windowMs: 0 }],
    ["windowMs", { windowMs: Number.POSITIVE_INFINITY }],
    ["windowCalls", { windowCalls: 0.5 }],
    ["windowCalls", { windowCalls: 10, windowMs: 10 }],
    ["minimumCalls", { windowCalls: 10, minimumCalls: 11 }],
    ["minimumCalls", { minimumCalls: 0 }],
    ["probes", { probes: 0 }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["backoff.minMs", { backoff: { minMs: 0, maxMs: 1 } }],
    ["judge", { judge: "strict" }],
    ["label", { label: "" }],
    ["failureRates", { failureRates: 1 }],
  ])("%s: not %o", (path, options) => {
    expect(refusal(() => circuitBreaker(options))).toBe(path);
  });
});

describe("the options of a limiter", () => {
  const rate = { permits: 1, perMs: 1 };
  it.each<[path: string, options: object]>([
    ["permits", { perMs: 1 }],
    ["permits", { ...rate, permits: 1.5 }],
    ["perMs", { ...rate, perMs: 0 }],
    ["perMs", { ...rate, perMs: Number.POSITIVE_INFINITY }],
    ["burst", { ...rate, burst: 0 }],
    ["burst", { permits: 7, perMs: 86_400_000, burst: Number.MAX_SAFE_INTEGER }],
    ["maxWaiting", { ...rate, maxWaiting: -1 }],
    ["maxKeys", { ...rate, maxKeys: 0 }],
    ["timeoutMs", { ...rate, timeoutMs: "1s" }],
    ["patienceMs", { ...rate, patienceMs: Number.NaN }],
    ["perSecond", { ...rate, perSecond: 1 }],
  ])("%s: not %o", (path, options) => {
    expect(refusal(() => rateLimiter(options as never))).toBe(path);
  });
});

describe("the options of a retry policy", () => {
  it.each<[path: string, options: object]>([
    ["attempts", { attempts: 0 }],
    ["backoff.maxMs", { backoff: { minMs: 2, maxMs: 1 } }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["deadlineMs", { deadlineMs: 0 }],
    ["retryIf", { retryIf: true }],
    ["retryAfterMs", { retryAfterMs: 5 }],
    ["maxRetryAfterMs", { maxRetryAfterMs: -1 }],
    ["budget.ratio", { budget: { ratio: 2 } }],
    ["budget.minimum", { budget: { ratio: 1, minimum: 0.5 } }],
    ["budget.windowMs", { budget: { ratio: 1, windowMs: 0 } }],
    ["budget.ration", { budget: { ratio: 1, ration: 1 } }],
    ["retries", { retries: 3 }],
  ])("%s: not %o", (path, options) => {
    expect(refusal(() => retryPolicy(options))).toBe(path);
  });
});

describe("the table of defaults", () => {
  it("is made of values that are allowed", () => {
    const { breaker, limiter, retry } = PROTECTION_DEFAULTS;
    const { budgetWindowMs: windowMs, budgetMinimum: minimum, ...rest } = retry;
    expect(refusal(() => circuitBreaker(breaker))).toBe("accepted");
    expect(refusal(() => rateLimiter({ permits: 1, perMs: 1, ...limiter }))).toBe("accepted");
    expect(refusal(() => retryPolicy({ ...rest, budget: { ratio: 1, windowMs, minimum } }))).toBe("accepted");
  });
});
