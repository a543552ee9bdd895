// One queue of a host: carries out the effects of its machine over the store.

import { isCurable } from "../../host/background/background.js";
import { isHostOver } from "../../host/index.js";
import { EffectLoop } from "../../process/effect-loop.js";
import { type Claim, ConflictError, type Store } from "../../store/index.js";
import { flows } from "../journal/tables.js";
import type { Candidate } from "./choice.js";
import type { QueueSettings } from "./options.js";
import { type Accepts, admission, noteStarts, readPage } from "./page.js";
import { decide, initial, type QueueEffect, type QueueEvent, type QueueState } from "./queue-machine.js";

/** The port of a queue to its host. */
export interface QueuePort {
  readonly store: Store;
  readonly claim: Claim;
  random(): number;
  /** Whether this host has the code of a flow. */
  readonly accepts: Accepts;
  /** Calls `fn` after this time; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** A look at the queue, or an admission, has failed. It is tried again. */
  failed(queue: string, error: Error): void;
  /** The queue was looked at, or flows were admitted. */
  worked(queue: string): void;
  /** The outcome of `work`, which is retried until the store works. @throws errors that no further attempt cures */
  until<T>(queue: string, work: () => Promise<T>): Promise<T>;
  /** Runs flows that have got a slot and are held by this host, by their numbers. */
  run(numbers: readonly number[]): void;
}

/** How often a host looks at its queues without a notification, where several hosts share the store. */
const POLL_MS = 30_000;

export class QueueKeeper {
  readonly settings: QueueSettings;
  readonly #port: QueuePort;
  readonly #loop: EffectLoop<QueueState, QueueEvent, QueueEffect>;
  #stopped = false;
  #expired: readonly number[] = [];
  #cancel: (() => void) | undefined;

  constructor(settings: QueueSettings, port: QueuePort) {
    this.settings = settings;
    this.#port = port;
    const pollMs = port.store.shared ? POLL_MS : Number.POSITIVE_INFINITY;
    const state = initial({ limits: settings.limits, pollMs });
    this.#loop = new EffectLoop(state, decide, (effect) => this.#perform(effect));
  }

  get state(): QueueState {
    return this.#loop.state;
  }

  take(event: QueueEvent): void {
    if (!this.#stopped) this.#loop.dispatch(event);
  }

  /** Admits no more flows. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #perform(effect: QueueEffect): void {
    switch (effect.type) {
      case "read":
        this.#follow(this.#read(effect));
        return;
      case "admit":
        this.#follow(this.#admit(effect));
        return;
      case "start":
        this.#port.run(effect.flows.map(({ number }) => number));
        // The next read of a page does it too, so a failure here changes nothing.
        noteStarts(this.#port.store, this.settings.name, this.settings.limits).catch(() => undefined);
        return;
      case "alarm":
        this.#cancel?.();
        this.#cancel = this.#port.after(effect.inMs, () => this.take({ type: "tick" }));
        return;
      default:
        effect satisfies never;
    }
  }

  #follow(work: Promise<QueueEvent>): void {
    work.then(
      (event) => {
        this.#port.worked(this.settings.name);
        this.take(event);
      },
      (error: unknown) => {
        // Another host was faster, or the store failed for a while: the machine reads again. A host that has lost its claim ends.
        if (!(error instanceof ConflictError)) this.#port.failed(this.settings.name, error as Error);
        if (isHostOver(error)) this.stop();
        else this.take({ type: "refused", roll: this.#port.random() });
      },
    );
  }

  async #read({ from, turns }: QueueEffect & { readonly type: "read" }): Promise<QueueEvent> {
    const { name, limits } = this.settings;
    const { store, accepts } = this.#port;
    const { view, expired } = await readPage(store, name, limits, from, turns, accepts);
    this.#expired = expired;
    return { type: "read", view };
  }

  async #admit(effect: QueueEffect & { readonly type: "admit" }): Promise<QueueEvent> {
    const { store, claim } = this.#port;
    const { name, limits } = this.settings;
    const set = admission(name, limits, effect, claim.token, this.#expired);
    try {
      await store.commit({ ...set, claim });
    } catch (error) {
      if (!isCurable(error) || !(await this.#tookPlace(effect.flows))) throw error;
    }
    this.#expired = [];
    return { type: "admitted" };
  }

  /** Whether an admission took place whose answer was lost. No host held these flows before, and it was one commit, so one row is proof. */
  async #tookPlace([first]: readonly Candidate[]): Promise<boolean> {
    const { store, claim, until } = this.#port;
    const { number } = first as Candidate;
    const [row] = await until(this.settings.name, () => store.get(flows, [[number]]));
    return row?.holder === claim.token;
  }
}
