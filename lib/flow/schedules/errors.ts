// Errors of schedules.

import { SignalboxError } from "../../process/errors.js";
import { show } from "../../process/show.js";

/**
 * A schedule cannot be understood. The error names the schedule, the field, its value, and what would be right.
 *
 * @remedy Correct the field. Nothing was stored: a schedule of this name goes on as it was.
 */
export class ScheduleError extends SignalboxError {
  static override readonly name: string = "ScheduleError";
  readonly code = "ERR_SCHEDULE";
  /** The name of the schedule. */
  readonly schedule: string;
  /** The field that is wrong, such as `cron` or `timeZone`. */
  readonly field: string;
  /** The value that is not allowed. */
  readonly value: unknown;
  constructor(schedule: string, field: string, value: unknown, allowed: string, cause?: unknown) {
    const why = cause instanceof Error ? ` (${cause.message})` : "";
    super(
      `schedule ${show(schedule)}: ${field} must be ${allowed}; got ${show(value)}${why}`,
      cause === undefined ? undefined : { cause },
    );
    this.schedule = schedule;
    this.field = field;
    this.value = value;
  }
}

/**
 * There is no schedule of this name in the store.
 *
 * @remedy Look at `flows.schedules.list()`. A schedule that was declared in the options of a host is removed when the options name it no
 * more.
 */
export class ScheduleNotFoundError extends SignalboxError {
  static override readonly name: string = "ScheduleNotFoundError";
  readonly code = "ERR_SCHEDULE_NOT_FOUND";
  constructor(schedule: string) {
    super(`there is no schedule ${show(schedule)} in the store`);
  }
}
