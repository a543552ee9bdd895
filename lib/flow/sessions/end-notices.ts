// The messages that an ended flow owes to others: its end to the peers of its sessions, and a rejection to the flows that still wait for
// an answer. A killed flow owes the same, so its peers never wait in vain.

import type { Row, Store, Write } from "../../store/index.js";
import type { Stored } from "../journal/entry.js";
import { type FlowRow, type MailRow, mail } from "../journal/tables.js";
import { SessionLeftError } from "./errors.js";
import type { SessionMessage } from "./messages.js";
import type { Question } from "./session.js";
import { ACCEPT_MAIL, SESSION_MAIL, sessions } from "./tables.js";

/** A message that is owed, and to which flow. */
export interface EndNotice {
  readonly to: string;
  readonly topic: string;
  /** The same each time that this end is sent. */
  readonly id: string;
  readonly message: SessionMessage<unknown, unknown>;
}

/** The messages that a flow owes, and the writes after which it owes none any more. */
export interface Owed {
  readonly notices: readonly EndNotice[];
  readonly writes: readonly Write[];
}

/** Most sessions, and most messages, of a flow that are looked at. */
const MOST = 10_000;

/** The messages that a flow owes, and the writes after which it owes none any more. */
export async function endNotices(
  store: Store,
  row: FlowRow,
  decode: (stored: Stored) => unknown,
): Promise<Owed> {
  const { number, id } = row;
  const [open, unread] = await Promise.all([openOf(store, number), unreadOf(store, number)]);
  const message = open.length === 0 ? undefined : await endOf(row, decode);
  const notices = open.map((one) => endNotice(number, one, message as Message));
  const questions = unread.filter(({ topic }) => topic.startsWith(ACCEPT_MAIL));
  for (const { value } of questions) {
    const question = await asQuestion(value, decode);
    if (question === undefined) continue;
    const { session, from } = question;
    const why = `flow "${id}" has ended without accepting it`;
    const rejection = { type: "reject", why } as const;
    notices.push({ to: from, topic: SESSION_MAIL + session, id: `${session}/reject`, message: rejection });
  }
  return { notices, writes: [{ type: "clear", table: sessions, prefix: [number] }, ...questions.map(read)] };
}

/**
 * The messages of a flow that has begun anew and has written nothing since. It has left all sessions that are open, and reads their mail
 * no more. Questions that were not accepted stay, with the messages that the asking flow sent since.
 */
export async function restartNotices(
  store: Store,
  { number, id }: FlowRow,
  decode: (stored: Stored) => unknown,
): Promise<Owed & { readonly read: ReadonlySet<number> }> {
  const [open, unread] = await Promise.all([openOf(store, number), unreadOf(store, number)]);
  const message: Message = { type: "error", error: new SessionLeftError(id) };
  const asked = new Set<string>();
  for (const { topic, value } of unread) {
    const question = topic.startsWith(ACCEPT_MAIL) ? await asQuestion(value, decode) : undefined;
    if (question !== undefined) asked.add(SESSION_MAIL + question.session);
  }
  const late = unread.filter(({ topic }) => topic.startsWith(SESSION_MAIL) && !asked.has(topic));
  const cleared: Write[] = open.length === 0 ? [] : [{ type: "clear", table: sessions, prefix: [number] }];
  return {
    notices: open.map((one) => endNotice(number, one, message)),
    writes: [...cleared, ...late.map(read)],
    read: new Set(late.map(({ position }) => position)),
  };
}

type Message = SessionMessage<unknown, unknown>;

function endNotice(number: number, { session, peer }: Row<typeof sessions>, message: Message): EndNotice {
  return { to: peer, topic: SESSION_MAIL + session, id: `${session}/end/${number}`, message };
}

function openOf(store: Store, number: number): Promise<Row<typeof sessions>[]> {
  return store.scan(sessions, { prefix: [number], limit: MOST });
}

function unreadOf(store: Store, number: number): Promise<MailRow[]> {
  return store.scan(mail, { index: "unread", prefix: [number], limit: MOST });
}

function read({ position }: MailRow): Write {
  return { type: "update", table: mail, key: [position], set: { unread: null } };
}

/** Undefined: it cannot be read, so there is no flow to answer. */
async function asQuestion(value: Stored, decode: (stored: Stored) => unknown): Promise<Question | undefined> {
  try {
    return (await decode(value)) as Question;
  } catch {
    return undefined;
  }
}

async function endOf(row: FlowRow, decode: (stored: Stored) => unknown): Promise<Message> {
  if (row.status === "completed") return { type: "end" };
  if (row.status !== "failed")
    return { type: "error", error: new Error(`flow "${row.id}" was ${row.status}`) };
  try {
    return { type: "error", error: await decode(row.outcome) };
  } catch (error) {
    return { type: "error", error };
  }
}
