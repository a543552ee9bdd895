// A host in virtual time, on a store in memory that outlives it.

import { type AnyFlow, type FlowHost, type FlowHostOptions, flowHost } from "../../../lib/flow/index.js";
import { System } from "../../../lib/index.js";
import { memory, type StoreSource } from "../../../lib/store/index.js";
import { type TestClock, testClock } from "../../../lib/testing/index.js";

export interface Bench extends AsyncDisposable {
  readonly clock: TestClock;
  readonly store: StoreSource;
  readonly system: System;
  readonly flows: FlowHost;
  /** Lets time pass until the promise is settled. */
  until<T>(promise: Promise<T>): Promise<T>;
}

export async function bench(
  flows: readonly AnyFlow[],
  more: Partial<FlowHostOptions> & { readonly clock?: TestClock } = {},
): Promise<Bench> {
  const { clock = testClock(), store = memory(), ...options } = more;
  const system = new System({ environment: clock.environment, report: false });
  const host = await clock.until(system.start(flowHost({ store, flows, ...options })));
  return {
    clock,
    store,
    system,
    flows: host,
    until: (promise) => clock.until(promise),
    [Symbol.asyncDispose]: () => clock.until(system.stop()).then(() => undefined),
  };
}
