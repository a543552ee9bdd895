// Spans that the budget refuses: nothing is made of them, what follows from them is refused too, and nobody else misses anything.

import { ConsumerGroup, consumer, defineServer, System, type SystemOptions, supervisor } from "signalbox";
import { httpServer, telemetry } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { RING_LIMITS } from "../../../lib/admin/traces/span-limits.js";
import { KeptSpan } from "../../../lib/admin/traces/span-ring.js";
import type { Callbacks } from "../../../lib/process/behaviour.js";
import type { Recorder } from "../../../lib/service/telemetry/recorder.js";
import { ROOTS_PER_S } from "../../../lib/service/telemetry/root-budget.js";
import { SpanContext } from "../../../lib/service/telemetry/span-context.js";
import type { SpanKeeper } from "../../../lib/service/telemetry/span-keeper.js";
import { spansOf } from "../../../lib/service/telemetry/telemetry.js";

const KEPT = ROOTS_PER_S.ofOneName;

const Till = defineServer({
  label: "till",
  init: () => 0,
  calls: { pay: (_state, n: number) => n },
  casts: { note: (_state, _line: string) => undefined },
});

/** A system in virtual time whose spans are kept. */
async function watched(options: Partial<SystemOptions> = {}) {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment, ...options });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const keeper = await spansOf(system.kernel);
  onTestFinished(keeper.hold());
  return { clock, system, keeper, recorder: system.kernel.taps as Recorder };
}

/** The names of traces, each with how many there are. */
function names(keeper: SpanKeeper): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { name } of keeper.traces({ limit: 500 })) found[name] = (found[name] ?? 0) + 1;
  return found;
}

test("no number, no event and no span is made of a call, a cast or a dispatch that is refused [N1611]", async () => {
  const { clock, system, keeper, recorder } = await watched();
  const till = await clock.until(system.start(Till));
  const group = new ConsumerGroup<string>({ name: "pickers" });
  const pick = consumer((item: string) => item, { group });
  await clock.until(system.start(supervisor({ children: [{ id: "picker", start: pick }] })));
  const told = vi.spyOn(recorder, "tell");
  for (let n = 0; n < 4 * KEPT; n++) {
    await clock.until(till.call.pay(n));
    till.cast.note("line");
    await clock.until(system.dispatch(group, "book"));
  }
  // A call and a dispatch begin and end, with their handling and the attempt; a cast has no end.
  expect(told).toHaveBeenCalledTimes(KEPT * (4 + 3 + 6));
  expect(recorder.nextSpan()).toBe(KEPT * (2 + 2 + 3) + 1);
  expect(names(keeper)).toEqual({ "till/pay": KEPT, "till/note": KEPT, "dispatch pickers": KEPT });
  // The next second begins without a look at the clock for each call.
  await clock.advance(1_000);
  await clock.until(till.call.pay(1));
  expect(names(keeper)["till/pay"]).toBe(KEPT + 1);
});

test.each([{}, { context: "sender" }] as const)(
  "what a refused call does, before and after an await, begins no trace of its own: %o [N1612]",
  async (options) => {
    const { clock, system, keeper } = await watched(options);
    const till = await clock.until(system.start(Till));
    const group = new ConsumerGroup<string>({ name: "pickers" });
    const pick = consumer(async (item: string) => void (await till.call.pay(item.length)), { group });
    await clock.until(system.start(supervisor({ children: [{ id: "picker", start: pick }] })));
    const Shelf = defineServer({
      label: "shelf",
      init: () => undefined,
      calls: { look: () => 1 },
      casts: { fill: () => void system.send(body, "fill") },
    });
    const shelf = await clock.until(system.start(Shelf));
    const body = system.spawn<string>(async (ctx) => {
      for (;;) {
        await ctx.receive();
        if (options.context === "sender") await till.with({ from: ctx }).call.pay(1);
      }
    });
    const Front = defineServer({
      label: "front",
      init: () => undefined,
      calls: {
        order: async () => {
          await till.call.pay(1);
          await Promise.resolve();
          shelf.cast.fill();
          await shelf.call.look();
          await system.dispatch(group, "book");
          till.cast.note("sent");
        },
      },
    });
    const front = await clock.until(system.start(Front));
    for (let n = 0; n < 4 * KEPT; n++) await clock.until(front.call.order());
    await clock.until(system.idle());
    expect(names(keeper)).toEqual({ "front/order": KEPT });
    // All that was kept is whole.
    const sizes = keeper.traces({ limit: 500 }).map(({ spans, status }) => `${spans} ${status}`);
    expect(new Set(sizes).size).toBe(1);
  },
);

test("what a request that is refused does begins no trace of its own [N1612]", async () => {
  const { clock, system, keeper } = await watched();
  const till = await clock.until(system.start(Till));
  const shelf = await clock.until(
    system.start(defineServer({ label: "shelf", init: () => 0, calls: { look: () => 1 } })),
  );
  let port = 0;
  const web = httpServer(
    { fetch: async () => new Response(String((await till.call.pay(1)) + (await shelf.call.look()))) },
    {
      port: 0,
      host: "127.0.0.1",
      onListening: (at) => {
        port = at.port;
      },
    },
  );
  await system.start(web);
  for (let n = 0; n < KEPT + 5; n++)
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("2");
  expect(names(keeper)).toEqual({ GET: KEPT });
});

test("what a helper of the library does by itself is in no trace [N1612]", async () => {
  const { clock, system, keeper } = await watched();
  const till = await clock.until(system.start(Till));
  let asked = 0;
  const helper: Callbacks<string> = {
    isHelper: true,
    handle: async () => {
      asked = await till.call.pay(7);
    },
  };
  system.send(system.spawn(helper), "look");
  await clock.until(system.idle());
  expect(asked).toBe(7);
  expect(names(keeper)).toEqual({});
});

test("subscribers get every event, and as many as they have asked for, whatever is kept [N1613]", async () => {
  const { clock, system, keeper } = await watched();
  const stream = telemetry(system, { oneIn: { call: 10 } });
  const calls: number[] = [];
  const causes: (number | undefined)[] = [];
  stream.subscribe("call:end", ({ span }) => void calls.push(span));
  stream.subscribe("message:begin", ({ cause }) => void causes.push(cause));
  const till = await clock.until(system.start(Till));
  for (let n = 0; n < 300; n++) await clock.until(till.call.pay(n));
  expect(calls).toHaveLength(30);
  expect(causes).toEqual(calls);
  // One that is not emitted is kept, and one that is emitted may be refused.
  expect(names(keeper)).toEqual({ "till/pay": KEPT });
  expect(keeper.traces({ limit: 500 }).every(({ spans }) => spans === 2)).toBe(true);
});

test("contexts are carried while code of a kept span runs or waits, and not between spans [N1614]", async () => {
  const begun = { trace: "t", id: "1", name: "a", kind: "call", at: 0, attributes: {} } as const;
  const span = new KeptSpan(begun, RING_LIMITS, "");
  const context = new SpanContext(false);
  const waited = context.run(span, async () => {
    await Promise.resolve();
    return context.here;
  });
  expect([context.isOn, context.here, await waited]).toEqual([true, undefined, span]);
  span.open = 0;
  context.left(span);
  expect(context.isOn).toBe(false);
  // Code that stands in a place without waiting there needs none.
  const elsewhere = { trace: "u", id: "2" };
  expect(context.within(elsewhere, () => [context.here, context.isOn])).toEqual([elsewhere, false]);
  expect(context.run(span, () => context.within(undefined, () => context.here))).toBeUndefined();
  expect([context.run(span, () => context.here), context.isOn]).toEqual([span, false]);
  context.close();
});

test("the end of a look leaves no timer and no context behind [N1614]", async () => {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  const keeper = await spansOf(system.kernel);
  const end = keeper.hold();
  const till = await clock.until(system.start(Till));
  const close = vi.spyOn(SpanContext.prototype, "close");
  onTestFinished(() => close.mockRestore());
  for (let n = 0; n < 2 * KEPT; n++) await clock.until(till.call.pay(n));
  const recorder = system.kernel.taps as Recorder;
  // The budget of this second is spent, which a timer would end.
  expect(system.kernel.pendingTimers).toBe(1);
  end();
  expect(close).toHaveBeenCalledTimes(1);
  expect([system.kernel.taps, recorder.watch, recorder.onClose.size]).toEqual([undefined, undefined, 0]);
  expect(system.kernel.pendingTimers).toBe(0);
  await clock.until(system.stop());
});
