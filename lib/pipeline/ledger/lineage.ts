// Lineage: what became of each message in its route, call by call. One packed row a message; its id names its ancestors, and is not in
// the row a second time.
//
//     status attempt children route batch     a line for the message, its fields divided by tabs
//     r error                                 a line for each attempt before that failed
//     p what at queue by reason               a line for each thing that people did with it
//     status started took gave adapter …      a line for each call: started as the difference to the call before, in milliseconds,
//                                             took in microseconds
//
// Numbers are written to the base 36. A text that has more than letters, digits and a few signs is written as JSON.

import { InvariantError } from "../../process/errors.js";
import type { MessageId } from "../definition/message-id.js";

/** One call of an adapter. */
export interface CallRecord {
  /** The name of the adapter. */
  readonly adapter: string;
  /** `skipped`: the condition of the adapter was false. `ended`: it returned nothing, so nothing went on. */
  readonly status: "completed" | "skipped" | "ended" | "failed";
  /** Milliseconds since 1970, rounded down when it is stored. */
  readonly startedMs: number;
  /** Stored to the microsecond. */
  readonly tookMs: number;
  /** How many values it gave. */
  readonly gave: number;
  /** A hash of its input, as it was at the time of the call, if the policy `hashValues` asks for it. For a batch: of the list of its values. */
  readonly input?: string;
  /** A hash of its output, as it was on return, likewise. For several values: of their list. Absent if there was none. */
  readonly output?: string;
  /** The error of a call that failed. */
  readonly error?: string;
}

/** Something that people did with a message. */
export interface MessageChange {
  /** `moved`: to another queue. `given up`: it was ended, and nothing comes of it. */
  readonly what: "moved" | "given up";
  /** When, in milliseconds since 1970, by the clock of the store. */
  readonly at: number;
  /** The queue in which it was. */
  readonly queue: string;
  /** Who did it. */
  readonly by: string;
  /** Why, if they have said so. */
  readonly reason?: string;
}

/** What became of a message. */
export interface LineageEntry {
  readonly id: MessageId;
  /** Empty: no route of its execution took from its queue. */
  readonly route: string;
  /** `dropped`: people have ended it. */
  readonly status: "completed" | "dead" | "cancelled" | "dropped";
  /** 1 for the first. */
  readonly attempt: number;
  readonly calls: readonly CallRecord[];
  /** How many children it has in other queues. */
  readonly children: number;
  /** The id of the first message of the batch in which it was processed. */
  readonly batch?: MessageId;
  /** The errors of the attempts before, the oldest first. A dead letter has them in its own row. */
  readonly errors?: readonly string[];
  /** What people did with it, the oldest first. Absent: nothing. */
  readonly changes?: readonly MessageChange[];
}

const MESSAGE = { completed: "c", dead: "d", cancelled: "x", dropped: "g" } as const;
/** Begins the line of an attempt that failed. */
const RETRIED = "r\t";
/** Begins the line of something that people did. */
const CHANGED = "p\t";
const CHANGE = { moved: "m", "given up": "g" } as const;
const CALL = { completed: "c", skipped: "s", ended: "e", failed: "f" } as const;
const MESSAGE_STATUS = invert(MESSAGE);
const CALL_STATUS = invert(CALL);
const CHANGES = invert(CHANGE);

function invert<K extends string>(letters: Readonly<Record<K, string>>): ReadonlyMap<string, K> {
  return new Map(Object.entries(letters).map(([name, letter]) => [letter as string, name as K]));
}

const PLAIN = /^[\w.:/+=@-]+$/;

/** A text without tabs and lines. */
const packed = (text: string): string => (PLAIN.test(text) ? text : JSON.stringify(text));
const unpacked = (text: string): string => (text.startsWith('"') ? (JSON.parse(text) as string) : text);
const number = (n: number): string => n.toString(36);
const whole = (text: string | undefined): number => Number.parseInt(text as string, 36);

interface CallLine {
  readonly letter: string;
  readonly since: number;
  readonly took: number;
  readonly gave: number;
  readonly text: string;
}

/** The last line of each adapter. Most of its calls take less than a millisecond, and their lines are equal. */
const lastLines = new Map<string, CallLine>();
/** Most adapters whose last line is kept. */
const MOST_LINES = 1_000;

function callLine(adapter: string, letter: string, since: number, took: number, gave: number): string {
  const last = lastLines.get(adapter);
  if (
    last !== undefined &&
    last.letter === letter &&
    last.since === since &&
    last.took === took &&
    last.gave === gave
  )
    return last.text;
  const text = `\n${letter}\t${number(since)}\t${number(took)}\t${number(gave)}\t${packed(adapter)}`;
  if (lastLines.size >= MOST_LINES) lastLines.clear();
  lastLines.set(adapter, { letter, since, took, gave, text });
  return text;
}

/** An entry as its row holds it. */
export function encodeEntry(entry: LineageEntry): string {
  const { route, status, attempt, calls, children, batch, errors, changes } = entry;
  let text = `${MESSAGE[status]}\t${number(attempt)}\t${number(children)}\t${packed(route)}`;
  if (batch !== undefined) text += `\t${packed(batch)}`;
  if (errors !== undefined) for (const error of errors) text += `\n${RETRIED}${packed(error)}`;
  if (changes !== undefined) for (const change of changes) text += `\n${encodeChange(change)}`;
  let last = 0;
  for (const call of calls) {
    const started = Math.floor(call.startedMs);
    const { adapter, gave, input, output, error } = call;
    const took = Math.round(call.tookMs * 1_000);
    text += callLine(adapter, CALL[call.status], started - last, took, gave);
    last = started;
    if (input === undefined && output === undefined && error === undefined) continue;
    text += `\t${optional(input)}\t${optional(output)}`;
    if (error !== undefined) text += `\t${packed(error)}`;
  }
  return text;
}

/** Nothing is unlike an empty text. */
const optional = (text: string | undefined): string => (text === undefined ? "" : packed(text));

function encodeChange({ what, at, queue, by, reason }: MessageChange): string {
  const text = `${CHANGED}${CHANGE[what]}\t${number(Math.floor(at))}\t${packed(queue)}\t${packed(by)}`;
  return reason === undefined ? text : `${text}\t${packed(reason)}`;
}

function decodeChange(line: string): MessageChange {
  const [letter, at, queue, by, reason] = line.slice(CHANGED.length).split("\t");
  const what = CHANGES.get(letter as string);
  if (what === undefined) throw new InvariantError(`${line} is no change of a message`);
  return {
    what,
    at: whole(at),
    queue: unpacked(queue as string),
    by: unpacked(by as string),
    ...(reason !== undefined && { reason: unpacked(reason) }),
  };
}

/** The entry that a row holds. */
export function decodeEntry(id: MessageId, text: string | Uint8Array): LineageEntry {
  const lines = (typeof text === "string" ? text : new TextDecoder().decode(text)).split("\n");
  const [letter, attempt, children, route, batch] = (lines[0] as string).split("\t");
  const status = MESSAGE_STATUS.get(letter as string);
  if (status === undefined) throw new InvariantError(`${lines[0]} is no entry of a lineage`);
  let last = 0;
  const errors: string[] = [];
  const changes: MessageChange[] = [];
  const calls = lines.slice(1).flatMap((line) => {
    if (line.startsWith(CHANGED)) {
      changes.push(decodeChange(line));
      return [];
    }
    if (line.startsWith(RETRIED)) {
      errors.push(unpacked(line.slice(RETRIED.length)));
      return [];
    }
    const call = decodeCall(line, last);
    last = call.startedMs;
    return [call];
  });
  return {
    id,
    route: unpacked(route as string),
    status,
    attempt: whole(attempt),
    calls,
    children: whole(children),
    ...(batch !== undefined && { batch: unpacked(batch) }),
    ...(errors.length > 0 && { errors }),
    ...(changes.length > 0 && { changes }),
  };
}

function decodeCall(line: string, last: number): CallRecord {
  const [letter, started, took, gave, adapter, input, output, error] = line.split("\t");
  const status = CALL_STATUS.get(letter as string);
  if (status === undefined) throw new InvariantError(`${line} is no call of a lineage`);
  return {
    adapter: unpacked(adapter as string),
    status,
    startedMs: last + whole(started),
    tookMs: whole(took) / 1_000,
    gave: whole(gave),
    ...(input && { input: unpacked(input) }),
    ...(output && { output: unpacked(output) }),
    ...(error && { error: unpacked(error) }),
  };
}
