// The rules between a shell bolt's task and its program: which tuples the program holds, when the next tuple may go to
// the program, and whether the program answers its heartbeats. No process, no clock.
//
//     heartbeats   due ──▶ sent ── sync ──▶ answered            at most one is unanswered
//                           └───── overdue ▶ crash
//     tuples       given ──▶ held ── ack, fail ──▶ settled      maxHeld at most; the next one waits
//
// The table of held tuples changes in place, for speed: `decide` gives the same answers for the same events.

import { Queue } from "../../../supervisor/queue.js";
import type { EmitMessage, MessageId, WorkMessage } from "../protocol/component-messages.js";
import type { ShellProblem } from "./errors.js";
import { HeldTuples } from "./held-tuples.js";

export interface Config {
  /** Tuples that the program may hold. */
  readonly maxHeld: number;
  /** Time for the answer to a heartbeat. */
  readonly timeoutMs: number;
}

export interface State<T> {
  readonly config: Config;
  readonly held: HeldTuples<T>;
  /** The program's standard input takes no more for now. */
  readonly isInputFull: boolean;
  /** The task waits with its next tuple until the program takes it. */
  readonly isBlocked: boolean;
  readonly isHeartbeatUnanswered: boolean;
  /** The task can emit, ack and fail. Messages that come before that are kept in `early`. */
  readonly isAttached: boolean;
  readonly early: Queue<WorkMessage>;
}

export type Event<T> =
  /** The program has answered the handshake. */
  | { readonly type: "started" }
  | { readonly type: "attached" }
  /** The task has a tuple for the program; undefined for a tick. */
  | { readonly type: "given"; readonly tuple: T | undefined }
  /** The tuple of a `send` is written; `isWritable` says whether the input takes more. */
  | { readonly type: "sent"; readonly isWritable: boolean }
  /** The tuple of a `send` cannot be written as JSON. */
  | { readonly type: "unsendable"; readonly id: string; readonly error: Error }
  /** The program's input takes more again. */
  | { readonly type: "drained" }
  | { readonly type: "message"; readonly message: WorkMessage }
  | { readonly type: "heartbeat-due" }
  | { readonly type: "heartbeat-overdue" };

export type Effect<T> =
  /** `heartbeat-due` comes after the heartbeat's period. */
  | { readonly type: "schedule-heartbeat" }
  /** `heartbeat-overdue` comes after `timeoutMs`, unless `heartbeat-answered` comes first. */
  | { readonly type: "send-heartbeat" }
  | { readonly type: "heartbeat-answered" }
  /** Leads to `sent` or `unsendable`. */
  | { readonly type: "send"; readonly id: string; readonly tuple: T | undefined }
  /** The task may take its next tuple. */
  | { readonly type: "resume" }
  | { readonly type: "ack" | "fail"; readonly tuple: T }
  /** The tuple is failed, and the error logged: the program is not to blame for it. */
  | { readonly type: "refuse"; readonly tuple: T; readonly error: Error }
  | { readonly type: "emit"; readonly message: EmitMessage; readonly anchors: readonly T[] }
  | { readonly type: "crash"; readonly problem: ShellProblem; readonly text: string };

type Decision<T> = readonly [State<T>, readonly Effect<T>[]];

/** Messages that a program may send before its task can act on them. */
export const MAX_EARLY_MESSAGES = 1_000;

export function initial<T>(config: Config): State<T> {
  return {
    config,
    held: new HeldTuples(),
    isInputFull: false,
    isBlocked: false,
    isHeartbeatUnanswered: false,
    isAttached: false,
    early: Queue.of(),
  };
}

export function decide<T>(state: State<T>, event: Event<T>): Decision<T> {
  switch (event.type) {
    case "started":
      return [state, [{ type: "schedule-heartbeat" }]];
    case "attached":
      return attached(state);
    case "given": {
      const { tuple } = event;
      return [state, [{ type: "send", id: state.held.add(tuple), tuple }]];
    }
    case "sent": {
      const sent = { ...state, isInputFull: !event.isWritable };
      return [{ ...sent, isBlocked: !takesMore(sent) }, []];
    }
    case "unsendable": {
      const { id, error } = event;
      const tuple = state.held.settle(id)?.tuple;
      return [state, tuple === undefined ? [] : [{ type: "refuse", tuple, error }]];
    }
    case "drained":
      return unblocked({ ...state, isInputFull: false }, []);
    case "message":
      return received(state, event.message);
    case "heartbeat-due":
      return state.isHeartbeatUnanswered
        ? [state, [{ type: "schedule-heartbeat" }]]
        : [
            { ...state, isHeartbeatUnanswered: true },
            [{ type: "schedule-heartbeat" }, { type: "send-heartbeat" }],
          ];
    case "heartbeat-overdue":
      return crash(state, "timeout", `did not answer a heartbeat within ${state.config.timeoutMs} ms`);
    default:
      return event satisfies never;
  }
}

function attached<T>(state: State<T>): Decision<T> {
  let next: State<T> = { ...state, isAttached: true, early: Queue.of() };
  const effects: Effect<T>[] = [];
  for (const message of state.early) {
    const [after, more] = received(next, message);
    next = after;
    effects.push(...more);
  }
  return [next, effects];
}

function received<T>(state: State<T>, message: WorkMessage): Decision<T> {
  if (message.type === "sync")
    return state.isHeartbeatUnanswered
      ? [{ ...state, isHeartbeatUnanswered: false }, [{ type: "heartbeat-answered" }]]
      : [state, []];
  if (!state.isAttached)
    return state.early.length === MAX_EARLY_MESSAGES
      ? crash(state, "limit", `sent ${MAX_EARLY_MESSAGES} messages before it was given anything`)
      : [{ ...state, early: state.early.with(message) }, []];
  return message.type === "emit" ? emitted(state, message) : settled(state, message.type, message.id);
}

function emitted<T>(state: State<T>, message: EmitMessage): Decision<T> {
  const anchors: T[] = [];
  for (const id of message.anchors) {
    const held = state.held.find(id);
    if (held === undefined) return crash(state, "settled", `anchored to ${state.held.whyMissing(id)}`);
    if (held.tuple !== undefined) anchors.push(held.tuple);
  }
  return [state, [{ type: "emit", message, anchors }]];
}

function settled<T>(state: State<T>, how: "ack" | "fail", id: MessageId): Decision<T> {
  const held = state.held.settle(id);
  if (held === undefined) return crash(state, "settled", `${how}ed ${state.held.whyMissing(id)}`);
  return unblocked(state, held.tuple === undefined ? [] : [{ type: how, tuple: held.tuple }]);
}

function unblocked<T>(state: State<T>, effects: readonly Effect<T>[]): Decision<T> {
  if (!state.isBlocked || !takesMore(state)) return [state, effects];
  return [{ ...state, isBlocked: false }, [...effects, { type: "resume" }]];
}

function takesMore<T>({ isInputFull, held, config }: State<T>): boolean {
  return !isInputFull && held.size < config.maxHeld;
}

function crash<T>(state: State<T>, problem: ShellProblem, text: string): Decision<T> {
  return [state, [{ type: "crash", problem, text }]];
}
