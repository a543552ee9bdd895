// An envelope: a payload with an id, and fields that the library, reports and consumers read.

import type { Environment } from "../process/environment.js";
import { OptionError } from "../process/errors.js";
import { onlyKnown } from "../process/known-options.js";
import { count, text } from "../process/options.js";
import { HIGHEST_PRIORITY } from "./queue-machine.js";

/** The place of an envelope in a chain of messages. */
export interface CausalContext {
  /** Id of the envelope that caused this one. */
  readonly causedBy?: string;
  /** Id that all envelopes of one piece of work share. */
  readonly correlation?: string;
}

/** A message for one consumer of a group. Dispatches of the same `id` to a group are one dispatch. */
export interface Envelope<T> {
  /** Identifies the message for deduplication. */
  readonly id: string;
  /** The value that the consumer works on. */
  readonly payload: T;
  /** When the envelope was made, in milliseconds since 1970. */
  readonly timestamp: number;
  /** The envelope that caused this one, and the piece of work that both belong to. */
  readonly causal?: CausalContext;
  /** Name of the payload's schema, for consumers. */
  readonly schema?: string;
  /** Name of the sender, for consumers and reports. */
  readonly publisher?: string;
  /** From 0 to 9. Of the dispatches that wait for a consumer, those with a higher priority go first. Default 0. */
  readonly priority?: number;
}

/** Options of `system.envelope`. */
export interface EnvelopeOptions {
  /** Identifies the message for deduplication. Default: a new random id. */
  readonly id?: string;
  /** When the envelope was made, in milliseconds since 1970. Default: now. */
  readonly timestamp?: number;
  /** The envelope that caused this one, and the piece of work that both belong to. Default none. */
  readonly causal?: CausalContext;
  /** Name of the payload's schema, for consumers. */
  readonly schema?: string;
  /** Name of the sender, for consumers and reports. */
  readonly publisher?: string;
  /** From 0 to 9. Of the dispatches that wait for a consumer, those with a higher priority go first. Default 0. */
  readonly priority?: number;
}

const ENVELOPE_OPTIONS: ReadonlySet<string> = new Set<keyof EnvelopeOptions>([
  ...(["id", "timestamp", "causal", "schema", "publisher", "priority"] as const),
]);

/** An envelope that a user made. A bare payload gets a {@link BareEnvelope}. */
export class OwnEnvelope<T> implements Envelope<T> {
  readonly id: string;
  readonly payload: T;
  readonly timestamp: number;
  declare readonly causal?: CausalContext;
  declare readonly schema?: string;
  declare readonly publisher?: string;
  declare readonly priority?: number;

  constructor(payload: T, env: Environment, options: EnvelopeOptions) {
    onlyKnown(options, ENVELOPE_OPTIONS);
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

/** The envelope of a bare payload. Its id is made when it is first read: no other dispatch can have the same one. */
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
