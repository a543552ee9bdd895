// The live views of the page. All of them come in one stream; when other views are wanted, the next stream begins. A view that nobody
// shows any more keeps its last value for a while, so that the way back shows something at once.

import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { readStream, streamBegin } from "../model/event-stream.js";
import {
  decideView,
  type Fault,
  feedEvent,
  type ViewState,
  viewAgain,
  viewBegin,
  viewKey,
} from "../model/views.js";
import { type Args, AskError, post } from "./api.js";
import { isHidden, later } from "./browser.js";
import { meant } from "./operations.js";
import { greetAgain, session, tokenRefused } from "./session.js";

/** A live view, in a component. */
export interface Live<T> {
  /** Undefined: none has come yet. */
  readonly value?: T | undefined;
  /** Why the last look failed. */
  readonly error?: Fault | undefined;
  readonly revision: number | undefined;
}

export type FeedPhase = "idle" | "connecting" | "live" | "lost" | "held";

interface Entry {
  readonly key: string;
  /** Its name in the stream, where long keys are refused. */
  readonly name: string;
  readonly op: string;
  readonly args: Args;
  /** How often each component that shows it wants it, a second. */
  readonly holders: Map<object, number>;
  readonly state: Signal<ViewState>;
}

/** Views that the server sends to one page. */
const VIEWS_MOST = 16;
const TOO_MANY: Fault = {
  name: "TooManyViews",
  message: "The page shows too much at a time for this to be live.",
};
/** Views without a holder that keep their value. */
const IDLE_VIEWS = 20;
/** The server sends a comment every 15 s, so a stream without anything for so long is dead. */
const SILENCE_MS = 40_000;
/** How long a stream is lost before the next try: it doubles up to the last. */
const AGAIN_MS = [500, 1_000, 2_000, 4_000, 8_000];
/** A stream with views that nobody wants any more goes on for a while: the next page often wants others anyway. */
const TIDY_MS = 2_000;
/** A page that nobody sees is not kept up to date after this time. */
const HIDDEN_MS = 20_000;

const entries = new Map<string, Entry>();
const named = new Map<string, Entry>();
let names = 0;
const ownPhase: Signal<FeedPhase> = signal("idle");
const ownHeld: Signal<boolean> = signal(false);
let stream: AbortController | undefined;
let streamed = "";
let lost = 0;
let callOff = (): void => undefined;

/** How the stream is. */
export const feedPhase: ReadonlySignal<FeedPhase> = ownPhase;
/** Whether the reader holds the page as it is. */
export const isHeld: ReadonlySignal<boolean> = ownHeld;

/**
 * What an operation answers, kept up to date. Call it in a component, as a hook.
 *
 * @param op - an operation that looks, such as `system.top`. Undefined: nothing is asked
 * @param hz - how often it is looked at, 1 to 4 times a second
 */
export function live<T>(op: string | undefined, given: Args = {}, hz = 1): ReadonlySignal<Live<T>> {
  const args = op === undefined ? given : meant(op, given);
  const key = op === undefined ? "" : viewKey(op, args);
  useEffect(() => (op === undefined ? undefined : hold(entryOf(key, op, args), hz)), [key, hz]);
  const state = op === undefined ? NOTHING : entryOf(key, op, args).state;
  // The operation says what it answers, and the caller knows the operation.
  return state as ReadonlySignal<Live<unknown>> as ReadonlySignal<Live<T>>;
}

const NOTHING: Signal<ViewState> = signal(viewBegin);

function entryOf(key: string, op: string, args: Args): Entry {
  const found = entries.get(key);
  if (found !== undefined) return found;
  const entry = { key, name: String(++names), op, args, holders: new Map(), state: signal(viewBegin) };
  entries.set(key, entry);
  named.set(entry.name, entry);
  return entry;
}

function hold(entry: Entry, hz: number): () => void {
  const holder = {};
  entry.holders.set(holder, hz);
  // As the newest: the oldest idle ones are forgotten first.
  entries.delete(entry.key);
  entries.set(entry.key, entry);
  follow(20);
  return () => {
    entry.holders.delete(holder);
    const idle = [...entries.values()].filter(({ holders }) => holders.size === 0);
    for (const { key, name } of idle.slice(0, Math.max(0, idle.length - IDLE_VIEWS))) {
      entries.delete(key);
      named.delete(name);
    }
    follow(TIDY_MS);
  };
}

/** Sees to the stream, after a moment in which more may change. */
function follow(ms: number): void {
  callOff();
  callOff = later(ms, renew);
}

function wanted(): readonly { key: string; op: string; args: Args; hz: number }[] {
  const held = [...entries.values()]
    .filter(({ holders }) => holders.size > 0)
    .sort((a, b) => Number(a.name) - Number(b.name));
  for (const { state } of held.slice(VIEWS_MOST)) state.value = { ...state.peek(), error: TOO_MANY };
  return held
    .slice(0, VIEWS_MOST)
    .map(({ name, op, args, holders }) => ({ key: name, op, args, hz: Math.max(...holders.values()) }));
}

/** Ends the stream and begins the next one, unless the one that runs has what is wanted. */
function renew(): void {
  const views = session.value.phase === "open" && !ownHeld.value ? wanted() : [];
  const next = JSON.stringify(views);
  if (next === streamed && stream !== undefined) return;
  stream?.abort();
  stream = undefined;
  streamed = next;
  if (views.length === 0) {
    ownPhase.value = ownHeld.value ? "held" : "idle";
    return;
  }
  const begun = new AbortController();
  stream = begun;
  if (ownPhase.value !== "live") ownPhase.value = "connecting";
  void run(views, begun);
}

async function run(views: readonly object[], begun: AbortController): Promise<void> {
  try {
    const response = await post("feed", { views }, begun.signal);
    if (response.body === null) throw new AskError(0, { message: "the feed is empty" });
    if (lost > 0) greetAgain();
    batch(() => {
      ownPhase.value = "live";
      for (const { state } of entries.values()) state.value = viewAgain(state.peek());
    });
    await read(response.body, begun);
    throw new AskError(0, { message: "the feed has ended" });
  } catch (error) {
    if (stream !== begun) return;
    begun.abort();
    stream = undefined;
    if (error instanceof AskError && error.status === 401) return tokenRefused();
    ownPhase.value = "lost";
    follow(AGAIN_MS[Math.min(lost, AGAIN_MS.length - 1)] as number);
    lost++;
  }
}

async function read(body: ReadableStream<Uint8Array>, begun: AbortController): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let state = streamBegin;
  for (;;) {
    const off = later(SILENCE_MS, () => begun.abort());
    const { done, value } = await reader.read().finally(off);
    if (done) return;
    const [next, events] = readStream(state, decoder.decode(value, { stream: true }));
    state = next;
    if (stream !== begun) return;
    lost = 0;
    batch(() => {
      for (const { type, data } of events) take(type, data);
    });
  }
}

/** @throws AskError when the event does not fit to what came before */
function take(type: string, data: string): void {
  const event = feedEvent(type, data);
  const entry = event === undefined ? undefined : named.get(event.key);
  if (event === undefined || entry === undefined) return;
  const next = decideView(entry.state.peek(), event);
  if (next === undefined) throw new AskError(0, { message: `the feed has left out a change of ${entry.op}` });
  entry.state.value = next;
}

/** Holds the page as it is, or lets it go on. */
export function switchHeld(): void {
  ownHeld.value = !ownHeld.value;
  follow(0);
}

/** Tries again at once. */
export function reconnect(): void {
  lost = 0;
  follow(0);
}

/** Follows the session, and whether anybody sees the page. */
export function beginFeed(): void {
  session.subscribe(() => follow(0));
  let isAway = false;
  let callBack = (): void => undefined;
  document.addEventListener("visibilitychange", () => {
    callBack();
    if (isHidden())
      callBack = later(HIDDEN_MS, () => {
        isAway = true;
        callOff();
        stream?.abort();
        stream = undefined;
        ownPhase.value = "idle";
      });
    else if (isAway) {
      isAway = false;
      reconnect();
    }
  });
}
