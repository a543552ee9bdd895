// A bulkhead as a pure machine: how many calls of each key run at once, and a queue of those that wait (M. Nygard, "Release It!",
// chapter "Bulkheads"). `decide` is deterministic; its table is mutable inside, since a copy for each call would cost more than the
// call.

/** The rule of one bulkhead. */
export interface BulkheadConfig {
  /** Calls of one key that run at once. */
  readonly concurrency: number;
  /** Calls that may wait, over all keys. */
  readonly maxWaiting: number;
}

interface Compartment {
  running: number;
  /** In order of arrival. */
  readonly waiting: Set<number>;
}

/** Mutable: see above. A key for which nothing runs has no compartment. */
export interface BulkheadMachine {
  readonly config: BulkheadConfig;
  readonly compartments: Map<string, Compartment>;
  running: number;
  waiting: number;
}

export interface BulkheadEvent {
  /** A call asks for a place, leaves the queue, or gives its place back. */
  readonly type: "ask" | "leave" | "done";
  readonly id: number;
  readonly key: string;
}

export interface BulkheadEffect {
  readonly type: "grant" | "refuse";
  readonly id: number;
}

export function initial(config: BulkheadConfig): BulkheadMachine {
  return { config, compartments: new Map(), running: 0, waiting: 0 };
}

export function decide(
  machine: BulkheadMachine,
  { type, id, key }: BulkheadEvent,
): readonly [BulkheadMachine, readonly BulkheadEffect[]] {
  switch (type) {
    case "ask":
      return [machine, ask(machine, id, key)];
    case "leave":
      if (machine.compartments.get(key)?.waiting.delete(id)) machine.waiting--;
      return [machine, []];
    case "done":
      return [machine, done(machine, key)];
    default:
      return type satisfies never;
  }
}

function ask(machine: BulkheadMachine, id: number, key: string): readonly BulkheadEffect[] {
  const { config, compartments } = machine;
  const own = compartments.get(key) ?? { running: 0, waiting: new Set() };
  if (own.running < config.concurrency) {
    compartments.set(key, own);
    own.running++;
    machine.running++;
    return [{ type: "grant", id }];
  }
  if (machine.waiting >= config.maxWaiting) return [{ type: "refuse", id }];
  own.waiting.add(id);
  machine.waiting++;
  return [];
}

/** The place goes to the call that has waited longest. */
function done(machine: BulkheadMachine, key: string): readonly BulkheadEffect[] {
  const own = machine.compartments.get(key);
  if (own === undefined) return [];
  const [next] = own.waiting;
  if (next !== undefined) {
    own.waiting.delete(next);
    machine.waiting--;
    return [{ type: "grant", id: next }];
  }
  own.running--;
  machine.running--;
  if (own.running === 0) machine.compartments.delete(key);
  return [];
}
