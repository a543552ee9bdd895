// Stores on which hosts of flows are tested, and hosts on a clock that the test moves, while the store does real work.

import type { PGlite } from "@electric-sql/pglite";
import { System } from "signalbox";
import { type FlowHost, type FlowHostOptions, flowHost } from "signalbox/flow";
import { openStore, pglite, postgres, type Store, type StoreSource, sqlite } from "signalbox/store";
import { type TestClock, testClock } from "signalbox/testing";
import { FLOW_SCHEMA, type FlowRow, flows, HOST_CLAIMS } from "../../../lib/flow/journal/tables.js";
import { newFolder } from "../../store/sqlite/support.js";
import type { PostgresServer } from "../../support/postgres.js";
import { type PostgresProxy, startProxy } from "../../support/postgres-proxy.js";

/** A store of a test: each host opens a source of its own. */
export interface Place extends AsyncDisposable {
  source(): Promise<Opened>;
}

/** What a host opens, and how it dies: as if its process had been killed. */
export interface Opened {
  readonly source: StoreSource;
  cut(): Promise<void>;
}

const nothing = async (): Promise<void> => undefined;

export function sqlitePlace(driver: "node" | "libsql"): Place {
  const folder = newFolder();
  const source = sqlite(folder.file("flows.db"), { driver, thread: false, durability: "process-kill" });
  return {
    source: async () => ({ source, cut: nothing }),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

let places = 0;

export function pglitePlace(database: PGlite): Place {
  const schema = `flows_${++places}`;
  return {
    source: async () => ({ source: pglite(database, { schema }), cut: nothing }),
    [Symbol.asyncDispose]: nothing,
  };
}

/** The server's clock is not the test's: on a busy machine no lease lapses that the test has no time to renew. */
const LEASE_MS = 600_000;

/** Each host reaches the server through a proxy of its own, which cuts it off when it dies. */
export function postgresPlace(server: PostgresServer): Place {
  const schema = `flows_${++places}`;
  const proxies: PostgresProxy[] = [];
  return {
    async source() {
      const proxy = await startProxy(server);
      proxies.push(proxy);
      const cut = async (): Promise<void> => {
        proxy.refuses = true;
        proxy.cutAll();
      };
      return { source: postgres(proxy.connection, { schema, leaseMs: LEASE_MS }), cut };
    },
    async [Symbol.asyncDispose]() {
      for (const proxy of proxies) await proxy.stop();
    },
  };
}

/** A host, and what it runs on. */
interface Running {
  readonly host: FlowHost;
  readonly hostId: string | undefined;
  readonly system: System;
  cut(): Promise<void>;
}

type Call = (...args: unknown[]) => unknown;

/** Turns of a wait, and the time that passes in each. */
const TURNS = 5_000;
const TURN_MS = 1;
/** Shorter than a third of what the claim of a host holds. */
const PASS_MS = 250;
/** How often a pass looks at the store, at least, and at most while calls of hosts are under way: some of them wait for time to pass. */
const LOOKS = { least: 3, most: 200 };

/** Hosts on one store, and a reader. Their time is the test's; so is the clock of the store. */
export class Shop implements AsyncDisposable {
  readonly clock: TestClock = testClock();
  /** How far the clock of the store is ahead. */
  aheadMs = 0;
  /** Called with all flows, whenever the store is looked at. */
  watch: (rows: readonly FlowRow[]) => void = () => undefined;
  readonly #place: Place;
  readonly #running: Running[] = [];
  /** Calls of hosts that the store has not answered. */
  #calls = 0;
  #reader: Store | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  get now(): number {
    return this.clock.environment.wallTime() + this.aheadMs;
  }

  async host(options: Omit<FlowHostOptions, "store">): Promise<FlowHost> {
    this.#reader ??= await this.#open();
    const { source, cut } = await this.#place.source();
    const system = new System({ environment: this.clock.environment, report: false });
    const store = this.#timed(source);
    const host = await this.#await(system.start(flowHost({ store, socket: false, ...options })));
    this.#running.push({ host, hostId: options.hostId, system, cut });
    return host;
  }

  async #open(): Promise<Store> {
    const { source } = await this.#place.source();
    return openStore(new System({ environment: this.clock.environment, report: false }), source, [
      FLOW_SCHEMA,
    ]);
  }

  /** The same store on the clock of the test, which knows what the store has still to answer. */
  #timed(source: StoreSource): StoreSource {
    return {
      label: source.label,
      open: async (schemas, context) => {
        const store = await source.open(schemas, context);
        const clock = async (): Promise<number> => this.now;
        return new Proxy(store, {
          get: (target, name) => {
            if (name === "clock") return clock;
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === "function" ? this.#counted(target, name, value as Call) : value;
          },
        });
      },
    };
  }

  /** The same call. It is under way until it has its answer. */
  #counted(store: Store, name: string | symbol, call: Call): Call {
    const end = (): void => {
      this.#calls--;
    };
    if (name === "submit")
      return (set, settled) => {
        this.#calls++;
        call.call(store, set, (...answer: unknown[]) => {
          end();
          (settled as Call)(...answer);
        });
      };
    return (...args) => {
      const answer = call.apply(store, args);
      if (answer instanceof Promise) {
        this.#calls++;
        answer.then(end, end);
      }
      return answer;
    };
  }

  /** Dies: its connections are gone, and no code of it runs. */
  async kill(host: FlowHost): Promise<void> {
    const at = this.#running.findIndex((one) => one.host === host);
    const [{ cut, system, hostId }] = this.#running.splice(at, 1) as [Running];
    await cut();
    await this.#await(system.stop({ timeoutMs: 0 }));
    // Its lease is over.
    const reader = this.#reader as Store;
    for (const { name, token, held } of await reader.claims(`${HOST_CLAIMS}${hostId}`))
      if (held) await reader.revoke(name, token);
  }

  async stop(host: FlowHost): Promise<void> {
    const at = this.#running.findIndex((one) => one.host === host);
    const [{ system }] = this.#running.splice(at, 1) as [Running];
    await this.#await(system.stop());
  }

  async rows(): Promise<FlowRow[]> {
    const rows = await (this.#reader as Store).scan(flows, {});
    this.watch(rows);
    return rows;
  }

  /** Waits until the flows in the store are so. Time passes slowly meanwhile. */
  async until(isSo: (rows: readonly FlowRow[]) => boolean): Promise<readonly FlowRow[]> {
    for (let i = 0; i < TURNS; i++) {
      const rows = await this.rows();
      if (isSo(rows)) return rows;
      await this.clock.advance(TURN_MS);
    }
    const left = (await this.rows()).map(({ id, status, waiting, slot, holder, due }) => [
      ...[id, status, waiting, slot, holder, due],
    ]);
    throw new Error(`after ${TURNS} turns: ${JSON.stringify(left)}`);
  }

  /** Lets time pass, and the store follow: on a busy machine, too, no host is late. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= PASS_MS) {
      await this.clock.advance(Math.min(PASS_MS, left));
      for (let i = 0; i < LOOKS.least || (this.#calls > 0 && i < LOOKS.most); i++) await this.rows();
    }
  }

  /** As `promise`, while time passes. */
  async #await<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = promise.finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    while (!isDone) {
      await this.rows();
      await this.clock.advance(TURN_MS);
    }
    return done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { system } of this.#running) await this.#await(system.stop());
    await this.#reader?.close();
    await this.#place[Symbol.asyncDispose]();
  }
}
