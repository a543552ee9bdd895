// What every policy does with a guarded function: how its attempts are cancelled, and how policies compose.

import { type Context, ProcessExitedError, type System, SystemStoppedError } from "signalbox";
import {
  type Attempt,
  AttemptTimeoutError,
  CircuitOpenError,
  circuitBreaker,
  type Guarded,
  rateLimiter,
  retryPolicy,
} from "signalbox/service";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { gate } from "../../support/gate.js";
import { HOSTILE } from "../../support/hostile.js";
import { Bench } from "./bench.js";

let bench: Bench;
let system: System;
beforeEach(() => {
  bench = new Bench();
  system = bench.system;
});
afterEach(() => bench.close());

const never = (): Promise<never> => new Promise(() => undefined);
const breaker = (options = {}) => circuitBreaker({ timeoutMs: 100, ...options }).local(system);

describe("an attempt", () => {
  it("that takes too long ends at once, its signal is aborted, and its late result counts for nothing [G5]", async () => {
    const late = gate<number>();
    const seen: Attempt[] = [];
    const policy = breaker();
    const call = policy((attempt: Attempt) => {
      seen.push(attempt);
      expect(attempt.signal.aborted).toBe(false);
      return late.promise;
    });
    const ended = bench.ending(call());
    await bench.clock.advance(99);
    expect(ended.error).toBeUndefined();
    await bench.clock.advance(1);
    expect(ended.error).toEqual(new AttemptTimeoutError(100));
    expect(seen[0]?.signal.reason).toEqual(new AttemptTimeoutError(100));
    expect(await policy.status()).toMatchObject({ calls: 1, failed: 1 });
    late.open(7);
    await bench.clock.settle();
    expect(await policy.status()).toMatchObject({ calls: 1, failed: 1 });
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it("that rejects after it was abandoned does no harm", async () => {
    const late = gate<Promise<never>>();
    const ended = bench.ending(breaker()(() => late.promise)());
    await bench.clock.advance(100);
    expect(ended.error).toBeInstanceOf(AttemptTimeoutError);
    late.open(Promise.reject(new Error("too late")));
    await bench.clock.settle();
  });

  it("ends with the AbortSignal of its caller", async () => {
    const policy = breaker();
    const controller = new AbortController();
    let inner: AbortSignal | undefined;
    const ended = bench.ending(
      policy(({ signal }) => {
        inner = signal;
        return never();
      }).with({ signal: controller.signal })(),
    );
    await bench.clock.settle();
    controller.abort(new Error("enough"));
    await bench.clock.settle();
    expect(ended.error).toEqual(new Error("enough"));
    expect(inner?.reason).toEqual(new Error("enough"));
    // A caller that gives up says nothing about the service.
    expect(await policy.status()).toMatchObject({ calls: 0 });
    const again = bench.ending(policy(never).with({ signal: controller.signal })());
    await bench.clock.settle();
    expect(again.error).toEqual(new Error("enough"));
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it("ends with the process that called", async () => {
    let inner: AbortSignal | undefined;
    const call = breaker()(({ signal }) => {
      inner = signal;
      return never();
    });
    const errors: unknown[] = [];
    const pid = system.spawn<string>({
      handle: async (ctx: Context<string>) => {
        await call
          .with({ from: ctx })()
          .catch((error: unknown) => errors.push(error));
      },
    });
    system.send(pid, "go");
    await bench.clock.settle();
    system.exit(pid, "kill");
    await bench.clock.settle();
    expect(inner?.reason).toBeInstanceOf(ProcessExitedError);
    expect(errors).toEqual([inner?.reason]);
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it("cannot begin on behalf of a process that has exited", async () => {
    let ctx: Context<string> | undefined;
    const pid = system.spawn<string>({
      handle: (own: Context<string>) => {
        ctx = own;
        own.exit();
      },
    });
    system.send(pid, "go");
    await bench.clock.settle();
    let calls = 0;
    const call = breaker()(() => calls++).with({ from: ctx as Context<string> });
    await expect(call()).rejects.toBeInstanceOf(ProcessExitedError);
    expect(calls).toBe(0);
  });

  it("ends with the system, and none begins after it", async () => {
    const call = breaker({ timeoutMs: Number.POSITIVE_INFINITY })(never);
    const waits = [
      bench.ending(call()),
      bench.ending(retryPolicy().local(system)(() => Promise.reject(new Error("no")))()),
    ];
    await bench.clock.settle();
    await bench.clock.until(system.stop());
    await bench.clock.settle();
    expect(waits.map(({ error }) => error)).toEqual([
      new SystemStoppedError(system.name),
      new SystemStoppedError(system.name),
    ]);
    await expect(call()).rejects.toBeInstanceOf(SystemStoppedError);
  });
});

describe("a guarded function may do anything", () => {
  it("throw at once, return a plain value or a thenable that throws", async () => {
    const policy = breaker();
    const thrown = new Error("at once");
    const nasty = {
      // biome-ignore lint/suspicious/noThenProperty: this is what it is about
      then: () => {
        throw thrown;
      },
    };
    const fails = [
      () => {
        throw thrown;
      },
      () => nasty as unknown as Promise<number>,
    ];
    for (const work of fails) await expect(bench.clock.until(policy(work)())).rejects.toBe(thrown);
    await expect(bench.clock.until(policy(() => 7)())).resolves.toBe(7);
    expect(await policy.status()).toMatchObject({ calls: 3, failed: 2 });
  });

  it.each(HOSTILE)("throw %s", async (_what, value) => {
    const retry = retryPolicy({ attempts: 2, backoff: { minMs: 1, maxMs: 1 } }).local(system);
    const limit = rateLimiter({ permits: 10, perMs: 1 }).local(system);
    let attempts = 0;
    const call = retry(
      breaker()(
        limit(() => {
          attempts++;
          throw value;
        }),
      ),
    );
    const ended = bench.ending(call());
    await bench.clock.runAll();
    expect(Object.is(ended.error, value)).toBe(true);
    expect(attempts).toBe(2);
  });

  it("not be something else", () => {
    expect(() => breaker()(7 as never)).toThrow("work must be a function, guarded or not; got 7");
    expect(() => breaker()(async () => 7).with({ singal: 1 } as never)).toThrow("did you mean signal?");
  });
});

describe("policies compose", () => {
  const failing = (): Promise<never> => Promise.reject(new Error("no"));
  const quick = { attempts: 3, backoff: { minMs: 10, maxMs: 10, jitter: 0 } };

  it("with types that are inferred, in any order [G11]", async () => {
    const retry = retryPolicy(quick).local(system);
    const limit = rateLimiter({ permits: 1, perMs: 1 }).local(system);
    const size = retry(
      breaker()(
        limit(async ({ signal }, word: string, times?: number) => {
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          return word.length * (times ?? 1);
        }),
      ),
    );
    expectTypeOf(size).toEqualTypeOf<Guarded<[word: string, times?: number | undefined], number>>();
    expectTypeOf(size).parameters.toEqualTypeOf<[word: string, times?: number | undefined]>();
    expectTypeOf(breaker()(({ number }) => number)()).toEqualTypeOf<Promise<number>>();
    limit(async (_attempt, _word: string, _times: number) => 1, {
      key: (word) => {
        expectTypeOf(word).toEqualTypeOf<string>();
        return word;
      },
    });
    // @ts-expect-error the word is missing
    const wrong = (): unknown => size();
    expect(wrong).toBeTypeOf("function");
    expect(await bench.clock.until(size("four", 2))).toBe(8);
  });

  it("and a breaker within retries counts each attempt, while one around them counts the call", async () => {
    const [inside, around] = [breaker(), breaker()];
    const retry = retryPolicy(quick).local(system);
    const calls = [bench.ending(retry(inside(failing))()), bench.ending(around(retry(failing))())];
    await bench.clock.runAll();
    expect(calls.map(({ error }) => error)).toEqual([new Error("no"), new Error("no")]);
    expect(await inside.status()).toMatchObject({ calls: 3, failed: 3 });
    expect(await around.status()).toMatchObject({ calls: 1, failed: 1 });
  });

  it("and retries wait as long as an open breaker says", async () => {
    const guardian = breaker({ minimumCalls: 1, backoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } });
    const times: number[] = [];
    const call = retryPolicy(quick).local(system)(
      guardian(async () => {
        times.push(bench.clock.now);
        if (times.length === 1) throw new Error("no");
        return times.length;
      }),
    );
    const ended = bench.ending(call());
    await bench.clock.runAll();
    expect(ended.value).toBe(2);
    // The second attempt met the open breaker at 10 ms, and was told to come back after 990 ms.
    expect(times).toEqual([0, 1_000]);
  });

  it("and what an inner policy refuses is no failure of the service, while a timeout of an outer one is", async () => {
    const guardian = breaker({ timeoutMs: Number.POSITIVE_INFINITY });
    const limit = rateLimiter({ permits: 1, perMs: 1_000, maxWaiting: 0 }).local(system);
    const call = guardian(limit(async () => 1));
    await bench.clock.until(call());
    await expect(bench.clock.until(call())).rejects.toThrow("gave no permit");
    const slow = bench.ending(retryPolicy({ attempts: 1, timeoutMs: 10 }).local(system)(guardian(never))());
    await bench.clock.advance(10);
    expect(slow.error).toBeInstanceOf(AttemptTimeoutError);
    expect(await guardian.status()).toMatchObject({ calls: 2, failed: 1 });
  });
});

describe("a breaker", () => {
  it("tells its changes of state, and rejects with the time at which to come back", async () => {
    const told: unknown[] = [];
    system.events.on("breaker", ({ breaker, from, to, openMs, calls, failed }) =>
      told.push({ breaker, from, to, openMs, calls, failed }),
    );
    const policy = breaker({
      label: "bank",
      minimumCalls: 2,
      backoff: { minMs: 500, maxMs: 500, jitter: 0 },
    });
    const call = policy((_attempt, fails: boolean) => (fails ? Promise.reject(new Error("no")) : 1));
    for (const _ of [1, 2]) await expect(bench.clock.until(call(true))).rejects.toThrow("no");
    await bench.clock.advance(100);
    const rejected = bench.ending(call(false));
    await bench.clock.settle();
    expect(rejected.error).toEqual(new CircuitOpenError("bank", "open", 400));
    expect(await policy.status()).toEqual({ state: "open", calls: 0, failed: 0, slow: 0, retryAfterMs: 400 });
    await bench.clock.advance(400);
    expect(await bench.clock.until(call(false))).toBe(1);
    expect(told).toEqual([
      { breaker: "bank", from: "closed", to: "open", openMs: 500, calls: 2, failed: 2 },
      { breaker: "bank", from: "open", to: "half-open", openMs: undefined, calls: 0, failed: 0 },
      { breaker: "bank", from: "half-open", to: "closed", openMs: undefined, calls: 1, failed: 0 },
    ]);
  });

  it("counts as its judge says; a judge that fails fails the call, which counts as a failure", async () => {
    const policy = breaker({
      judge: (outcome: { ok: boolean; value?: unknown }) => {
        if (outcome.value === "throw") throw new Error("judge");
        return outcome.value === 503 ? "failure" : outcome.value === 404 ? "ignore" : outcome.value;
      },
    });
    const call = policy((_attempt, value: unknown) => value);
    for (const value of ["success", 503, 404]) expect(await bench.clock.until(call(value))).toBe(value);
    await expect(bench.clock.until(call("throw"))).rejects.toThrow("judge");
    await expect(bench.clock.until(call("maybe"))).rejects.toThrow('"success", "failure" or "ignore"');
    expect(await policy.status()).toMatchObject({ calls: 4, failed: 3 });
  });
});

describe("a limiter", () => {
  const limiter = (options = {}) => rateLimiter({ permits: 1, perMs: 100, ...options }).local(system);

  it("lets calls through at its rate, by key if there is one", async () => {
    const times: string[] = [];
    const send = limiter()(async (_attempt, to: string) => times.push(`${to} ${bench.clock.now}`), {
      key: (to) => to,
    });
    for (const to of ["a", "b", "a", "a"]) void send(to);
    await bench.clock.runAll();
    expect(times).toEqual(["a 0", "b 0", "a 100", "a 200"]);
  });

  it("forgets those that gave up: by abort, by timeout, by exit", async () => {
    const limit = limiter({ timeoutMs: 1_000, label: "mail" });
    await bench.clock.until(limit.acquire());
    const controller = new AbortController();
    const aborted = bench.ending(limit.acquire({ signal: controller.signal }));
    const pid = system.spawn<string>({ handle: async (ctx) => await limit.acquire({ from: ctx }) });
    system.send(pid, "go");
    await bench.clock.settle();
    const patient = bench.ending(limit.acquire());
    await bench.clock.settle();
    expect(await limit.status()).toEqual({ retryAfterMs: 400, waiting: 3, keys: 1 });
    controller.abort(new Error("enough"));
    system.exit(pid, "kill");
    await bench.clock.settle();
    expect(await limit.status()).toEqual({ retryAfterMs: 200, waiting: 1, keys: 1 });
    await bench.clock.advance(100);
    expect([aborted.error, patient.done]).toEqual([new Error("enough"), true]);
    const impatient = bench.ending(limit.acquire({ permits: 1 }));
    const many = Array.from({ length: 10 }, () => bench.ending(limit.acquire()));
    await bench.clock.advance(1_000);
    expect(impatient.done).toBe(true);
    expect(many.at(-1)?.error).toMatchObject({ code: "ERR_RATE_LIMIT", reason: "timeout", limiter: "mail" });
    await bench.clock.runAll();
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it("refuses what it could never give", async () => {
    const limit = limiter({ burst: 2 });
    await expect(limit.acquire({ permits: 3 })).rejects.toThrow("permits must be at most 2, the burst");
    expect(() => limit(() => 1, { permits: 3 })).toThrow("at most 2");
    await expect(bench.clock.until(limit(() => 1, { permits: () => 0.5 })())).rejects.toThrow(
      "permits must be",
    );
    await expect(bench.clock.until(limit(() => 1, { key: () => 5 as never })())).rejects.toThrow(
      "key must be a text",
    );
  });
});

describe("a retry policy", () => {
  const flaky = (failures: number, error: unknown = new Error("no")) => {
    const numbers: number[] = [];
    const work = ({ number }: Attempt): number => {
      numbers.push(number);
      if (numbers.length <= failures) throw error;
      return numbers.length;
    };
    return { numbers, work };
  };

  it("repeats what fails, and rejects with the last error when nothing is left", async () => {
    const retry = retryPolicy({ attempts: 3 }).local(system);
    const { numbers, work } = flaky(2);
    const good = bench.ending(retry(work)());
    const bad = bench.ending(retry(flaky(9, "plain").work)());
    await bench.clock.runAll();
    expect([good.value, bad.error, numbers]).toEqual([3, "plain", [1, 2, 3]]);
  });

  it("repeats only what `retryIf` says, and is not held up by one that throws", async () => {
    const once = retryPolicy({
      retryIf: (error, attempt) => attempt < 2 && error instanceof RangeError,
    }).local(system);
    const [type, range] = [flaky(9, new TypeError("t")), flaky(9, new RangeError("r"))];
    const ends = [bench.ending(once(type.work)()), bench.ending(once(range.work)())];
    const broken = retryPolicy({
      retryIf: () => {
        throw new Error("retryIf");
      },
    }).local(system);
    const third = bench.ending(broken(flaky(9).work)());
    await bench.clock.runAll();
    expect([type.numbers, range.numbers]).toEqual([[1], [1, 2]]);
    expect(ends.map(({ error }) => String(error))).toEqual(["TypeError: t", "RangeError: r"]);
    expect(third.error).toEqual(new Error("retryIf"));
  });

  it("ends at once when its caller gives up, and never sleeps past its deadline [G9]", async () => {
    const patient = { backoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 }, attempts: 10 };
    const controller = new AbortController();
    const aborted = bench.ending(
      retryPolicy(patient).local(system)(flaky(99).work).with({ signal: controller.signal })(),
    );
    await bench.clock.advance(500);
    controller.abort("enough");
    await bench.clock.settle();
    expect(aborted.error).toBe("enough");
    const strict = retryPolicy({ ...patient, deadlineMs: 1_500 }).local(system);
    const began = bench.clock.now;
    let gaveUpAt = 0;
    const slept = bench.ending(strict(flaky(99).work)().finally(() => (gaveUpAt = bench.clock.now - began)));
    const hung = bench.ending(
      strict(({ number }) => (number === 1 ? Promise.reject(new Error("first")) : never()))(),
    );
    await bench.clock.runAll();
    // A second wait would have ended at 2,000 ms: the call ends with the second attempt.
    expect([slept.error, gaveUpAt]).toEqual([new Error("no"), 1_000]);
    expect(hung.error).toMatchObject({ code: "ERR_RETRY_DEADLINE", attempts: 2, cause: new Error("first") });
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it("waits as the error asks, whatever the error says", async () => {
    const errors = [0, -5, Number.NaN, "soon", 700, Number.POSITIVE_INFINITY].map((retryAfterMs) => ({
      retryAfterMs,
    }));
    const times: number[] = [];
    const retry = retryPolicy({ attempts: 10, backoff: { minMs: 10, maxMs: 10, jitter: 0 } }).local(system);
    const ended = bench.ending(
      retry(() => {
        times.push(bench.clock.now);
        throw errors[times.length - 1];
      })(),
    );
    await bench.clock.runAll();
    expect(times).toEqual([0, 10, 20, 30, 40, 740]);
    expect(ended.error).toBe(errors[5]);
  });

  it("spends no more retries than its budget: a share of the calls, or the minimum [G10]", async () => {
    const retry = retryPolicy({
      attempts: 2,
      backoff: { minMs: 1, maxMs: 1, jitter: 0 },
      budget: { ratio: 0.1, minimum: 2, windowMs: 1_000 },
    }).local(system);
    const { numbers, work } = flaky(Number.POSITIVE_INFINITY);
    const retries = async (calls: number): Promise<number> => {
      numbers.length = 0;
      for (let i = 0; i < calls; i++) void retry(work)().catch(() => undefined);
      await bench.clock.runAll();
      return numbers.length - calls;
    };
    expect(await retries(10)).toBe(2);
    expect(await retries(40)).toBe(3);
    expect(await retries(9)).toBe(0);
    await bench.clock.advance(1_000);
    expect(await retries(10)).toBe(2);
  });
});
