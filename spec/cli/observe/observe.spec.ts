// `signalbox observe`: what it prints, and how it ends.

import { expect, test } from "vitest";
import {
  type Observed,
  type ObserveHost,
  observe,
  type ServerWishes,
} from "../../../lib/cli/observe/observe.js";
import { type Ran, ran } from "../support/ran.js";

const URL = "http://127.0.0.1:4000/#token=abc";

interface Around {
  readonly events: string[];
  readonly wishes: ServerWishes[];
  readonly ran: Ran;
}

/** @param host - what differs: by default there is a program, and a signal comes when the address was printed */
async function run(args: readonly string[], host: Partial<ObserveHost> = {}): Promise<Around> {
  const events: string[] = [];
  const wishes: ServerWishes[] = [];
  const ends = new AbortController();
  const source = {
    ...{ name: "shop", names: [], systems: [], through: "the running program shop" },
    leaveOf: () => "look",
    look: async () => null,
    close: async () => void events.push("source closed"),
  } satisfies Observed;
  const found = await ran<ObserveHost>(observe, args, () => ({
    find: async (at) => {
      events.push(`finds ${JSON.stringify(at)}`);
      return source;
    },
    serve: async (_source, wanted) => {
      wishes.push(wanted);
      queueMicrotask(() => queueMicrotask(() => ends.abort()));
      return { url: URL, port: 4_000, close: async () => void events.push("server closed") };
    },
    interruption: () => ({ signal: ends.signal, code: 130, release: () => void events.push("released") }),
    ...host,
  }));
  return { events, wishes, ran: found };
}

test("prints the address first, and ends at a signal when all is closed [N1596]", async () => {
  const { ran: found, events, wishes } = await run(["--store", "flows.db"]);
  expect(found.code).toBe(0);
  expect(found.printed.split("\n")).toEqual([URL, "shows the running program shop; Ctrl-C ends it"]);
  expect(events).toEqual(['finds {"store":"flows.db"}', "server closed", "source closed", "released"]);
  expect(wishes).toMatchObject([{ port: 4_000, actions: false }]);
});

test("prints the address as a line of JSON, on the port and with the rights that are wished [N1596]", async () => {
  const { ran: found, wishes } = await run(["--socket", "shop.sock", "--port", "0", "--actions", "--json"]);
  expect(JSON.parse(found.printed)).toMatchObject({ url: URL, port: 4_000, name: "shop", actions: true });
  expect(wishes).toMatchObject([{ port: 0, actions: true }]);
});

test("prints each change that a viewer asks for on standard error [N1596]", async () => {
  const { ran: found } = await run(["--store", "flows.db", "--actions"], {
    serve: async (_source, { audit }) => {
      audit("done: cancel {}\u001b[2J");
      throw new Error("the port 4000 is taken");
    },
  });
  expect(found).toMatchObject({
    code: 2,
    complaints: "done: cancel {} [2J\nsignalbox: the port 4000 is taken",
  });
});

test("ends with 2 when there is nothing to observe, or the server does not start, and closes what is open [N1596]", async () => {
  const none = await run(["--socket", "shop.sock"], { find: async () => undefined });
  expect(none.ran).toMatchObject({ code: 2, complaints: "signalbox: no program listens for shop.sock" });
  const taken = await run(["--store", "a.db"], {
    serve: async () => {
      throw new Error("the port 4000 is taken: pass another --port");
    },
  });
  expect(taken.ran).toMatchObject({ code: 2, complaints: expect.stringContaining("is taken") });
  expect(taken.events).toEqual(['finds {"store":"a.db"}', "source closed", "released"]);
});

test.each<[readonly string[], RegExp]>([
  [[], /which store\? Pass --store flows.db/],
  [["--store", "a", "--socket", "b"], /--socket cannot be combined with --store/],
  [["--store", "a", "--port", "70000"], /--port must be 65535 or less/],
  [["--store", "a", "--port", "http"], /--port must be a whole number/],
  [["shop.db"], /too many arguments: shop.db/],
])("refuses %j, and says what is missing [N1596]", async (args, problem) => {
  const { ran: found, wishes } = await run(args);
  expect(found).toMatchObject({ code: 2, complaints: expect.stringMatching(problem) });
  expect(wishes).toEqual([]);
});
