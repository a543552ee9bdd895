// The messages of the library's own behaviours: instances of classes, which travel as a name, a text and a value.

import { CallMessage, CastMessage, StopMessage } from "../../behaviour/server/messages.js";
import { CallEvent, CastEvent, StopMachine } from "../../behaviour/state-machine/machine-process.js";
import type { Request } from "../../process/request.js";
import { readReason, wireReason } from "./reasons.js";

/** How the messages of one class travel. */
export interface WireMessage<M> {
  /** The class within a signal's text. */
  readonly name: string;
  /** What the paths of errors begin with. */
  readonly root: string;
  /** A text beside the value, such as the name of a method. */
  head(message: M): string;
  value(message: M): unknown;
  /** @throws TypeError for a value that no message of the class has */
  make(head: string, value: unknown): M;
}

/** The messages that are calls: each is its own reply address. */
export type WireCall = WireMessage<Request>;

/** Whether the messages of a class are calls. */
export function areCalls(form: WireMessage<object>): form is WireMessage<object> & WireCall {
  return CALLS.has(form as WireMessage<never>);
}

const args = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value;
  throw new TypeError("arguments that are no list");
};

const event = (head: string, value: unknown): CastEvent["event"] => {
  if ((value as { type?: unknown } | undefined | null)?.type === head) return value as CastEvent["event"];
  throw new TypeError("an event without its type");
};

/** Messages whose fields travel unchanged. */
const CLASSES = new Map<object, WireMessage<never>>();
const NAMES = new Map<string, WireMessage<never>>();
const CALLS = new Set<WireMessage<never>>();

function carry<M extends object>(of: abstract new (...given: never[]) => M, form: WireMessage<M>): void {
  CLASSES.set(of.prototype as object, form as WireMessage<never>);
  NAMES.set(form.name, form as WireMessage<never>);
}

function carryCall<M extends Request>(of: abstract new (...given: never[]) => M, form: WireMessage<M>): void {
  carry(of, form);
  CALLS.add(form as WireMessage<never>);
}

carryCall(CallMessage, {
  name: "call",
  root: "args",
  head: ({ method }) => method,
  value: (message) => message.args,
  make: (method, value) => new CallMessage(method, args(value)),
});
carryCall(CallEvent, {
  name: "call event",
  root: "event",
  head: ({ method }) => method,
  value: (message) => message.event,
  make: (type, value) => new CallEvent(event(type, value)),
});
carry(CastMessage, {
  name: "cast",
  root: "args",
  head: ({ method }) => method,
  value: (message) => message.args,
  make: (method, value) => new CastMessage(method, args(value)),
});
carry(CastEvent, {
  name: "event",
  root: "event",
  head: ({ method }) => method,
  value: (message) => message.event,
  make: (type, value) => new CastEvent(event(type, value)),
});
carry(StopMessage, {
  name: "stop",
  root: "reason",
  head: () => "",
  value: ({ reason }) => wireReason(reason),
  make: (_, value) => new StopMessage(readReason(value)),
});
carry(StopMachine, {
  name: "stop machine",
  root: "reason",
  head: () => "",
  value: ({ reason }) => wireReason(reason),
  make: (_, value) => new StopMachine(readReason(value)),
});

/** The form of a message that is an instance of a class of the library. */
export function wireMessageOf(message: object): WireMessage<object> | undefined {
  const prototype = prototypeOf(message);
  // Most messages are instances of no class. The comparison is cheaper than a look-up.
  if (prototype === Object.prototype || prototype === null) return undefined;
  return CLASSES.get(prototype) as WireMessage<object> | undefined;
}

/** The form with a name. @throws TypeError */
export function wireMessageNamed(name: unknown): WireMessage<object> {
  const form = NAMES.get(name as string);
  if (form === undefined) throw new TypeError("a class of messages that is not known here");
  return form as unknown as WireMessage<object>;
}

/** Null for a Proxy that throws. The walk over the value refuses it later. */
function prototypeOf(message: object): object | null {
  try {
    return Object.getPrototypeOf(message);
  } catch {
    return null;
  }
}
