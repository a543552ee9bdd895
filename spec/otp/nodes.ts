// Carries out links scenarios whose processes are on two nodes: the connection is lost and made anew, and signals cross.

import type { System } from "signalbox";
import { LinksRun, type ProcessKind } from "./links.js";
import type { NodeName, NodeOp, NodesScenario, Seen } from "./trace.js";
import { type Carriage, type TwoNodes, twoNodes } from "./two-nodes.js";

/** One run of a scenario of two nodes. */
export class NodesRun {
  readonly #nodes: TwoNodes;
  readonly #links: LinksRun;

  constructor(kind: ProcessKind, homes: NodesScenario["nodes"], carriage: Carriage) {
    this.#nodes = twoNodes(carriage);
    const systemOf = (process: string): System => this.#nodes.system(homes[process] as NodeName);
    const systems = [this.#nodes.system("n1"), this.#nodes.system("n2")];
    this.#links = new LinksRun(kind, { systems, systemOf, idle: () => this.#nodes.settle() });
  }

  async step(op: NodeOp): Promise<Seen> {
    const result = op[0] === "together" ? await this.#together(op[1]) : await this.#perform(op);
    await this.#nodes.settle();
    const { received, died } = this.#links.collect();
    return { result, received, died };
  }

  async close(): Promise<void> {
    await this.#links.close();
  }

  /** Nothing crosses before all are carried out. All of them `ok` is written as one `ok`. */
  async #together(ops: readonly NodeOp[]): Promise<string | string[]> {
    this.#nodes.hold();
    const results: string[] = [];
    for (const op of ops) {
      results.push(await this.#perform(op));
      await this.#nodes.settle();
    }
    this.#nodes.release();
    return results.every((result) => result === "ok") ? "ok" : results;
  }

  async #perform(op: NodeOp): Promise<string> {
    switch (op[0]) {
      case "cut":
        if (!this.#nodes.isConnected) return "skipped";
        this.#nodes.cut(op[1]);
        return "ok";
      case "heal":
        if (this.#nodes.isConnected) return "skipped";
        this.#nodes.heal();
        return "ok";
      case "together":
        throw new Error("operations that are carried out together do not nest");
      default:
        return this.#links.perform(op);
    }
  }
}
