// Schedules as users declare and handle them.

import { OptionError } from "../../process/errors.js";
import type { AnyFlow, FlowDefinition, MessageTypes } from "../definition/define.js";
import { checkNames, RULES, type ScheduleDefinition, type ScheduleRules } from "./definition.js";
import type { ScheduleRow } from "./tables.js";

/** A flow that is started at its times. See {@link schedule}. */
export interface Schedule {
  /** The name of the schedule. */
  readonly name: string;
  /** When it starts flows. */
  readonly rules: ScheduleRules;
  /** The flow that it starts. */
  readonly flow: AnyFlow;
  /** The input of the flows that it starts. */
  readonly input: unknown;
}

/** What {@link schedule} is given. */
export interface ScheduleOptions<Input> extends ScheduleRules {
  /** The flow that is started, in the newest version that the host has. */
  readonly flow: FlowDefinition<Input, unknown, MessageTypes, unknown>;
  /** The input of each of its flows. */
  readonly input?: Input;
}

/**
 * Declares a schedule: a flow that is started by a cron expression, at an interval, or at single times. Give it to the option `schedules`
 * of a host, or to `flows.schedules.put`. Its flows have the ids `name/due time`, such as `report/2026-11-22T18:00:00.000Z`.
 *
 * @param name - unique in the store, without `/`
 * @throws OptionError
 * @example
 * const nightly = schedule("nightly", { cron: "30 2 * * *", timeZone: "Europe/Berlin", flow: greet, input: "Ada" });
 * const flows = await system.start(flowHost({ store: memory(), flows: [greet], schedules: [nightly] }));
 * console.log((await flows.schedules.list()).length);
 */
export function schedule<Input>(name: string, options: ScheduleOptions<Input>): Schedule {
  checkNames(name, options, [...RULES, "flow", "input"]);
  const { flow, input, ...rules } = options;
  if (typeof flow?.body !== "function")
    throw new OptionError(`schedule ${name}.flow`, flow, "a definition made by defineFlow()");
  return { name, rules, flow: flow as AnyFlow, input };
}

/** A schedule in the store, and where it is. Times are milliseconds since 1970. */
export interface ScheduleInfo {
  /** The name of the schedule. */
  readonly name: string;
  /** The name of its flow. */
  readonly flow: string;
  /** Its rules, with all defaults. */
  readonly rules: ScheduleDefinition;
  /** Whether it starts nothing until it is resumed. */
  readonly paused: boolean;
  /** The next due time. Undefined: it is paused, or there is none. */
  readonly due: number | undefined;
  /** The last due time that started a flow. */
  readonly fired: number | undefined;
  /** The id of the flow that was started last. */
  readonly last: string | undefined;
  /** How many due times have started nothing: they were missed, or met a running flow. */
  readonly skipped: number;
}

export function infoOf(row: ScheduleRow): ScheduleInfo {
  const { name, flow, definition, paused, due, fired, last, skipped } = row;
  return {
    name,
    flow,
    rules: JSON.parse(definition) as ScheduleDefinition,
    paused: paused === 1,
    due: due ?? undefined,
    fired: fired ?? undefined,
    last: last ?? undefined,
    skipped,
  };
}

/** The requests to a host about its schedules. */
export type ScheduleAsk =
  | { readonly do: "put"; readonly schedule: Schedule }
  | { readonly do: "pause" | "resume" | "trigger" | "remove"; readonly name: string }
  | { readonly do: "list" };

/** The schedules of a store, by one of its hosts: `flows.schedules`. */
export class Schedules {
  readonly #ask: (ask: ScheduleAsk) => Promise<unknown>;

  /** @internal */
  constructor(ask: (ask: ScheduleAsk) => Promise<unknown>) {
    this.#ask = ask;
  }

  /**
   * Stores a schedule, or changes the one of its name. One that is there with the same rules goes on undisturbed; changed rules
   * count from now.
   *
   * @throws ScheduleError, PackageMissingError, UnknownFlowError, FlowInputError
   */
  async put(given: Schedule): Promise<void> {
    if (typeof (given as Schedule | undefined | null)?.rules !== "object")
      throw new OptionError("schedule", given, "a schedule made by schedule()");
    await this.#ask({ do: "put", schedule: given });
  }

  /** All schedules of the store, by name. */
  async list(): Promise<readonly ScheduleInfo[]> {
    return (await this.#ask({ do: "list" })) as readonly ScheduleInfo[];
  }

  /** Starts nothing until `resume`. @throws ScheduleNotFoundError */
  async pause(name: string): Promise<void> {
    await this.#ask({ do: "pause", name });
  }

  /** Goes on from now and skips the due times in the meantime. @throws ScheduleNotFoundError */
  async resume(name: string): Promise<void> {
    await this.#ask({ do: "resume", name });
  }

  /** Starts its flow now, beside its due times. Returns the flow's id. @throws ScheduleNotFoundError */
  async trigger(name: string): Promise<string> {
    return (await this.#ask({ do: "trigger", name })) as string;
  }

  /** Removes it. Flows that it has started go on. @throws ScheduleNotFoundError */
  async remove(name: string): Promise<void> {
    await this.#ask({ do: "remove", name });
  }
}
