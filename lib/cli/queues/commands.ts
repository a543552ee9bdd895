// The commands of `signalbox queues`.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { QueueOperations, QueueSummary } from "../../pipeline/queues/operations.js";
import { oneLine } from "../../process/printable.js";
import type { Commands } from "../shell/commands.js";
import type { CommandContext, Opened } from "../shell/context.js";
import { CommandKit } from "../shell/kit.js";
import { type LetterHost, letterCommands, letterText } from "../shell/letters.js";
import { count, valueText } from "../shell/style.js";
import { type Column, column, figure, some } from "../shell/table.js";
import { most } from "../shell/values.js";

/** The surroundings of the command. */
export interface QueuesHost extends LetterHost {
  /** Reaches the queues of a store: a file, or a URL of PostgreSQL. @param payloads - of values, where no host has the store open @throws Error */
  open(store: string, payloads: PayloadOptions): Promise<Opened<QueueOperations>>;
}

type Context = CommandContext<QueueOperations, QueuesHost>;

const kit: CommandKit<Context, QueueOperations> = new CommandKit();

const list = kit.table({
  summary: "lists the queues, and how many messages each has",
  name: "queues",
  none: "no queues",
  options: { after: { value: "NAME", help: "only queues behind this name" } },
  most: "most of them. Default: all",
  items: (on, _words, range) => on.list(range),
  columns,
  placeOf: ({ name }) => name,
});

function columns({ style }: Context): readonly Column<QueueSummary>[] {
  return [
    column("QUEUE", ({ name }) => name),
    figure("READY", ({ ready }) => ready, count),
    figure("IN FLIGHT", ({ inFlight }) => inFlight),
    figure("DELAYED", ({ delayed }) => delayed),
    figure("DEAD", ({ dead }) => dead, some, style.bad),
  ];
}

const heartbeats = kit.ask({
  words: ["QUEUE"],
  summary: "lists the last heartbeats of messages in flight, the oldest message first",
  options: { limit: most("most messages. Default 1,000") },
  ask: async (on, [queue], given) => ({ heartbeats: await on.heartbeats(queue, given) }),
  text: ({ heartbeats: found }, { host, style }) =>
    found
      .map(({ id, at, progress }) => `${oneLine(id)}  ${style.dim(host.iso(at))}  ${valueText(progress)}`)
      .join("\n"),
});

const letters = letterCommands(kit, {
  word: "QUEUE",
  owner: "a queue",
  limit: "most of them. Default: all",
  records: "lists the letters that are no longer dead: put back or dropped, by whom, when and why",
  retry: "puts dead letters back into their queue with all attempts left",
  hasRoutes: false,
  letters: (on, queue, filter) => on.deadLetters(queue, filter),
  text: (letter, context) => {
    const errors = letter.history.map(({ error }) => error);
    return letterText(letter, `${letter.attempts} attempts`, errors, context);
  },
});

export const COMMANDS: Commands<Context> = { list, heartbeats, ...letters };
