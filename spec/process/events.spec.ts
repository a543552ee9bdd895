// What a system tells of itself, and what that costs when nobody listens.

import { System, type SystemEventMap } from "signalbox";
import { describe, expect, test } from "vitest";
import { SystemEvents } from "../../lib/process/events.js";
import { hostRejections } from "../support/host.js";

describe("`wants`", () => {
  const ignored = (): void => undefined;
  const ignoredToo = (): void => undefined;

  test("says for each event whether there is a listener, for every way to add and remove one", () => {
    const events = new SystemEvents((fn) => fn());
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
  test("throws to the host: the system goes on, and so does the process that caused the event", async () => {
    const rejections = await hostRejections(async () => {
      await using system = new System({ report: false });
      for (const event of ["spawn", "exit", "link", "deadLetter", "crash"] as const) {
        system.events.on(event, () => {
          throw new Error(event);
        });
      }
      const log: unknown[] = [];
      const pid = system.spawn<string>({
        handle: (ctx, message) => {
          log.push(message);
          ctx.send("nobody", "lost");
          const child = ctx.spawn(() => {
            throw new Error("boom");
          });
          ctx.link(child);
          ctx.unlink(child);
          log.push("done");
        },
      });
      system.send(pid, "go");
      await system.idle();
      expect(log).toEqual(["go", "done"]);
      expect(system.isAlive(pid)).toBe(true);
      system.events.removeAllListeners();
    });
    expect(rejections.map((error) => (error as Error).message)).toEqual([
      "spawn",
      "deadLetter",
      "spawn",
      "link",
      "exit",
      "crash",
    ]);
  });

  test("of reports throws to the host as well", async () => {
    const rejections = await hostRejections(async () => {
      await using system = new System({
        report: () => {
          throw new Error("no ink");
        },
      });
      let ran = false;
      system.spawn(() => {
        throw new Error("boom");
      });
      system.spawn(() => {
        ran = true;
      });
      await system.idle();
      expect(ran).toBe(true);
    });
    expect(rejections).toMatchObject([{ message: "no ink" }]);
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
