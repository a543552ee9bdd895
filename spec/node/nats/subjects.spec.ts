import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { readPresence, writePresence } from "../../../lib/node/nats/presence.js";
import { Subjects } from "../../../lib/node/nats/subjects.js";

const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const node = fc.record({ name: text, id: text });

describe("the subjects of a cluster", () => {
  test.prop([node, node, text])(
    "name the sender, the receiver and the tag of a frame, whatever they are",
    (here, there, tag) => {
      const subjects = new Subjects("shop", here);
      const way = subjects.to(there);
      const { subject } = way;
      const reply = way.reply(tag);
      expect(subject).toBe(new Subjects("shop", there).frames);
      expect(new Subjects("shop", there).senderOf(reply)).toEqual(here);
      expect(subjects.lostBy(reply)).toEqual({ id: there.id, tag });
      expect(subjects.lostBy(way.reply("other"))).toEqual({ id: there.id, tag: "other" });
    },
  );

  test.prop([node, node])(
    "are tokens that NATS takes, and the notices are heard by the sender alone",
    (here, there) => {
      const subjects = new Subjects("shop", here);
      const { subject } = subjects.to(there);
      const reply = subjects.to(there).reply("D 1 2");
      for (const one of [subject, reply, subjects.seen, subjects.answers])
        expect(one).toMatch(/^signalbox(\.[A-Za-z0-9_%-]+)+$/);
      expect(subjects.notices).toBe(reply.replace(/\.[^.]+\.[^.]+$/, ".*.*"));
    },
  );

  test.prop([fc.string(), node])("take no other subject for one of a sender", (reply, here) => {
    const subjects = new Subjects("shop", here);
    expect(subjects.senderOf(reply)).toBeUndefined();
    expect(subjects.senderOf("signalbox.shop.from.%.a.b.c")).toBeUndefined();
    expect(subjects.senderOf("signalbox.shop.from.a.b.c")).toBeUndefined();
    expect(subjects.senderOf("signalbox.other.from.a.b.c.d")).toBeUndefined();
    expect(subjects.senderOf("signalbox.shop.from.a.b.c.d.e")).toBeUndefined();
    expect(subjects.senderOf(undefined)).toBeUndefined();
  });
});

describe("what nodes say of themselves", () => {
  test.prop([fc.constantFrom("join", "here", "leave" as const), node])(
    "is read as it was written",
    (type, one) => {
      const presence = { type: type as "join", node: one };
      expect(readPresence(writePresence(presence))).toEqual(presence);
    },
  );

  test.prop([fc.oneof(fc.string(), fc.json())])(
    "is nothing at all when somebody else wrote it",
    (written) => {
      expect(readPresence(written)).toBeUndefined();
    },
  );

  test("has a limit", () => {
    const name = "n".repeat(257);
    expect(readPresence(JSON.stringify({ type: "join", id: "1", name }))).toBeUndefined();
    expect(readPresence(JSON.stringify({ type: "join", id: "", name: "a" }))).toBeUndefined();
    expect(readPresence("null")).toBeUndefined();
  });
});
