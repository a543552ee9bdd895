// Breakers and limiters as processes: shared by name, supervised, and harmless when they crash.

import { CalleeExitedError, type Context, supervisor } from "signalbox";
import { circuitBreaker, RateLimitError, rateLimiter } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bench } from "./bench.js";

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.close());

const intensity = Number.POSITIVE_INFINITY;
const fails = (): Promise<never> => Promise.reject(new Error("no"));
const kill = (name: string): void => bench.system.exit(name, "kill");

describe("a breaker that is a process", () => {
  const Bank = circuitBreaker({
    label: "bank",
    minimumCalls: 2,
    backoff: { minMs: 500, maxMs: 500, jitter: 0 },
  });
  const child = { id: "bank", name: "bank", start: Bank };

  it("is shared by all that know its name", async () => {
    const { system, clock } = bench;
    const told: unknown[] = [];
    system.events.on("breaker", ({ pid, to }) => told.push([pid, to]));
    await clock.until(system.start(supervisor({ intensity, children: [child] })));
    const [mine, yours] = [Bank.at(system, "bank"), Bank.at(system, "bank")];
    await expect(clock.until(mine(fails)())).rejects.toThrow("no");
    await expect(clock.until(yours(fails)())).rejects.toThrow("no");
    await expect(clock.until(mine(() => 1)())).rejects.toMatchObject({
      code: "ERR_CIRCUIT_OPEN",
      retryAfterMs: 500,
    });
    expect(await clock.until(yours.status())).toMatchObject({ state: "open", retryAfterMs: 500 });
    expect(told).toEqual([[system.whereis("bank"), "open"]]);
    await clock.advance(500);
    expect(await clock.until(mine(() => 1)())).toBe(1);
  });

  it("can be started and used by the handle of its start, also by a process", async () => {
    const { system, clock } = bench;
    const breaker = await clock.until(system.start(Bank));
    const results: unknown[] = [];
    const pid = system.spawn<string>({
      handle: async (ctx: Context<string>, word) =>
        results.push(await breaker((_a, w: string) => w).with({ from: ctx })(word)),
    });
    system.send(pid, "hello");
    await clock.settle();
    expect(results).toEqual(["hello"]);
    expect(await clock.until(breaker.status())).toMatchObject({ calls: 1 });
  });

  it("loses nothing but its counts in a crash: calls in progress go on, and calls meanwhile pass", async () => {
    const { system, clock } = bench;
    await clock.until(
      system.start(
        supervisor({ intensity, backoff: { minMs: 50, maxMs: 50, jitter: 0 }, children: [child] }),
      ),
    );
    const breaker = Bank.at(system, "bank");
    let finish: (value: string) => void = () => undefined;
    const long = bench.ending(breaker(() => new Promise<string>((resolve) => (finish = resolve)))());
    await clock.settle();
    await expect(clock.until(breaker(fails)())).rejects.toThrow("no");
    kill("bank");
    expect(await clock.until(breaker(() => "passes")())).toBe("passes");
    await clock.advance(50);
    finish("done");
    await clock.settle();
    expect(long.value).toBe("done");
    // What it admitted before is not counted by its successor.
    expect(await clock.until(breaker.status())).toMatchObject({ state: "closed", calls: 0 });
  });
});

describe("a limiter that is a process", () => {
  const Mail = rateLimiter({
    label: "mail",
    permits: 1,
    perMs: 100,
    timeoutMs: 1_000,
    maxWaiting: 3,
    patienceMs: 300,
  });
  const child = { id: "mail", name: "mail", start: Mail };

  it("serves all that know its name in order of arrival, and refuses those for whom there is no room", async () => {
    const { system, clock } = bench;
    await clock.until(system.start(supervisor({ intensity, children: [child] })));
    const times: string[] = [];
    const errors: unknown[] = [];
    for (const who of ["a", "b", "c", "d", "e"]) {
      void Mail.at(
        system,
        "mail",
      )((_attempt, name: string) => times.push(`${name} ${clock.now}`))(who).catch((error: unknown) =>
        errors.push(error),
      );
    }
    await clock.runAll();
    expect(times).toEqual(["a 0", "b 100", "c 200", "d 300"]);
    expect(errors).toEqual([new RateLimitError("mail", "waiting", 400)]);
  });

  it("forgets those that gave up or exited", async () => {
    const { system, clock } = bench;
    await clock.until(system.start(supervisor({ intensity, children: [child] })));
    const limit = Mail.at(system, "mail");
    await clock.until(limit.acquire());
    const controller = new AbortController();
    const aborted = bench.ending(limit.acquire({ signal: controller.signal }));
    const pid = system.spawn<string>({ handle: async (ctx) => await limit.acquire({ from: ctx }) });
    system.send(pid, "go");
    await clock.settle();
    const patient = bench.ending(limit.acquire());
    await clock.settle();
    expect(await clock.until(limit.status())).toMatchObject({ waiting: 3, retryAfterMs: 400 });
    controller.abort(new Error("enough"));
    system.exit(pid, "kill");
    await clock.settle();
    expect(await clock.until(limit.status())).toMatchObject({ waiting: 1, retryAfterMs: 200 });
    await clock.advance(100);
    expect([aborted.error, patient.done]).toEqual([new Error("enough"), true]);
    expect(patient.error).toBeUndefined();
  });

  it("says that a wait was too long", async () => {
    const { system, clock } = bench;
    const slow = await clock.until(
      system.start(rateLimiter({ permits: 1, perMs: 10_000, timeoutMs: 1_000 })),
    );
    await clock.until(slow.acquire());
    const ended = bench.ending(slow.acquire());
    await clock.advance(1_000);
    expect(ended.error).toEqual(new RateLimitError("limiter", "timeout", 9_000));
  });

  it("is waited for while it restarts, and not forever when its name has no holder", async () => {
    const { system, clock } = bench;
    await clock.until(
      system.start(
        supervisor({ intensity, backoff: { minMs: 50, maxMs: 50, jitter: 0 }, children: [child] }),
      ),
    );
    const limit = Mail.at(system, "mail");
    await clock.until(limit.acquire());
    const waiting = bench.ending(limit.acquire());
    await clock.settle();
    kill("mail");
    await clock.advance(300);
    expect([waiting.done, waiting.error]).toEqual([true, undefined]);
    const lost = bench.ending(Mail.at(system, "male").acquire());
    await clock.advance(299);
    expect(lost.done).toBe(false);
    await clock.advance(600);
    expect(lost.error).toBeInstanceOf(CalleeExitedError);
  });
});
