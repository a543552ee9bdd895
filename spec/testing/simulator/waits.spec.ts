// Who waits for what, in the errors of schedules that cannot go on.

import type { Pid, ReplyTo } from "signalbox";
import { NotConvergedError, type Scenario, StuckError, UncontrolledAwaitError } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf } from "../support/found.js";

type Ask = { readonly ask: number; readonly replyTo: ReplyTo<void> };
const ask =
  (n: number) =>
  (replyTo: ReplyTo<void>): Ask => ({ ask: n, replyTo });
const FOREVER = { timeoutMs: Number.POSITIVE_INFINITY };

/** Without the places, which are lines of this file. */
async function linesOf(scenario: Scenario, options = {}): Promise<readonly string[]> {
  const cause = (await causeOf(scenario, options)) as Error;
  return cause.message.split("\n").map((line) => line.replace(/ at \S+waits\.spec\.ts:\d+:\d+/, " at HERE"));
}

describe("a stalemate", () => {
  test("shows each call with callee and message, since when it waits, and what is queued [T15]", async () => {
    const lines = await linesOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const silent = system.spawn<Ask>({ handle: () => undefined }, { label: "silent" });
      const busy: Pid<Ask> = system.spawn<Ask>(
        async (ctx) => {
          await ctx.receive();
          await ctx.call(silent, ask(3), FOREVER);
        },
        { label: "busy" },
      );
      await sim.sleep(5);
      await Promise.all([system.call(busy, ask(1), FOREVER), system.call(busy, ask(2), FOREVER)]);
    });
    expect(lines).toEqual([
      "no process can run, and no timer is set:",
      "  scenario awaits a call to shop/busy: {ask: 1, replyTo: reply address}, since step 4 (5 ms) at HERE",
      "  scenario awaits a call to shop/busy: {ask: 2, replyTo: reply address}, not taken yet, since step 4 (5 ms) at HERE",
      "  shop/busy awaits a call to shop/silent: {ask: 3, replyTo: reply address}, since step 5 (5 ms) at HERE; " +
        "1 message is queued, the first call {ask: 2, replyTo: reply address}",
      "A reply or message never comes, and no wait has a timeout",
    ]);
  });

  test("shows selective receives, exits, starts and names", async () => {
    const lines = await linesOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const picky: Pid<string> = system.spawn<string>(
        async (ctx) => {
          await ctx.receive((word): word is "b" => word === "b");
        },
        { label: "picky" },
      );
      system.spawn(
        (ctx) => ctx.start({ init: (own: { receive(): Promise<unknown> }) => own.receive() } as never),
        { label: "parent" },
      );
      system.send(picky, "a");
      system.send(picky, "c");
      await system.exited(picky);
    });
    expect(lines).toContain("  scenario awaits an exit of shop/picky, since step 1 (0 ms) at HERE");
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^ {2}shop\/picky awaits a receive, since step \d+ \(0 ms\) at HERE; 2 messages are queued, the first "a"$/,
      ),
    );
  });

  test("of code that awaits a promise of its own shows the others, too", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const lost = system.spawn(() => new Promise<void>(() => undefined), { label: "lost" });
      await system.exited(lost);
    };
    expect(await causeOf(scenario)).toBeInstanceOf(UncontrolledAwaitError);
    expect(await linesOf(scenario)).toContain(
      "  scenario awaits an exit of shop/lost, since step 1 (0 ms) at HERE",
    );
  });

  test("is bounded in length", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      for (let i = 0; i < 20; i++) system.spawn((ctx) => ctx.receive(), { label: `p${i}` });
      await system.exited(system.spawn({ handle: () => undefined }));
    };
    expect(await causeOf(scenario)).toBeInstanceOf(StuckError);
    const lines = await linesOf(scenario);
    expect(lines).toHaveLength(15);
    expect(lines.at(-2)).toBe("  … and 9 more waits");
  });
});

describe("a state that is not reached", () => {
  test("shows who waits for what, until when, also the scenario's own code [T15]", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const silent = system.spawn<Ask>({ handle: () => undefined }, { label: "silent" });
      system.spawn(
        async (ctx) => {
          await ctx.call(silent, ask(1), { timeoutMs: 5_000 });
        },
        { label: "ann" },
      );
      system.spawn((ctx) => ctx.receive({ timeoutMs: 7_000 }), { label: "bob" });
      await Promise.all([sim.sleep(9_000), sim.until("it rains", () => false, { withinMs: 100 })]);
    };
    expect(await causeOf(scenario)).toBeInstanceOf(NotConvergedError);
    expect(await linesOf(scenario)).toEqual([
      "the system did not reach this state within 100 ms: it rains (the next timer is at 5000 ms)",
      "  scenario awaits 9000 ms to pass, since step 1 (0 ms) at HERE",
      "  shop/ann awaits a call to shop/silent: {ask: 1, replyTo: reply address}, since step 2 (0 ms), until 5000 ms at HERE",
      "  shop/bob awaits a receive, since step 3 (0 ms), until 7000 ms at HERE",
    ]);
  });

  test("shows the processes that a fault has paused", async () => {
    const lines = await linesOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let got = 0;
        const clerk: Pid<string> = system.spawn<string>({ handle: () => void got++ }, { label: "clerk" });
        system.send(clerk, "an order");
        await sim.until("the order is there", () => got === 1, { withinMs: 10 });
      },
      { faults: { pause: { of: "shop/clerk", forMs: [1_000] } } },
    );
    expect(lines[1]).toBe('  shop/clerk is paused by a fault; 1 message is queued, the first "an order"');
  });
});
