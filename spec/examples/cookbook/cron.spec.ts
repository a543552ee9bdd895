// The recipe of schedules: restarts, missed times, kills in the middle, and work that is slower than its schedule.

import { System, supervisor } from "signalbox";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { Repeat, type Repetition } from "../../../examples/cookbook/cron/repeat.js";
import { shopSchedules, type Work } from "../../../examples/cookbook/cron/schedules.js";

const HOUR = 3_600_000;
const nothing = async (): Promise<void> => undefined;

function shop(work: Partial<Work>) {
  const clock = testClock({ wallTime: Date.UTC(2026, 0, 5) });
  const store = memory();
  const open = async () => {
    const system = new System({ environment: clock.environment, report: false });
    const all = { report: nothing, reorder: nothing, greet: nothing, ...work };
    const start = shopSchedules(store, all);
    await system.start(supervisor({ children: [{ id: "schedules", name: "schedules", start }] }));
    const { schedules } = start.at(system, "schedules");
    while ((await schedules.list()).length < 3) await clock.settle();
    return system;
  };
  return { clock, open };
}
/** The day and hour of a due time. */
const short = (due: string): string => due.slice(8, 13);

it("what was missed starts by its rule: all nights one at a time, the last reorder, no greeting", async () => {
  const done: string[] = [];
  let [writing, most] = [0, 0];
  const { clock, open } = shop({
    report: async (night) => {
      most = Math.max(most, ++writing);
      await new Promise((resolve) => setImmediate(resolve));
      writing--;
      done.push(`report ${short(night)}`);
    },
    reorder: async (due) => void done.push(`reorder ${short(due)}`),
    greet: async (due) => void done.push(`greet ${short(due)}`),
  });
  const monday = await open();
  await clock.advance(11 * HOUR);
  await clock.until(monday.stop());
  expect(done.splice(0)).toEqual(["report 05T01", "reorder 05T06", "greet 05T07"]);
  await clock.advance(3 * 24 * HOUR);
  const thursday = await open();
  await clock.advance(60_000);
  await clock.until(thursday.stop());
  expect(done.filter((line) => line.startsWith("report"))).toEqual([
    "report 06T01",
    "report 07T01",
    "report 08T01",
  ]);
  expect(done.filter((line) => !line.startsWith("report"))).toEqual(["reorder 08T06"]);
  expect(most).toBe(1);
});

it("a report that is killed in the middle is written again, for the same night", async () => {
  const begun: string[] = [];
  const { clock, open } = shop({
    report: async (night) => {
      begun.push(short(night));
      if (begun.length === 1) await new Promise(() => undefined);
    },
  });
  const system = await open();
  await clock.advance(2 * HOUR);
  system.exit("schedules", "kill");
  await clock.advance(HOUR);
  expect(begun).toEqual(["05T01", "05T01"]);
  await clock.advance(24 * HOUR);
  expect(begun.slice(2)).toEqual(["06T01"]);
  await clock.until(system.stop());
});

it("a reorder that takes longer than its period is not joined by another", async () => {
  const begun: string[] = [];
  let end = (): void => undefined;
  const { clock, open } = shop({
    reorder: async (due) => {
      begun.push(short(due));
      if (begun.length === 1)
        await new Promise<void>((resolve) => {
          end = resolve;
        });
    },
  });
  const system = await open();
  await clock.advance(13 * HOUR);
  expect(begun).toEqual(["05T06"]);
  end();
  await clock.advance(6 * HOUR);
  expect(begun).toEqual(["05T06", "05T18"]);
  await clock.until(system.stop());
});

async function repeated(repetition: Repetition) {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const children = [{ id: "repeat", start: Repeat, args: [repetition] }] as const;
  await system.start(supervisor({ intensity: 10, children }));
  return { clock, system };
}

it("a repetition waits for its end before it waits for its time, and begins anew after a crash", async () => {
  const begun: number[] = [];
  const { clock, system } = await repeated({
    everyMs: 100,
    run: async () => {
      begun.push(clock.now);
      if (begun.length === 2) throw new Error("no prices");
      if (begun.length === 3) clock.elapse(250);
    },
  });
  await clock.advance(450);
  expect(begun).toEqual([0, 100, 100, 450]);
  await clock.until(system.stop());
  expect(clock.pendingTimers).toBe(0);
});

it("a stop ends a repetition in the middle of its work, and chance spreads the next one", async () => {
  const begun: number[] = [];
  let aborted = false;
  const { clock, system } = await repeated({
    everyMs: 100,
    jitterMs: 50,
    run: async (signal) => {
      begun.push(clock.now);
      if (begun.length < 3) return;
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      await new Promise(() => undefined);
    },
  });
  await clock.advance(300);
  expect(begun.length).toBe(3);
  for (const [i, at] of begun.entries()) expect(at - (begun[i - 1] ?? -125)).not.toBe(100);
  expect(aborted).toBe(false);
  await clock.until(system.stop());
  expect(aborted).toBe(true);
});
