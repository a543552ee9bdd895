// What a host of a shared store held that is gone: given back once, by whoever is there, and fenced.

import { FencedError, memory, type Store } from "signalbox/store";
import { expect, it } from "vitest";
import { sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { giveBack } from "../../../lib/pipeline/ledger/give-back.js";
import type { Message, Publication, Step } from "../../../lib/pipeline/ledger/ledger.js";
import { messages } from "../../../lib/pipeline/ledger/tables.js";
import { Bench } from "./bench.js";

const given = (n: number): Publication => ({
  ...{ id: sourceId(1, n), queue: "a", value: n, key: undefined },
});
const settle = (message: Message): Step => ({
  ...{ type: "settle", message, children: [], entry: undefined, remember: undefined },
});

it("the messages of a dead host are given back once, in bounded commits, and its late writes are refused [Y14]", async () => {
  const source = memory({ shared: true });
  const setup = { sources: ["file"], messages: [0, 1, 2, 3, 4].map(given) };
  const dead = new Bench(setup);
  const heir = new Bench(setup);
  await dead.open(source);
  await dead.settled();
  await heir.open(source);
  dead.ledger.want("a", 3);
  await dead.settled();
  const held = dead.ear.take("a");
  heir.ledger.want("a", 5);
  await heir.settled();
  const first = heir.ear.take("a");
  expect([held.length, first.length]).toEqual([3, 2]);
  expect([[...dead.ear.places.keys()], heir.ear.places.size]).toEqual([["file"], 0]);
  const page = { id: sourceId(0, 0), queue: "b", value: "line", key: undefined };
  dead.ledger.submit({ type: "source", source: "file", from: 0, messages: [page], checkpoint: 7 });
  await dead.settled();

  const store = heir.store as Store;
  const third = (await store.claim("pipelines/host/third", { owner: "test" })) as typeof heir.claim;
  let commits = 0;
  const watched = new Proxy(store, {
    get(target, name) {
      if (name === "commit") commits++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const as = (claim: typeof third) =>
    giveBack({ store: watched, claim, owner: "test", rows: 2, carried: false });
  await as(heir.claim);
  expect(commits).toBe(0);
  await store.revoke(dead.claim.name, dead.claim.token);
  await Promise.all([as(heir.claim), as(third)]);
  expect(commits).toBe(2);
  const rows = await store.scan(messages, { prefix: [heir.row.number, "a"] });
  // An end without evidence is no attempt.
  expect(rows.slice(0, 3).map(({ attempts }) => attempts)).toEqual([null, null, null]);

  heir.clock.pass(1_000);
  await heir.settled();
  expect(heir.ear.places.get("file")).toEqual({ given: 1, checkpoint: 7 });
  const rest = heir.ear.take("a");
  expect(rest.map(({ attempts, errors }) => [attempts, errors.length])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  dead.ledger.submit(settle(held[0] as Message));
  await dead.settled();
  expect(dead.ear.errors).toEqual([expect.any(FencedError)]);
  expect(await heir.counts()).toEqual({ pending: 7, done: 0, dead: 0, inputs: 6 });

  heir.ledger.want("b", 1);
  await heir.settled();
  for (const message of [...first, ...rest, ...heir.ear.take("b")]) heir.ledger.submit(settle(message));
  heir.ledger.submit({ type: "close", source: "file" });
  await heir.settled();
  expect(heir.ear.ends).toEqual(["completed"]);
  expect(await heir.counts()).toEqual({ pending: 0, done: 6, dead: 0, inputs: 6 });
  for (const { ledger, store: of } of [dead, heir]) {
    await ledger.close();
    await of?.close();
  }
});
