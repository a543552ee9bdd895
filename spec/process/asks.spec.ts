// Calls whose reply is handled between messages; and calls of both kinds, whatever happens to them.

import fc from "fast-check";
import {
  type CallOptions,
  type Context,
  custom,
  type Pid,
  type Reply,
  type ReplyTo,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { doubler, outcome, type Question, silent } from "../support/callees.js";
import { puppet } from "../support/puppet.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const broken = custom("broken");

describe("ask", () => {
  type Mail = "go" | "other";

  function asker(
    to: Pid<Question> | string,
    options?: CallOptions,
    then?: (ctx: Context<Mail>, reply: Reply<number>) => unknown,
  ): { readonly pid: Pid<Mail>; readonly log: unknown[] } {
    const log: unknown[] = [];
    const pid = system.spawn<Mail>({
      handle: (ctx, mail) => {
        log.push(mail);
        if (mail !== "go") return;
        const onReply = (reply: Reply<number>): unknown => {
          log.push(reply.ok ? reply.value : outcome(reply.error as object));
          return then?.(ctx, reply);
        };
        ctx.ask(
          to as Pid<Question>,
          (replyTo: ReplyTo<number>) => ({ n: 21, to: replyTo }),
          onReply,
          options,
        );
      },
    });
    system.send(pid, "go");
    system.send(pid, "other");
    return { pid, log };
  }

  it("passes the reply to the process between messages, which are handled meanwhile", async () => {
    const { log } = asker(doubler(system));
    await system.idle();
    expect(log).toEqual(["go", "other", 42]);
  });

  it("reports a timeout, a missing callee and the end of the callee too", async () => {
    const callee = silent(system);
    const logs = [asker(callee.pid, { timeoutMs: 10 }), asker("nobody"), asker(callee.pid)].map(
      ({ log }) => log,
    );
    await clock.advance(10);
    system.exit(callee.pid, "kill");
    await system.idle();
    expect(logs.map((log) => log.at(-1))).toEqual([
      "ERR_CALL_TIMEOUT",
      "ERR_CALLEE_EXITED",
      "ERR_CALLEE_EXITED",
    ]);
    expect(logs.map((log) => log.length)).toEqual([3, 3, 3]);
  });

  it("may end the process in the function that handles the reply", async () => {
    const stopped = asker(doubler(system), {}, () => stop(broken));
    const thrown = asker(doubler(system), {}, () => {
      throw new Error("boom");
    });
    const reasons = Promise.all([system.exited(stopped.pid), system.exited(thrown.pid)]);
    await system.idle();
    expect(await reasons).toMatchObject([broken, { type: "crash", error: { message: "boom" } }]);
  });

  it("is awaited when the function handles the reply asynchronously", async () => {
    let open: () => void = () => undefined;
    const { pid, log } = asker(
      doubler(system),
      {},
      () =>
        new Promise<void>((resolve) => {
          open = resolve;
        }),
    );
    await system.idle();
    system.send(pid, "other");
    await system.idle();
    expect(log).toEqual(["go", "other", 42]);
    open();
    await system.idle();
    expect(log).toEqual(["go", "other", 42, "other"]);
  });

  it("of a process that has ended calls no function", async () => {
    const callee = silent(system);
    const { pid, log } = asker(callee.pid);
    await system.idle();
    system.exit(pid, "kill");
    expect(callee.asked[0]?.to.open).toBe(false);
    callee.ctx?.reply((callee.asked[0] as Question).to, 1);
    await system.idle();
    expect(log).toEqual(["go", "other"]);
  });

  it("is for callbacks: a body awaits a call instead", async () => {
    const callee = doubler(system);
    const pid = system.spawn((ctx) =>
      ctx.ask(
        callee,
        (to: ReplyTo<number>) => ({ n: 1, to }),
        () => undefined,
      ),
    );
    expect(await system.exited(pid)).toMatchObject({ type: "crash", error: { code: "ERR_NOT_CALLBACKS" } });
  });
});

describe("whatever happens", () => {
  type Event =
    | {
        readonly what: "call" | "ask";
        readonly caller: number;
        readonly callee: number;
        readonly timeoutMs: number;
      }
    | { readonly what: "abort" | "answer" | "refuse"; readonly nth: number }
    | { readonly what: "kill"; readonly who: number }
    | { readonly what: "pass"; readonly ms: number };

  const event: fc.Arbitrary<Event> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constantFrom("call", "ask"),
        caller: fc.nat(2),
        callee: fc.nat(2),
        timeoutMs: fc.integer({ min: 0, max: 30 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ what: fc.constantFrom("abort", "answer", "answer", "refuse"), nth: fc.nat(9) }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("kill"), who: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant("pass"), ms: fc.nat(15) }) },
  );

  interface Made {
    readonly what: "call" | "ask";
    readonly caller: number;
    readonly controller: AbortController;
    ended: number;
    how: string;
  }

  it("each call ends exactly once, and in a way that has a cause [C1]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const made: Made[] = [];
        const taken: { readonly call: Made; readonly to: ReplyTo<string> }[] = [];
        const dead = new Set<number>();
        const replier = puppet(system);
        const callees = [0, 1, 2].map(() =>
          system.spawn<{ call: Made; to: ReplyTo<string> }>({
            handle: (_ctx, request) => void taken.push(request),
          }),
        );
        const callers = [0, 1, 2].map(() => puppet(system));
        const everybody: Pid[] = [...callees, ...callers.map(({ pid }) => pid)];
        for (const one of events) {
          if (one.what === "pass") await clock.advance(one.ms);
          else if (one.what === "kill") {
            dead.add(one.who);
            system.exit(everybody[one.who] as Pid, "kill");
          } else if ("caller" in one) {
            if (dead.has(3 + one.caller)) continue;
            const call: Made = {
              what: one.what,
              caller: one.caller,
              controller: new AbortController(),
              ended: 0,
              how: "",
            };
            const end = (how: string): void => {
              call.ended++;
              call.how = how;
            };
            const settle = (reply: Reply<string>): void =>
              end(reply.ok ? reply.value : String(outcome(reply.error as object)));
            const options = { timeoutMs: one.timeoutMs, signal: call.controller.signal };
            const to = callees[one.callee] as (typeof callees)[0];
            const build = (replyTo: ReplyTo<string>): { call: Made; to: ReplyTo<string> } => ({
              call,
              to: replyTo,
            });
            made.push(call);
            await (callers[one.caller] as (typeof callers)[0]).do((ctx) => {
              if (one.what === "ask") ctx.ask(to, build, settle, options);
              else {
                void ctx.call(to, build, options).then(
                  (value) => settle({ ok: true, value }),
                  (error) => settle({ ok: false, error }),
                );
              }
            });
          } else if (one.what === "abort")
            made[one.nth % Math.max(1, made.length)]?.controller.abort("aborted");
          else {
            const request = taken[one.nth % Math.max(1, taken.length)];
            if (request === undefined) continue;
            await replier.do((ctx) => {
              if (one.what === "answer") ctx.reply(request.to, "answered");
              else ctx.refuse(request.to, Object.assign(new Error("no"), { code: "refused" }));
            });
          }
        }
        await clock.advance(1_000);
        for (const { what, caller, ended, how } of made) {
          const callerDied = dead.has(3 + caller);
          // The reply to an ask is handled by its process, and an ended one handles nothing.
          if (what === "call" || !callerDied) expect(ended).toBe(1);
          else expect(ended).toBeLessThanOrEqual(1);
          const possible = ["answered", "refused", "aborted", "ERR_CALL_TIMEOUT"];
          if (dead.size > 0) possible.push("ERR_CALLEE_EXITED");
          if (callerDied) possible.push("ERR_PROCESS_EXITED", "");
          expect(possible).toContain(how);
        }
        expect(system.kernel.pendingTimers).toBe(0);
        for (const pid of everybody) expect(pid.process?.requests).toBe(undefined);
        for (const pid of [...everybody, replier.pid]) system.exit(pid, "kill");
      }),
      { numRuns: 150 },
    );
  });
});
