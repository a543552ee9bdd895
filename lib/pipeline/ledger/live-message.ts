// A message that a ledger has handed out.

import type { MessageId } from "../definition/message-id.js";
import type { Message } from "./ledger.js";

/** What a row of a message holds. */
export type Body = string | Uint8Array;

/** A message that a ledger over a store has handed out. Each attempt is an object of its own: a step names the attempt. */
export class LiveMessage implements Message {
  readonly id: MessageId;
  readonly queue: string;
  readonly value: unknown;
  readonly key: string | undefined;
  readonly attempts: number;
  readonly errors: readonly string[];
  /** The lane of its row. */
  readonly lane: number;
  /** The value as its row holds it: adapters may change the value. */
  readonly body: Body;
  /** `taken`: somebody works on it. `settling`: a step about it is on its way. `gone`: whatever comes is too late. */
  state: "taken" | "settling" | "gone" = "taken";

  constructor(of: Omit<LiveMessage, "state">) {
    this.id = of.id;
    this.queue = of.queue;
    this.value = of.value;
    this.key = of.key;
    this.attempts = of.attempts;
    this.errors = of.errors;
    this.lane = of.lane;
    this.body = of.body;
  }
}
