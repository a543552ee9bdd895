// Stores that count, fail and let others in between, and hosts that share one.

import { System } from "signalbox";
import { type AnyFlow, type FlowHost, type FlowHostOptions, flowHost } from "signalbox/flow";
import { memory, type Store, StoreError, type StoreSource } from "signalbox/store";
import { type TestClock, testClock } from "signalbox/testing";
import { FLOW_SCHEMA } from "../../../lib/flow/journal/tables.js";

/** Called before each call of a store, with the name of its method. What it returns or throws, the call awaits or rejects with. */
export type Before = (method: string, given: readonly unknown[]) => unknown;

const nothing: Before = () => undefined;

/** A store whose every call can be seen, put off and failed. @param after - the same, once the call has succeeded: its answer is lost */
export function watched(source: StoreSource, before: Before, after: Before = nothing): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      return new Proxy(store, {
        get: (target, name) => methodOf(target, name as keyof Store, before, after),
      });
    },
  };
}

/** A server that is away. The hospital lets flows with such an error run again. */
export class NoAnswerError extends StoreError {
  override readonly code = "ERR_STORE_UNREACHABLE";
}

const PLAIN: ReadonlySet<PropertyKey> = new Set(["label", "shared", "watch", "close"]);

function methodOf(store: Store, name: keyof Store, before: Before, after: Before): unknown {
  const value: unknown = Reflect.get(store, name, store);
  if (typeof value !== "function") return value;
  if (PLAIN.has(name)) return value.bind(store);
  if (name === "submit") {
    const submit: Store["submit"] = (set, settled) => {
      Promise.resolve()
        .then(() => before("submit", [set]))
        .then(
          () =>
            store.submit(set, (error, committed) => {
              if (error !== undefined) return settled(error, committed);
              Promise.resolve()
                .then(() => after("submit", [set]))
                .then(
                  () => settled(undefined, committed),
                  (lost: Error) => settled(lost, undefined),
                );
            }),
          (error: Error) => settled(error, undefined),
        );
    };
    return submit;
  }
  return async (...given: readonly unknown[]) => {
    await before(String(name), given);
    const answer: unknown = await Reflect.apply(value, store, given);
    await after(String(name), given);
    return answer;
  };
}

/** Hosts of their own on one store, all on one clock. */
export class Hosts implements AsyncDisposable {
  readonly clock: TestClock = testClock();
  readonly source: StoreSource = memory({ shared: true, clock: () => this.clock.now + 1 });
  readonly #systems: System[] = [];

  /** Starts a host in a system of its own. */
  async start(
    flows: readonly AnyFlow[],
    options: Partial<FlowHostOptions> = {},
  ): Promise<{ readonly host: FlowHost; readonly system: System }> {
    const system = new System({ environment: this.clock.environment, report: false });
    this.#systems.push(system);
    const host = await this.clock.until(system.start(flowHost({ store: this.source, flows, ...options })));
    await this.clock.settle();
    return { host, system };
  }

  /** Kills a system: no code of it runs any more, and its claims are left to expire. */
  async kill(system: System): Promise<void> {
    await this.clock.until(system.stop({ timeoutMs: 0 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const system of this.#systems) await this.clock.until(system.stop({ timeoutMs: 0 }));
  }
}

/** Journal rows and flows, as the store has them. */
export async function opened(clock: TestClock, source: StoreSource): Promise<Store> {
  const { environment } = clock;
  return clock.until(
    source.open([FLOW_SCHEMA], { environment, after: () => () => undefined, warn: () => undefined }),
  );
}
