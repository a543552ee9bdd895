// The trace of a schedule says what really happened. The processes and the scenario note it themselves, and the two are compared.

import { readFileSync } from "node:fs";
import { test } from "@fast-check/vitest";
import { type Context, defineServer, type Pid, type ReplyTo, type System } from "signalbox";
import { arbitrarySchedules, renderTrace, type SearchStrategy, type Simulation } from "signalbox/testing";
import { describe, expect } from "vitest";
import { proving } from "../../support/proof.js";
import { errorOf } from "../support/found.js";
import { programs, runProgram } from "../support/programs.js";
import { effectsLike, stepsLike, stepsOf } from "../support/trace.js";

describe("the trace tells which message a step took, and who sent it", () => {
  test.prop([programs, arbitrarySchedules(40)], { numRuns: proving ? 60 : 20 })(
    "in random programs, with selective receives, objects sent again and bounded mailboxes [T30]",
    async (program, choices) => {
      const { taken, trace } = await runProgram(program, choices);
      const { steps } = trace;
      const said = stepsLike(steps, "run")
        .filter(({ letter }) => letter !== undefined)
        .map(({ process, took, sender }) => `${process} took ${took} from ${sender}`);
      expect(said).toEqual(taken);
      const letters = effectsLike(steps, "send").map(({ letter }) => letter);
      expect(letters).toEqual(letters.map((_, index) => index + 1));
    },
  );

  test("a receive that finds nothing looks at so many messages", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>(
        async (ctx) => void (await ctx.receive((message) => message === "c")),
        { label: "clerk" },
      );
      system.spawn(async (ctx) => {
        ctx.send(clerk, "a");
        ctx.send(clerk, "b");
      });
    });
    expect(
      stepsLike(steps, "run")
        .filter(({ process }) => process === "shop/clerk")
        .map(({ took }) => took),
    ).toEqual(["starts", "looks at 2 messages, none fits"]);
  });

  test("of a timer: from the process that set it", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>({ handle: () => undefined }, { label: "clerk" });
      system.spawn(
        (ctx) => {
          ctx.sendAfter(clerk, "noon", 5);
          return ctx.receive();
        },
        { label: "clock" },
      );
      system.sendAfter(clerk, "closing", 9);
      await sim.sleep(20);
    });
    const taken = stepsLike(steps, "run").filter(({ process }) => process === "shop/clerk");
    expect(taken.map(({ took, sender }) => `${took} from ${sender}`)).toEqual([
      '"noon" from shop/clock',
      '"closing" from scenario',
    ]);
  });

  test("over a network: from a process and its node, to a process", async () => {
    const steps = await stepsOf(async (sim) => {
      const { here, asker } = abroad(sim);
      here.send(asker, "go");
      await sim.quiet();
    });
    const text = renderTrace({ steps, failure: undefined });
    expect(text).toContain("there/echo  took {n: 1} from here/asker");
    expect(text).toContain("held message from here/asker arrived: {n: 1}");
    expect(text).toContain("⇢ there/echo (held): {n: 1}");
    expect(text).toContain('here/asker  took "pong" from there/echo');
  });
});

/** Two systems; the asker here sends to the echo there, which sends back. */
function abroad(sim: Simulation): { here: System; asker: Pid<string> } {
  const network = sim.network();
  const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name }))) as [
    System,
    System,
  ];
  let asker: Pid<string>;
  const echo = there.spawn<unknown>(
    { handle: (ctx) => ctx.send(there.pidAt(here.address(asker)), "pong") },
    { label: "echo" },
  );
  asker = here.spawn<string>(
    {
      handle: (ctx, message) => {
        if (message === "go") ctx.send(here.pidAt(there.address(echo)), { n: 1 });
      },
    },
    { label: "asker" },
  );
  return { here, asker };
}

/** Decides each time for what is least ordinary, but never for another step. */
const LAST: SearchStrategy = {
  name: "last",
  enumerates: true,
  begin: () => ({ pick: () => 0, draw: (n) => n - 1 }),
};

const Till = defineServer({
  init: (_ctx, cash: number) => ({ cash }),
  calls: {
    pay: (state, n: number) => (state.cash -= n),
    fail: () => {
      throw new RangeError("jammed");
    },
  },
});

describe("the trace tells", () => {
  test("the values and errors of awaited promises [T31]", async () => {
    const seen: unknown[] = [];
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const till = await system.start(Till, 10);
      seen.push(await till.call.pay(3));
      const silent = system.spawn<{ to: ReplyTo<number> }>({ handle: () => undefined });
      seen.push(await errorOf(system.call(silent, (to: ReplyTo<number>) => ({ to }), { timeoutMs: 5 })));
      seen.push(await errorOf(till.call.fail()));
      const brief = system.spawn(() => Promise.resolve());
      seen.push(await system.exited(brief));
    });
    const results = stepsLike(steps, "resume").map(({ from, result }) => `${from}: ${result}`);
    expect(results.slice(0, 5)).toEqual([
      "a start: started shop/server",
      `a call: reply ${seen[0]}`,
      expect.stringMatching(/^a call: failed: CallTimeoutError: .*5 ms/),
      expect.stringMatching(/^a call: failed: CalleeExitedError: .*/),
      "an exit: normal",
    ]);
    const settled = effectsLike(steps, "settle").map(({ what, result }) => `${what}: ${result}`);
    expect(settled).toEqual(expect.arrayContaining(results.slice(0, 5)));
  });

  test("choices of the scenario, with label and value, and random numbers that deviate", async () => {
    const values: unknown[] = [];
    const steps = await stepsOf(
      (sim) => {
        values.length = 0;
        const system = sim.system({ name: "shop" });
        values.push(sim.oneOf(["tea", "milk"], "drink"), sim.choose(3, "cups"));
        system.spawn((ctx) => void values.push(ctx.random()));
      },
      { strategy: LAST, shrink: 0 },
    );
    const choices = effectsLike(steps, "choice").map(({ label, value }) => `${label}: ${value}`);
    expect(values.slice(0, 2)).toEqual(["milk", 2]);
    expect(choices).toEqual([`drink: "milk"`, "cups: 2", `random number: ${values[2]}`]);
  });

  test("messages that are not taken", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const full = system.spawn<number>(
        { handle: () => undefined },
        { label: "full", mailbox: { capacity: 1, overflow: "drop-newest" } },
      );
      system.send(full, 1);
      system.send(full, 2);
      await sim.quiet();
      system.exit(full, "kill");
      await sim.quiet();
      system.send(full, 3);
      system.send("nobody", 4);
    });
    const lost = effectsLike(steps, "lost").map(
      ({ to, message, reason, letter }) => `${to} ${message} ${reason} ${letter}`,
    );
    expect(lost).toEqual([
      "shop/full 2 its mailbox is full 2",
      "shop/full 3 no such process undefined",
      "nobody 4 no such process undefined",
    ]);
  });

  test("operations of a disk, their failures, and what a power loss takes", async () => {
    const seen: string[] = [];
    let losses: readonly string[] = [];
    const steps = await stepsOf(
      async (sim) => {
        seen.length = 0;
        const disk = sim.disk({ failures: { write: true, sync: true } });
        const bytes = new Uint8Array(5);
        const settled = async (work: Promise<unknown>): Promise<void> => {
          seen.push(await work.then(() => "done", String));
        };
        await settled(disk.append("log", bytes));
        sim.calm();
        await settled(disk.append("log", bytes));
        await settled(disk.sync("log"));
        await settled(disk.rename("none", "log"));
        const open = settled(disk.write("log", 1, bytes));
        losses = disk.crash();
        await open;
      },
      { strategy: LAST, shrink: 0 },
    );
    expect(seen.map((end) => end.split(",")[0])).toEqual([
      expect.stringContaining("ENOSPC"),
      "done",
      "done",
      expect.stringContaining("ENOENT"),
      expect.stringContaining("the power was lost"),
    ]);
    expect(losses.length).toBeGreaterThan(0);
    expect(effectsLike(steps, "device").map(({ text }) => text)).toEqual([
      "append 5 bytes to log: only 1 fit",
      "fails with ENOSPC: no space left on device, write 'log'",
      "append 5 bytes to log",
      "sync of log done",
      "rename none to log",
      "fails with ENOENT: no such file or directory, rename 'none'",
      "write 5 bytes at 1 of log",
      ...losses.map((loss) => `power loss: ${loss}`),
      "the operation is cut off by the power loss",
    ]);
  });
});

describe("the trace has a place", () => {
  const source = readFileSync(new URL(import.meta.url), "utf8").split("\n");
  /** The line of this file, without indentation; it has to have a mark at its end. */
  const lineAt = (place: string | undefined): string => {
    const found = /^spec\/testing\/simulator\/recorder\.spec\.ts:(\d+):\d+$/.exec(place ?? "");
    return /\/\/ (\w+)$/.exec(source[Number(found?.[1]) - 1] ?? "")?.[1] ?? String(place);
  };

  test("of the code that ran, or went on, and of each send and spawn [T32]", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const till = await system.start(Till, 10); // started
      const work = async (ctx: Context<string>): Promise<void> => {
        const order = await ctx.receive(); // received
        ctx.send("nobody", order);
        await till.call.pay(3); // paid
        await ctx.receive();
      };
      const clerk = system.spawn<string>(work, { label: "clerk" }); // spawned
      const porter = (ctx: Context<string>): void => ctx.send(clerk, "open"); // sent
      const carrier = system.spawn<string>({ handle: porter }, { label: "porter" });
      system.send(carrier, "go");
    });
    const places = steps.map((step) => `${step.process} ${step.type} ${lineAt(step.place)}`);
    expect(places).toEqual(
      expect.arrayContaining([
        "scenario resume started",
        "shop/porter run sent",
        "shop/clerk run received",
        "shop/clerk resume paid",
      ]),
    );
    const spawned = effectsLike(steps, "spawn").find(({ process }) => process === "shop/clerk");
    expect(lineAt(spawned?.place)).toBe("spawned");
    const sent = effectsLike(steps, "send").find(({ message }) => message === '"open"');
    expect(lineAt(sent?.place)).toBe("sent");
  });

  test("is missing where only the library ran", async () => {
    const steps = await stepsOf(async (sim) => {
      await sim.system({ name: "shop" }).start(Till, 10);
    });
    const [start] = stepsLike(steps, "run").filter(({ process }) => process === "shop/server");
    expect(start).toBeDefined();
    expect(start?.place).toBeUndefined();
  });
});
