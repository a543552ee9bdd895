// What a task knows of a host that is not ours, such as Storm. Such a host replays a failed tuple as a new one: nothing but equal values
// tells that it is a retry.

import type { InitContext } from "../definition/component.js";

const FOREIGN = Symbol("foreign host");

export interface ForeignHost {
  /** After this time, or up to twice this time, the host has a tuple fail whose tree is not complete. */
  readonly messageTimeoutMs: number;
}

/** The foreign host of the task with this context. Undefined under our own host, which has a lineage of tuples. */
export function foreignHostOf(ctx: InitContext | object): ForeignHost | undefined {
  return (ctx as { readonly [FOREIGN]?: ForeignHost })[FOREIGN];
}

/** Adds the foreign host to a context. */
export function withForeignHost<C extends object>(ctx: C, host: ForeignHost): C {
  return Object.assign(ctx, { [FOREIGN]: host });
}
