// Listeners of events and traces, and the logs of topologies, are the user's code, which only looks on. Its errors and rejections
// are contained: they reach neither the process that caused the call nor the host. Each listener is reported once.

import { outside } from "./origin.js";
import { showThrown } from "./show.js";
import { isThenable } from "./thenable.js";

/** The parts of a kernel that calls listeners. */
interface ListenedSystem {
  readonly node: { readonly name: string };
  readonly reports: {
    admits(budget: "listener"): boolean;
    write(report: { level: "error"; event: "listener"; path: string; error: unknown; text: string }): void;
  };
  readonly interception: { listenerFailed(error: unknown): void } | undefined;
  enter(fn: () => void): void;
}

/** Listeners whose failure was reported. */
const reported = new WeakSet<object>();

/** Calls a listener as code of the system, and contains what it throws. @param what - names the listener, as in `a listener of "exit"` */
export function hear(system: ListenedSystem, what: string, listener: object, call: () => unknown): void {
  const failed = (error: unknown): void => listenerFailed(system, what, listener, error);
  outside(() => system.enter(() => contained(call, failed)));
}

/** Calls code, and passes what it throws or rejects with to `failed`. */
export function contained(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = call();
    if (isThenable(result)) result.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

export function listenerFailed(
  { node, reports, interception }: ListenedSystem,
  what: string,
  listener: object,
  error: unknown,
): void {
  // In a simulation the listener is code of the test, and its failure is the test's.
  interception?.listenerFailed(error);
  if (reported.has(listener) || !reports.admits("listener")) return;
  reported.add(listener);
  const text = `${node.name}: ${what} threw. The system goes on; further errors of this listener are not reported: ${showThrown(error)}`;
  reports.write({ level: "error", event: "listener", path: node.name, error, text });
}
