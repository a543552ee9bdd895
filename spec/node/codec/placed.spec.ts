// Messages that hold pids or the reply address of their own call, as text and back.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Pid } from "../../../lib/process/pid.js";
import { custom } from "../../../lib/process/reason.js";
import { type ReplyTo, Request, replyAddress } from "../../../lib/process/request.js";
import type { WireSignal } from "../../../lib/process/wire-signal.js";
import { sized } from "../../support/proof.js";
import { nodes } from "./support.js";

type CallSignal = Extract<WireSignal, { readonly type: "call" }>;

/** The text of a call with a message, and the message with which it arrives, beside the reply address that arrives. */
function carried(build: (replyTo: ReplyTo<unknown>) => unknown): {
  readonly text: string;
  readonly message: unknown;
  readonly replyTo: unknown;
} {
  const { here, there, encoder, decoder } = nodes();
  const call = new Request();
  call.begin(here.kernel, undefined, "there", undefined, Number.POSITIVE_INFINITY);
  const replyTo = replyAddress(call);
  const to = { node: there.node, id: 1 };
  const text = encoder.encode({ type: "call", from: undefined, to, replyTo, message: build(replyTo) });
  const signal = decoder.decode(text) as CallSignal;
  return { text, message: signal.message, replyTo: signal.replyTo };
}

/** The part of the text behind the address of the call. */
const payload = (text: string): string => text.slice("[8,null,1,1,".length, -1);

describe("a message that holds the reply address of its call [N1370]", () => {
  test("travels as plain JSON when it is plain otherwise, and its members keep their order [N1370]", () => {
    const build = (replyTo: unknown) => ({ take: 3, replyTo, of: { item: "book" } });
    const { text, message, replyTo } = carried(build);
    expect(payload(text)).toBe('{"take":3,"replyTo":null,"of":{"item":"book"}},3,["replyTo",""]');
    expect(message).toEqual(build(replyTo));
    expect(Object.keys(message as object)).toEqual(["take", "replyTo", "of"]);
  });

  test("is not changed where it is sent, so it may be frozen [N1370]", () => {
    const sent: object[] = [];
    const { message } = carried((replyTo) => {
      sent.push(Object.freeze({ replyTo, n: 1 }));
      return sent[0];
    });
    expect(sent[0]).toMatchObject({ n: 1, replyTo: expect.any(Request) });
    expect(message).toMatchObject({ n: 1, replyTo: expect.any(Request) });
  });

  const others: readonly (readonly [string, (replyTo: ReplyTo<unknown>) => unknown])[] = [
    ["the address itself", (replyTo) => replyTo],
    ["a list", (replyTo) => ["take", replyTo]],
    ["the address twice", (replyTo) => ({ replyTo, also: replyTo })],
    ["the address deeper, too", (replyTo) => ({ replyTo, also: { replyTo } })],
    [
      "other members that are not plain",
      (replyTo) => ({ replyTo, at: new Date(5), all: new Map([[1n, -0]]) }),
    ],
    ["undefined", (replyTo) => ({ replyTo, at: undefined })],
    ["shared objects", (replyTo) => ((same) => ({ replyTo, a: same, b: same }))({})],
    [
      "itself",
      (replyTo) => {
        const message: Record<string, unknown> = { replyTo };
        message.self = message;
        return message;
      },
    ],
    ["the address under __proto__", (replyTo) => proto(replyTo)],
    ["another member __proto__", (replyTo) => Object.assign(proto(7), { replyTo })],
    ["no prototype", (replyTo) => Object.assign(Object.create(null), { replyTo })],
  ];

  test.each(others)("arrives as it was when it holds %s [N1370]", (_, build) => {
    const { message, replyTo } = carried(build);
    const right = build(replyTo as ReplyTo<unknown>);
    expect(message).toEqual(right);
    expect(shared(message)).toEqual(shared(right));
  });

  test("arrives as it was, whatever else it holds [N1370]", () => {
    const others = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(others, fc.string(), (rest, key) => {
        const build = (replyTo: unknown) => ({ ...rest, [key]: replyTo, ...rest, last: replyTo });
        const { message, replyTo } = carried(build);
        expect(message).toEqual(build(replyTo));
        expect(Object.keys(message as object)).toEqual(Object.keys(build(replyTo)));
      }),
      { numRuns: sized(200, 10, 2_000) },
    );
  });

  test("names the path of what cannot be sent, and no getter is hidden [N1370]", () => {
    expect(() => carried((replyTo) => ({ replyTo, what: () => 1 }))).toThrow("message.what is the function");
    expect(() => carried((replyTo) => ({ replyTo, [Symbol("s")]: 1 }))).toThrow("message[Symbol(s)]");
    const tagged = (replyTo: unknown) =>
      Object.defineProperty({ replyTo }, Symbol.toStringTag, { value: "Tag" });
    expect(() => carried(tagged)).toThrow("message[Symbol(Symbol.toStringTag)]");
    const throws = (replyTo: unknown) =>
      Object.defineProperty({ replyTo }, "x", { enumerable: true, get: boom });
    expect(() => carried(throws)).toThrow("message.x is a property that throws when it is read");
  });
});

const boom = (): never => {
  throw new Error("boom");
};

/** An object with its own member of this name. */
function proto(value: unknown): object {
  return Object.defineProperty({}, "__proto__", {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

/** Which members of an object are the same object as one before. */
function shared(value: unknown): readonly (readonly [string, number])[] {
  const members = Object.values(value as object);
  return Object.keys(value as object).map((key, i) => [key, members.indexOf(members[i])]);
}

describe("a value that holds pids [N1370]", () => {
  /** The text of a message, the message with which it arrives, and what should arrive. */
  function sent(build: (clerk: Pid, stranger: Pid) => unknown): {
    readonly text: string;
    readonly came: unknown;
    readonly right: unknown;
  } {
    const { here, there, encoder, decoder } = nodes();
    const clerk = here.spawn({ handle: () => undefined }, { label: "clerk" }) as Pid;
    const stranger = there.spawn({ handle: () => undefined }) as Pid;
    const to = { node: there.node, id: 1 };
    const message = build(clerk, here.pidAt(there.address(stranger)));
    const text = encoder.encode({ type: "message", to, message });
    const { message: came } = decoder.decode(text) as WireSignal & { readonly type: "message" };
    return { text, came, right: build(there.pidAt(here.address(clerk)), stranger) };
  }

  test("is plain JSON with a list of their places when it is plain otherwise [N1370]", () => {
    const { text, came, right } = sent((from, to) => ({ from, n: 1, to, again: from, none: null }));
    const places = '["from","0.1 clerk","to","1.1","again","0.1 clerk"]';
    expect(text).toBe(`[0,1,{"from":null,"n":1,"to":null,"again":null,"none":null},3,${places}]`);
    expect(came).toEqual(right);
    expect(shared(came)).toEqual(shared(right));
    for (const key of ["from", "to"] as const)
      expect((came as Record<string, unknown>)[key]).toBe((right as Record<string, unknown>)[key]);
  });

  test.each<[string, (clerk: Pid, stranger: Pid) => unknown]>([
    ["a pid deeper, too", (clerk) => ({ clerk, list: [clerk, { clerk }] })],
    ["other members that are not plain", (clerk) => ({ clerk, at: new Date(5) })],
    ["a pid under __proto__", (clerk) => proto(clerk)],
    ["a pid as the key of a Map", (clerk, stranger) => new Map([[clerk, stranger]])],
    ["no prototype", (clerk) => Object.assign(Object.create(null), { clerk })],
    ["an error that holds one", (clerk) => Object.assign(new Error("x"), { clerk })],
  ])("arrives as it was when it holds %s [N1370]", (_, build) => {
    const { came, right } = sent(build);
    if (came instanceof Error) expect({ ...came }).toEqual({ ...(right as Error) });
    else expect(came).toEqual(right);
  });

  test("as a reply and as an exit reason, too [N1370]", () => {
    const { here, there, encoder, decoder } = nodes();
    const clerk = here.spawn({ handle: () => undefined }) as Pid;
    const known = there.pidAt(here.address(clerk));
    const [from, to] = [
      { node: here.node, id: 1 },
      { node: there.node, id: 1 },
    ];
    const reply: WireSignal = {
      type: "reply",
      from,
      to: { node: there.node, ref: 5 },
      outcome: { ok: true, value: { clerk } },
    };
    const exit: WireSignal = { type: "exit", from, to, reason: custom({ clerk }), source: "exit" };
    const texts = [encoder.encode(reply), encoder.encode(exit)];
    const [replied, exited] = decoder.decodeAll(`[${texts.join()}]`);
    expect(replied).toEqual({ ...reply, outcome: { ok: true, value: { clerk: known } } });
    expect(exited).toEqual({ ...exit, reason: custom({ clerk: known }) });
  });
});
