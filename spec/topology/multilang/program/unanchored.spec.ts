// Streams that are read unanchored, under another host: that host tracks a tuple or does not, whoever reads it.

import { describe, expect, test } from "vitest";
import { bolt, field, grouping, spout, type Topology, topology } from "../../../../lib/topology/index.js";
import { Storm } from "./storm.js";

const fields = { word: field.text };
const sink = bolt({ input: fields, execute: () => undefined });
const free = { grouping: grouping.shuffle(), anchored: false };

const emitted = (stream: string, word: string, more: object) => ({
  command: "emit",
  stream,
  tuple: [word],
  need_task_ids: false,
  ...more,
});
const sync = { command: "sync" };

describe("a bolt under another host", () => {
  const relay = bolt({
    input: fields,
    streams: { free: fields, mixed: fields, bound: fields, unread: fields },
    execute: ({ values }, { emit }) => {
      for (const stream of ["free", "mixed", "bound", "unread"] as const) emit[stream](values);
    },
  });
  const source = spout({ streams: { words: fields }, next: () => undefined });
  const relays = (): Topology =>
    topology("relays")
      .spout("source", source)
      .bolt("relay", relay, { from: { "source.words": grouping.shuffle() } })
      .bolt("one", sink, { from: { "relay.free": free, "relay.mixed": free } })
      .bolt("other", sink, {
        from: { "relay.free": free, "relay.mixed": grouping.shuffle(), "relay.bound": grouping.shuffle() },
      })
      .build();

  test("emits without anchors on a stream that is only read unanchored, and with them on every other [N1495]", async () => {
    const storm = new Storm(relays(), "relay");
    storm.say({ id: "1", comp: "source", stream: "words", task: 1, tuple: ["a"] });
    const anchors = ["1"];
    expect(await storm.until(5)).toEqual([
      emitted("free", "a", { anchors: [] }),
      emitted("mixed", "a", { anchors }),
      emitted("bound", "a", { anchors }),
      emitted("unread", "a", { anchors }),
      { command: "ack", id: "1" },
    ]);
    await storm.leave();
  });
});

describe("a spout under another host", () => {
  /** A source of these words, whose ack of `again` emits one more, and whose ack of `die` throws. */
  function source(words: string[], told: string[], read: object): Topology {
    const definition = spout({
      streams: { words: fields },
      next: ({ emit }) => {
        for (const word of words.splice(0)) {
          emit.words({ word }, { id: word });
          told.push(`emitted ${word}`);
        }
      },
      ack: (id, { emit }) => {
        told.push(`acked ${id}`);
        if (id === "again") emit.words({ word: "more" }, { id: "more" });
        if (id === "die") throw new Error("died");
      },
      fail: (id, _ctx, { type }) => void told.push(`failed ${id}: ${type}`),
    });
    return topology("words")
      .spout("source", definition)
      .bolt("sink", sink, { from: { "source.words": read as typeof free } })
      .build();
  }

  test("emits a reliable tuple without an id where it is only read unanchored, and acks it when `next` has ended [N1496]", async () => {
    const told: string[] = [];
    const storm = new Storm(source(["a", "b"], told, free), "source");
    storm.command("next");
    expect(await storm.until(3)).toEqual([emitted("words", "a", {}), emitted("words", "b", {}), sync]);
    expect(told).toEqual(["emitted a", "emitted b", "acked a", "acked b"]);
    await storm.leave();
    expect(told).toHaveLength(4);
  });

  test("emits it with its id where it is read anchored [N1496]", async () => {
    const told: string[] = [];
    const storm = new Storm(source(["a"], told, grouping.shuffle()), "source");
    storm.command("next");
    expect(await storm.until(2)).toEqual([emitted("words", "a", { id: "3-1" }), sync]);
    expect(told).toEqual(["emitted a"]);
    await storm.leave();
    expect(told).toEqual(["emitted a", "failed a: stopped"]);
  });

  test("acks what its `ack` emits with the next command [N1496]", async () => {
    const told: string[] = [];
    const storm = new Storm(source(["again"], told, free), "source");
    storm.command("next");
    expect(await storm.until(3)).toEqual([emitted("words", "again", {}), emitted("words", "more", {}), sync]);
    expect(told).toEqual(["emitted again", "acked again"]);
    storm.command("next");
    await storm.until(4);
    expect(told.slice(2)).toEqual(["acked more"]);
    await storm.leave();
  });

  test("acks what its last `ack` emitted when the program ends [N1496]", async () => {
    const told: string[] = [];
    const storm = new Storm(source(["again"], told, free), "source");
    storm.command("next");
    await storm.until(3);
    await storm.leave();
    expect(told).toEqual(["emitted again", "acked again", "acked more"]);
  });

  test("acks each tuple once, also when an ack ends the task [N1496]", async () => {
    const told: string[] = [];
    const storm = new Storm(source(["die", "b"], told, free), "source");
    storm.command("next");
    await storm.until(3);
    storm.command("next");
    await storm.until(4);
    expect(told).toEqual(["emitted die", "emitted b", "acked die", "acked b"]);
    await storm.leave();
    expect(told).toHaveLength(4);
  });
});
