// The queues of a host, and what it does for the flows in them.

import type { FlowRow } from "../journal/tables.js";
import type { QueueSettings } from "./options.js";
import { QueueKeeper, type QueuePort } from "./queue-keeper.js";
import { MORE_TOPIC, ROOM_TOPIC } from "./tables.js";

export class Queues {
  readonly #keepers: ReadonlyMap<string, QueueKeeper>;
  /** Flows that hold a slot here, by their numbers. A flow that fails and runs again is counted once. */
  readonly #here = new Set<number>();

  constructor(settings: ReadonlyMap<string, QueueSettings>, port: QueuePort) {
    this.#keepers = new Map([...settings].map(([name, queue]) => [name, new QueueKeeper(queue, port)]));
  }

  /** Looks at all queues: at the start, and when notifications may have been lost. */
  look(): void {
    for (const keeper of this.#keepers.values()) {
      keeper.take({ type: "more" });
      keeper.take({ type: "room" });
    }
  }

  /** A commit named this topic. False: it is no topic of queues. */
  noted(topic: string): boolean {
    const isMore = topic.startsWith(MORE_TOPIC);
    if (!isMore && !topic.startsWith(ROOM_TOPIC)) return false;
    const name = topic.slice((isMore ? MORE_TOPIC : ROOM_TOPIC).length);
    this.#keepers.get(name)?.take({ type: isMore ? "more" : "room" });
    return true;
  }

  /** The keeper of a queue, which has counted these flows, lets them run. */
  admitted(numbers: readonly number[]): void {
    for (const number of numbers) this.#here.add(number);
  }

  /** A flow runs here. */
  taken({ number, slot }: FlowRow): void {
    if (slot === null || this.#here.has(number)) return;
    this.#here.add(number);
    this.#keepers.get(slot)?.take({ type: "taken" });
  }

  /** A flow runs here no more. */
  left({ number, slot }: FlowRow): void {
    if (slot !== null && this.#here.delete(number)) this.#keepers.get(slot)?.take({ type: "left" });
  }

  /** Whether flows of this queue give their slot back while they are out of memory. */
  releases(queue: string | null): boolean {
    return queue !== null && this.#keepers.get(queue)?.settings.releases === true;
  }

  stop(): void {
    for (const keeper of this.#keepers.values()) keeper.stop();
  }
}

/** Whether a flow needs a slot of its queue before it may run, and has none. A flow that is to end early needs none. */
export function needsSlot({ queue, slot, wish }: FlowRow): boolean {
  return queue !== null && slot === null && wish !== "kill" && wish !== "cancel";
}

/** Topics of a commit by which a flow gives its slot back. */
export function freeSlotTopics({ queue }: FlowRow): readonly string[] {
  return queue === null ? [] : [ROOM_TOPIC + queue];
}
