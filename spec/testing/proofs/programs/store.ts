// A store outside of the programs, made with `sim.io`.

import type { Simulation } from "signalbox/testing";

/** A store of rows, whose functions use one row each, or all of them. */
export class Store {
  private readonly rows = new Map<string, string>();
  readonly get: (row: string) => Promise<string>;
  readonly slowly: (row: string) => Promise<string>;
  readonly append: (row: string, text: string, signal?: AbortSignal) => Promise<void>;
  readonly dump: () => Promise<string>;
  readonly clear: () => Promise<void>;

  constructor(sim: Simulation) {
    const key = { key: (name: string) => name };
    const rows = this.rows;
    const get = (name: string): string => this.peek(name);
    const no = new Error("no answer");
    this.get = sim.io("get", get, { ...key, access: "read" });
    this.slowly = sim.io("slowly", get, { ...key, access: "read", latencyMs: 10 });
    this.append = sim.io(
      "append",
      (name: string, text: string, _signal?: AbortSignal) => void rows.set(name, get(name) + text),
      { ...key, failures: [no] },
    );
    this.dump = sim.io("dump", () => [...rows].sort().join(" "), { access: "read", refusals: [no] });
    this.clear = sim.io("clear", () => rows.clear());
  }

  /** What a row holds, read without a request. */
  peek(row: string): string {
    return this.rows.get(row) ?? "";
  }
}
