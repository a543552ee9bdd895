// A table of operations that go on to the operations of a host, wherever that is by then.

import { methodOf, type OperationTable, type Row, rowsOf } from "./table.js";

/** How a host is reached. */
export interface Reach<Operations> {
  /** The operations where the host is now. */
  on(): Promise<Operations>;
  /** Whether an error says that the host has ended: the next one is asked, if the operation changes nothing. */
  isOver(error: unknown): boolean;
  /** Operations that are done in another way than there. */
  readonly own: Partial<Operations>;
}

type Method = (...args: readonly unknown[]) => unknown;

/**
 * The operations of a host. Those that look are repeated with the next host when this one ends in the middle, and lists go on behind the last
 * item that the caller has. Others are asked for once.
 */
export function passedOn<Operations extends object>(
  table: OperationTable<Operations>,
  reach: Reach<Operations>,
): Operations {
  const methods = rowsOf(table).map(([name, row]): readonly [string, Method] => {
    const own = (reach.own as Readonly<Record<string, Method | undefined>>)[name];
    if (own !== undefined) return [name, own];
    switch (row.kind) {
      case "made":
        return [name, (...args) => (row.of(passed as never) as Method)(...args)];
      case "list":
        return [name, (...args) => listed(name, row, reach, args)];
      case "follow":
        return [name, (...args) => followed(name, reach, args)];
      default:
        return [name, (...args) => asked(name, row.kind === "ask" && row.leave === "look", reach, args)];
    }
  });
  const passed = Object.fromEntries(methods) as Operations;
  return passed;
}

/** Only that host knows the later items, so its end ends the list. */
async function* followed(
  name: string,
  { on }: Reach<object>,
  args: readonly unknown[],
): AsyncGenerator<unknown, void, undefined> {
  const method = methodOf(await on(), name);
  yield* method(...args) as AsyncIterable<unknown>;
}

async function asked(
  name: string,
  isRepeated: boolean,
  { on, isOver }: Reach<object>,
  args: readonly unknown[],
): Promise<unknown> {
  for (;;) {
    const method = methodOf(await on(), name);
    try {
      return await method(...args);
    } catch (error) {
      if (!isRepeated || !isOver(error)) throw error;
    }
  }
}

async function* listed(
  name: string,
  { placed, behind }: Extract<Row, { readonly kind: "list" }>,
  { on, isOver }: Reach<object>,
  args: readonly unknown[],
): AsyncGenerator<unknown, void, undefined> {
  const first = args.slice(0, placed.length);
  let range = args[placed.length] as { readonly limit?: number } | undefined;
  for (;;) {
    const method = methodOf(await on(), name);
    try {
      for await (const item of method(...first, range) as AsyncIterable<unknown>) {
        // Items that the caller already has are not read again.
        const left = range?.limit === undefined ? {} : { limit: range.limit - 1 };
        range = { ...range, ...(behind(item as never) as object), ...left };
        yield item;
      }
      return;
    } catch (error) {
      if (!isOver(error)) throw error;
      if (range?.limit === 0) return;
    }
  }
}
