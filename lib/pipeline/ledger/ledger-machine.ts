// The ledger of one execution as a pure machine: when it is complete, and what may still change. It is the model of what a store does
// in transactions; store-ledger.ts carries out the same steps as write sets.
//
// Invariant I:  pending = live messages + open sources
//               ids are unique for the life of the execution: an id that has left `live` is in `settled`
//               done = settled ids = messages that came through + dead letters + those of them that were replayed or dropped
//               `ended` is set only where pending = 0, or by `fail` and `cancel`
//
//   never early    children come from a live message alone, inputs from an open source alone: at pending = 0 there is neither, so
//                  that no step applies any more
//   exactly once   a message leaves `live` once, by its id and epoch, and pending falls by one with it: one step alone makes it 0
//   never missed   the step that takes the last one away sees 0 itself, and ends the execution in the same commit
//   reopened       a dead letter that is put back is live again, in the commit that takes it from the dead ones: an execution that had
//                  completed goes on then, and ends once more. One that has failed or was cancelled does not
//
// People change the same state: a message that they give up leaves `live`, and one that they move waits elsewhere under a new epoch. So a
// host that works on it comes too late, and the three lines above hold for their steps as for those of hosts.
//
// Each step is applied as a whole or refused as a whole. Maps and sets are changed in place: a state is used once.

import type { MessageId } from "../definition/message-id.js";

/** A message that is to become live. */
export interface NewMessage {
  readonly id: MessageId;
  /** The queue in which it waits. */
  readonly queue: string;
}

/** A live message. */
export interface LiveMessage extends NewMessage {
  /** Grows with each take and each retry: a decision under an older epoch comes too late. */
  readonly epoch: number;
  /** `ready` waits for a host, `taken` is worked on, `delayed` waits for its time. */
  readonly state: "ready" | "taken" | "delayed";
}

/** How an execution ended. */
export type Ended = "completed" | "failed" | "cancelled";

export interface LedgerState {
  readonly live: Map<MessageId, LiveMessage>;
  readonly settled: Set<MessageId>;
  /** Open sources: how many messages each has given. */
  readonly open: Map<string, number>;
  pending: number;
  /** Messages that have left `live`. */
  done: number;
  /** Those of them that are dead letters now, by id, with their queues. */
  readonly letters: Map<MessageId, string>;
  dead: number;
  /** Those that a replay has. */
  replayed: number;
  /** Those that people gave up, dead letters or not. */
  dropped: number;
  ended: Ended | undefined;
}

/** A message with the epoch under which it was taken. */
export interface Taken {
  readonly id: MessageId;
  readonly epoch: number;
}

export type LedgerEvent =
  /** A host takes a message. */
  | { readonly type: "take"; readonly id: MessageId }
  /** A source gives messages. `from` is how many it has given before: a source that was overtaken gives nothing. */
  | {
      readonly type: "source";
      readonly source: string;
      readonly from: number;
      readonly messages: readonly NewMessage[];
    }
  /** A source has no more. */
  | { readonly type: "close"; readonly source: string }
  /** A message is done, or is a dead letter, and these are its children. */
  | {
      readonly type: "settle";
      readonly taken: Taken;
      readonly children: readonly NewMessage[];
      readonly dead: boolean;
    }
  /** The messages of a batch are done together. */
  | { readonly type: "emit"; readonly taken: readonly Taken[]; readonly children: readonly NewMessage[] }
  /** A message is to be tried again: at once, or after its delay. Also when the host that had taken it is dead. */
  | { readonly type: "return"; readonly taken: Taken; readonly delayed: boolean }
  /** The delay of a message is over. */
  | { readonly type: "due"; readonly id: MessageId }
  /** People give messages up, and a source: all of them or none. */
  | { readonly type: "give up"; readonly ids: readonly MessageId[]; readonly source: string | undefined }
  /** People move messages to another queue, where they are ready. */
  | { readonly type: "move"; readonly ids: readonly MessageId[]; readonly to: string }
  | OfLetter
  /** A source threw, or people end the execution. */
  | { readonly type: "end"; readonly as: "failed" | "cancelled" };

/** People put a dead letter back, give it up for good, or let a replay have it. */
export interface OfLetter {
  readonly type: "put back" | "drop" | "hand over";
  readonly id: MessageId;
}

export type LedgerEffect =
  /** The step changes nothing: it comes too late. The caller forgets the message. */
  | { readonly type: "refused"; readonly why: "ended" | "not live" | "overtaken" | "not open" | "not dead" }
  /** The execution has ended: announce it once, in the same commit. */
  | { readonly type: "ended"; readonly as: Ended }
  /** The execution had completed, and goes on. */
  | { readonly type: "reopened" };

/** An execution whose sources are open. An execution of no sources is complete at once, unless messages are given to it. */
export function initial(sources: readonly string[], messages: readonly NewMessage[] = []): LedgerState {
  const live = new Map(messages.map((one) => [one.id, { ...one, epoch: 0, state: "ready" as const }]));
  const pending = live.size + sources.length;
  return {
    live,
    settled: new Set(),
    open: new Map(sources.map((name) => [name, 0])),
    pending,
    done: 0,
    letters: new Map(),
    dead: 0,
    replayed: 0,
    dropped: 0,
    ended: pending === 0 ? "completed" : undefined,
  };
}

const NONE: readonly LedgerEffect[] = [];

/** One step, which a store makes in one transaction. */
export function decide(state: LedgerState, event: LedgerEvent): [LedgerState, readonly LedgerEffect[]] {
  const refused = (why: Extract<LedgerEffect, { type: "refused" }>["why"]): [LedgerState, LedgerEffect[]] => [
    state,
    [{ type: "refused", why }],
  ];
  if (isOfLetter(event)) return [state, ofLetter(state, event)];
  if (state.ended !== undefined) return refused("ended");
  const { live, open } = state;
  switch (event.type) {
    case "take": {
      const message = live.get(event.id);
      if (message?.state !== "ready") return refused("not live");
      live.set(event.id, { ...message, epoch: message.epoch + 1, state: "taken" });
      return [state, NONE];
    }
    case "source": {
      const given = open.get(event.source);
      if (given === undefined) return refused("not open");
      if (given !== event.from) return refused("overtaken");
      open.set(event.source, given + event.messages.length);
      state.pending += inserted(state, event.messages);
      return [state, NONE];
    }
    case "close":
      if (!open.delete(event.source)) return refused("not open");
      state.pending--;
      return [state, completed(state)];
    case "settle":
      if (!isTaken(state, event.taken)) return refused("overtaken");
      if (event.dead) bury(state, event.taken);
      remove(state, event.taken);
      state.pending += inserted(state, event.children);
      return [state, completed(state)];
    case "emit":
      if (!event.taken.every((one) => isTaken(state, one))) return refused("overtaken");
      for (const one of event.taken) remove(state, one);
      state.pending += inserted(state, event.children);
      return [state, completed(state)];
    case "return": {
      const message = live.get(event.taken.id);
      if (message === undefined || !isTaken(state, event.taken)) return refused("overtaken");
      live.set(message.id, {
        ...message,
        epoch: message.epoch + 1,
        state: event.delayed ? "delayed" : "ready",
      });
      return [state, NONE];
    }
    case "due": {
      const message = live.get(event.id);
      if (message?.state !== "delayed") return refused("not live");
      live.set(event.id, { ...message, state: "ready" });
      return [state, NONE];
    }
    case "give up":
      return givenUp(state, event);
    case "move":
      return moved(state, event);
    case "end":
      state.ended = event.as;
      return [state, [{ type: "ended", as: event.as }]];
    default:
      return event satisfies never;
  }
}

function moved(
  state: LedgerState,
  { ids, to }: Extract<LedgerEvent, { type: "move" }>,
): [LedgerState, readonly LedgerEffect[]] {
  const { live } = state;
  if (!ids.every((id) => live.has(id))) return [state, [{ type: "refused", why: "not live" }]];
  for (const id of new Set(ids)) {
    const { epoch } = live.get(id) as LiveMessage;
    live.set(id, { id, queue: to, epoch: epoch + 1, state: "ready" });
  }
  return [state, NONE];
}

function givenUp(
  state: LedgerState,
  { ids, source }: Extract<LedgerEvent, { type: "give up" }>,
): [LedgerState, readonly LedgerEffect[]] {
  const { live, open } = state;
  if (!ids.every((id) => live.has(id))) return [state, [{ type: "refused", why: "not live" }]];
  if (source !== undefined && !open.delete(source)) return [state, [{ type: "refused", why: "not open" }]];
  if (source !== undefined) state.pending--;
  const all = new Set(ids);
  for (const id of all) remove(state, { id, epoch: 0 });
  state.dropped += all.size;
  return [state, completed(state)];
}

/** A batch that names a message twice holds it once. */
function isTaken({ live }: LedgerState, { id, epoch }: Taken): boolean {
  const message = live.get(id);
  return message?.state === "taken" && message.epoch === epoch;
}

function bury(state: LedgerState, { id }: Taken): void {
  state.letters.set(id, (state.live.get(id) as LiveMessage).queue);
  state.dead++;
}

function isOfLetter(event: LedgerEvent): event is OfLetter {
  return event.type === "put back" || event.type === "drop" || event.type === "hand over";
}

/** What people do with a dead letter. They may do so when the execution has ended, too. */
function ofLetter(state: LedgerState, { type, id }: OfLetter): readonly LedgerEffect[] {
  const queue = state.letters.get(id);
  if (queue === undefined) return [{ type: "refused", why: "not dead" }];
  const isOver = state.ended === "failed" || state.ended === "cancelled";
  if (type === "put back" && isOver) return [{ type: "refused", why: "ended" }];
  state.letters.delete(id);
  state.dead--;
  if (type === "drop") state.dropped++;
  else if (type === "hand over") state.replayed++;
  if (type !== "put back") return NONE;
  state.settled.delete(id);
  state.done--;
  state.pending++;
  state.live.set(id, { id, queue, epoch: 0, state: "ready" });
  if (state.ended === undefined) return NONE;
  state.ended = undefined;
  return [{ type: "reopened" }];
}

function remove(state: LedgerState, { id }: Taken): void {
  if (!state.live.delete(id)) return;
  state.settled.add(id);
  state.pending--;
  state.done++;
}

/** How many messages are really new: an id that is live or settled is not counted again. */
function inserted({ live, settled }: LedgerState, messages: readonly NewMessage[]): number {
  let count = 0;
  for (const { id, queue } of messages) {
    if (live.has(id) || settled.has(id)) continue;
    live.set(id, { id, queue, epoch: 0, state: "ready" });
    count++;
  }
  return count;
}

function completed(state: LedgerState): readonly LedgerEffect[] {
  if (state.pending > 0) return NONE;
  state.ended = "completed";
  return [{ type: "ended", as: "completed" }];
}
