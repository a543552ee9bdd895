// The lineage of a message as rows of a tree: its ancestors, the message, and as many descendants as were opened. Pure.

import type { Lineage, MessageRecord } from "../../../pipeline/operations/operations.js";

/** Children of a message that were read so far. */
export interface ReadChildren {
  readonly children: readonly MessageRecord[];
  /** Whether there are further ones. */
  readonly more: boolean;
}

export interface LineageRow {
  readonly record: MessageRecord;
  /** 0 for the message that came from a source. */
  readonly depth: number;
  readonly role: "ancestor" | "subject" | "descendant";
  /** Whether its children stand below it. Undefined: it has none. */
  readonly open: boolean | undefined;
  /** How many of its children are not read yet. */
  readonly unread: number;
}

/** Rows that a page shows at most: a message may have a million children. */
export const LINEAGE_ROWS = 2_000;

export interface LineageTree {
  readonly rows: readonly LineageRow[];
  /** Rows that did not fit. */
  readonly left: number;
}

/**
 * @param opened - the children read of descendants, by the id of their parent
 * @param closed - ids of messages whose children are hidden
 */
export function lineageTree(
  { message, chain, children }: Lineage,
  opened: ReadonlyMap<string, ReadChildren> = new Map(),
  closed: ReadonlySet<string> = new Set(),
): LineageTree {
  const rows: LineageRow[] = [];
  let left = 0;
  const add = (row: LineageRow): void => {
    if (rows.length < LINEAGE_ROWS) rows.push(row);
    else left += 1;
  };
  const below = (record: MessageRecord): ReadChildren | undefined => {
    const read = opened.get(record.id);
    if (read !== undefined || record.id !== message.id) return read;
    return { children, more: children.length < record.children };
  };
  const visit = (record: MessageRecord, depth: number): void => {
    const role = record.id === message.id ? "subject" : "descendant";
    const read = closed.has(record.id) ? undefined : below(record);
    const open = record.children === 0 ? undefined : read !== undefined;
    const unread = read === undefined ? record.children : Math.max(0, record.children - read.children.length);
    add({ record, depth, role, open, unread });
    for (const child of read?.children ?? []) visit(child, depth + 1);
  };
  for (const [depth, record] of chain.entries())
    add({ record, depth, role: "ancestor", open: undefined, unread: 0 });
  visit(message, chain.length);
  return { rows, left };
}

/** The message in a few words: its route, and what became of it. */
export function fateOf({ status, fate, attempt, setback }: MessageRecord): string {
  const words: string[] = [status];
  if (fate !== undefined && fate !== status) words.push(`${fate} later`);
  if (attempt > 1) words.push(`${attempt} attempts`);
  if (setback !== undefined) words.push(`the store failed ${setback.times} times in a row`);
  return words.join(", ");
}

/** How long the calls of its last attempt took in all. */
export function tookOf({ calls }: Pick<MessageRecord, "calls">): number | undefined {
  return calls.length === 0 ? undefined : calls.reduce((sum, { tookMs }) => sum + tookMs, 0);
}
