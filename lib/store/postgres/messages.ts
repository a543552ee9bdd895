// The messages by which processes with the same store notify each other, with NOTIFY.
//
//     ["<sender>", "t", 7]              the seventh test of the sender: does it reach the sender?
//     ["<sender>", "n", "a", "b/c"]     sets with these topics were committed
//     ["<sender>", "a"]                 too many to name: look again

import { hash } from "./hash.js";
import { quoted } from "./table-sql.js";

/** A message that was received. */
export type Message = { readonly sender: string } & (
  | { readonly type: "test"; readonly test: number }
  | { readonly type: "topics"; readonly topics: readonly string[] }
  | { readonly type: "again" }
);

/** The sender of messages. */
export class Sender {
  readonly id: string;
  /** Quoted. One for each namespace. */
  readonly channel: string;
  /** The same as a value. */
  readonly channelName: string;

  constructor(namespace: string, id: string) {
    this.id = id;
    this.channelName = `signalbox_${hash(namespace).toString(36)}`;
    this.channel = quoted(this.channelName);
  }

  test(test: number): string {
    return JSON.stringify([this.id, "t", test]);
  }

  again(): string {
    return JSON.stringify([this.id, "a"]);
  }

  /** The topics in as few messages as the limit allows. */
  topics(topics: Iterable<string>, mostBytes: number): string[] {
    const messages: string[] = [];
    const head = JSON.stringify([this.id, "n"]).slice(0, -1);
    let text = "";
    let size = 0;
    for (const topic of topics) {
      const part = `,${JSON.stringify(topic)}`;
      const bytes = encoder.encode(part).length;
      if (size > 0 && head.length + size + bytes + 1 > mostBytes) {
        messages.push(`${head}${text}]`);
        text = "";
        size = 0;
      }
      text += part;
      size += bytes;
    }
    if (size > 0) messages.push(`${head}${text}]`);
    return messages;
  }
}

const encoder = new TextEncoder();

export const isMine = (sender: Sender, message: Message): boolean => message.sender === sender.id;

/** Reads a message. Undefined: it is no message of this library. */
export function parse(payload: string): Message | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts)) return undefined;
  const [sender, kind, ...rest] = parts as unknown[];
  if (typeof sender !== "string") return undefined;
  if (kind === "a") return { sender, type: "again" };
  if (kind === "t") return typeof rest[0] === "number" ? { sender, type: "test", test: rest[0] } : undefined;
  if (kind !== "n") return undefined;
  return {
    sender,
    type: "topics",
    topics: rest.filter((topic): topic is string => typeof topic === "string"),
  };
}
