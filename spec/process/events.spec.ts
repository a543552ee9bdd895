// What a system tells of itself, and what that costs when nobody listens.

import { type Report, System, type SystemEventMap } from "signalbox";
import { explore } from "signalbox/testing";
import { describe, expect, test, vi } from "vitest";
import { SystemEvents } from "../../lib/process/events.js";
import { hostRejections } from "../support/host.js";

describe("`wants`", () => {
  const ignored = (): void => undefined;
  const ignoredToo = (): void => undefined;

  test("says for each event whether there is a listener, for every way to add and remove one", () => {
    const events = new SystemEvents(
      (fn) => fn(),
      undefined,
      () => undefined,
    );
    expect(events.wants.exit).toBeFalsy();
    events.on("exit", ignored);
    expect(events.wants.exit).toBe(true);
    expect(events.wants.spawn).toBeFalsy();
    events.addListener("exit", ignoredToo);
    events.off("exit", ignored);
    expect(events.wants.exit).toBe(true);
    events.removeListener("exit", ignoredToo);
    expect(events.wants.exit).toBeFalsy();
    events.on("exit", ignored).on("spawn", ignored).once("link", ignored);
    events.removeAllListeners("exit");
    expect([events.wants.exit, events.wants.spawn, events.wants.link]).toEqual([false, true, true]);
    events.removeAllListeners();
    expect([events.wants.exit, events.wants.spawn, events.wants.link]).toEqual([false, false, false]);
    events.on("exit", ignored);
    expect(events.wants.exit).toBe(true);
  });

  test("is false again after the one event that `once` waits for", async () => {
    await using system = new System({ report: false });
    let told = 0;
    system.events.once("spawn", () => told++);
    expect(system.events.wants.spawn).toBe(true);
    system.spawn(() => undefined);
    system.spawn(() => undefined);
    expect(told).toBe(1);
    expect(system.events.wants.spawn).toBe(false);
  });
});

describe("an event without a listener", () => {
  test("is not even built", async () => {
    await using system = new System({ limits: { highWater: 2 }, report: false });
    const published: string[] = [];
    const publish = system.events.publish.bind(system.events);
    system.events.publish = <T extends keyof SystemEventMap>(event: T, ...args: SystemEventMap[T]) => {
      published.push(event);
      publish(event, ...args);
    };
    const everything = async (): Promise<void> => {
      const idle = system.spawn<number>({ handle: () => undefined });
      system.spawn((ctx) => {
        ctx.link(idle);
        throw new Error("boom");
      });
      const busy = system.spawn<number>({ handle: () => undefined });
      for (let i = 0; i < 5; i++) system.send(busy, i);
      system.send("nobody", "lost");
      await system.idle();
    };
    await everything();
    expect(published).toEqual([]);
    expect(system.deadLetters).toBe(1);
    for (const event of ["spawn", "exit", "link", "deadLetter", "highWater"] as const) {
      system.events.on(event, () => undefined);
    }
    await everything();
    expect(new Set(published)).toEqual(new Set(["spawn", "exit", "link", "deadLetter", "highWater"]));
    expect(system.deadLetters).toBe(2);
  });
});

describe("a listener that throws", () => {
  test("ends neither the host, nor the process that caused the event, nor the listeners after it [H8]", async () => {
    const reports: Report[] = [];
    const heard: string[] = [];
    const log: unknown[] = [];
    const rejections = await hostRejections(async () => {
      await using system = new System({ report: (_text, report) => void reports.push(report) });
      for (const event of ["spawn", "exit", "link", "deadLetter"] as const) {
        system.events.on(event, () => {
          throw new Error(event);
        });
        system.events.on(event, () => void heard.push(event));
      }
      const pid = system.spawn<string>({
        handle: (ctx, message) => {
          log.push(message);
          ctx.send("nobody", "lost");
          const child = ctx.spawn(() => undefined);
          ctx.link(child);
          ctx.unlink(child);
          log.push("done");
        },
      });
      system.send(pid, "go");
      system.send(pid, "again");
      await system.idle();
      expect(system.isAlive(pid)).toBe(true);
    });
    expect(rejections).toEqual([]);
    expect(log).toEqual(["go", "done", "again", "done"]);
    expect(heard.filter((event) => event === "link")).toHaveLength(2);
    // Each of the four listeners threw several times, and is reported once.
    expect(reports.map(({ event, error }) => [event, (error as Error).message])).toEqual([
      ["listener", "spawn"],
      ["listener", "deadLetter"],
      ["listener", "link"],
      ["listener", "exit"],
    ]);
    expect(reports[0]?.text).toContain('system: a listener of "spawn" events threw');
  });

  test("is contained too when it is asynchronous or hears one event only, and can be removed [H8]", async () => {
    const reports: unknown[] = [];
    const rejections = await hostRejections(async () => {
      await using system = new System({ report: (_text, { error }) => void reports.push(error) });
      const late = async (): Promise<void> => {
        throw new Error("late");
      };
      const removed = (): void => void reports.push("removed");
      system.events.on("spawn", late as () => void);
      system.events.on("spawn", removed);
      system.events.off("spawn", removed);
      system.events.once("exit", () => {
        throw new Error("once");
      });
      system.spawn(() => undefined);
      system.spawn(() => undefined);
      await system.idle();
      expect(system.events.listenerCount("exit")).toBe(0);
      system.events.off("spawn", late as () => void);
      expect(system.events.listenerCount("spawn")).toBe(0);
    });
    expect(rejections).toEqual([]);
    expect(reports.map((error) => (error as Error).message).sort()).toEqual(["late", "once"]);
  });

  test("of reports loses no report: standard error gets them, and why [H8]", async () => {
    const printed: string[] = [];
    const print = vi.spyOn(console, "error").mockImplementation((text) => void printed.push(text));
    const rejections = await hostRejections(async () => {
      await using system = new System({
        name: "shop",
        report: () => {
          throw new Error("no ink");
        },
      });
      for (const reason of ["one", "two"])
        system.spawn(() => {
          throw new Error(reason);
        });
      await system.idle();
    }).finally(() => print.mockRestore());
    expect(rejections).toEqual([]);
    expect(printed).toHaveLength(2);
    expect(printed[0]).toMatch(
      /^shop: the sink of reports threw: Error: no ink[\s\S]*ended, and no process[\s\S]*one/,
    );
    expect(printed[1]).toMatch(/^<shop\.2> ended[\s\S]*two/);
  });

  test("fails the schedule in a simulation: the listener is the test's [H8]", async () => {
    const failed = explore(
      async (sim) => {
        const system = sim.system();
        system.events.on("spawn", () => expect(1).toBe(2));
        system.spawn(() => undefined);
        await sim.quiet();
      },
      { schedules: 1 },
    );
    await expect(failed).rejects.toThrow("expected 1 to be 2");
  });
});

test("an event is emitted before the process that caused it continues", async () => {
  await using system = new System({ report: false });
  const log: unknown[] = [];
  system.events.on("spawn", ({ pid, parent }) => log.push(["spawn", pid, parent]));
  system.events.on("exit", ({ pid, reason }) => log.push(["exit", pid, reason.type]));
  const outer = system.spawn((ctx) => {
    log.push("before");
    ctx.spawn(() => undefined, { label: "inner" });
    log.push("after");
  });
  await system.idle();
  const inner = expect.objectContaining({ label: "inner" });
  expect(log).toEqual([
    ["spawn", outer, undefined],
    "before",
    ["spawn", inner, outer],
    "after",
    ["exit", outer, "normal"],
    ["exit", inner, "normal"],
  ]);
});
