// The nodes that are there, as the tower sees them, and a line for each that comes or goes.

import type { ClusterNode } from "signalbox/nodes";
import type { Say } from "./node-process.js";

export class NodesUp {
  /** Resolves when all nodes are there for the first time. */
  readonly complete: Promise<void>;
  /** The stop of the watch. */
  readonly close: () => void;
  /** Names by ids. A node that is started again has the same name, and a new id. */
  readonly #names = new Map<string, string>();

  constructor(node: ClusterNode, expected: number, say: Say) {
    let resolve: () => void;
    this.complete = new Promise((done) => {
      resolve = done;
    });
    this.close = node.watch({
      up: ({ id, name }) => {
        this.#names.set(id, name);
        say(`${name} joins`);
        if (this.#names.size === expected) resolve();
      },
      down: ({ id, name }) => {
        this.#names.delete(id);
        say(`${name} is lost: the others get what it had in flight`);
      },
    });
  }

  get ids(): string[] {
    return [...this.#names.keys()];
  }

  /** Takes a node off the list before its loss is noticed, so that it is not hit twice. Gives its name. */
  remove(id: string): string {
    const name = this.#names.get(id) ?? "";
    this.#names.delete(id);
    return name;
  }
}
