// What is dispatched: a payload, and what the outside needs to know of it.

import type { Environment } from "../process/environment.js";
import { OptionError } from "../process/errors.js";
import { count, text } from "../process/options.js";
import { HIGHEST_PRIORITY } from "./queue-machine.js";

/** Where an envelope comes from, in a chain of messages. */
export interface CausalContext {
  /** Id of the envelope that led to this one. */
  readonly causedBy?: string;
  /** Id that all envelopes of one piece of work share. */
  readonly correlation?: string;
}

/** A message on its way to one consumer of a group. Dispatches of the same `id` are one dispatch. */
export interface Envelope<T> {
  readonly id: string;
  readonly payload: T;
  /** Milliseconds since 1970 at which it was made. */
  readonly timestamp: number;
  readonly causal?: CausalContext;
  /** Names what the payload looks like. */
  readonly schema?: string;
  /** Names who made it. */
  readonly publisher?: string;
  /** From 0, as if left out, to 9: of the dispatches that wait for a consumer, those with a higher one go first. */
  readonly priority?: number;
}

/** What may be given of an envelope; the rest is filled in. */
export interface EnvelopeOptions {
  /** A text that names this message for ever: what deduplication goes by. Made up unless given. */
  readonly id?: string;
  readonly timestamp?: number;
  readonly causal?: CausalContext;
  readonly schema?: string;
  readonly publisher?: string;
  /** From 0, as if left out, to 9: of the dispatches that wait for a consumer, those with a higher one go first. */
  readonly priority?: number;
}

/** An envelope of one's own making, as opposed to the one that a bare payload is put into. */
export class OwnEnvelope<T> implements Envelope<T> {
  readonly id: string;
  readonly payload: T;
  readonly timestamp: number;
  declare readonly causal?: CausalContext;
  declare readonly schema?: string;
  declare readonly publisher?: string;
  declare readonly priority?: number;

  constructor(payload: T, env: Environment, options: EnvelopeOptions) {
    this.id = options.id === undefined ? env.id() : text("id", options.id);
    this.payload = payload;
    this.timestamp = options.timestamp ?? env.wallTime();
    if (!Number.isFinite(this.timestamp))
      throw new OptionError("timestamp", options.timestamp, "milliseconds since 1970");
    if (options.causal !== undefined) this.causal = options.causal;
    if (options.schema !== undefined) this.schema = options.schema;
    if (options.publisher !== undefined) this.publisher = options.publisher;
    if (options.priority === undefined) return;
    this.priority = count("priority", options.priority, 0);
    if (this.priority > HIGHEST_PRIORITY)
      throw new OptionError("priority", options.priority, `at most ${HIGHEST_PRIORITY}`);
  }
}

/** The envelope of a bare payload. Its id is made when somebody asks: nobody can have dispatched it before. */
export class BareEnvelope<T> implements Envelope<T> {
  readonly payload: T;
  readonly timestamp: number;
  #id: string | undefined;
  readonly #env: Environment;

  constructor(payload: T, env: Environment) {
    this.payload = payload;
    this.timestamp = env.wallTime();
    this.#env = env;
  }

  get id(): string {
    this.#id ??= this.#env.id();
    return this.#id;
  }
}
