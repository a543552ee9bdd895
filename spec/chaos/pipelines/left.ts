// What poison-child.ts has left in its store: who is in quarantine, who is a dead letter, and what was done.

import type { Store } from "signalbox/store";
import { deadLetters, type ExecutionRow, executions, messages } from "../../../lib/pipeline/ledger/tables.js";

export interface Left {
  readonly execution: ExecutionRow | undefined;
  /** Messages that wait, those in quarantine among them. */
  readonly live: number;
  /** The bodies of messages that are, or were, in quarantine. */
  readonly quarantined: readonly unknown[];
  /** The bodies of dead letters. */
  readonly dead: readonly unknown[];
}

export async function left(store: Store): Promise<Left> {
  const [execution] = await store.scan(executions, {});
  const live = await store.scan(messages, {});
  const letters = await store.scan(deadLetters, {});
  const quarantined = live.filter(({ quarantines }) => (quarantines ?? 0) > 0).map(({ body }) => body);
  return { execution, live: live.length, quarantined, dead: letters.map(({ body }) => body) };
}
