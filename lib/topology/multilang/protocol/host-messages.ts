// The messages of a host to a component in another program: their types, the check of a message from the wire, and how
// we write them when we are the host. component-messages.ts has the other direction.

import { show } from "../../../process/show.js";
import {
  isGiven,
  type MessageId,
  messageId,
  object,
  type Parts,
  string,
  whole,
  wrong,
} from "./component-messages.js";
import { MultilangError } from "./errors.js";

/** Names of the fields of a bolt's input tuples, by component and stream. */
export type SourceFields = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** The first message: the component's place in the topology. */
export interface Handshake {
  readonly type: "handshake";
  readonly conf: Parts;
  /** The component creates an empty file here, named after its process id. */
  readonly pidDir: string;
  readonly component: string;
  readonly task: number;
  /** Components by task. */
  readonly tasks: ReadonlyMap<number, string>;
  readonly sourceFields: SourceFields;
  /** The component's own streams that have subscribers. */
  readonly read: ReadonlySet<string>;
}

/** A tuple in the protocol. */
export interface WireTuple {
  readonly type: "tuple";
  readonly id: MessageId;
  readonly component: string;
  readonly stream: string;
  readonly task: number;
  readonly values: readonly unknown[];
}

export type SpoutCommand = "next" | "ack" | "fail" | "activate" | "deactivate";

/** A message to a component after the handshake. */
export type HostMessage =
  | WireTuple
  /** The receiving tasks of an emit. These answers come in the order of the emits that requested them. */
  | { readonly type: "tasks"; readonly tasks: readonly number[] }
  | { readonly type: "heartbeat" }
  | { readonly type: "tick"; readonly id: MessageId }
  | { readonly type: "command"; readonly command: SpoutCommand; readonly id: MessageId | undefined };

export const HEARTBEAT = "__heartbeat";
export const TICK = "__tick";
export const SYSTEM = "__system";
const COMMANDS: readonly string[] = [
  "next",
  "ack",
  "fail",
  "activate",
  "deactivate",
] satisfies SpoutCommand[];

/** Checks the first message of a host. @throws MultilangError that names the invalid part */
export function parseHandshake(value: unknown): Handshake {
  const parts = object("the handshake", value);
  const context = object("context of the handshake", parts.context);
  const tasks = new Map<number, string>();
  const components = context["task->component"];
  for (const [task, component] of Object.entries(
    object("task->component of the handshake", components ?? {}),
  ))
    tasks.set(
      whole("a task of the handshake", Number(task)),
      string("a component of the handshake", component),
    );
  return {
    type: "handshake",
    conf: object("conf of the handshake", parts.conf ?? {}),
    pidDir: string("pidDir of the handshake", parts.pidDir),
    component: string("componentid of the handshake", context.componentid),
    task: whole("taskid of the handshake", context.taskid),
    tasks,
    sourceFields: sourceFields(context["source->stream->fields"] ?? {}),
    read: readStreams(context["stream->target->grouping"] ?? {}),
  };
}

function readStreams(value: unknown): ReadonlySet<string> {
  const what = "stream->target->grouping of the handshake";
  const streams = Object.entries(object(what, value));
  return new Set(
    streams
      .filter(([, targets]) => Object.keys(object(what, targets ?? {})).length > 0)
      .map(([name]) => name),
  );
}

function sourceFields(value: unknown): SourceFields {
  const what = "source->stream->fields of the handshake";
  for (const streams of Object.values(object(what, value)))
    for (const names of Object.values(object(what, streams)))
      if (!Array.isArray(names) || names.some((name) => typeof name !== "string"))
        throw wrong(what, names, "arrays of names, by stream, by component");
  return value as SourceFields;
}

/** Checks a message of a host after the handshake. @throws MultilangError that names the invalid part */
export function parseHostMessage(value: unknown): HostMessage {
  if (Array.isArray(value)) return { type: "tasks", tasks: value.map((task) => whole("a task id", task)) };
  const parts = object("a host's message", value);
  const { command, stream } = parts;
  if (command !== undefined) return spoutCommand(command, parts);
  if (stream === HEARTBEAT) return { type: "heartbeat" };
  const id = messageId("id of a tuple", parts.id);
  if (stream === TICK && parts.task === -1) return { type: "tick", id };
  const values = parts.tuple;
  if (!Array.isArray(values)) throw wrong("tuple of a tuple", values, "an array");
  return {
    type: "tuple",
    id,
    component: string("comp of a tuple", parts.comp),
    stream: string("stream of a tuple", stream),
    task: whole("task of a tuple", parts.task),
    values,
  };
}

function spoutCommand(command: unknown, parts: Parts): HostMessage {
  if (!COMMANDS.includes(command as string))
    throw new MultilangError(
      "command",
      `a host's command must be one of ${COMMANDS.join(", ")}; got ${show(command)}`,
    );
  const settles = command === "ack" || command === "fail";
  const id = settles || isGiven(parts.id) ? messageId(`id of ${command}`, parts.id) : undefined;
  return { type: "command", command: command as SpoutCommand, id };
}

/** Messages to a component that we host, as the protocol writes them. */
export const requests: {
  readonly tuple: (
    id: MessageId,
    comp: string,
    stream: string,
    task: number,
    tuple: readonly unknown[],
  ) => object;
  readonly heartbeat: () => object;
  readonly tick: (id: MessageId) => object;
  readonly command: (command: SpoutCommand, id?: MessageId) => object;
} = {
  tuple: (id, comp, stream, task, tuple) => ({ id, comp, stream, task, tuple }),
  // Hosts may send null for `comp`. No library acks the id of a heartbeat, but libraries require one.
  heartbeat: () => ({ id: "heartbeat", comp: null, stream: HEARTBEAT, task: -1, tuple: [] }),
  tick: (id) => ({ id, comp: SYSTEM, stream: TICK, task: -1, tuple: [1] }),
  command: (command, id) => (id === undefined ? { command } : { command, id }),
};
