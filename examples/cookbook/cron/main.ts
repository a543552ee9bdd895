// A demonstration: a shop that nobody opens for three days. The test clock lets the days pass at once.

import { System, supervisor } from "signalbox";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { Repeat } from "./repeat.js";
import { shopSchedules } from "./schedules.js";

const HOUR = 3_600_000;
const clock = testClock({ wallTime: Date.UTC(2026, 0, 5) }); // a Monday
const store = memory(); // in your program: sqlite("schedules.db"), or postgres

async function open(hours: number): Promise<void> {
  const system = new System({ name: "shop", environment: clock.environment });
  const day = () => new Date(clock.environment.wallTime()).toISOString().slice(0, 10);
  const say = (what: string) => async (due: string) => console.log(`${day()}: ${what} ${due.slice(0, 16)}`);
  let filled = 0;
  const fill = async () => void filled++;
  const work = { report: say("report of"), reorder: say("reorder of"), greet: say("greeting of") };
  const schedules = shopSchedules(store, work);
  await system.start(
    supervisor({
      children: [
        { id: "schedules", name: "schedules", start: schedules },
        { id: "prices", start: Repeat, args: [{ everyMs: 10 * 60_000, run: fill }] },
      ],
    }),
  );
  // The host loads croner and stores its schedules: a test clock does not wait for files.
  const { schedules: stored } = schedules.at(system, "schedules");
  while ((await stored.list()).length < 3) await clock.settle();
  await clock.advance(hours * HOUR);
  await clock.until(system.stop());
  console.log(`${day()}: closed; the prices were read ${filled} times`);
}

await open(11); // Monday, from midnight on
await clock.advance(3 * 24 * HOUR); // nobody is there
await open(4); // Thursday, from eleven on
