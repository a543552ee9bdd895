// What the journal says after a run, against what the outside world did.

import { readFile } from "node:fs/promises";
import { bookOf } from "./journal.js";
import { isSettled } from "./order.js";
import type { Books } from "./outside.js";
import { type Levels, needsOf } from "./stock.js";

export interface Report {
  readonly accepted: number;
  readonly shipped: number;
  readonly refused: number;
  /** Orders for which something is left to do. */
  readonly open: number;
  /** Pieces that left the shop, by article. */
  readonly pieces: Levels;
}

/** Reads the journal of a shop that does not run. */
export async function reportOf(path: string): Promise<Report> {
  const orders = [...bookOf(await readFile(path, "utf8")).values()].filter(
    ({ accepted }) => accepted !== undefined,
  );
  const shipped = orders.filter((facts) => facts.shipped !== undefined);
  const pieces: Record<string, number> = {};
  for (const { accepted } of shipped)
    for (const [sku, count] of accepted === undefined ? [] : needsOf(accepted.order))
      pieces[sku] = (pieces[sku] ?? 0) + count;
  return {
    accepted: orders.length,
    shipped: shipped.length,
    refused: orders.filter(({ refused }) => refused !== undefined).length,
    open: orders.filter((facts) => !isSettled(facts)).length,
    pieces,
  };
}

/** What is wrong, in words; nothing when all sums are exact. */
export function faultsOf({ accepted, shipped, refused, open }: Report, sent: number, books: Books): string[] {
  const faults: string[] = [];
  const check = (what: string, is: number, should: number): void => {
    if (is !== should) faults.push(`${what}: ${is} instead of ${should}`);
  };
  const most = (counts: ReadonlyMap<string, number>): number => Math.max(0, ...counts.values());
  check("orders accepted", accepted, sent);
  check("orders left open", open, 0);
  check("orders shipped or refused", shipped + refused, accepted);
  check("charges", books.charges.size, shipped);
  check("parcels", books.parcels.size, shipped);
  check("most parcels for one order", most(books.parcels), Math.min(1, shipped));
  check("most charges for one order", most(books.charges), Math.min(1, shipped));
  return faults;
}

export function reportLines({ accepted, shipped, refused, open, pieces }: Report): readonly string[] {
  const sum = Object.values(pieces).reduce((total, count) => total + count, 0);
  return [
    `orders    ${accepted} accepted: ${shipped} shipped, ${refused} refused, ${open} open`,
    `pieces    ${sum} left the shop: ${Object.entries(pieces)
      .map(([sku, count]) => `${count} ${sku}`)
      .join(", ")}`,
  ];
}
