// Flows of hostile users: each ends in a named error or by a rule, at the place where the mistake was made, and the host works on.

import {
  defineFlow,
  type FlowContext,
  FlowFailedError,
  type FlowHost,
  StepTimeoutError,
  UnstorableValueError,
} from "signalbox/flow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gate } from "../../support/gate.js";
import { type Bench, bench } from "../runtime/bench.js";

type Body = (flow: FlowContext) => unknown;

/** The flow whose code is the body of the case that runs. */
let body: Body;
const victim = defineFlow("victim", (flow: FlowContext, _: undefined) => body(flow) as Promise<unknown>);
const child = defineFlow("child", async (flow, n: number) => flow.step("double", () => 2 * n));
let b: Bench;
let host: FlowHost;
let rejections = 0;
const count = (): void => void rejections++;
beforeAll(async () => {
  process.on("unhandledRejection", count);
  b = await bench([victim, child]);
  host = b.flows;
});
afterAll(async () => {
  await b[Symbol.asyncDispose]();
  process.off("unhandledRejection", count);
});

/** How a flow with this code ends: its value, or its error. */
async function fate(code: Body): Promise<unknown> {
  body = code;
  const run = await b.until(host.start(victim, undefined));
  const end = await b.until(run.result({ timeoutMs: 3_600_000 }).catch((error: Error) => error));
  // The host and other flows go on.
  expect(await b.until(host.start(child, 4).then((one) => one.result()))).toBe(8);
  if (!(end instanceof Error)) return end;
  expect(end).toBeInstanceOf(FlowFailedError);
  return end.cause;
}

const trap = (): never => {
  throw new Error("trap");
};
const wild = (): object => new Proxy({}, { get: trap, getPrototypeOf: trap, ownKeys: trap, has: trap });
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
type Settle = (value: unknown) => void;
const THEN = "then";
const then = (act: (resolve: Settle, reject: Settle) => void): never => ({ [THEN]: act }) as never;
function circle(): object {
  const round: Record<string, unknown> = {};
  round.round = round;
  return round;
}
const withGetter = (object: object, name: string): object =>
  Object.defineProperty(object, name, { get: trap, enumerable: true });
function ownCause(): Error {
  const error = new Error("x");
  error.cause = error;
  return error;
}

const OPTION = { code: "ERR_OPTION" };

const BAD_NAMES: readonly (readonly [string, unknown])[] = [
  ["empty", ""],
  ["of 10 MB", "x".repeat(1e7)],
  ["with a lone surrogate", "\ud800"],
  ["with NUL", "a\0b"],
  ["no text", {}],
];

describe("a name", () => {
  it.each(BAD_NAMES)("that is %s is refused wherever a name is given [U31]", async (_, name) => {
    const bad = name as string;
    const uses: readonly Body[] = [
      (flow) => flow.step(bad, () => 1),
      (flow) => flow.receive(bad),
      (flow) => flow.send("other", bad, 1),
      (flow) => flow.emit(bad, 1),
      (flow) => flow.call(child, 1, { id: bad }),
      (flow) => flow.session("other", bad),
      (flow) => flow.version(bad, 0, 1),
      (flow) => flow.query(bad, () => 1),
    ];
    for (const use of uses) expect(String(await fate(use))).toMatch(/must be a text of 1 to 450 characters/);
    await expect(host.start(child, 1, { id: bad })).rejects.toMatchObject(OPTION);
    expect(() => defineFlow(bad, async () => 1)).toThrow(expect.objectContaining(OPTION));
  });

  it("of any other kind is a name like others, also one that looks like a counted one [U32]", async () => {
    const names = ["__proto__", "constructor", "a", "a#2", "a", "a", "a#2", "a#1", "a#2#1", "a#2#2", "a/b"];
    const keys = (await fate((flow) =>
      Promise.all(names.map((name) => flow.step(name, (step) => [step.key, step.idempotencyKey]))),
    )) as string[][];
    expect(keys).toHaveLength(names.length);
    for (const i of [0, 1]) expect(new Set(keys.map((pair) => pair[i])).size).toBe(names.length);
  });

  it("means another thing in another flow, and after continueAsNew, for services outside [U32]", async () => {
    const keys: string[] = [];
    const children: number[] = [];
    body = async (flow) => {
      for (const name of ["x", "y/x", "x@1"])
        await flow.step(name, (step) => void keys.push(step.idempotencyKey));
      // A child of its own for each time: not the one from before.
      children.push(await flow.call(child, keys.length));
      return children.length % 3 === 0 ? "done" : flow.continueAsNew(undefined);
    };
    for (const id of ["deep", "deep/y"]) {
      const run = await b.until(host.start(victim, undefined, { id }));
      expect(await b.until(run.result({ timeoutMs: 60_000 }))).toBe("done");
    }
    expect(children).toEqual([6, 12, 18, 24, 30, 36]);
    expect(keys).toHaveLength(18);
    expect(new Set(keys).size).toBe(18);
  });
});

const THROWN: readonly (readonly [string, () => unknown])[] = [
  ["throws when it is looked at", wild],
  ["is a revoked proxy", revoked],
  ["has a getter that throws", () => withGetter(new Error("x"), "retriable")],
  ["is undefined", () => undefined],
  ["is its own cause", ownCause],
];

describe("a thrown value", () => {
  const retry = { attempts: 3, backoff: { minMs: 1, maxMs: 1 } };
  it.each(THROWN)("and %s, is an error of its step and of its flow [U33]", async (_, make) => {
    rejections = 0;
    const sync = (): never => {
      throw make();
    };
    const later = async (): Promise<never> => sync();
    const caught = (act: Promise<unknown>): Promise<string> =>
      act.then(
        () => "nothing",
        () => "caught",
      );
    expect(await fate((flow) => caught(flow.step("s", later, { retry })))).toBe("caught");
    expect(await fate((flow) => caught(flow.step("s", sync)))).toBe("caught");
    for (const code of [(flow: FlowContext) => flow.step("s", later), later, sync])
      expect(await fate(code)).not.toBe("caught");
    expect(rejections).toBe(0);
  });
});

const RESULTS: readonly (readonly [string, () => unknown, unknown])[] = [
  ["a circle", circle, "an object"],
  ["an object that throws when it is read", () => withGetter({}, "a"), UnstorableValueError.name],
  ["a proxy that throws", () => new Proxy({}, { ownKeys: trap }), UnstorableValueError.name],
  ["a revoked proxy", revoked, TypeError.name],
  ["a thenable whose `then` cannot be read", () => withGetter({}, THEN), Error.name],
  ["a thenable that throws", () => then(trap), Error.name],
  ["a thenable that settles and throws", () => then((ok) => [ok(1), trap()]), 1],
  ["a thenable that settles three times", () => then((ok, no) => [ok(1), no(2), ok(3)]), 1],
  ["a thenable of a promise", () => then((ok) => ok(Promise.resolve(1))), 1],
];

describe("a result", () => {
  it.each(RESULTS)("that is %s is stored, or is an error at its step [U34]", async (_, make, wanted) => {
    rejections = 0;
    const got = await fate(async (flow) => {
      try {
        const value = await flow.step("s", make);
        return typeof value === "object" ? "an object" : value;
      } catch (error) {
        return (error as Error).constructor.name;
      }
    });
    expect(got).toBe(wanted);
    expect(rejections).toBe(0);
  });

  it("that cannot be the next input fails the flow, and says so [U34]", async () => {
    rejections = 0;
    expect(await fate((flow) => flow.continueAsNew(() => 1))).toBeInstanceOf(UnstorableValueError);
    expect(rejections).toBe(0);
  });
});

const HANGING: readonly (readonly [string, () => unknown])[] = [
  ["never settles", () => new Promise<never>(() => undefined)],
  ["is a thenable that never settles", () => then(() => undefined)],
];

const BAD_OPTIONS: readonly (readonly [string, Body])[] = [
  ["retries without attempts", (flow) => flow.step("s", trap, { retry: { attempts: 0 } })],
  ["a backoff of NaN", (flow) => flow.step("s", trap, { retry: { backoff: { minMs: Number.NaN } } })],
  ["a negative backoff", (flow) => flow.step("s", trap, { retry: { backoff: { minMs: -1 } } })],
  ["an endless backoff", (flow) => flow.step("s", trap, { retry: { backoff: { minMs: 1 / 0 } } })],
  ["an unknown backoff", (flow) => flow.step("s", trap, { retry: { backoff: { min: 1 } as never } })],
  ["no backoff", (flow) => flow.step("s", trap, { retry: { backoff: null as never } })],
  ["a body that is none", (flow) => flow.idempotent("s", 5 as never)],
  ["a timed body that is none", (flow) => flow.timed("s", 5 as never)],
  ["no undo", (flow) => flow.saga().step("s", () => 1, null as never)],
  ["no answer", (flow) => flow.query("q", 5 as never)],
  ["no flow", (flow) => flow.call(undefined as never, 1)],
  ["a flow that is none", (flow) => flow.start({ name: "x" } as never, 1)],
  ["no peer", (flow) => flow.session(null as never, "p")],
  ["no moment", (flow) => flow.sleepUntil(undefined as never)],
  ["a moment after all dates", (flow) => flow.sleepUntil(1e300)],
  ["a moment before all dates", (flow) => flow.sleepUntil(-1e300)],
];

describe("a step", () => {
  it.each(HANGING)("that %s ends at its timeout, after its retries [U35]", async (_, make) => {
    let runs = 0;
    const hang = (): unknown => {
      runs++;
      return make();
    };
    const options = { timeout: 1_000, retry: { attempts: 2, backoff: { minMs: 1, maxMs: 1 } } };
    expect(await fate((flow) => flow.step("s", hang, options))).toBeInstanceOf(StepTimeoutError);
    expect(runs).toBe(2);
  });

  it("that ignores its AbortSignal and ends later changes nothing [U35]", async () => {
    const late = gate();
    const result = await fate(async (flow) => {
      const slow = flow.step("slow", () => late.promise.then(() => "late"), { timeout: 10 });
      const first = await slow.catch((error: Error) => error.name);
      await flow.step("open", () => late.open());
      return [first, await flow.step("next", () => "next")];
    });
    expect(result).toEqual([StepTimeoutError.name, "next"]);
  });

  it("whose listener throws when it is aborted fails its flow, not the host [U35]", async () => {
    const listening: Body = (flow) =>
      flow.step(
        "s",
        ({ signal }) => {
          signal.addEventListener("abort", trap);
          return new Promise<never>(() => undefined);
        },
        { timeout: 10 },
      );
    expect(await fate(listening)).toMatchObject({ message: "trap" });
    body = async (flow) => {
      flow.signal.onabort = trap;
      return flow.receive("never");
    };
    const run = await b.until(host.start(victim, undefined));
    await b.until(run.cancel());
    await expect(b.until(run.result({ timeoutMs: 60_000 }))).rejects.toThrow("trap");
  });

  it.each(BAD_OPTIONS)("with %s is refused with ERR_OPTION [U36]", async (_, code) => {
    expect(await fate(code)).toMatchObject(OPTION);
  });
});

const WAITS_FOR_NOTHING: readonly (readonly [string, Body])[] = [
  ["races nobody", () => Promise.race([])],
  ["races nobody after a step", (flow) => flow.step("s", () => 1).then(() => Promise.race([]))],
  ["returns a thenable that never settles", () => then(() => undefined)],
];

describe("a flow", () => {
  it("that calls a child under the id of a flow that is not its child is refused [U37]", async () => {
    const taken = { code: "ERR_FLOW_ID_TAKEN" };
    await b.until(host.start(child, 1, { id: "mine" }));
    expect(await fate((flow) => flow.call(child, 1, { id: "mine" }))).toMatchObject(taken);
    expect(await fate((flow) => flow.call(child, 1, { id: flow.flowId }))).toMatchObject(taken);
  });

  it("that swallows its cancellation goes on, and can be killed [U38]", async () => {
    let sleeps = 0;
    body = async (flow) => {
      for (;;) {
        await flow.sleep(1_000).catch(() => undefined);
        sleeps++;
      }
    };
    const run = await b.until(host.start(victim, undefined));
    await b.until(run.cancel());
    await b.clock.advance(10_000);
    expect(sleeps).toBeGreaterThan(5);
    await b.until(run.kill());
    await expect(b.until(run.result())).rejects.toMatchObject({ status: "killed" });
  });

  it("that asks without end lets others run, and can be killed [U38]", async () => {
    body = async (flow) => {
      for (;;) await flow.step("again", () => 1);
    };
    const run = await host.start(victim, undefined);
    const other = await host.start(child, 4);
    expect(await other.result()).toBe(8);
    await run.kill();
    await expect(run.result()).rejects.toMatchObject({ status: "killed" });
  });

  it.each(WAITS_FOR_NOTHING)("that %s holds up no other flow, and can be killed [U38]", async (_, code) => {
    body = code;
    const run = await b.until(host.start(victim, undefined));
    expect(await b.until(host.start(child, 4).then((one) => one.result()))).toBe(8);
    await b.clock.advance(60_000);
    expect((await b.until(run.info())).status).toBe("running");
    await b.until(run.kill());
    await expect(b.until(run.result())).rejects.toMatchObject({ status: "killed" });
  });
});
