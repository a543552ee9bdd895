// A message that a ledger has handed out.

import type { Heartbeats } from "../../host/background/heartbeats.js";
import type { MessageId } from "../definition/message-id.js";
import type { Accused } from "./blame.js";
import type { Message, Setback } from "./ledger.js";

/** What a row of a message holds. */
export type Body = string | Uint8Array;

/** What a live message is made of. */
export interface LiveMessageFields extends Omit<Message, "value" | "run" | "beat" | "lastBeat"> {
  /** How often it has ended its process, by evidence. */
  readonly ends: number;
  /** The lane of its row. */
  readonly lane: number;
  /** The value as its row holds it: adapters may change the value. */
  readonly body: Body;
  /** What people did with it, as its row says it. Undefined: nothing. */
  readonly changes?: string | undefined;
  /** Heartbeats of earlier attempts, as its row holds them. */
  readonly heartbeats?: Body | undefined;
}

/** What a live message uses of its ledger. */
export interface LiveMessagePort {
  /** In whose name the code of a message runs. Called when it is tried. */
  accused(id: MessageId): Accused;
  /** The heartbeats of a message. Called when an adapter asks for them. */
  beating(message: LiveMessage): Heartbeats;
}

/** A message that a ledger over a store has handed out. Each attempt is an object of its own: a step names the attempt. */
export class LiveMessage implements Message {
  readonly id: MessageId;
  readonly queue: string;
  readonly value: unknown;
  readonly key: string | undefined;
  readonly attempts: number;
  readonly errors: readonly string[];
  readonly setback: Setback | undefined;
  readonly ends: number;
  readonly lane: number;
  readonly body: Body;
  readonly changes: string | undefined;
  readonly heartbeats: Body | undefined;
  readonly #port: LiveMessagePort;
  /** `taken`: it is being worked on. `settling`: a step about it is in flight. `gone`: every later event comes too late. */
  state: "taken" | "settling" | "gone" = "taken";
  /** Its code has run, here and now. */
  #begun: Accused | undefined;
  #beats: Heartbeats | undefined;

  constructor(of: LiveMessageFields, value: unknown, port: LiveMessagePort) {
    this.id = of.id;
    this.queue = of.queue;
    this.value = value;
    this.key = of.key;
    this.attempts = of.attempts;
    this.errors = of.errors;
    this.setback = of.setback;
    this.ends = of.ends;
    this.lane = of.lane;
    this.body = of.body;
    this.changes = of.changes;
    this.heartbeats = of.heartbeats;
    this.#port = port;
  }

  run<T>(fn: () => T): T {
    this.#begun ??= this.#port.accused(this.id);
    return this.#begun.run(fn);
  }

  beat(key: string, progress: unknown): void {
    // An attempt that has ended is not alive.
    if (this.state === "taken") this.#beating().beat(key, progress);
  }

  lastBeat(key: string): unknown {
    return this.#beats === undefined && this.heartbeats === undefined
      ? undefined
      : this.#beating().last(key)?.progress;
  }

  #beating(): Heartbeats {
    this.#beats ??= this.#port.beating(this);
    return this.#beats;
  }

  /** Its heartbeats, as its row is to hold them. Undefined: there were none. */
  get beats(): Body | undefined {
    if (this.#beats === undefined || this.#beats.isEmpty) return this.heartbeats;
    const encoded = this.#beats.encoded();
    return encoded instanceof Promise || encoded === null ? this.heartbeats : encoded;
  }

  /** Its outcome is committed: the process has outlived it. */
  progressed(): void {
    this.#begun?.progressed();
  }

  /** Code that it left behind ends no process in its name any more. */
  end(): void {
    this.#begun?.end();
    this.#begun = undefined;
  }
}
