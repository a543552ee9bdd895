// A worker file for pools under the simulator.

import type { PoolJob } from "signalbox/service";

export class NoLabelError extends Error {}

export function add(a: number, b = 1): number {
  return a + b;
}

export default function label(order: { readonly id: number }): string {
  return `label ${order.id}`;
}

export function refuse(): never {
  throw new NoLabelError("no label");
}

export async function wait(this: PoolJob): Promise<string> {
  this.progress("begun");
  await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
  return "aborted";
}
