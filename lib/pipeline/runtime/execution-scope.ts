// The parts of an execution on one host that its routes and sources share.

import type { Kernel } from "../../process/kernel.js";
import type { Ledger } from "../ledger/ledger.js";
import type { Catalogue, ExecutionRecord } from "./catalogue.js";
import { Permits } from "./permits.js";
import type { PipelinePlan } from "./plan.js";

export class ExecutionScope {
  readonly kernel: Kernel;
  readonly catalogue: Catalogue;
  readonly record: ExecutionRecord;
  readonly ledger: Ledger;
  readonly permits: Permits;
  readonly #routes: { readonly held: number }[] = [];

  constructor(
    kernel: Kernel,
    catalogue: Catalogue,
    record: ExecutionRecord,
    ledger: Ledger,
    plan: PipelinePlan,
  ) {
    this.kernel = kernel;
    this.catalogue = catalogue;
    this.record = record;
    this.ledger = ledger;
    const routes = new Map(plan.routes.map(({ name, policy }) => [name, policy.concurrency]));
    this.permits = new Permits(kernel, { inFlight: plan.policy.inFlight, routes });
  }

  /** Adds a route, which may hold messages in batches. Upstream first. */
  add(route: { readonly held: number }): void {
    this.#routes.push(route);
  }

  /** Tells the ledger how many messages the routes hold in batches. */
  noteHeld(): void {
    let held = 0;
    let rank = 0;
    for (const [i, route] of this.#routes.entries()) {
      if (held === 0) rank = i;
      held += route.held;
    }
    this.ledger.held(held, rank);
  }
}
