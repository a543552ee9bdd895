// The operations on single processes: found without a look at all of them, their states, traces and suspensions.

import { defineServer, inspect, type ReportOptions, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { KernelOperations } from "../../../../lib/admin/system/kernel-operations.js";
import { INSPECTION_LIMITS } from "../../../../lib/admin/system/processes/inspected-text.js";
import { TRACE_LIMITS } from "../../../../lib/admin/system/processes/trace-texts.js";
import { gate } from "../../../support/gate.js";
import { HOSTILE } from "../../../support/hostile-values.js";

const Till = defineServer({
  init: () => ({ cash: 0, pin: "1234" }),
  calls: {
    pay: (state, n: number) => (state.cash += n),
    fail: (): number => {
      throw new Error("out of change");
    },
  },
  casts: {
    drop: (state) => {
      state.cash = 0;
    },
  },
});

function shop(report: ReportOptions | false = false) {
  const clock = testClock();
  const system = new System({ name: "shop", report, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const on = new KernelOperations(system.kernel);
  return { clock, system, on };
}

const nothing = { handle: () => undefined };

test("a state is shown through the format of its definition, then through the redaction of the system [N1536]", async () => {
  const { clock, system, on } = shop();
  const till = await clock.until(system.start(Till));
  const id = `shop.${till.pid.id}`;
  const text = '{\n  cash: 0,\n  pin: "1234"\n}';
  expect(await clock.until(on.state(id))).toEqual({ kind: "server", text, truncated: false });
  const Shy = defineServer({ init: () => ({ cash: 5, pin: "1234" }), format: ({ cash }) => ({ cash }) });
  const shy = await clock.until(system.start(Shy));
  expect(await clock.until(on.state(`shop.${shy.pid.id}`))).toMatchObject({ text: "{\n  cash: 5\n}" });
  const body = system.spawn(async (ctx) => void (await ctx.receive()));
  expect(await clock.until(on.state(`shop.${body.id}`))).toEqual({ kind: undefined, truncated: false });
  await expect(on.state("nobody")).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("the redaction gets a copy of the state, and its failure shows nothing of the state [N1536]", async () => {
  let fails = false;
  const redact = (state: unknown) => {
    if (fails) throw new Error("no such field");
    return Object.assign(state as object, { pin: "…" });
  };
  const { clock, system, on } = shop({ to: () => undefined, redact });
  const till = await clock.until(system.start(Till));
  const id = `shop.${till.pid.id}`;
  const shown = await clock.until(on.state(id));
  expect(shown.text).toContain('pin: "…"');
  expect(await clock.until(inspect(system, till.pid).state())).toMatchObject({ pin: "1234" });
  fails = true;
  const problem = await clock.until(on.state(id));
  expect(problem).toEqual({ kind: "server", truncated: false, problem: "Error: no such field" });
});

test("a state of any size and kind is bounded text, and no code of it runs [N1536]", async () => {
  const { clock, system, on } = shop();
  let calls = 0;
  const trap = {
    get secret() {
      return ++calls;
    },
    toJSON: () => ++calls,
    toString: () => ++calls,
  };
  const large = Array.from({ length: 5_000 }, (_, i) => ({ i, text: "x".repeat(5_000) }));
  const values = [...Object.values(HOSTILE), trap, large, new Map([[{ a: 1 }, new Set([1])]]), "‮evil ", null];
  for (const value of values) {
    const Holder = defineServer({ init: () => ({ value }) });
    const holder = await clock.until(system.start(Holder));
    const { text, truncated, problem } = await clock.until(on.state(`shop.${holder.pid.id}`));
    expect(problem).toBeUndefined();
    expect((text as string).length).toBeLessThanOrEqual(20_001);
    expect(text).not.toMatch(/[\p{Cf}]|[^\P{Cc}\n]/u);
    if (value === large) expect(truncated).toBe(true);
  }
  expect(calls).toBe(0);
});

test("a busy process does not hang its state: after a second the answer says so, and one question at most waits in its mailbox [N1536]", async () => {
  const { clock, system, on } = shop();
  const work = gate();
  const busy = system.spawn<number>({ handle: () => work.promise });
  for (const n of [1, 2]) system.send(busy, n);
  await clock.settle();
  const id = `shop.${busy.id}`;
  for (let look = 0; look < 5; look++) {
    const begun = clock.now;
    const looks = await clock.until(Promise.all([on.state(id), on.state(id)]));
    expect(clock.now - begun).toBe(INSPECTION_LIMITS.stateMs);
    const problem = "busy: it did not answer within 1000 ms; messages in its mailbox: 1";
    expect(looks).toEqual(Array(2).fill({ kind: undefined, truncated: false, problem }));
    expect(system.info(busy)?.mailboxDepth).toBe(2);
  }
  work.open();
  await clock.settle();
  expect(await clock.until(on.state(id))).toEqual({ kind: undefined, truncated: false });
  expect(clock.pendingTimers).toBe(0);
  system.exit(busy, "kill");
  await expect(on.state(id)).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("a process that ends while its state is awaited gives no state, and says why [N1536]", async () => {
  const { clock, system, on } = shop();
  const busy = system.spawn<number>({ handle: () => new Promise<void>(() => undefined) });
  system.send(busy, 1);
  await clock.settle();
  const state = on.state(`shop.${busy.id}`);
  await clock.advance(10);
  system.exit(busy, "kill");
  expect(await clock.until(state)).toMatchObject({ problem: "it has ended" });
});

test("a trace begins with the first call and ends 15 seconds after the last one [N1537]", async () => {
  const { clock, system, on } = shop();
  const till = await clock.until(system.start(Till));
  const id = `shop.${till.pid.id}`;
  const pay = () => clock.until(till.call.pay(3));
  await pay();
  expect(await on.trace(id)).toEqual({ events: [], dropped: 0, ended: false, contents: false });
  await pay();
  till.cast.drop();
  await expect(clock.until(till.call.fail())).rejects.toThrow("out of change");
  const { events, ended } = await on.trace(id);
  expect(events.map(({ number, type, text }) => `${number} ${type} ${text}`).slice(0, 3)).toEqual([
    "1 call #1 pay(…)",
    "2 reply #1 a number",
    "3 cast drop()",
  ]);
  expect(events.at(-1)).toMatchObject({ type: "exit", text: expect.stringContaining("out of change") });
  expect(events[0]?.at).toBe(clock.environment.wallTime());
  expect(ended).toBe(true);
  await clock.advance(TRACE_LIMITS.idleMs);
  await expect(on.trace(id)).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("a trace that nobody looks at any more leaves nothing behind [N1537]", async () => {
  const { clock, system, on } = shop();
  const traced = system.spawn<number>(nothing);
  const { process } = traced;
  await on.trace(`shop.${traced.id}`);
  await clock.advance(TRACE_LIMITS.idleMs - 1);
  await on.trace(`shop.${traced.id}`);
  await clock.advance(TRACE_LIMITS.idleMs - 1);
  expect(process?.rare?.tracer).toBeDefined();
  await clock.advance(1);
  expect(process?.rare?.tracer).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});

test("a trace shows the contents of messages where reports do, redacted as in reports [N1537]", async () => {
  const redact = (message: unknown) => {
    const { method, args } = message as { method?: string; args?: unknown[] };
    return method === undefined
      ? "hidden"
      : { method, args: args?.map((one) => (one === 3 ? "three" : one)) };
  };
  const { clock, system, on } = shop({ to: () => undefined, messages: true, redact });
  const till = await clock.until(system.start(Till));
  const other = system.spawn<object>(nothing);
  const [id, second] = [till.pid, other].map((pid) => `shop.${pid.id}`) as [string, string];
  await on.trace(id);
  await on.trace(second);
  await clock.until(till.call.pay(3));
  system.send(other, { card: "4111" });
  await clock.settle();
  const texts = async (of: string) => (await on.trace(of)).events.map(({ text }) => text);
  expect(await texts(id)).toEqual(['#1 pay("three")', '#1 "hidden"']);
  expect(await texts(second)).toEqual(['"hidden"']);
});

test("a trace keeps the last 1,000 events and counts the others; between two looks no more are written down [N1537]", async () => {
  const { clock, system, on } = shop();
  const traced = system.spawn<number>(nothing);
  const id = `shop.${traced.id}`;
  await on.trace(id);
  const send = async (count: number) => {
    for (let i = 0; i < count; i++) system.send(traced, i);
    await clock.settle();
  };
  await send(2_500);
  const first = await on.trace(id);
  expect(first.events).toHaveLength(1_000);
  expect(first.events.at(-1)?.number).toBe(1_000);
  expect(first.dropped).toBe(1_500);
  await send(10);
  const second = await on.trace(id);
  expect(second.events).toHaveLength(1_000);
  expect(second.events.at(-1)?.number).toBe(2_510);
  expect(second.dropped).toBe(1_510);
});

test("a system has at most 16 such traces: one more ends the one that nobody has looked at for longest [N1537]", async () => {
  const { system, on } = shop();
  const pids = Array.from({ length: TRACE_LIMITS.traces + 1 }, () => system.spawn<number>(nothing));
  for (const pid of pids.slice(0, -1)) await on.trace(`shop.${pid.id}`);
  await on.trace(`shop.${pids[0]?.id}`);
  await on.trace(`shop.${pids.at(-1)?.id}`);
  const traced = pids.map((pid) => pid.process?.rare?.tracer !== undefined);
  expect(traced).toEqual(pids.map((_, i) => i !== 1));
});

test("a suspended process stays suspended until it is resumed, also when nobody looks any more [N1538]", async () => {
  const { clock, system, on } = shop();
  const done: number[] = [];
  const worker = system.spawn<number>({ handle: (_ctx, n) => void done.push(n) });
  const id = `shop.${worker.id}`;
  await clock.until(on.suspend(id));
  system.send(worker, 1);
  await clock.advance(120_000);
  expect(done).toEqual([]);
  expect(await on.process(id)).toMatchObject({ status: "held", mailboxDepth: 1 });
  await clock.until(on.suspend(id));
  await clock.until(on.resume(id));
  await clock.settle();
  expect(done).toEqual([1]);
  await clock.until(on.resume(id));
});

test("a process that is busy is not suspended later: the request is withdrawn after 5 seconds [N1538]", async () => {
  const { clock, system, on } = shop();
  const work = gate();
  const busy = system.spawn<number>({ handle: () => work.promise });
  system.send(busy, 1);
  await clock.settle();
  await expect(clock.until(on.suspend(`shop.${busy.id}`))).rejects.toMatchObject({
    code: "ERR_CALL_TIMEOUT",
  });
  work.open();
  await clock.settle();
  expect(system.info(busy)?.status).toBe("waiting");
});
