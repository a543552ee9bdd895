// A child that is played by the test. It records its messages, and sends the messages that the test gives it.

import type { ChildEvents, ChildSpec, OpenChild } from "../../../../lib/topology/multilang/host/child.js";
import { Decoder, encode } from "../../../../lib/topology/multilang/protocol/codec.js";

export interface FakeOptions {
  /** Answers the handshake by itself. Default true. */
  readonly greets?: boolean;
  /** Ends when it is sent SIGTERM. Default true. */
  readonly obeys?: boolean;
}

export class FakeChild {
  readonly open: OpenChild;
  spec: ChildSpec | undefined;
  /** All messages to the child, the handshake first. */
  readonly received: unknown[] = [];
  readonly signals: string[] = [];
  disposed = false;
  /** Whether there is room in its standard input. */
  room = true;
  /** Bytes that wait for it. */
  waiting = 0;
  #events: ChildEvents | undefined;
  #gone = false;

  constructor({ greets = true, obeys = true }: FakeOptions = {}) {
    this.open = (spec, events) => {
      this.spec = spec;
      this.#events = events;
      const decoder = new Decoder();
      const waiting = (): number => this.waiting;
      return {
        pidDir: "pids",
        get waiting() {
          return waiting();
        },
        write: (text) => {
          decoder.push(new TextEncoder().encode(text), (message) => this.received.push(message));
          if (greets && this.received.length === 1) queueMicrotask(() => this.say({ pid: 77 }));
          return this.room;
        },
        reported: () => undefined,
        kill: (signal) => {
          this.signals.push(signal);
          if (obeys || signal === "SIGKILL") this.end(`was ended by ${signal}`);
        },
        dispose: () => {
          this.disposed = true;
        },
      };
    };
  }

  /** The messages after the handshake. */
  get asked(): unknown[] {
    return this.received.slice(1);
  }

  say(...messages: unknown[]): void {
    this.write(messages.map(encode).join(""));
  }

  write(text: string): void {
    this.#events?.data(new TextEncoder().encode(text));
  }

  complain(text: string): void {
    this.#events?.errors(new TextEncoder().encode(text));
  }

  drain(): void {
    this.room = true;
    this.#events?.drained();
  }

  end(text: string, ran = true): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#events?.ended({ ran, text });
  }
}
