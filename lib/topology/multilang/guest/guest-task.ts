// A task under another host: what spouts and bolts have in common there, and how they speak.

import type { Context } from "../../../process/context.js";
import type { EmitOptions, InitContext, LogLevel, TaskContext } from "../../definition/component.js";
import type { AnyValues, Fields } from "../../definition/field.js";
import { LEVELS } from "../protocol/component-messages.js";
import { toArray } from "../protocol/fields.js";

/** The way to the host. */
export interface HostConnection {
  send(message: object): void;
  /** An emit has asked for task ids: `answer` is given the next that come. */
  asked(answer: (tasks: readonly number[]) => void): void;
}

/** A task's place, as the handshake tells it. */
export interface Place {
  readonly component: string;
  readonly task: number;
  readonly index: number;
  /** Outlives crashes of the task; other tasks of the component are other programs, and have their own. */
  readonly shared: Map<unknown, unknown>;
  /** Lines below it are not sent. */
  readonly logLevel: LogLevel;
}

/** A spout or a bolt, in the life of one process; after a crash there is a new one. */
export interface GuestTask<Item> {
  /** Runs `init`, and what comes before the first item. */
  start(): Promise<void>;
  /** Does all that an item asks for, its answer included. */
  handle(item: Item): Promise<void>;
  /** An orderly end: the hooks that belong to it. @param final - the program ends, the task is not started again */
  stop(final: boolean): Promise<void>;
  /** The process has ended: the host is told what became of the item at hand, and of all that was held. */
  crashed(): void;
}

/** What `init` is given. */
export function initContext(place: Place, wire: HostConnection, process: Context<never>): InitContext {
  const least = LEVELS.indexOf(place.logLevel);
  return {
    component: place.component,
    task: place.task,
    index: place.index,
    shared: place.shared,
    process,
    now: () => process.now(),
    random: () => process.random(),
    log: (level, line) => {
      const number = LEVELS.indexOf(level);
      if (number < least) return;
      wire.send({ command: "log", msg: typeof line === "function" ? line() : line, level: number });
    },
  };
}

export function taskContext(init: InitContext, state: unknown): TaskContext {
  return { ...init, state };
}

/**
 * Sends a tuple. It is refused after the process's end: what is still under way of a crashed task has no say.
 *
 * @throws ProcessExitedError
 */
export function sendTuple(
  wire: HostConnection,
  process: Context<never>,
  stream: string,
  fields: Fields,
  values: AnyValues,
  { task, onTasks }: EmitOptions,
  more: object,
): void {
  process.now();
  const asks = onTasks !== undefined && task === undefined;
  wire.send({
    command: "emit",
    stream,
    tuple: toArray(fields, values),
    ...more,
    ...(task === undefined ? {} : { task }),
    // Said in any case: left out, it would mean true.
    need_task_ids: asks,
  });
  if (onTasks === undefined) return;
  const told = process.wrap(onTasks);
  if (asks) wire.asked(told);
  else told([task as number]);
}
