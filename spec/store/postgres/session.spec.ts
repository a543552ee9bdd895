// The connection that listens: it is lost at the worst moments, and its store opens, goes on and closes all the same.

import { expect, it } from "vitest";
import { production } from "../../../lib/process/production.js";
import type { DriverHost } from "../../../lib/store/driver.js";
import { Catalog } from "../../../lib/store/postgres/catalog.js";
import {
  type Connection,
  type ConnectionEvents,
  ConnectionLostError,
  type Connector,
} from "../../../lib/store/postgres/connection.js";
import { Sender } from "../../../lib/store/postgres/messages.js";
import { Pool } from "../../../lib/store/postgres/pool.js";
import { Session } from "../../../lib/store/postgres/session.js";
import { POSTGRES_DEFAULTS } from "../../../lib/store/postgres/settings.js";

/** How a connection fares when it is to listen. `late loss`: it listens, and is lost in the same turn. */
type Fate = "listens" | "lost" | "late loss" | "no answer";

interface World {
  readonly session: Session;
  /** Connections that were made, each at the end of a turn. */
  readonly made: readonly FakeConnection[];
  readonly connects: readonly Promise<Connection>[];
  /** How often watchers were told to look again. */
  looks(): number;
}

class FakeConnection implements Connection {
  readonly processId = 1;
  isUsable = true;
  readonly #fate: Fate;
  readonly #events: ConnectionEvents;
  #abandon: (() => void) | undefined;

  constructor(fate: Fate, events: ConnectionEvents) {
    this.#fate = fate;
    this.#events = events;
  }

  async send(): Promise<[]> {
    if (!this.isUsable) throw new ConnectionLostError(new Error("it is closed"));
    if (this.#fate === "lost") throw new ConnectionLostError(new Error("cut"));
    if (this.#fate === "late loss") this.lose();
    if (this.#fate === "no answer")
      await new Promise<void>((_resolve, reject) => {
        this.#abandon = () => reject(new ConnectionLostError(new Error("destroyed")));
      });
    return [];
  }

  lose(): void {
    this.isUsable = false;
    this.#events.lost();
  }

  hold<T>(use: () => Promise<T>): Promise<T> {
    return use();
  }

  async close(): Promise<void> {
    this.isUsable = false;
  }

  destroy(): void {
    this.isUsable = false;
    this.#abandon?.();
  }
}

/** A session whose connections fare so, one after another; further ones listen. */
function worldOf(...fates: readonly Fate[]): World {
  const made: FakeConnection[] = [];
  const connects: Promise<Connection>[] = [];
  let looks = 0;
  const host: DriverHost = {
    environment: production,
    // No time passes: nothing that is tested here waits for it.
    after: () => () => undefined,
    warn: () => undefined,
    notified: () => undefined,
    again: () => {
      looks++;
    },
  };
  const connector: Connector = {
    label: "postgres shop",
    single: false,
    connect: (events) => {
      const connection = new FakeConnection(fates[connects.length] ?? "listens", events);
      const connect = new Promise<Connection>((resolve) => {
        setImmediate(() => {
          made.push(connection);
          resolve(connection);
        });
      });
      connects.push(connect);
      return connect;
    },
  };
  const on = {
    host,
    catalog: new Catalog("shop"),
    limits: POSTGRES_DEFAULTS,
    sender: new Sender("shop", "me"),
    send: async () => undefined,
    pool: new Pool(connector, host, POSTGRES_DEFAULTS, 1),
  };
  return { session: new Session(on, connector), made, connects, looks: () => looks };
}

/** All that follows without a wait has happened. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

it("a start whose connection is lost before it listens fails, and the next one listens [K342]", async () => {
  const { session, made } = worldOf("lost", "lost");
  await expect(session.start()).rejects.toThrow(ConnectionLostError);
  await expect(session.start()).rejects.toThrow(ConnectionLostError);
  await session.start();
  expect(made.length).toBe(3);
  await session.start();
  expect(made.length).toBe(3);
  await session.close();
});

it("a connection that is lost in the moment in which it listens is replaced, as any later one [K37] [K342]", async () => {
  const { session, made, looks } = worldOf("late loss", "lost", "late loss", "listens");
  await session.start();
  await settled();
  expect(made.length).toBe(4);
  expect(looks()).toBe(1);
  made[3]?.lose();
  await settled();
  expect(made.length).toBe(5);
  expect(looks()).toBe(2);
  await session.close();
});

it("a session closes at once while its next connection gets no answer, and one that failed to start closes, too [K342]", async () => {
  const waits = worldOf("listens", "no answer");
  await waits.session.start();
  waits.made[0]?.lose();
  await settled();
  expect(waits.made.length).toBe(2);
  await waits.session.close();
  const failed = worldOf("lost");
  await expect(failed.session.start()).rejects.toThrow(ConnectionLostError);
  await failed.session.close();
});

it("a session closes at once in the moment in which its next connection comes [K342]", async () => {
  const { session, made, connects } = worldOf("listens", "no answer");
  await session.start();
  made[0]?.lose();
  while (connects.length < 2) await Promise.resolve();
  // The pool has handed the connection out, and the session does not have it yet.
  await connects[1]?.then(() => session.close());
  expect(made.map(({ isUsable }) => isUsable)).toEqual([false, false]);
});
