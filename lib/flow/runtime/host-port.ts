// What a flow's process uses of the host that runs it.

import { replayTo, verifyingReplay } from "./dry-replay.js";
import { subjectOf } from "./host-hospital.js";
import type { HostState } from "./host-state.js";
import { park } from "./parking.js";
import type { FlowPort } from "./port.js";

export function hostPort(host: HostState): FlowPort {
  const { kernel, store, claim, blobs, payloads, limits, settings, hospital, orders, background } = host;
  let asks = 0;
  /** Reads the store for an ask about another flow. While the read fails, the flow waits. */
  const read = <T>(ask: () => Promise<T>): Promise<T> => background.until(`ask ${++asks}`, ask);
  return {
    ...{ kernel, store, claim, payloads, blobs, limits },
    interceptors: settings.interceptors,
    readBack: settings.verify
      ? (definition, row, history, time) =>
          verifyingReplay({ kernel, definition, row, history, payloads, limits }, time)
      : undefined,
    replayTo: (flow, ask, signal) => replayTo({ kernel, payloads, limits, ...flow }, ask, signal),
    now: () => host.now(),
    drain: drainOf(host),
    definition: (name, version) => host.definition(name, version),
    begin: (id) => host.evidence.begin(subjectOf(id)),
    isForHospital: (row, error, at, kind) => hospital.isForHospital(row, error, at, kind),
    childOf: (parent, flow, input, as) => read(() => orders.childOf(parent, flow, input, as)),
    cancelChildren: (number, isSpared) => read(() => orders.cancelChildren(number, isSpared)),
    answererOf: (from, flow, id) => orders.answererOf(from, flow, id),
    mailTo: (from, id, topic, value, key) => read(() => orders.mailTo(from, id, topic, value, key)),
    wishFor: (id, wish) => read(() => orders.wishFor(id, wish)),
    park: (number, lastLetter, row) => park(host, number, lastLetter, row),
    caughtUp: (number) => host.requests.caughtUp(number),
    idle: (flow, isIdle) => host.taking.idle(flow, isIdle),
  };
}

/** Notifies flows that their code has run as far as it can: all at once, when the scheduler has nothing else to run. */
function drainOf({ kernel: { scheduler } }: HostState): FlowPort["drain"] {
  let draining: { drained(): void }[] = [];
  const flush = (): void => {
    const all = draining;
    draining = [];
    for (const one of all) one.drained();
  };
  return (flow) => {
    draining.push(flow);
    if (draining.length > 1) return;
    if (scheduler.drained === undefined) flush();
    else scheduler.drained(flush);
  };
}
