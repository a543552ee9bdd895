// What the code of a flow can do, one method after the other.

import { describe, expect, it } from "vitest";
import {
  defineFlow,
  FlowCancelledError,
  FlowFailedError,
  FlowIdTakenError,
  FlowNotFoundError,
  NonRetriableError,
  type StepContext,
  StepTimeoutError,
  UnknownFlowError,
} from "../../../lib/flow/index.js";
import { ConsumerGroup, consumer } from "../../../lib/index.js";
import { memory } from "../../../lib/store/index.js";
import { bench } from "./bench.js";

const DAY = 86_400_000;

describe("a step", () => {
  it("is repeated while attempts are left, and its error reaches the code after the last [J5]", async () => {
    const attempts: number[] = [];
    const flaky = defineFlow("flaky", async (flow, fails: number) =>
      flow.step(
        "call",
        ({ attempt }) => {
          attempts.push(attempt);
          if (attempt <= fails) throw new Error(`attempt ${attempt}`);
          return attempt;
        },
        { retry: { attempts: 3, backoff: { minMs: 1_000, jitter: 0 } } },
      ),
    );
    await using b = await bench([flaky]);
    expect(await b.until(b.flows.start(flaky, 2).then((run) => run.result()))).toBe(3);
    expect(b.clock.now).toBeGreaterThanOrEqual(3_000);
    const failing = await b.until(b.flows.start(flaky, 9));
    await expect(b.until(failing.result())).rejects.toThrow(/attempt 3/);
    expect(attempts).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it("waits as long as its error asks, in a part as well [J342]", async () => {
    const waits: number[] = [];
    let last = 0;
    const told = (): void => void waits.push(b.clock.now - last);
    const busy = defineFlow("busy", async (flow, _: undefined) => {
      const retry = { retry: { attempts: 3, backoff: { minMs: 1, maxMs: 1, jitter: 0 } } };
      const call = ({ attempt }: { readonly attempt: number }): void => {
        if (attempt > 1) told();
        last = b.clock.now;
        if (attempt === 1) throw Object.assign(new Error("busy"), { retryAfterMs: 40_000 });
        const response = { headers: new Headers({ "Retry-After": "7" }) };
        if (attempt === 2) throw Object.assign(new Error("busy"), { response });
      };
      await flow.step("call", call, retry);
      await flow.idempotent("part", (part) => part.step("call", call, retry));
    });
    await using b = await bench([busy]);
    await b.until(b.flows.start(busy, undefined).then((run) => run.result()));
    expect(waits.map((ms) => Math.floor(ms / 1_000))).toEqual([40, 7, 40, 7]);
  });

  it("leaves memory during long waits between its attempts, also when these end within a millisecond [J5]", async () => {
    let attempts = 0;
    const flaky = defineFlow("flaky", async (flow, _: undefined) => {
      await flow.step(
        "call",
        () => {
          attempts += 1;
          if (attempts < 4) throw new Error("no answer");
        },
        { retry: { attempts: 4, backoff: { minMs: 60_000, jitter: 0.3 } } },
      );
      await flow.sleep(60_000.5);
      return attempts;
    });
    await using b = await bench([flaky]);
    expect(await b.until(b.flows.start(flaky, undefined).then((run) => run.result()))).toBe(4);
  });

  it("is not repeated when it gives up, or throws an error that says so [J5]", async () => {
    let runs = 0;
    const final = defineFlow("final", async (flow, _: undefined) => {
      try {
        const call = (step: StepContext): never => {
          runs++;
          return step.giveUp("no such card");
        };
        await flow.step("call", call, { retry: { attempts: 5 } });
      } catch (error) {
        return (error as Error).name;
      }
      return "unreachable";
    });
    await using b = await bench([final]);
    expect(await b.until(b.flows.start(final, undefined).then((run) => run.result()))).toBe(
      NonRetriableError.name,
    );
    expect(runs).toBe(1);
  });

  it("has a limit on its time, an AbortSignal and an idempotency key [J6]", async () => {
    const seen: unknown[] = [];
    const slow = defineFlow("slow", async (flow, _: undefined) => {
      const keys = [
        await flow.step("key", (step) => step.idempotencyKey),
        await flow.step("key", (step) => step.key),
      ];
      try {
        await flow.step(
          "hang",
          (step) =>
            new Promise((_resolve, reject) => {
              step.signal.addEventListener("abort", () => reject(step.signal.reason));
            }),
          { timeout: "2 s" },
        );
      } catch (error) {
        seen.push(error);
      }
      return keys;
    });
    await using b = await bench([slow]);
    const run = await b.until(b.flows.start(slow, undefined, { id: "s" }));
    expect(await b.until(run.result())).toEqual(["s/key", "key#2"]);
    expect(seen).toEqual([expect.objectContaining({ name: StepTimeoutError.name })]);
  });

  it("that still runs when the flow ends changes nothing any more [J7]", async () => {
    let late: (() => void) | undefined;
    const aborted: boolean[] = [];
    const racing = defineFlow("racing", async (flow, _: undefined) =>
      Promise.race([
        flow.step(
          "slow",
          (step) =>
            new Promise<string>((done) => {
              step.signal.addEventListener("abort", () => aborted.push(true));
              late = () => done("slow");
            }),
        ),
        flow.step("fast", () => "fast"),
      ]),
    );
    await using b = await bench([racing]);
    const run = await b.until(b.flows.start(racing, undefined));
    expect(await b.until(run.result())).toBe("fast");
    late?.();
    await b.clock.settle();
    expect(await b.until(run.info())).toMatchObject({ status: "completed" });
    expect(aborted).toEqual([true]);
  });
});

describe("waits", () => {
  it("of two days pass in virtual time, and the flow is out of memory meanwhile [J8]", async () => {
    const sleeper = defineFlow("sleeper", async (flow, _: undefined) => {
      const from = flow.now();
      await flow.sleep("2 days");
      return flow.now() - from;
    });
    await using b = await bench([sleeper]);
    const run = await b.until(b.flows.start(sleeper, undefined));
    const before = b.system.population;
    await b.clock.advance(60_000);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
    expect(b.system.population).toBe(before - 1);
    const slept = await b.until(run.result());
    expect(slept).toBeGreaterThanOrEqual(2 * DAY);
    expect(slept).toBeLessThan(2 * DAY + 1_000);
  });

  it("for longer than a timer can count do not end at once [J8]", async () => {
    const patient = defineFlow("patient", async (flow, _: undefined) => flow.sleep("100 days"));
    await using b = await bench([patient]);
    const run = await b.until(b.flows.start(patient, undefined));
    await b.clock.advance(99 * DAY);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
    await b.clock.advance(2 * DAY);
    expect(await b.until(run.info())).toMatchObject({ status: "completed" });
  });

  it("for messages take them in order, once, also those sent before, and end with undefined after the timeout [J9]", async () => {
    const reader = defineFlow("reader", async (flow, _: undefined) => {
      const first = await flow.receive<number>("n");
      const second = await flow.receive<number>("n");
      const none = await flow.receive<number>("n", { timeout: "1 hour" });
      return [first, second, none];
    });
    await using b = await bench([reader]);
    const run = await b.until(b.flows.start(reader, undefined));
    await b.until(run.send("n", 1, { messageId: "m1" }));
    await b.until(run.send("n", 1, { messageId: "m1" }));
    await b.until(run.send("n", 2));
    expect(await b.until(run.result())).toEqual([1, 2, undefined]);
  });

  it("wake a flow that has left memory when a message comes [J10]", async () => {
    const waiter = defineFlow("waiter", async (flow, _: undefined) => flow.receive<string>("go"));
    await using b = await bench([waiter]);
    const run = await b.until(b.flows.start(waiter, undefined));
    await b.clock.advance(60_000);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
    await b.until(run.send("go", "went"));
    expect(await b.until(run.result())).toBe("went");
  });

  it("go to other flows with `send` exactly once; an unknown id is an error of the code [J11]", async () => {
    const listener = defineFlow("listener", async (flow, _: undefined) => flow.receive<number>("n"));
    const sender = defineFlow("sender", async (flow, to: string) => {
      await flow.send(to, "n", 7);
      return flow.send("nobody", "n", 8).catch((error: Error) => error.name);
    });
    await using b = await bench([listener, sender]);
    const to = await b.until(b.flows.start(listener, undefined, { id: "listener" }));
    const from = await b.until(b.flows.start(sender, to.id));
    expect(await b.until(to.result())).toBe(7);
    expect(await b.until(from.result())).toBe(FlowNotFoundError.name);
  });
});

describe("children", () => {
  const child = defineFlow("child", async (flow, n: number) => {
    const doubled = await flow.step("double", () => n * 2);
    if (n < 0) throw new RangeError(`${n} is negative`);
    return doubled;
  });

  it("give their result, and their failure, to the parent [J12]", async () => {
    const parent = defineFlow("parent", async (flow, numbers: number[]) =>
      Promise.allSettled(numbers.map((n) => flow.call(child, n))),
    );
    await using b = await bench([child, parent]);
    const run = await b.until(b.flows.start(parent, [1, -2, 3], { id: "p" }));
    expect(await b.until(run.result())).toMatchObject([
      { status: "fulfilled", value: 2 },
      {
        status: "rejected",
        reason: { name: FlowFailedError.name, message: expect.stringMatching(/-2 is negative/) },
      },
      { status: "fulfilled", value: 6 },
    ]);
    expect(await b.until(b.flows.get("p/call child#3").info())).toMatchObject({ status: "completed" });
  });

  it("may have ids of digits alone, which are no numbers of flows [J12]", async () => {
    const parent = defineFlow("parent", async (flow, _: undefined) => flow.call(child, 4, { id: "1" }));
    await using b = await bench([child, parent]);
    const run = await b.until(b.flows.start(parent, undefined, { id: "p" }));
    await b.clock.settle();
    expect(await b.until(b.flows.get("1").info())).toMatchObject({ status: "completed" });
    expect(await b.until(run.result())).toBe(8);
  });

  it("end early when the parent asks for it [J13]", async () => {
    const endless = defineFlow("endless", async (flow, _: undefined) => flow.receive("never"));
    const parent = defineFlow("parent", async (flow, _: undefined) => {
      const one = await flow.start(endless, undefined, { id: "endless" });
      await one.cancel();
      return one.result().catch((error: FlowFailedError) => error.message);
    });
    await using b = await bench([endless, parent]);
    const run = await b.until(b.flows.start(parent, undefined));
    expect(await b.until(run.result())).toMatch(/ended as cancelled/);
  });
});

describe("a cancelled flow", () => {
  it("may clean up: its waits reject once, and later asks work [J14]", async () => {
    const cleaned: string[] = [];
    const careful = defineFlow("careful", async (flow, _: undefined) => {
      try {
        await flow.sleep("10 days");
      } catch (error) {
        if (!(error instanceof FlowCancelledError)) throw error;
        await flow.step("clean up", () => cleaned.push(`aborted ${flow.signal.aborted}`));
        throw error;
      }
    });
    await using b = await bench([careful]);
    const run = await b.until(b.flows.start(careful, undefined));
    await b.until(run.cancel());
    await expect(b.until(run.result())).rejects.toMatchObject({ status: "cancelled" });
    expect(cleaned).toEqual(["aborted true"]);
    expect(b.clock.now).toBeLessThan(DAY);
  });

  it("ends at once when it is killed, and its parent hears of it [J15]", async () => {
    const endless = defineFlow("endless", async (flow, _: undefined) => flow.receive("never"));
    const parent = defineFlow("parent", async (flow, _: undefined) =>
      flow.call(endless, undefined, { id: "endless" }).catch((error: FlowFailedError) => error.message),
    );
    await using b = await bench([endless, parent]);
    const run = await b.until(b.flows.start(parent, undefined));
    await b.clock.settle();
    await b.until(b.flows.get("endless").kill());
    expect(await b.until(run.result())).toMatch(/ended as killed/);
  });
});

describe("the rest of the context", () => {
  it("time, random numbers and ids are the same on replay [J16]", async () => {
    const seen: unknown[][] = [];
    const seeded = defineFlow("seeded", async (flow, _: undefined) => {
      const before = [flow.random(), flow.id(), flow.now()];
      await flow.sleep("1 day");
      const all = [...before, flow.random(), flow.id()];
      seen.push(all.slice(0, 5));
      await flow.sleep("1 day");
      return all.length;
    });
    await using b = await bench([seeded]);
    const run = await b.until(b.flows.start(seeded, undefined));
    await b.until(run.result());
    expect(seen.length).toBeGreaterThan(1);
    for (const one of seen) expect(one).toEqual(seen[0]);
    expect(new Set(seen[0]).size).toBe(5);
  });

  it("a saga undoes what succeeded, the last first [J17]", async () => {
    const log: string[] = [];
    const trip = defineFlow("trip", async (flow, _: undefined) => {
      const saga = flow.saga();
      try {
        await saga.step(
          "hotel",
          () => "h1",
          (id) => log.push(`cancel ${id}`),
        );
        await saga.step(
          "flight",
          () => "f1",
          (id) => log.push(`cancel ${id}`),
        );
        await saga.step(
          "car",
          () => Promise.reject(new Error("no car")),
          () => log.push("never"),
        );
      } catch {
        await saga.rollback();
        return "rolled back";
      }
      return "booked";
    });
    await using b = await bench([trip]);
    expect(await b.until(b.flows.start(trip, undefined).then((run) => run.result()))).toBe("rolled back");
    expect(log).toEqual(["cancel f1", "cancel h1"]);
  });

  it("a rollback undoes the rest when an undo step fails, and names that step", async () => {
    const log: string[] = [];
    const trip = defineFlow("trip", async (flow, _: undefined) => {
      const saga = flow.saga();
      for (const name of ["hotel", "flight"])
        await saga.step(
          name,
          () => name,
          () => {
            if (name === "flight") throw new Error("no answer");
            log.push(`cancel ${name}`);
          },
        );
      return saga.rollback().catch((error: AggregateError) => [error.message, String(error.errors)]);
    });
    await using b = await bench([trip]);
    const end = await b.until(b.flows.start(trip, undefined).then((run) => run.result()));
    expect(end).toEqual(["not undone: undo flight", "Error: no answer"]);
    expect(log).toEqual(["cancel hotel"]);
  });

  it("a dispatched step is done by the next consumer when the first one dies [J18]", async () => {
    const group = new ConsumerGroup<number>();
    const dispatching = defineFlow("dispatching", async (flow, n: number) =>
      flow.dispatch("label", group, n),
    );
    await using b = await bench([dispatching]);
    let died = false;
    for (const name of ["a", "b"]) {
      const printer = b.system.spawn(
        consumer((payload: number) => {
          if (died) return `${name} printed ${payload}`;
          died = true;
          throw new Error("the printer is on fire");
        }),
      );
      group.join(printer);
    }
    await b.clock.settle();
    const run = await b.until(b.flows.start(dispatching, 7));
    expect(await b.until(run.result())).toMatch(/printed 7/);
  });

  it("continues as new with a journal of its own [J19]", async () => {
    const counter = defineFlow("counter", async (flow, n: number): Promise<number> => {
      await flow.step("count", () => n);
      return n < 5 ? flow.continueAsNew(n + 1) : n;
    });
    await using b = await bench([counter]);
    const run = await b.until(b.flows.start(counter, 1));
    expect(await b.until(run.result())).toBe(5);
  });

  it("queries read the code's own variables [J20]", async () => {
    const counting = defineFlow("counting", async (flow, _: undefined) => {
      let count = 0;
      flow.query("count", () => count);
      for (;;) count += await flow.receive<number>("add");
    });
    await using b = await bench([counting]);
    const run = await b.until(b.flows.start(counting, undefined));
    await b.until(run.send("add", 3));
    await b.until(run.send("add", 4));
    await b.clock.settle();
    expect(await b.until(run.query("count"))).toBe(7);
    await b.clock.advance(60_000);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
    expect(await b.until(run.query("count"))).toBe(7);
    await expect(b.until(run.query("colour"))).rejects.toThrow(
      /does not answer the query "colour"; it answers count/,
    );
    await b.until(run.kill());
    await b.clock.settle();
    await expect(b.until(run.query("count"))).rejects.toThrow(/it is killed/);
  });
});

describe("a query", () => {
  it("wakes a flow whose journal is still empty [J20]", async () => {
    const waiting = defineFlow("waiting", async (flow, _: undefined) => {
      flow.query("state", () => "waiting");
      await flow.receive("go");
    });
    await using b = await bench([waiting]);
    const run = await b.until(b.flows.start(waiting, undefined));
    await b.clock.advance(60_000);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
    expect(await b.until(run.query("state"))).toBe("waiting");
  });
});

describe("a host", () => {
  it("has no more flows in memory than its limit, and runs all of them in turn [J23]", async () => {
    let running = 0;
    let most = 0;
    const busy = defineFlow("busy", async (flow, n: number) => {
      most = Math.max(most, ++running);
      await flow.sleep("1 s");
      running--;
      return n;
    });
    await using b = await bench([busy], { limits: { mostLoaded: 3 } });
    const runs = await b.until(Promise.all(Array.from({ length: 20 }, (_, n) => b.flows.start(busy, n))));
    expect(await b.until(Promise.all(runs.map((run) => run.result())))).toEqual([...runs.keys()]);
    expect(most).toBe(3);
  });

  it("of one place runs a parent, its child and a flow that both wait for: who waits leaves [J23]", async () => {
    const child = defineFlow("child", async (flow, _: undefined) => {
      await flow.send("judge", "asked", flow.id());
      return flow.receive("verdict");
    });
    const parent = defineFlow("parent", (flow, _: undefined) => flow.call(child, undefined, { id: "child" }));
    const judge = defineFlow("judge", async (flow, _: undefined) => {
      await flow.receive("asked");
      await flow.send("child", "verdict", "yes");
    });
    await using b = await bench([parent, child, judge], {
      limits: { mostLoaded: 1, idleMs: Number.POSITIVE_INFINITY },
    });
    await b.until(b.flows.start(judge, undefined, { id: "judge" }));
    const run = await b.until(b.flows.start(parent, undefined));
    expect(await b.until(run.result())).toBe("yes");
  });

  it("of one place answers queries for each of its flows, and runs what its queues admit [J23]", async () => {
    const open = defineFlow("open", async (flow, n: number) => {
      flow.query("n", () => n);
      return flow.receive("end");
    });
    const queued = defineFlow("queued", { queue: "q" }, (flow, n: number) => flow.step("n", () => n));
    await using b = await bench([open, queued], {
      limits: { mostLoaded: 1 },
      queues: { q: { concurrency: 4 } },
    });
    const runs = await b.until(Promise.all([0, 1, 2].map((n) => b.flows.start(open, n))));
    const others = await b.until(Promise.all([3, 4, 5].map((n) => b.flows.start(queued, n))));
    expect(await b.until(Promise.all(runs.map((run) => run.query("n"))))).toEqual([0, 1, 2]);
    expect(await b.until(Promise.all(others.map((run) => run.result())))).toEqual([3, 4, 5]);
    await b.until(Promise.all(runs.map((run) => run.send("end", "ended"))));
    expect(await b.until(Promise.all(runs.map((run) => run.result())))).toEqual(["ended", "ended", "ended"]);
  });

  it("of one place takes all flows of a host that is gone [J23]", async () => {
    const doing = defineFlow("doing", async (flow, n: number) => {
      await flow.receive("go", { timeout: 1_000 });
      return flow.step("work", () => n);
    });
    const store = memory();
    const first = await bench([doing], { store });
    for (let n = 0; n < 9; n++) await first.until(first.flows.start(doing, n, { id: String(n) }));
    await first[Symbol.asyncDispose]();
    await using b = await bench([doing], {
      store,
      clock: first.clock,
      limits: { mostLoaded: 1, takeAtOnce: 2 },
    });
    for (let n = 0; n < 9; n++) expect(await b.until(b.flows.get(String(n)).result())).toBe(n);
  });
});

describe("progress", () => {
  it("is durable with the next entry of the journal, and readable from outside [J21]", async () => {
    const steady = defineFlow("steady", async (flow, _: undefined) => {
      for (let done = 1; done <= 3; done++) {
        flow.progress({ done, of: 3 });
        await flow.step("work", () => done);
      }
      await flow.receive("go");
    });
    await using b = await bench([steady]);
    const run = await b.until(b.flows.start(steady, undefined));
    await b.clock.settle();
    expect(await b.until(run.info())).toMatchObject({ progress: { done: 3, of: 3 } });
  });
});

describe("starts", () => {
  const one = defineFlow("one", async (flow, n: number) => flow.step("s", () => n));
  const two = defineFlow("two", async (flow, n: number) => flow.step("s", () => n));

  it("under one id start one flow [J1]", async () => {
    await using b = await bench([one, two]);
    const runs = await b.until(Promise.all([1, 2, 3].map(() => b.flows.start(one, 1, { id: "same" }))));
    expect(runs.filter(({ attached }) => !attached)).toHaveLength(1);
    expect(new Set(await b.until(Promise.all(runs.map((run) => run.result())))).size).toBe(1);
    await expect(b.until(b.flows.start(two, 1, { id: "same" }))).rejects.toThrow(FlowIdTakenError);
  });

  it("of a flow that the host does not have are refused with what it has [J2]", async () => {
    await using b = await bench([one]);
    await expect(b.until(b.flows.start(two, 1))).rejects.toThrow(UnknownFlowError);
    await expect(b.until(b.flows.get("nobody").result())).rejects.toThrow(FlowNotFoundError);
  });
});

describe("a host that stops and starts again", () => {
  it("repeats no step that is in the journal, and goes on where the flow was [J3]", async () => {
    const runs: string[] = [];
    const flow3 = defineFlow("three", async (flow, _: undefined) => {
      const a = await flow.step("a", () => runs.push("a"));
      await flow.receive("go");
      const c = await flow.step("c", () => runs.push("c"));
      return [a, c];
    });
    const first = await bench([flow3]);
    await first.until(first.flows.start(flow3, undefined, { id: "x" }));
    await first.clock.settle();
    await first[Symbol.asyncDispose]();
    await using second = await bench([flow3], { store: first.store });
    await second.until(second.flows.get("x").send("go", 1));
    expect(await second.until(second.flows.get("x").result())).toEqual([1, 2]);
    expect(runs).toEqual(["a", "c"]);
  });

  it("takes the same way through races as before [J4]", async () => {
    const order: string[] = [];
    const racing = defineFlow("racing", async (flow, _: undefined) => {
      const winner = await Promise.any([
        flow.sleep(50).then(() => "sleep"),
        flow.step("s", () => "step"),
        flow.receive("m").then(() => "mail"),
      ]);
      order.push(winner);
      await flow.receive("go");
      return winner;
    });
    const first = await bench([racing]);
    await first.until(first.flows.start(racing, undefined, { id: "r" }));
    await first.clock.advance(1_000);
    await first[Symbol.asyncDispose]();
    await using second = await bench([racing], { store: first.store });
    await second.until(second.flows.get("r").send("m", 1));
    await second.until(second.flows.get("r").send("go", 1));
    expect(await second.until(second.flows.get("r").result())).toBe("step");
    expect(new Set(order)).toEqual(new Set(["step"]));
  });
});
