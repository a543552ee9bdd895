// Tells other processes which topics were committed: after the commit and never in it, because NOTIFY takes one lock over all commits
// of the server. Topics that are committed within a few milliseconds go out together.

import type { DriverHost } from "../driver.js";
import { texts } from "./arrays.js";
import type { Sender } from "./messages.js";
import type { Pool } from "./pool.js";
import type { PostgresLimits } from "./settings.js";

/** Most topics that wait. Beyond this, other processes get a message to look again at everything. */
const MOST_TOPICS = 10_000;

export class Notifier {
  readonly #host: DriverHost;
  readonly #limits: PostgresLimits;
  readonly #sender: Sender;
  readonly #pool: Pool;
  #topics = new Set<string>();
  /** Too many: see {@link MOST_TOPICS}. */
  #all = false;
  #isSending = false;
  #closed = false;
  #sent: Promise<void> = Promise.resolve();

  constructor(host: DriverHost, limits: PostgresLimits, sender: Sender, pool: Pool) {
    this.#host = host;
    this.#limits = limits;
    this.#sender = sender;
    this.#pool = pool;
  }

  add(topic: string): void {
    if (this.#topics.size < MOST_TOPICS) this.#topics.add(topic);
    else this.#all = true;
    if (this.#isSending || this.#closed) return;
    this.#schedule();
  }

  /** Sends messages. */
  async message(...payloads: readonly string[]): Promise<void> {
    const text = "select pg_notify($1, payload) from unnest($2::text[]) as payload";
    const values = [this.#sender.channelName, texts(payloads)];
    await this.#pool.use((connection) => connection.send([{ text, values, prepared: true }]));
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sent;
    if (this.#all || this.#topics.size > 0) await this.#send();
  }

  async #send(): Promise<void> {
    const topics = this.#topics;
    const messages = this.#all
      ? [this.#sender.again()]
      : this.#sender.topics(topics, this.#limits.notificationBytes);
    this.#topics = new Set();
    this.#all = false;
    try {
      await this.message(...messages);
    } catch {
      // The server is away. When it is back, every other process has a new connection as well, and looks again by itself; but some
      // may have kept theirs.
      if (!this.#closed) this.#all = true;
    }
    this.#isSending = false;
    if (!this.#closed && (this.#all || this.#topics.size > 0)) this.#schedule();
  }

  #schedule(): void {
    this.#isSending = true;
    this.#host.after(this.#limits.notifyMs, () => {
      this.#sent = this.#send();
    });
  }
}
