// The session of a store: a connection that listens to the notifications of other processes, and holds the locks of its claims. When
// it is lost there is another, for ever.

import { EffectLoop } from "../../process/effect-loop.js";
import { showThrown } from "../../process/show.js";
import type { DriverHost } from "../driver.js";
import type { Catalog } from "./catalog.js";
import type { Connection, Connector } from "./connection.js";
import { decide, type Effect, type Event, initial, type State } from "./listen-machine.js";
import { isMine, parse, type Sender } from "./messages.js";
import { Pool } from "./pool.js";
import type { PostgresLimits } from "./settings.js";

/** The part of its driver that a session needs. */
export interface SessionHost {
  readonly host: DriverHost;
  readonly catalog: Catalog;
  readonly limits: PostgresLimits;
  readonly sender: Sender;
  /** Sends a notification over another connection. */
  send(payload: string): Promise<void>;
  /** Runs statements on a connection that is not the session's. */
  readonly pool: Pool;
}

export class Session {
  readonly #on: SessionHost;
  readonly #pool: Pool;
  readonly #loop: EffectLoop<State, Event, Effect> = new EffectLoop(initial(), decide, (effect: Effect) =>
    this.#carryOut(effect),
  );
  #connection: Connection | undefined;
  /** The one that is about to listen. */
  #next: Connection | undefined;
  #closed = false;
  #lost: (() => void) | undefined;
  #cancelTest: (() => void) | undefined;
  #cancelPoll: (() => void) | undefined;
  /** The tokens of claims that are held, and how far their locks are. */
  readonly #tokens = new Map<number, "missing" | "asked" | "locked">();
  #trusted = false;
  /** Set once it has listened. */
  #running: Promise<void> | undefined;

  constructor(on: SessionHost, connector: Connector) {
    this.#on = on;
    this.#pool = new Pool(connector, on.host, on.limits, 1, {
      lost: () => this.#lost?.(),
      notification: (_channel, payload) => this.#heard(payload),
    });
  }

  /**
   * Connects and listens; from then on there is another connection whenever one is lost. May be repeated after a failure, and does nothing
   * once it has listened.
   *
   * @throws ConnectionLostError, StoreUnreachableError, ServerError
   */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    const connection = await this.#listen(this.#on.limits.unreachableMs);
    this.#running = this.#run(connection);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTest?.();
    this.#cancelPoll?.();
    this.#lost?.();
    // Before it listens nothing is lost with it, and its answer may never come.
    this.#next?.destroy();
    const closed = this.#pool.close();
    await this.#running;
    await closed;
  }

  /** A claim is held from now on. */
  async hold(token: number): Promise<void> {
    this.#tokens.set(token, "missing");
    await this.lock();
  }

  async drop(token: number): Promise<void> {
    const isLocked = this.#tokens.get(token) === "locked";
    this.#tokens.delete(token);
    if (isLocked) await this.#connection?.send([this.#on.catalog.unlockOwner(token)]).catch(() => {});
  }

  /**
   * Takes the locks that are missing, and says so in the rows of the claims. A lock can be missing for a while after a reconnect, until
   * the server has noticed the end of the session before.
   */
  async lock(): Promise<void> {
    const { catalog, pool } = this.#on;
    const connection = this.#connection;
    const missing = [...this.#tokens].filter(([, state]) => state === "missing").map(([token]) => token);
    if (!this.#trusted || connection === undefined || missing.length === 0) return;
    for (const token of missing) this.#tokens.set(token, "asked");
    try {
      const [answer] = await connection.send([catalog.lockOwners(missing)]);
      const locked = (answer?.rows ?? []).map(([token]) => token as number);
      await pool.use((other) => other.send([catalog.noteLocks(locked)]));
      for (const token of locked) this.#became(token, "asked", "locked");
    } finally {
      for (const token of missing) this.#became(token, "asked", "missing");
    }
  }

  #became(token: number, from: string, to: "missing" | "locked"): void {
    if (this.#tokens.get(token) === from) this.#tokens.set(token, to);
  }

  async #run(first: Connection): Promise<void> {
    await this.#stay(first);
    while (!this.#closed) {
      // However often that fails, it tries again; the pool waits in between.
      const connection = await this.#listen(Number.POSITIVE_INFINITY).catch(() => undefined);
      if (connection !== undefined) await this.#stay(connection, () => this.#on.host.again());
    }
  }

  /** Makes a connection that listens. */
  async #listen(limitMs: number): Promise<Connection> {
    const connection = await this.#pool.acquire(limitMs);
    this.#next = connection;
    if (this.#closed) connection.destroy();
    try {
      await connection.send([{ text: `listen ${this.#on.sender.channel}` }]);
      return connection;
    } catch (error) {
      connection.destroy();
      this.#pool.release(connection);
      throw error;
    } finally {
      this.#next = undefined;
    }
  }

  /** Resolves when a connection that listens has gone. */
  async #stay(connection: Connection, listening?: () => void): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#lost = resolve;
    });
    // It may have been lost since it listened, before there was a way to say so.
    if (!this.#closed && connection.isUsable) {
      this.#connection = connection;
      this.#event({ type: "connected" });
      listening?.();
      await gone;
      this.#connection = undefined;
      this.#trusted = false;
      for (const token of this.#tokens.keys()) this.#tokens.set(token, "missing");
      this.#event({ type: "lost" });
    }
    this.#pool.release(connection);
  }

  #heard(payload: string): void {
    const { host, sender } = this.#on;
    const message = parse(payload);
    if (message === undefined) return;
    if (message.type === "test") {
      if (isMine(sender, message)) this.#event({ type: "arrived", test: message.test });
    } else if (!isMine(sender, message)) {
      if (message.type === "again") host.again();
      else for (const topic of message.topics) host.notified(topic);
    }
  }

  #event(event: Event): void {
    if (!this.#closed) this.#loop.dispatch(event);
  }

  #carryOut(effect: Effect): void {
    const { host, limits, sender, send } = this.#on;
    switch (effect.type) {
      case "test":
        this.#cancelTest = host.after(limits.listenAnswerMs, () =>
          this.#event({ ...effect, type: "overdue" }),
        );
        send(sender.test(effect.test)).catch(() => {});
        return;
      case "rest":
        this.#cancelTest?.();
        this.#cancelTest = host.after(limits.listenTestMs, () => this.#event({ ...effect, type: "due" }));
        return;
      case "again":
        host.again();
        return;
      case "poll":
        this.#poll();
        return;
      case "stop-polling":
        this.#cancelPoll?.();
        return;
      case "warn":
        host.warn({ code: "store-listen", message: this.#warning() });
        return;
      case "trust":
        this.#trusted = true;
        this.lock().catch((error: unknown) => {
          host.warn({
            code: "store-claims",
            message: `the locks of claims are not taken: ${showThrown(error)}`,
          });
        });
        return;
      case "drop":
        this.#connection?.destroy();
        this.#lost?.();
        return;
      default:
        effect satisfies never;
    }
  }

  #poll(): void {
    const { host, limits } = this.#on;
    this.#cancelPoll = host.after(limits.pollMs, () => {
      host.again();
      this.#poll();
    });
  }

  #warning(): string {
    const { limits } = this.#on;
    return (
      `notifications do not arrive: connect to the server itself or to a pooler in session mode, because LISTEN needs a session of its own. ` +
      `Until they do, watchers look again every ${limits.pollMs} ms`
    );
  }
}
