// Hosts without V8's promise hooks: browsers, workers, Bun. The host handles stray rejections there. Everything else works as on Node.

import { expect, test } from "vitest";
import { ConsumerGroup, consumer, type Environment, type Report, System } from "../../lib/index.js";
import { production } from "../../lib/process/production.js";

const environment: Environment = { ...production, watchRejections: () => undefined };

test("a host that cannot tell which process owns a promise is reported once, and processes work [P22]", async () => {
  const reports: Report[] = [];
  const to = (_text: string, report: Report): void => void reports.push(report);
  const first = new System({ name: "first", environment, report: to });
  const second = new System({ name: "second", environment, report: to });
  expect(reports).toEqual([]);
  const ends: unknown[] = [];
  for (const system of [first, second]) {
    const watcher = system.spawn({
      init: (ctx) => {
        ctx.monitor(ctx.spawn(() => Promise.reject(new Error("no"))));
      },
      handle: () => undefined,
      signal: (_ctx, signal) => void ends.push(signal.type),
    });
    expect(watcher.label).toBeUndefined();
    await system.idle();
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(ends).toEqual(["down", "down"]);
  expect(reports.map(({ event, level, path }) => [event, level, path])).toEqual([["host", "warn", "first"]]);
  expect(reports[0]?.text).toContain("no promise hooks");
  await Promise.all([first.stop(), second.stop()]);
});

test("a crash of a consumer between two awaits is re-routed without promise hooks", async () => {
  const system = new System({ environment, report: false });
  const group = new ConsumerGroup<number>({ maxAttempts: 3 });
  let tries = 0;
  const work = async (n: number): Promise<number> => {
    await Promise.resolve();
    if (++tries === 1) throw new Error("tired");
    return n;
  };
  for (let i = 0; i < 2; i++) system.spawn(consumer(work, { group }));
  const outcome = await system.dispatch(group, 7);
  expect([outcome.reply, outcome.reroutedFrom.length]).toEqual([7, 1]);
  await system.stop();
});
