// A task under another host: the common part of spouts and bolts, and how they send tuples.

import type { Context } from "../../../process/context.js";
import type { EmitOptions, InitContext, LogLevel } from "../../definition/component.js";
import type { AnyValues, Fields } from "../../definition/field.js";
import { withForeignHost } from "../../runtime/foreign-host.js";
import { initContext } from "../../tasks/task.js";
import { LEVELS } from "../protocol/component-messages.js";
import { toArray } from "../protocol/fields.js";

/** The connection to the host. */
export interface HostConnection {
  send(message: object): void;
  /** An emit has requested task ids: `answer` is called with the next ids that come. */
  expectTaskIds(answer: (tasks: readonly number[]) => void): void;
}

/** Which task of the host's topology the program is, from the handshake. */
export interface TaskIdentity {
  readonly component: string;
  readonly task: number;
  readonly index: number;
  /** Survives crashes of the task. The other tasks of the component run in programs of their own, each with its own map. */
  readonly shared: Map<unknown, unknown>;
  /** Lines of a lower level are not sent. */
  readonly logLevel: LogLevel;
  /** The message timeout of the host, if the program cannot know by itself which tuples are retries. */
  readonly messageTimeoutMs?: number;
  /** Streams of the component that a host which is not ours must not track: all their subscriptions are unanchored. */
  readonly unanchored?: ReadonlySet<string>;
}

/** A spout or a bolt as one process; after a crash the next process gets a new one. */
export interface ProgramTask<Item> {
  /** Runs `init`, and everything else that comes before the first item. */
  start(): Promise<void>;
  /** Carries out an item, including the answer to the host. */
  handle(item: Item): Promise<void>;
  /** Runs the hooks of an orderly end. @param final - the program ends, so the task does not restart */
  stop(final: boolean): Promise<void>;
  /** The process has crashed: answers the current item, and fails all held tuples. */
  crashed(): void;
}

/** The context for `init`. */
export function programContext(
  place: TaskIdentity,
  wire: HostConnection,
  process: Context<never>,
): InitContext {
  const least = LEVELS.indexOf(place.logLevel);
  const { messageTimeoutMs } = place;
  const context = initContext(place, process, (level, line) => {
    const number = LEVELS.indexOf(level);
    if (number < least) return;
    wire.send({ command: "log", msg: typeof line === "function" ? line() : line, level: number });
  });
  return messageTimeoutMs === undefined ? context : withForeignHost(context, { messageTimeoutMs });
}

/**
 * Sends a tuple to the host.
 *
 * @throws ProcessExitedError after the end of the process, so that leftover work of a crashed task emits nothing
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
    // Always sent, because a host takes a missing value for true.
    need_task_ids: asks,
  });
  if (onTasks === undefined) return;
  const report = process.wrap(onTasks);
  if (asks) wire.expectTaskIds(report);
  else report([task as number]);
}
