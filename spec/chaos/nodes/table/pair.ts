// Two nodes in processes of their own, each behind proxies to the server and to the store of leases. The far one is struck.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { NatsServer } from "../../../support/nats.js";
import type { PostgresServer } from "../../../support/postgres.js";
import { Loopback, type Silence } from "../../loopback.js";
import type { Answer, View, WitnessOptions } from "./words.js";

/** What a pair is made with. */
export interface PairOptions {
  /** What Node is given to run a node. */
  readonly program: readonly string[];
  readonly nats: NatsServer;
  readonly postgres: PostgresServer;
  /** Names the cluster and the schema: nobody else has them. */
  readonly place: string;
  readonly limitMs?: number;
  readonly ttlMs?: number;
}

/** So often a pair is made anew when something ended before the fault: the machine was busy. */
const MOST_BEGINS = 10;
/** A node is looked at so often, which takes more than a minute. */
const MOST_LOOKS = 1_000;
const LOOK_MS = 10;
const LIMIT_MS = 3_000;
const TTL_MS = 3_000;
const QUEUE_BYTES = 1_048_576;

/** One node, which a test asks to act. */
export class Witness {
  readonly name: string;
  readonly #options: PairOptions;
  readonly #nats: Loopback;
  readonly #store: Loopback;
  readonly #folder = mkdtempSync(join(tmpdir(), "signalbox-table-"));
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #child: ChildProcess | undefined;
  #asked = 0;

  constructor(name: string, options: PairOptions) {
    this.name = name;
    this.#options = options;
    const { connection, socket } = options.postgres;
    this.#nats = new Loopback(0, Number(options.nats.address.split(":")[1]));
    this.#store = new Loopback(join(this.#folder, `.s.PGSQL.${connection.port}`), socket);
  }

  /** Starts the node. Resolves when it has joined. */
  async start(other: string): Promise<void> {
    await this.open();
    const { program, postgres, place, limitMs = LIMIT_MS, ttlMs = TTL_MS } = this.#options;
    const given: WitnessOptions = {
      ...{ name: this.name, other, limitMs, ttlMs, queueBytes: QUEUE_BYTES, place, cluster: place },
      servers: `127.0.0.1:${this.#nats.port}`,
      postgres: { ...postgres.connection, host: this.#folder },
    };
    const child = spawn(process.execPath, [...program, JSON.stringify(given)], {
      stdio: ["pipe", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(0, () => resolve());
      child.on("message", (answer: Answer) => {
        this.#waiting.get(answer.id)?.(answer);
        this.#waiting.delete(answer.id);
      });
      child.once("exit", (code, signal) => reject(new Error(`${this.name} ended with ${code ?? signal}`)));
    });
  }

  /** Asks for an act of `witness.ts`. Rejects with its error. */
  ask<T>(act: string, ...args: readonly unknown[]): Promise<T> {
    const id = ++this.#asked;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, ({ value, error }) => {
        if (error === undefined) resolve(value as T);
        else reject(new Error(`${this.name}: ${error}`));
      });
      this.#child?.send({ id, act, args });
    });
  }

  view(): Promise<View> {
    return this.ask<View>("view");
  }

  /** Waits until it has seen something. The error says what it has seen instead. */
  async sees(what: string, isSo: (view: View) => boolean): Promise<void> {
    let view: View | undefined;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      view = await this.view();
      if (isSo(view)) return;
      await pause(LOOK_MS);
    }
    throw new Error(`${this.name} does not see ${what}, but ${JSON.stringify(view)}`);
  }

  /** Waits until it finds the process of the other node. Returns the id of its node. */
  async finds(): Promise<string> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const found = await this.ask<string | undefined>("find");
      if (found !== undefined) return found;
      await pause(LOOK_MS);
    }
    throw new Error(`${this.name} does not find the process of the other node`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => child.once("exit", resolve));
  }

  /** All that it says to others, or all that they say to it, is lost. */
  silence(which: Silence): void {
    this.#nats.silence(which);
    this.#store.silence(which);
  }

  async open(): Promise<void> {
    await this.#nats.open();
    await this.#store.open();
  }

  async end(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
    this.#nats.cut();
    this.#store.cut();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The two nodes before the fault: tied to each other, each with a call and an envelope at the other one, and a singleton at the far one. */
export class Pair implements AsyncDisposable {
  readonly near: Witness;
  readonly far: Witness;

  private constructor(options: PairOptions) {
    this.near = new Witness("near", options);
    this.far = new Witness("far", options);
  }

  static async begin(options: PairOptions): Promise<Pair> {
    for (let begun = 1; ; begun++) {
      const pair = new Pair({ ...options, place: `${options.place}_${begun}` });
      try {
        await pair.#meet();
        if (begun >= MOST_BEGINS || (await pair.#isWhole())) return pair;
      } catch (error) {
        await pair[Symbol.asyncDispose]();
        throw error;
      }
      await pair[Symbol.asyncDispose]();
    }
  }

  get both(): readonly [Witness, Witness] {
    return [this.near, this.far];
  }

  async #meet(): Promise<void> {
    const { near, far } = this;
    await far.start(near.name);
    await far.sees("its singleton runs", ({ tokens }) => tokens.length > 0);
    await near.start(far.name);
    await this.met();
    for (const one of this.both) {
      const other = one === near ? far : near;
      await one.ask("tie");
      await one.ask("dispatch", other.name, other.name);
    }
    for (const one of this.both)
      await one.sees("both are tied", ({ links, held }) => links === 1 && held.length === 1);
    await near.ask("send", 0, 10);
    await far.sees("the first messages", ({ got }) => got.length === 10);
  }

  /** Nothing has ended yet. */
  async #isWhole(): Promise<boolean> {
    const views = await Promise.all(this.both.map((one) => one.view()));
    const [, far] = views;
    return far?.isHeld === true && views.every(({ downs, links }) => downs.length === 0 && links === 1);
  }

  /** Waits until both see each other, with all they have. */
  async met(): Promise<void> {
    for (const one of this.both) {
      await one.sees("the other node", ({ nodes, group }) => nodes === 2 && group.join() === "far,near");
      await one.finds();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.both.map((one) => one.end()));
  }
}
