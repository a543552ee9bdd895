// Runs on threads of a pool: the label of a parcel, with a check code that takes real work of the processor.

import { pbkdf2Sync } from "node:crypto";
import type { Order } from "./order.js";

const ROUNDS = 2_000;

/** The text of a label. The same order has the same label, so printing one twice does no harm. */
export function print({ id, lines }: Order): string {
  const content = lines.map(({ sku, count }) => `${count} x ${sku}`).join(", ");
  const code = pbkdf2Sync(`${id} ${content}`, "label", ROUNDS, 8, "sha256").toString("hex");
  return `${id} | ${content} | ${code}`;
}
