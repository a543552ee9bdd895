// The schedules of a host: stores those that it declares, and answers its users.

import type { CronParser } from "./cron.js";
import { defined } from "./definition.js";
import { ScheduleKeeper, type SchedulePort } from "./schedule-keeper.js";
import { infoOf, type Schedule, type ScheduleAsk } from "./schedules.js";
import type { ScheduleRow } from "./tables.js";

/** The port of a host's schedules, besides that of their keeper. */
export interface HostSchedulesPort extends SchedulePort {
  /** Checks and encodes the input of a schedule's flow. @throws FlowInputError */
  input(schedule: Schedule): Promise<ScheduleRow["input"]>;
  id(): string;
}

export class HostSchedules {
  readonly keeper: ScheduleKeeper;
  readonly #port: HostSchedulesPort;

  constructor(port: HostSchedulesPort) {
    this.#port = port;
    this.keeper = new ScheduleKeeper(port);
  }

  /** Stores the schedules that the host declares, and removes those that it declares no more. */
  async declare(declared: readonly Schedule[] | undefined): Promise<void> {
    for (const one of declared ?? []) await this.#put(one, true);
    if (declared !== undefined)
      await this.keeper.retire(
        this.#port.flows,
        declared.map(({ name }) => name),
      );
    this.keeper.look();
  }

  async answer(ask: ScheduleAsk): Promise<unknown> {
    switch (ask.do) {
      case "put":
        return this.#put(ask.schedule, false);
      case "list":
        return (await this.keeper.list()).map(infoOf);
      case "remove":
        return this.keeper.remove(ask.name);
      case "pause":
      case "resume":
      case "trigger":
        return this.keeper.change(ask.name, ask.do, this.#port.id());
      default:
        return ask satisfies never;
    }
  }

  async #put(schedule: Schedule, declared: boolean): Promise<void> {
    const { name, rules, flow } = schedule;
    const parse: CronParser | undefined = rules.cron === undefined ? undefined : await this.#port.cron();
    const definition = defined(name, rules, parse);
    const input = await this.#port.input(schedule);
    await this.keeper.put({ name, flow: flow.name, input, definition, declared });
  }
}
