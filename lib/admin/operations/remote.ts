// A table of operations at the other end of an admin socket. Values are shown as JSON.

import { RemoteOperationError } from "../errors.js";
import type { Json } from "../json-view.js";
import { type Ask, askedAgain, PROTOCOL_LIMITS } from "../protocol.js";
import { type AskedRow, type OperationTable, rowsOf, wireNames } from "./table.js";

type Of<Kind extends AskedRow["kind"]> = Extract<AskedRow, { readonly kind: Kind }>;
type Options = Readonly<Record<string, unknown>>;
type Method = (...args: readonly unknown[]) => unknown;
/** Sends one request. */
type Send = (args: object, signal: unknown) => Promise<Json>;

/** The operations of a host that is asked over its socket. @param prefix - the names of the operations on the wire begin so */
export function remoteOf<Operations>(table: OperationTable<Operations>, ask: Ask, prefix = ""): Operations {
  const methods = rowsOf(table).map(([name, row]): readonly [string, Method] => {
    if (row.kind === "made") return [name, (...args) => (row.of(remote as never) as Method)(...args)];
    const changes = row.leave !== "look";
    const send: Send = (args, signal) => ask(prefix + name, args, signal as AbortSignal | undefined, changes);
    return [name, (...args) => METHODS[row.kind](row as never, send, args)];
  });
  const remote = Object.fromEntries(methods) as Operations;
  return remote;
}

/** Arguments by place under their names, and the options behind them. */
function given(
  row: AskedRow,
  args: readonly unknown[],
): { readonly placed: Options; readonly options: Options } {
  const placed = Object.fromEntries(row.placed.map((name, i) => [name, args[i]]));
  return { placed, options: (args[row.placed.length] ?? {}) as Options };
}

/** Options under their names on the wire. One that the row does not name goes over as it is, and the host refuses it. */
function onWire(row: AskedRow, options: Options): object {
  const names = new Map(wireNames(row));
  const sent = Object.entries(options).filter(
    // No limit is no argument: JSON has no Infinity.
    ([name, value]) => row.options?.[name] !== false && value !== Number.POSITIVE_INFINITY,
  );
  return Object.fromEntries(sent.map(([name, value]) => [names.get(name) ?? name, value]));
}

/** The methods of each kind of operation. */
const METHODS: {
  readonly [Kind in AskedRow["kind"]]: (row: Of<Kind>, send: Send, args: readonly unknown[]) => unknown;
} = {
  ask: async (row, send, args) => {
    const { placed, options } = given(row, args);
    row.check?.(options as never);
    try {
      return await send({ ...onWire(row, options), ...placed }, options.signal);
    } catch (error) {
      const isOpen = error instanceof RemoteOperationError && error.request === "kept";
      throw (isOpen ? row.unknown?.(...([error, ...args] as never[])) : undefined) ?? error;
    }
  },
  list: async function* (row, send, args) {
    const { placed, options } = given(row, args);
    const { limit = Number.POSITIVE_INFINITY } = options;
    let place = {};
    for (let left = limit as number; ; ) {
      const page = await send(
        { ...onWire(row, { ...options, ...place, limit: left }), ...placed },
        undefined,
      );
      const { items, more } = row.page.unpack(page as never);
      yield* items;
      left -= items.length;
      const last = items.at(-1);
      if (!more || last === undefined || left <= 0) return;
      place = row.behind(last as never) as object;
    }
  },
  wait: (row, send, args) => {
    const { placed, options } = given(row, args);
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
    return askedAgain(
      timeoutMs as number,
      (waitMs) => send({ ...onWire(row, options), ...placed, timeoutMs: waitMs }, signal),
      () => row.late(...([timeoutMs, ...Object.values(placed)] as never[])) as Error,
    );
  },
  follow: async function* (row, send, args) {
    const { placed, options } = given(row, args);
    const { follow = true, timeoutMs = Number.POSITIVE_INFINITY, signal, ...rest } = options;
    let after: unknown = options.after ?? 0;
    for (let left = timeoutMs as number; ; ) {
      const wait = follow === true ? { timeoutMs: Math.min(left, PROTOCOL_LIMITS.waitMs) } : {};
      const page = await send({ ...onWire(row, rest), ...placed, after, ...wait }, signal);
      const { events, isLast } = page as unknown as EventsPage;
      yield* events;
      if (isLast) return;
      const last = events.at(-1);
      if (last !== undefined) after = row.after(last as never);
      left = last !== undefined ? (timeoutMs as number) : left - PROTOCOL_LIMITS.waitMs;
      if (follow === true && left <= 0)
        throw row.late(...([timeoutMs, ...Object.values(placed)] as never[])) as Error;
    }
  },
};

interface EventsPage {
  readonly events: readonly Json[];
  /** No event comes behind them. */
  readonly isLast: boolean;
}
