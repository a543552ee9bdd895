// A pool of connections: pool-machine.ts decides, and this carries out.

import { backoffMs } from "../../process/backoff.js";
import { EffectLoop } from "../../process/effect-loop.js";
import { classOfCode } from "../error-classes.js";
import type { StoreContext } from "../store.js";
import {
  type Connection,
  type ConnectionEvents,
  ConnectionLostError,
  type Connector,
  ServerError,
} from "./connection.js";
import { StoreUnreachableError } from "./errors.js";
import { decide, type Effect, type Event, initial, type State } from "./pool-machine.js";
import type { PostgresLimits } from "./settings.js";

/** The events of a pool. */
export interface PoolEvents {
  /** A connection in use was lost. */
  lost?(connection: Connection): void;
  notification?(channel: string, payload: string): void;
}

interface Waiting {
  hand(connection: Connection): void;
  giveUp(error: Error): void;
  cancel(): void;
  /** When it began to wait. */
  readonly since: number;
}

export class Pool {
  readonly #connector: Connector;
  readonly #context: StoreContext;
  readonly #limits: PostgresLimits;
  readonly #events: PoolEvents;
  readonly #loop: EffectLoop<State, Event, Effect>;
  readonly #idle: Connection[] = [];
  readonly #waiting = new Map<number, Waiting>();
  #waiters = 0;
  /** Why the last attempt failed. */
  #failure: unknown;
  #ended: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;

  constructor(
    connector: Connector,
    context: StoreContext,
    limits: PostgresLimits,
    size: number,
    events: PoolEvents = {},
  ) {
    this.#connector = connector;
    this.#context = context;
    this.#limits = limits;
    this.#events = events;
    this.#loop = new EffectLoop(initial(size), decide, (effect: Effect) => this.#carryOut(effect));
  }

  /**
   * Runs `use` with a connection that no other caller has meanwhile.
   *
   * @param limitMs - how long to wait for a connection
   * @throws StoreUnreachableError, and what `use` throws
   */
  async use<T>(
    use: (connection: Connection) => Promise<T>,
    limitMs: number = this.#limits.unreachableMs,
  ): Promise<T> {
    const connection = await this.acquire(limitMs);
    try {
      return await connection.hold(() => use(connection));
    } finally {
      this.release(connection);
    }
  }

  /** Takes a connection out of the pool until it is released. @throws StoreUnreachableError */
  acquire(limitMs: number): Promise<Connection> {
    const waiter = ++this.#waiters;
    return new Promise((resolve, reject) => {
      const cancel = Number.isFinite(limitMs)
        ? this.#context.after(limitMs, () => this.#loop.dispatch({ type: "expired", waiter }))
        : () => {};
      const since = this.#context.environment.now();
      this.#waiting.set(waiter, { hand: resolve, giveUp: reject, cancel, since });
      this.#loop.dispatch({ type: "asked", waiter });
    });
  }

  release(connection: Connection): void {
    const usable = connection.isUsable;
    if (usable) this.#idle.push(connection);
    this.#loop.dispatch({ type: "returned", usable });
  }

  /** Resolves when all connections were given back and are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#cancelRest?.();
      this.#loop.dispatch({ type: "closed" });
    });
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        void this.#connect();
        return;
      case "hand":
        this.#take(effect.waiter).hand(this.#idle.shift() as Connection);
        return;
      case "give-up":
        this.#giveUp(this.#take(effect.waiter));
        return;
      case "rest": {
        const { reconnect } = this.#limits;
        const ms = backoffMs(reconnect, effect.failures, this.#context.environment.random());
        this.#cancelRest = this.#context.after(ms, () => this.#loop.dispatch({ type: "rested" }));
        return;
      }
      case "discard":
        void this.#idle.shift()?.close();
        return;
      case "end":
        this.#ended?.();
        return;
      default:
        effect satisfies never;
    }
  }

  #take(waiter: number): Waiting {
    const found = this.#waiting.get(waiter) as Waiting;
    this.#waiting.delete(waiter);
    found.cancel();
    return found;
  }

  async #connect(): Promise<void> {
    let connection: Connection | undefined;
    try {
      const events: ConnectionEvents = {
        lost: () => this.#lost(connection as Connection),
        notification: (channel, payload) => this.#events.notification?.(channel, payload),
      };
      connection = await this.#connector.connect(events, (ms, fn) => this.#context.after(ms, fn));
    } catch (error) {
      this.#failure = error;
      this.#loop.dispatch({ type: "failed", lasting: isLasting(error) });
      return;
    }
    this.#failure = undefined;
    this.#idle.push(connection);
    this.#loop.dispatch({ type: "connected" });
  }

  #lost(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at < 0) this.#events.lost?.(connection);
    else {
      this.#idle.splice(at, 1);
      this.#loop.dispatch({ type: "dropped" });
    }
  }

  #giveUp({ giveUp, since }: Waiting): void {
    const failure = this.#failure;
    const waitedMs = this.#context.environment.now() - since;
    const isRefused = failure !== undefined && isLasting(failure);
    giveUp(
      isRefused
        ? told(failure)
        : new StoreUnreachableError(this.#connector.label, waitedMs, "nothing", failure),
    );
  }
}

/** Whether the next attempt would fail in the same way: the server answered, and not that it is starting, ending or full. */
function isLasting(error: unknown): error is Error {
  if (!(error instanceof ConnectionLostError)) return true;
  const { code } = error.cause as { code?: unknown };
  // A wrong user or password, no such database, no right to connect, an unknown protocol or setting. Codes of sockets are none of these.
  return typeof code === "string" && classOfCode(code) === "refused";
}

/** The end of a connection that the server refused is what the server said. */
function told(failure: Error): Error {
  if (!(failure instanceof ConnectionLostError)) return failure;
  const { code, message } = failure.cause as { code: string; message: string };
  return new ServerError(code, message, failure.cause);
}
