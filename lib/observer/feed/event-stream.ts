// The body of one viewer's response: server-sent events, as they are written at https://html.spec.whatwg.org/multipage/server-sent-events.html.
//
// The stream holds nothing back: it is asked for the next events only when all before are with the socket, and the feed sends none before that.
// Adapters read the stream again when the socket has drained, so a client that does not read stops its feed.

import type { Json } from "../../admin/json-view.js";
import { ObserverBusyError } from "./errors.js";
import type { FeedViewer } from "./feed-process.js";
import type { FeedEvent } from "./feed-state.js";

/** What a stream tells the feed. */
export interface StreamEnds {
  /** All that was sent has been taken. */
  ready(viewer: FeedViewer): void;
  /** Nobody reads any more. Called once. */
  closed(viewer: FeedViewer): void;
}

const encoder = new TextEncoder();

export class EventStream implements FeedViewer {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the feed has accepted the viewer. Rejects with the reason when it has not. */
  readonly accepted: Promise<void>;
  readonly #ends: StreamEnds;
  #settle: { accept(): void; refuse(error: Error): void } | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The reader waits for the next events. */
  #isAsked = false;
  #isAccepted = false;

  constructor(ends: StreamEnds) {
    this.#ends = ends;
    this.accepted = new Promise((accept, refuse) => {
      this.#settle = { accept, refuse };
    });
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          // Sends the head of the response at once.
          controller.enqueue(encoder.encode(": signalbox\n\n"));
        },
        pull: () => {
          this.#isAsked = true;
          this.#tell();
        },
        cancel: () => void this.#close(),
      },
      { highWaterMark: 0 },
    );
  }

  accept(): void {
    this.#isAccepted = true;
    this.#settle?.accept();
    this.#tell();
  }

  refuse(error: Error): void {
    this.#settle?.refuse(error);
    this.end();
  }

  send(events: readonly FeedEvent[]): void {
    this.#isAsked = false;
    this.#controller?.enqueue(encoder.encode(events.map(eventText).join("")));
  }

  /** Ends the response. The client opens another one, if it is still there. */
  end(): void {
    const controller = this.#controller;
    if (!this.#close()) return;
    controller?.close();
  }

  /** Breaks the connection off, with what it still holds: its client takes nothing. */
  drop(): void {
    const controller = this.#controller;
    if (this.#close()) controller?.error(new ObserverBusyError("the client has taken nothing for too long"));
  }

  #tell(): void {
    if (this.#isAsked && this.#isAccepted && this.#controller !== undefined) this.#ends.ready(this);
  }

  #close(): boolean {
    if (this.#controller === undefined) return false;
    this.#controller = undefined;
    this.#ends.closed(this);
    return true;
  }
}

/** An event as text. JSON has no line breaks, so the data is one line. */
export function eventText(event: FeedEvent): string {
  const { type } = event;
  switch (type) {
    case "heartbeat":
      return ": alive\n\n";
    case "whole":
      return `event: whole\ndata: {"key":${JSON.stringify(event.key)},"revision":${event.revision},"value":${textOf(event.value)}}\n\n`;
    case "change": {
      const { key, revision, from, patch } = event;
      return `event: change\ndata: {"key":${JSON.stringify(key)},"revision":${revision},"from":${from},"patch":${textOf(patch as Json)}}\n\n`;
    }
    case "fault":
      return `event: fault\ndata: ${JSON.stringify({ key: event.key, error: event.error })}\n\n`;
    case "reset":
      return `event: reset\ndata: ${JSON.stringify({ key: event.key })}\n\n`;
    default:
      return type satisfies never;
  }
}

/** Texts of values that several viewers get, as long as the values are kept. */
const texts = new WeakMap<object, string>();

function textOf(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
