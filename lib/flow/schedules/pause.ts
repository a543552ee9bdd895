// Schedules without a host: to list them, to pause them, and to let them go on. Hosts learn of it by their topic.

import type { Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { decided } from "../journal/changes.js";
import { type CronParser, loadCron } from "./cron.js";
import { configOf, type ScheduleDefinition } from "./definition.js";
import { ScheduleNotFoundError } from "./errors.js";
import { columnsOf, MOST_SCHEDULES, stateOf } from "./schedule-keeper.js";
import { decide } from "./schedule-machine.js";
import { infoOf, type ScheduleInfo } from "./schedules.js";
import { SCHEDULE_TOPIC, schedules } from "./tables.js";

/** Schedules in the order of their names. @param after - only those behind this name */
export async function listSchedules(
  store: Store,
  limit: number = MOST_SCHEDULES,
  after?: string,
): Promise<ScheduleInfo[]> {
  const behind = after === undefined ? {} : { after };
  return (await store.scan(schedules, { limit: Math.min(limit, MOST_SCHEDULES), ...behind })).map(infoOf);
}

/** @throws ScheduleNotFoundError, PackageMissingError */
export async function setSchedule(
  store: Store,
  name: string,
  what: "pause" | "resume",
  cron: () => Promise<CronParser> = loadCron,
): Promise<void> {
  await decided(async () => {
    const [row] = await store.get(schedules, [[name]]);
    if (row === undefined) throw new ScheduleNotFoundError(name);
    const rules = JSON.parse(row.definition) as ScheduleDefinition;
    const config = configOf(name, rules, rules.cron === undefined ? undefined : await cron());
    const before = stateOf(row);
    const [state] = decide(config, before, { type: what, now: await wholeClock(store) });
    if (state.paused === before.paused) return;
    await store.commit({
      expect: [{ table: schedules, key: [name], is: { revision: row.revision } }],
      writes: [
        { type: "put", table: schedules, row: { ...row, ...columnsOf(state), revision: row.revision + 1 } },
      ],
      notify: [SCHEDULE_TOPIC],
    });
  });
}
