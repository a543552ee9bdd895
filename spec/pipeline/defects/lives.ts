// A host of pipelines that dies at chosen commits of its store: before the store has them, or when the store has them and the host does
// not know. The next host begins with what the store holds.

import { System } from "signalbox";
import { type AnyPipeline, type PipelineHost, pipelineHost } from "signalbox/pipeline";
import { memory, type Store, type StoreSource, type WriteSet } from "signalbox/store";
import { type TestClock, testClock } from "signalbox/testing";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { MortalSource } from "../../../lib/testing/flows/mortal-store.js";

/** When a host dies. */
export type Death = "before" | "after" | undefined;

/** Says of each commit of a life whether the host dies of it. @param n - counts the commits of this life from 1 */
export type Fate = (set: WriteSet, n: number) => Death;

export class Lives {
  readonly clock: TestClock = testClock();
  /** What outlives every host. */
  readonly source: StoreSource = memory({ clock: () => this.clock.now + 1 });
  readonly #mortal = new MortalSource(this.source);
  readonly #pipelines: readonly AnyPipeline[];
  /** Commits of the last life. */
  commits = 0;

  constructor(...pipelines: readonly AnyPipeline[]) {
    this.#pipelines = pipelines;
  }

  /** Runs a host until `work` is done or the host has died. Returns whether the work was done. */
  async live(fate: Fate, work: (host: PipelineHost) => Promise<unknown>): Promise<boolean> {
    const { clock } = this;
    const system = new System({ environment: clock.environment, report: false });
    let die!: () => void;
    const death = new Promise<false>((resolve) => {
      die = () => resolve(false);
    });
    this.commits = 0;
    const store = fated(
      this.#mortal,
      (set) => fate(set, ++this.commits),
      () => {
        this.#mortal.kill();
        die();
      },
    );
    const whole = async (): Promise<true> => {
      const host = await system.start(
        pipelineHost({ store, pipelines: this.#pipelines as readonly never[], drainMs: 10 }),
      );
      await work(host);
      return true;
    };
    const isDone = await clock.until(Promise.race([whole(), death]), { limit: 100_000 });
    await clock.until(system.stop({ timeoutMs: 0 }));
    if (!isDone) await clock.until(this.#mortal.bury());
    return isDone;
  }

  /** Reads the store that the hosts leave behind. */
  async read<T>(look: (store: Store) => Promise<T>): Promise<T> {
    const { environment } = this.clock;
    const context = { environment, after: () => () => undefined, warn: () => undefined };
    const reading = async (): Promise<T> => {
      await using store = await this.source.open([PIPELINE_SCHEMA], context);
      return await look(store);
    };
    return this.clock.until(reading());
  }
}

/** A store whose user may die of a commit. */
function fated(source: StoreSource, fateOf: (set: WriteSet) => Death, die: () => void): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      const submit: Store["submit"] = (set, settled) => {
        const fate = fateOf(set);
        if (fate === "before") return die();
        store.submit(set, (error, result) => (fate === "after" ? die() : settled(error, result as never)));
      };
      const commit: Store["commit"] = async (set) => {
        const fate = fateOf(set);
        if (fate === "before") die();
        const result = await store.commit(set);
        if (fate === "after") die();
        return fate === undefined ? result : new Promise(() => undefined);
      };
      return new Proxy(store, {
        get(target, name) {
          if (name === "submit") return submit;
          if (name === "commit") return commit;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}
