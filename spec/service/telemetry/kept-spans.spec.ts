// The spans that a system keeps while somebody looks: one message on its way, without any package; and nothing while nobody looks.

import fc from "fast-check";
import { ConsumerGroup, consumer, defineServer, System, type SystemOptions, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { telemetry } from "signalbox/service";
import { memory } from "signalbox/store";
import { explore, testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { KEPT_MS } from "../../../lib/admin/history/kept-machine.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import type { TraceOperations } from "../../../lib/admin/traces/trace-operations.js";
import { CHANNELS } from "../../../lib/service/telemetry/channels.js";
import { FULL_BUDGET, ROOTS_PER_S, spend } from "../../../lib/service/telemetry/root-budget.js";
import { spansOf } from "../../../lib/service/telemetry/telemetry.js";
import { fromTraceparent, toTraceparent } from "../../../lib/service/telemetry/traceparent.js";

async function watched(
  options: Partial<SystemOptions> = {},
): Promise<{ system: System; on: TraceOperations }> {
  const system = new System({ name: "shop", report: false, ...options });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const end = (await spansOf(system.kernel)).hold();
  onTestFinished(end);
  telemetry(system);
  return { system, on: new KernelOperations(system.kernel) };
}

/** The spans of a trace, each below the one that it follows from. */
async function treeOf(on: TraceOperations, find: string): Promise<string[]> {
  const [found] = await on.traces({ find });
  if (found === undefined) throw new Error(`no trace has ${find}`);
  const { spans } = await on.spans(found.trace);
  return spans.map(
    ({ depth, kind, name, error }) =>
      `${"  ".repeat(depth)}${kind} ${name}${error === undefined ? "" : ` ! ${error.replace(/<.*>/, "<pid>")}`}`,
  );
}

const Log = defineServer({
  label: "log",
  init: () => undefined,
  calls: {},
  casts: { note: (_state, _line: string) => undefined },
});

/** Starts a server that calls, casts and dispatches for each order. The first picker crashes. */
async function shop(system: System) {
  const pickers = new ConsumerGroup<string>({ name: "pickers", patienceMs: 10_000 });
  let crashes = 1;
  const pick = consumer(
    (item: string) => {
      if (crashes-- > 0) throw new Error("no hands");
      return `picked ${item}`;
    },
    { group: pickers },
  );
  await system.start(supervisor({ intensity: 10, children: [{ id: "picker", start: pick }] }));
  const log = await system.start(Log);
  const Till = defineServer({
    label: "till",
    init: () => 0,
    calls: { pay: (_state, n: number) => n },
  });
  const till = await system.start(Till);
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: {
      order: async (_state, item: string) => {
        await till.call.pay(3);
        log.cast.note(item);
        const { deliveredTo } = await system.dispatch(pickers, item, { maxAttempts: 3 });
        return deliveredTo;
      },
    },
  });
  return system.start(Front);
}

test("one message is followed through calls, casts, dispatches, a crash and the re-route after it [N1546]", async () => {
  const { system, on } = await watched();
  const front = await shop(system);
  await front.call.order("book");
  await system.idle();
  expect(await treeOf(on, "front/order")).toEqual([
    "call front/order",
    "  message front/order",
    "    call till/pay",
    "      message till/pay",
    "    cast log/note",
    "      message log/note",
    "    dispatch dispatch pickers",
    "      attempt attempt pickers ! crashed",
    expect.stringMatching(/^ {8}message .* ! crashed$/),
    expect.stringMatching(/^ {10}other crash .* ! .*no hands/),
    "            other restart picker",
    "      attempt re-route pickers",
    expect.stringMatching(/^ {8}message /),
  ]);
  const [trace] = await on.traces({ find: "front/order" });
  expect(trace).toMatchObject({ name: "front/order", spans: 13, status: "error" });
  const { spans } = await on.spans(trace?.trace ?? "");
  expect(spans.every(({ node, tookMs }) => node === "shop" && tookMs !== undefined)).toBe(true);
  const reroute = spans.find(({ name }) => name === "re-route pickers");
  expect(reroute?.attributes).toMatchObject({ attempt: 2, crash: expect.stringMatching(/^shop\.\d+$/) });
});

test("messages of plain sends are followed in a system that carries the contexts of senders [N1546]", async () => {
  const { system, on } = await watched({ context: "sender" });
  const log = await system.start(Log);
  const last = system.spawn<string>({ handle: (_ctx, line) => log.cast.note(line) }, { label: "last" });
  const first = system.spawn<string>({ handle: (ctx, line) => ctx.send(last, line) }, { label: "first" });
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: { order: () => void system.send(first, "book") },
  });
  const front = await system.start(Front);
  await front.call.order();
  await system.idle();
  expect(await treeOf(on, "front/order")).toEqual([
    "call front/order",
    "  message front/order",
    "    message first",
    "      message last",
    "        cast log/note",
    "          message log/note",
  ]);
});

test("a body that receives makes its calls in the message that it took [N1546]", async () => {
  const { system, on } = await watched();
  const till = await system.start(
    defineServer({ label: "till", init: () => 0, calls: { pay: (_state, n: number) => n } }),
  );
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    casts: { order: (_state: undefined, n: number) => void system.send(body, n) },
  });
  const body = system.spawn<number>(
    async (ctx) => {
      for (;;) await till.with({ from: ctx }).call.pay(await ctx.receive());
    },
    { label: "body" },
  );
  const front = await system.start(Front);
  front.cast.order(1);
  await system.idle();
  // A plain message in a system that carries no contexts of senders follows from nothing, so its call begins a trace.
  expect(await treeOf(on, "front/order")).toEqual(["cast front/order", "  message front/order"]);
  expect(await treeOf(on, "till/pay")).toEqual(["call till/pay", "  message till/pay"]);
});

test("a durable flow belongs to what started it, with its steps and what they do [N1546]", async () => {
  const { system, on } = await watched();
  const log = await system.start(Log);
  const order = defineFlow("order", async (flow) => {
    await flow.step("charge", () => log.cast.note("charged"));
    await flow.step("ship", () => "shipped");
  });
  const host = await system.start(flowHost({ store: memory(), flows: [order] }));
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: {
      order: async (_state, id: string) => (await host.start(order, undefined, { id })).result(),
    },
  });
  const front = await system.start(Front);
  await front.call.order("o-17");
  await system.idle();
  const tree = await treeOf(on, "o-17");
  expect(tree.slice(0, 3)).toEqual(["call front/order", "  message front/order", "    flow flow order"]);
  expect(tree).toContain("      step step charge");
  expect(tree).toContain("        cast log/note");
  expect(tree).toContain("      step step ship");
});

test("a call to another node has one trace on both, and each keeps its part [N1546]", async () => {
  const Shelf = defineServer({
    label: "shelf",
    init: () => undefined,
    calls: { look: () => 1 },
  });
  await explore(
    async (sim) => {
      const network = sim.network({ sessions: true });
      const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name }))) as [
        System,
        System,
      ];
      const ends: (() => void)[] = [];
      for (const { kernel } of [here, there]) ends.push((await spansOf(kernel)).hold());
      // The session begins with the first signal.
      const first = there.spawn({ handle: () => undefined });
      here.send(here.pidAt(there.address(first)), "hello");
      await sim.quiet();
      const shelf = await there.start(Shelf);
      const far = Shelf.at(here, here.pidAt(there.address(shelf.pid)) as never);
      await far.call.look();
      await sim.quiet();
      const [sent, arrived] = await Promise.all(
        [here, there].map(async ({ kernel }) => (await spansOf(kernel)).traces({ limit: 9, find: "look" })),
      );
      expect(sent?.map(({ trace }) => trace)).toEqual(arrived?.map(({ trace }) => trace));
      const trace = sent?.[0]?.trace ?? "";
      const [call] = (await spansOf(here.kernel)).spans(trace).spans;
      const [handled] = (await spansOf(there.kernel)).spans(trace).spans;
      expect(call).toMatchObject({ kind: "call", node: "here" });
      expect(handled).toMatchObject({ kind: "message", node: "there", parent: call?.id });
      for (const end of ends) end();
    },
    { schedules: 3 },
  );
});

test("nothing is kept, subscribed or tapped before the first look and half a minute after the last [N1548]", async () => {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  const on = new KernelOperations(system.kernel);
  await expect(on.traces()).rejects.toMatchObject({ code: "ERR_SPANS_NOT_KEPT" });
  // A program with telemetry offers its spans.
  telemetry(system).close();
  const isOff = (): boolean =>
    system.kernel.taps === undefined && !Object.values(CHANNELS).some(({ hasSubscribers }) => hasSubscribers);
  expect(isOff()).toBe(true);
  expect(await on.traces()).toEqual([]);
  expect(isOff()).toBe(false);
  const till = await clock.until(
    system.start(defineServer({ label: "till", init: () => 0, calls: { pay: (_state, n: number) => n } })),
  );
  await clock.until(till.call.pay(1));
  await clock.advance(KEPT_MS - 1);
  const [trace] = await on.traces();
  expect(trace).toMatchObject({ name: "till/pay", spans: 2, status: "ok" });
  await clock.advance(KEPT_MS - 1);
  expect(isOff()).toBe(false);
  await clock.advance(2);
  expect(isOff()).toBe(true);
  await clock.until(till.call.pay(1));
  expect(await on.spans(trace?.trace ?? "")).toMatchObject({ spans: [] });
  for (const wrong of [{ limit: 0 }, { limit: 501 }, { find: 7 }, { first: 1 }])
    await expect(on.traces(wrong as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  await clock.until(system.stop());
  expect(isOff()).toBe(true);
});

test("of the traces of a second, some begin, and rare names beside frequent ones [N1549]", () => {
  const step = fc.record({ ms: fc.nat(300), name: fc.oneof(fc.constant("busy"), fc.nat(5).map(String)) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      let budget = FULL_BUDGET;
      let at = 0;
      const admitted: { readonly at: number; readonly name: string }[] = [];
      for (const { ms, name } of steps) {
        at += ms % 20 === 0 ? ms : 0;
        const [next, isAdmitted] = spend(budget, name, at);
        const ofName = budget.byName.get(name) ?? 0;
        if (ofName < ROOTS_PER_S.ofOneName && budget.all < ROOTS_PER_S.all) expect(isAdmitted).toBe(true);
        if (isAdmitted) admitted.push({ at, name });
        budget = next;
        expect(budget.all).toBeLessThanOrEqual(ROOTS_PER_S.all);
        for (const count of budget.byName.values()) expect(count).toBeLessThanOrEqual(ROOTS_PER_S.ofOneName);
      }
    }),
  );
});

test("all names together have a budget, too, and a new second has a new one [N1549]", () => {
  let budget = FULL_BUDGET;
  const begun = (at: number): number => {
    let count = 0;
    for (let i = 0; i < 2 * ROOTS_PER_S.all; i++) {
      const [next, isAdmitted] = spend(budget, `name ${i}`, at);
      budget = next;
      if (isAdmitted) count++;
    }
    return count;
  };
  expect([begun(0), begun(999), begun(1_000)]).toEqual([ROOTS_PER_S.all, 0, ROOTS_PER_S.all]);
});

test("a busy name does not push out the others, and a trace that was refused is refused whole [N1549]", async () => {
  const clock = testClock();
  const { system, on } = await watched({ environment: clock.environment });
  const Till = defineServer({ label: "till", init: () => 0, calls: { pay: (_state, n: number) => n } });
  const till = await clock.until(system.start(Till));
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: { order: (_state, n: number) => till.call.pay(n) },
  });
  const front = await clock.until(system.start(Front));
  for (let i = 0; i < 200; i++) await clock.until(front.call.order(i));
  await clock.until(till.call.pay(1));
  const traces = await on.traces({ limit: 500 });
  expect(traces.filter(({ name }) => name === "front/order")).toHaveLength(ROOTS_PER_S.ofOneName);
  expect(traces.filter(({ name }) => name === "till/pay")).toHaveLength(1);
  expect(new Set(traces.map(({ name, spans }) => `${name} ${spans}`))).toEqual(
    new Set(["front/order 4", "till/pay 2"]),
  );
  await clock.advance(1_000);
  await clock.until(front.call.order(1));
  expect(await on.traces({ limit: 1 })).toMatchObject([{ name: "front/order", spans: 4 }]);
});

test("a text from another node is a span only if it has the form of the W3C [N1546]", () => {
  const ids = { trace: "0af7651916cd43dd8448eb211c80319c", id: "b7ad6b7169203331" };
  expect(fromTraceparent(toTraceparent(ids))).toEqual(ids);
  expect(fromTraceparent(`${toTraceparent(ids)} vendor=1`)).toEqual(ids);
  for (const wrong of [
    "",
    "00-1-2-01",
    toTraceparent({ ...ids, id: "0".repeat(16) }),
    `${toTraceparent(ids)}x`,
  ])
    expect(fromTraceparent(wrong)).toBeUndefined();
});
