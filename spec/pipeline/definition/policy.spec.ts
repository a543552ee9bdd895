import { describe, expect, it } from "vitest";
import { PIPELINE_DEFAULTS, policyOf } from "../../../lib/pipeline/definition/policy.js";

describe("the policy of a route", () => {
  it("is the default where neither the route nor its pipeline says more", () => {
    expect(policyOf(undefined, {})).toEqual(PIPELINE_DEFAULTS.route);
  });

  it("comes from the route, else from the pipeline; the parts of `retry` each by themselves", () => {
    const policy = policyOf(
      { concurrency: 4, timeoutMs: 10, retry: { attempts: 7, backoff: { minMs: 1, maxMs: 2 } } },
      { timeoutMs: 20, retry: { attempts: 2 } },
    );
    expect(policy).toEqual({
      ...PIPELINE_DEFAULTS.route,
      concurrency: 4,
      timeoutMs: 20,
      retry: { attempts: 2, backoff: { minMs: 1, maxMs: 2 } },
    });
  });

  it("is inherited where the route states undefined, and takes nothing else over", () => {
    const breaker = { failureRate: 0.2 };
    expect([policyOf({ breaker }, {}).breaker, policyOf({ breaker }, { breaker: "none" }).breaker]).toEqual([
      breaker,
      "none",
    ]);
    expect(policyOf({ concurrency: 7 }, { concurrency: undefined } as object).concurrency).toBe(7);
    expect(Object.keys(policyOf(undefined, { description: "x" } as object))).not.toContain("description");
  });
});
