// The lines that go over an admin socket, as they are: what a client sends for each operation, and what the host answers.

import type { AdminService } from "../../../lib/admin/post.js";
import {
  type AdminOperations,
  type Args,
  type Ask,
  readAnswer,
  requestLine,
  serve,
} from "../../../lib/admin/protocol.js";

/** Operations that give what `answers` has under their names. Those that are named in `lists` give it item by item. */
export function answering<O extends object>(
  answers: Readonly<Record<string, unknown>>,
  lists: readonly string[],
): O {
  const answer = async (name: string, args: readonly unknown[]): Promise<unknown> => {
    const given = answers[name];
    return typeof given === "function" ? given(...args) : given;
  };
  return new Proxy({} as O, {
    get: (_target, name: string) => {
      // An await would take an object with this name for a promise.
      if (name === "then") return undefined;
      return lists.includes(name)
        ? async function* (...args: readonly unknown[]) {
            yield* (await answer(name, args)) as Iterable<unknown>;
          }
        : (...args: readonly unknown[]) => answer(name, args);
    },
  });
}

export interface Wire {
  readonly ask: Ask;
  /** The lines so far: `>` those of the client, `<` those of the host. Arguments are in the order of their names. */
  readonly lines: string[];
}

/** Both ends of a connection to a host that offers one service. */
export function wireTo(service: AdminService): Wire {
  const offers: AdminOperations = {
    names: [...service.operations.keys()],
    find: (op) => [service.operations.get(op) ?? []].flat(),
  };
  const lines: string[] = [];
  let id = 0;
  const ask: Ask = async (op, args, signal = new AbortController().signal) => {
    const sent = requestLine(++id, op, args);
    const answer = await serve(offers, sent, signal);
    lines.push(`> ${sorted(sent)}`, `< ${answer}`);
    return readAnswer(id, answer);
  };
  return { ask, lines };
}

/** A request with its arguments in the order of their names: their order means nothing. */
function sorted(line: string): string {
  const { args, ...head } = JSON.parse(line) as { readonly args: Args };
  const names = Object.keys(args).sort();
  return JSON.stringify({ ...head, args: Object.fromEntries(names.map((name) => [name, args[name]])) });
}

/** The operations of a service, with the names of their arguments. */
export function signaturesOf({ name, shares, operations }: AdminService): string {
  const rows = [...operations].map(([op, { args }]) => `${op}(${[...args].sort().join(", ")})`);
  return [`${name}, ${shares ? "shared" : "one host"}`, ...rows.sort()].join("\n");
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
