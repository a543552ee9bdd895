// A table of operations as a host offers it at its admin socket.

import type { AdminService } from "../post.js";
import {
  type AdminOperation,
  type Args,
  PROTOCOL_LIMITS,
  pageOf,
  pendingAfter,
  type SystemId,
} from "../protocol.js";
import { type AskedRow, methodOf, type OperationTable, rowsOf, wireNames } from "./table.js";

/** How operations are offered. */
export interface Offer {
  /** The name of the service. */
  readonly name: string;
  /** The names of the operations on the wire begin so. */
  readonly prefix?: string;
  /** Whether other hosts of the program may offer the same. */
  readonly shares: boolean;
  /** Of several hosts, the one that answers true is asked for operations on something that is named: their first argument names it. */
  mine?(op: string, args: Args): Promise<boolean>;
  /** The system, of operations that look at one. */
  readonly system?: SystemId;
}

/** The operations of a host, for its admin socket. */
export function serviceOf<Operations extends object>(
  table: OperationTable<Operations>,
  on: Operations,
  { name, prefix = "", shares, mine, system }: Offer,
): AdminService {
  const operations = new Map<string, AdminOperation>();
  for (const [op, row] of rowsOf(table)) {
    if (row.kind === "made") continue;
    const method = methodOf(on, op);
    const args = system === undefined ? argsOf(row) : [...argsOf(row), "system"];
    operations.set(prefix + op, {
      args,
      leave: row.leave,
      ...(system !== undefined && { system }),
      run: (given, signal) => RUNS[row.kind](row as never, method, given, signal),
      ...(mine !== undefined && row.placed.length > 0 && { mine: (given) => mine(op, given) }),
    });
  }
  return { name, shares, operations };
}

/** The names of the arguments of a request. */
function argsOf(row: AskedRow): readonly string[] {
  const more = row.kind === "follow" ? row.more : [];
  return [...row.placed, ...wireNames(row).map(([, wire]) => wire), ...more];
}

type Method = (...args: readonly unknown[]) => unknown;
type Of<Kind extends AskedRow["kind"]> = Extract<AskedRow, { readonly kind: Kind }>;

const placedIn = ({ placed }: AskedRow, args: Args): readonly unknown[] => placed.map((name) => args[name]);

/** The options that a request gives. The operations check them. */
function optionsIn(row: AskedRow, args: Args): Record<string, unknown> {
  const given = wireNames(row).filter(([, wire]) => Object.hasOwn(args, wire));
  return Object.fromEntries(given.map(([name, wire]) => [name, args[wire]]));
}

/** How each kind of operation is carried out for one request. */
const RUNS: {
  readonly [Kind in AskedRow["kind"]]: (
    row: Of<Kind>,
    method: Method,
    args: Args,
    signal: AbortSignal,
  ) => Promise<unknown>;
} = {
  ask: async (row, method, args, signal) => {
    const { options } = row;
    if (options === undefined) return method(...placedIn(row, args));
    const ends = Object.hasOwn(options, "signal") ? { signal } : {};
    return method(...placedIn(row, args), { ...optionsIn(row, args), ...ends });
  },
  list: async (row, method, args) => {
    const limit = pageLimit(args);
    const list = method(...placedIn(row, args), { ...optionsIn(row, args), limit });
    const { shown, isFull } = await pageOf(list as AsyncIterable<unknown>, limit);
    return row.page.pack(shown, isFull);
  },
  wait: async (row, method, args, signal) =>
    pendingAfter(args, row.timeout, async (timeoutMs) =>
      method(...placedIn(row, args), { ...optionsIn(row, args), timeoutMs, signal }),
    ),
  follow: async (row, method, args, signal) => {
    const { timeoutMs: wait, ...options } = optionsIn(row, args);
    const list = (more: object): AsyncIterable<unknown> =>
      method(...placedIn(row, args), { ...options, ...more }) as AsyncIterable<unknown>;
    const { shown, isFull } = await pageOf(list({ follow: false }), pageLimit(args));
    if (shown.length > 0 || wait === undefined)
      return { events: shown, isLast: wait === undefined && !isFull };
    // There is none: it waits for the next one.
    const next = await pendingAfter(args, row.timeout, async (timeoutMs) => {
      for await (const event of list({ timeoutMs, signal })) return [event];
      return undefined;
    });
    return next === "pending"
      ? { events: [], isLast: false }
      : { events: next ?? [], isLast: next === undefined };
  },
};

/** How many items the page of a request has. A limit that is none goes on to the operation, which refuses it. */
function pageLimit({ limit }: Args): number {
  const { pageItems } = PROTOCOL_LIMITS;
  if (limit === undefined) return pageItems;
  return typeof limit === "number" ? Math.min(limit, pageItems) : (limit as never);
}
