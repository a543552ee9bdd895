// A routing function that fails is the error of that dispatch, and of nothing else.

import {
  AttemptsExhaustedError,
  ConsumerGroup,
  ConversationError,
  consumer,
  custom,
  DeadlineError,
  DispatchError,
  EvaluationError,
  IsolatedRouteError,
  NoConsumerError,
  RouteTimeoutError,
  type RoutingFunction,
  roundRobin,
  SignalboxError,
  System,
  sticky,
  UnknownConsumerError,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, envelopeOf, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
const reports: string[] = [];
beforeEach(() => {
  reports.length = 0;
  clock = testClock();
  system = new System({
    environment: clock.environment,
    report: (text) => void reports.push(text),
  });
  group = new ConsumerGroup({ name: "clerks" });
});
afterEach(() => system.stop());

/** How a dispatch by this function fails; one by the group's own function goes well right after it. */
async function failure(route: unknown): Promise<unknown> {
  const own = group.route;
  group.join(system.spawn(consumer(() => undefined)), { id: "ann" });
  group.route = route as RoutingFunction<string>;
  const failed = fate(system.dispatch(group, "one"));
  group.route = own;
  const next = fate(system.dispatch(group, "two"));
  await system.idle();
  // A function that chooses nobody is asked once more, after the patience.
  await clock.advance(1_000);
  expect(next.value?.deliveredTo).toBe("ann");
  expect(group.consumers[0]).toMatchObject({ inFlight: 0, delivered: 1 });
  expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  expect(reports).toEqual([]);
  return failed.error;
}

describe("a routing function", () => {
  it("that throws is an evaluation error with the cause", async () => {
    const cause = new TypeError("no such field");
    const route = (): never => {
      throw cause;
    };
    expect(await failure(route)).toMatchObject({ code: "ERR_EVALUATION", cause });
  });

  it("that throws a value that is no Error is one as well", async () => {
    const route = (): never => {
      throw "no";
    };
    const error = await failure(route);
    expect(error).toMatchObject({ code: "ERR_EVALUATION", cause: "no" });
  });

  it("whose key function throws is one as well", async () => {
    const route = sticky<string>(() => {
      throw new Error("no key");
    });
    expect(await failure(route)).toMatchObject({ code: "ERR_EVALUATION" });
  });

  it("has its key function called once for each choice", async () => {
    let asked = 0;
    group.route = sticky(() => String(++asked), roundRobin());
    group.join(system.spawn(consumer(() => undefined)));
    await system.dispatch(group, "one");
    expect(asked).toBe(1);
  });

  it("that chooses none fails the dispatch with NoConsumerError", async () => {
    expect(await failure(() => undefined)).toMatchObject({ code: "ERR_NO_CONSUMER", why: "none" });
  });

  it.each<[string, () => unknown, string]>([
    ["the id of nobody", () => "zoe", '"zoe"'],
    ["a promise", async () => "ann", "a promise (a routing function answers at once)"],
    ["an object that only looks like a consumer", () => ({ id: "ann" }), '"ann"'],
    ["an object without a text", () => Object.create(null), "{}"],
    ["a number", () => 0, "0"],
    ["null", () => null, "null"],
  ])("that chooses %s has chosen an unknown consumer", async (_what, route, selected) => {
    expect(await failure(route)).toMatchObject({ code: "ERR_UNKNOWN_CONSUMER", selected });
  });

  it("that chooses a consumer that has failed already fails with UnknownConsumerError", async () => {
    const ann = desk(system, group, { id: "ann" });
    desk(system, group, { id: "bob" });
    group.route = () => "ann";
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    expect(dispatch.error).toMatchObject({ code: "ERR_UNKNOWN_CONSUMER", selected: '"ann"' });
  });

  it("that ends the consumer it chooses has the envelope re-routed by the link", async () => {
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    group.route = (_envelope, [first]) => {
      if (first?.id === "ann") system.exit(ann.pid, "kill");
      return first;
    };
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(dispatch.value?.rerouteTimings).toMatchObject([{ consumer: "ann", reason: { type: "noproc" } }]);
  });

  it("gets the candidates, its turn, a roll, and the last consumer of the key", async () => {
    const given: unknown[] = [];
    const route: RoutingFunction<string> = (envelope, consumers, { turn, roll, previous }) => {
      given.push([envelope.payload, consumers.map((one) => one.id), turn, previous?.id]);
      expect(roll).toBeGreaterThanOrEqual(0);
      expect(roll).toBeLessThan(1);
      return consumers.at(-1);
    };
    group.route = Object.assign(route, { affinityKey: () => "key" });
    for (const id of ["ann", "bob"]) group.join(system.spawn(consumer(() => undefined)), { id });
    await system.dispatch(group, "one");
    group.leave("ann");
    await system.dispatch(group, "two");
    group.leave("bob");
    desk(system, group, { id: "cem" });
    void system.dispatch(group, "three");
    await system.idle();
    expect(given).toEqual([
      ["one", ["ann", "bob"], 0, undefined],
      ["two", ["bob"], 1, "bob"],
      ["three", ["cem"], 2, undefined],
    ]);
  });
});

describe("an error of a dispatch", () => {
  const envelope = envelopeOf("tea");
  const error = new Error("broken");
  const history = [
    { attempt: 1, consumer: "ann", end: "crashed", reason: { type: "crash", error }, at: 0 },
    { attempt: 2, consumer: "bob", end: "rejected", reason: custom("busy"), at: 1 },
  ] as const;
  const tried = '; tried ann (crashed: crash, Error: broken), bob (rejected: custom "busy")';

  it.each<[string, DispatchError, string]>([
    [
      "ERR_NO_CONSUMER",
      new NoConsumerError("clerks", "empty", envelope, history),
      "clerks is available: the group",
    ],
    ["ERR_UNKNOWN_CONSUMER", new UnknownConsumerError("clerks", '"zoe"', envelope, history), 'chose "zoe"'],
    ["ERR_EVALUATION", new EvaluationError("clerks", error, envelope, history), "clerks failed: broken"],
    ["ERR_DEADLINE", new DeadlineError("clerks", 5, envelope, history), "within 5 ms"],
    [
      "ERR_ATTEMPTS_EXHAUSTED",
      new AttemptsExhaustedError("clerks", 2, envelope, history),
      "failed on 2 consumers",
    ],
    [
      "ERR_CONVERSATION",
      new ConversationError("clerks", "died", custom("x"), envelope, history),
      "itself was ended",
    ],
  ])("with code %s carries the envelope, and says what was tried", (code, made, text) => {
    expect(made).toMatchObject({ code, envelope, history });
    expect(made.message).toContain(text);
    expect(made.message.endsWith(tried)).toBe(true);
    expect(made).toBeInstanceOf(DispatchError);
  });

  it("has the crash of the last consumer as its cause", () => {
    const [crashed] = history;
    expect(new AttemptsExhaustedError("clerks", 1, envelope, [crashed]).cause).toBe(error);
    expect(new AttemptsExhaustedError("clerks", 2, envelope, history).cause).toBe(undefined);
    expect(new ConversationError("clerks", "died", { type: "crash", error }, envelope, []).cause).toBe(error);
  });

  it("of an isolated function has a code of its own", () => {
    expect(new RouteTimeoutError(5)).toMatchObject({ code: "ERR_ROUTE_TIMEOUT" });
    expect(new IsolatedRouteError("x")).toMatchObject({ code: "ERR_ISOLATED_ROUTE" });
    expect(new RouteTimeoutError(5)).toBeInstanceOf(SignalboxError);
  });
});
