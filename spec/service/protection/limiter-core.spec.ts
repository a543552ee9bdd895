// A limiter and those that ask, of whom some have gone by the time at which they are served.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LimiterCore } from "../../../lib/service/protection/limiter-core.js";
import { checkLimiter } from "../../../lib/service/protection/limiter-options.js";
import { Bench } from "./bench.js";

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.close());

describe("a limiter", () => {
  it("gives the permits of a caller that has gone to the next, without a message [G7]", () => {
    const timers: (() => void)[] = [];
    const settings = checkLimiter({ permits: 1, perMs: 100, timeoutMs: Number.POSITIVE_INFINITY });
    const core = new LimiterCore(bench.system.kernel, settings, (_delayMs, fn) => {
      timers.push(fn);
      return () => undefined;
    });
    const granted: string[] = [];
    const ask = (name: string): { open: boolean } => {
      const applicant = {
        open: true,
        granted: () => void granted.push(name),
        refused: () => void granted.push(`not ${name}`),
      };
      core.ask({ key: "", permits: 1 }, applicant);
      return applicant;
    };
    ask("a");
    const gone = ask("b");
    ask("c");
    gone.open = false;
    bench.clock.elapse(100);
    timers.at(-1)?.();
    expect(granted).toEqual(["a", "c"]);
    expect(core.status("")).toEqual({ retryAfterMs: 100, waiting: 0, keys: 1 });
  });
});
