// What a flow that has ended owes to others: its end to the peers of its sessions, and a rejection to those who still wait for an
// answer. A flow that was killed owes the same, so its peers never wait in vain.

import type { Store, Write } from "../../store/index.js";
import type { Stored } from "../journal/entry.js";
import { type FlowRow, mail } from "../journal/tables.js";
import type { SessionMessage } from "./messages.js";
import type { Question } from "./session.js";
import { ACCEPT_MAIL, SESSION_MAIL, sessions } from "./tables.js";

/** A message that is owed, and to which flow. */
export interface Farewell {
  readonly to: string;
  readonly topic: string;
  /** The same each time that this end is told. */
  readonly id: string;
  readonly message: SessionMessage<unknown, unknown>;
}

/** What is owed, and the writes after which nothing is owed any more. */
export async function farewells(
  store: Store,
  row: FlowRow,
  decode: (stored: Stored) => unknown,
): Promise<{ readonly letters: readonly Farewell[]; readonly writes: readonly Write[] }> {
  const { number, id } = row;
  const [open, unread] = await Promise.all([
    store.scan(sessions, { prefix: [number], limit: 10_000 }),
    store.scan(mail, { index: "unread", prefix: [number], limit: 10_000 }),
  ]);
  const message = open.length === 0 ? undefined : await endOf(row, decode);
  const letters: Farewell[] = open.map(({ session, peer }) => ({
    ...{ to: peer, topic: SESSION_MAIL + session, id: `${session}/end/${number}` },
    message: message as SessionMessage<unknown, unknown>,
  }));
  const questions = unread.filter(({ topic }) => topic.startsWith(ACCEPT_MAIL));
  for (const { value } of questions) {
    const question = await asQuestion(value, decode);
    if (question === undefined) continue;
    const { session, from } = question;
    const why = `flow "${id}" has ended without accepting it`;
    const rejection = { type: "reject", why } as const;
    letters.push({ to: from, topic: SESSION_MAIL + session, id: `${session}/reject`, message: rejection });
  }
  return {
    letters,
    writes: [
      { type: "clear", table: sessions, prefix: [number] },
      ...questions.map(
        ({ position }): Write => ({ type: "update", table: mail, key: [position], set: { unread: null } }),
      ),
    ],
  };
}

/** Undefined: it cannot be read, so there is nobody to answer. */
async function asQuestion(value: Stored, decode: (stored: Stored) => unknown): Promise<Question | undefined> {
  try {
    return (await decode(value)) as Question;
  } catch {
    return undefined;
  }
}

async function endOf(
  row: FlowRow,
  decode: (stored: Stored) => unknown,
): Promise<SessionMessage<unknown, unknown>> {
  if (row.status === "completed") return { type: "end" };
  if (row.status !== "failed")
    return { type: "error", error: new Error(`flow "${row.id}" was ${row.status}`) };
  try {
    return { type: "error", error: await decode(row.outcome) };
  } catch (error) {
    return { type: "error", error };
  }
}
