// Signals between two nodes as text: each comes back as it was, and no other text has any effect.

import fc from "fast-check";
import { CalleeExitedError, custom, type ExitReason, type Pid, shutdown, type WireSignal } from "signalbox";
import { describe, expect, test } from "vitest";
import { CallMessage, CastMessage, StopMessage } from "../../../lib/behaviour/server/messages.js";
import { CastEvent, StopMachine } from "../../../lib/behaviour/state-machine/machine-process.js";
import { FrameError } from "../../../lib/node/codec/errors.js";
import { Request, replyAddress } from "../../../lib/process/request.js";
import { FailedChild } from "../../../lib/supervisor/protocol.js";
import { sized } from "../../support/proof.js";
import { type Nodes, nodes } from "./support.js";

/** One signal of each type, of `here` for `there`. */
function examples({ here, there }: Nodes): readonly WireSignal[] {
  const from = { node: here.node, id: 7 };
  const to = { node: there.node, id: 9 };
  const clerk = here.spawn({ handle: () => undefined }, { label: "clerk" });
  const replyTo = replyAddress(new Request());
  const call = new CallMessage("take", [1, clerk]);
  const callTo = { node: there.node, ref: 5 };
  return [
    { type: "message", to, message: { plain: [1, "two", null] } },
    { type: "message", to, message: new Map<unknown, unknown>([[clerk, new Date(5)]]) },
    { type: "message", to, message: new CastMessage("take", [1, clerk]) },
    { type: "message", to, message: new CastEvent({ type: "knock", by: clerk } as never) },
    { type: "message", to, message: new StopMessage(shutdown("idle")) },
    { type: "message", to, message: new StopMachine({ type: "normal" }) },
    { type: "message", to, message: new CallMessage("pass", [{ replyTo }]) },
    { type: "call", from, to, replyTo, message: { n: 1, replyTo, list: [replyTo] } },
    { type: "call", from: undefined, to, replyTo: replyAddress(call), message: call },
    { type: "reply", from, to: callTo, outcome: { ok: true, value: { at: new Date(1) } } },
    { type: "reply", from, to: callTo, outcome: { ok: false, error: new RangeError("no") } },
    { type: "reply", from, to: callTo, outcome: { exited: custom(1n), isUntaken: true } },
    { type: "reply", from, to: callTo, outcome: { exited: { type: "noproc" }, isUntaken: false } },
    { type: "cancel", to, replyTo: { node: here.node, ref: 6 } },
    { type: "link", from, to },
    { type: "unlink", id: 3, from, to },
    { type: "unlinked", id: 3, from, to },
    { type: "exit", from, to, reason: { type: "normal" }, source: "link" },
    { type: "exit", from, to, reason: { type: "crash", error: new TypeError("boom") }, source: "exit" },
    { type: "monitor", ref: 4, from, to },
    { type: "demonitor", ref: 4, from, to },
    { type: "down", ref: 4, from, to, reason: { type: "noproc" } },
    { type: "down", ref: 4, from, to, reason: custom({ at: new Date(1) }) },
    { type: "call", from, to, replyTo, message: { n: 1, replyTo, by: clerk } },
    { type: "message", to, message: { n: 1, by: clerk } },
  ];
}

describe("a signal", () => {
  test("of every type comes back as it was, alone and in a frame [N976]", () => {
    const both = nodes();
    const given = examples(both);
    const { here, there, encoder, decoder, carried } = both;
    for (const signal of given) {
      const back = carried(signal);
      const bare = { message: 0, reason: 0, ...(signal.type === "call" && { replyTo: 0 }) };
      expect({ ...back, ...bare }).toEqual({ ...signal, ...bare });
      if (back.type === "message" && signal.type === "message")
        expect(Object.getPrototypeOf(back.message)).toBe(Object.getPrototypeOf(signal.message));
      if (back.type === "exit" && signal.type === "exit") expect(back.reason).toEqual(signal.reason);
      if (back.type === "down" && signal.type === "down") expect(back.reason).toEqual(signal.reason);
    }
    expect(decoder.decodeAll(`[${given.map((signal) => encoder.encode(signal)).join()}]`)).toHaveLength(
      given.length,
    );
    expect(decoder.decodeAll("[]")).toEqual([]);
    const call = carried(given[7] as WireSignal & { readonly type: "call" });
    expect(call.message).toEqual({ n: 1, replyTo: call.replyTo, list: [call.replyTo] });
    expect((call.message as { readonly replyTo: unknown }).replyTo).toBe(call.replyTo);
    const own = carried(given[8] as WireSignal & { readonly type: "call" });
    expect(own.replyTo).toBe(own.message);
    const cast = given[2] as WireSignal & { readonly type: "message" };
    const [, clerk] = (cast.message as CastMessage).args as [number, Pid];
    expect((carried(cast).message as CastMessage).args).toEqual([1, there.pidAt(here.address(clerk))]);
  });

  test("that carries the arguments of a cast names them in the path of what cannot be sent [N980]", () => {
    const { encoder, there } = nodes();
    const to = { node: there.node, id: 9 };
    const cast = new CastMessage("take", [1, { by: () => 1 }]);
    expect(() => encoder.encode({ type: "message", to, message: cast })).toThrow(
      "args[1].by is the function by",
    );
  });
});

test("a message that throws when it is looked at is refused as one, and so is an event whose type is no text [N980]", () => {
  const { encoder, there } = nodes();
  const send = (message: unknown): string =>
    encoder.encode({ type: "message", to: { node: there.node, id: 9 }, message });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  for (const message of [revoked.proxy, [revoked.proxy], new CastMessage("take", [revoked.proxy])])
    expect(() => send(message)).toThrow(expect.objectContaining({ code: "ERR_NODE_UNSENDABLE" }));
  let reads = 0;
  const changing = new Proxy(
    {},
    { get: (_, key) => (key === "toJSON" && reads++ > 0 ? () => undefined : undefined) },
  );
  expect(() => send(changing)).toThrow(expect.objectContaining({ code: "ERR_NODE_UNSENDABLE" }));
  for (const type of [Symbol("s"), 5, undefined])
    expect(() => send(new CastEvent({ type } as never))).toThrow(
      expect.objectContaining({ code: "ERR_NODE_UNSENDABLE", path: "event.type" }),
    );
});

describe("an exit reason", () => {
  const reasonAfter = (reason: ExitReason, options = {}): ExitReason => {
    const { carried, here, there } = nodes(options);
    const [from, to] = [here, there].map(({ node }) => ({ node, id: 1 })) as [never, never];
    const down = carried({ type: "down", ref: 1, from, to, reason });
    expect(carried({ type: "exit", source: "link", from, to, reason }).reason).toEqual(down.reason);
    return down.reason;
  };

  test("of every kind arrives, the failed child of a supervisor too [N974]", () => {
    for (const type of ["normal", "shutdown", "kill", "killed", "noproc", "noconnection"] as const)
      expect(reasonAfter({ type })).toEqual({ type });
    expect(reasonAfter(shutdown({ why: [1n] }))).toEqual(shutdown({ why: [1n] }));
    const failed = shutdown(new FailedChild("db", shutdown(new FailedChild("pool", custom(1)))));
    expect(reasonAfter(failed)).toEqual(failed);
    const inner = new CalleeExitedError("clerk", { type: "crash", error: new RangeError("deep") }, "taken");
    const crash = reasonAfter({ type: "crash", error: inner });
    expect(crash).toMatchObject({ type: "crash", error: { code: "ERR_CALLEE_EXITED" } });
    expect(crash).toHaveProperty("error.reason.type", "crash");
  });

  test("always arrives: what no wire can carry becomes a description [N974]", () => {
    expect(reasonAfter(custom(() => 1))).toMatchObject({
      type: "custom",
      value: expect.stringMatching("function"),
    });
    expect(reasonAfter(shutdown(Symbol("s")))).toEqual(shutdown("Symbol(s)"));
    const large = Object.assign(new TypeError("x".repeat(9_000)), { body: "y".repeat(9_000) });
    const { error } = reasonAfter({ type: "crash", error: large }, { maxBytes: 5_000 }) as { error: Error };
    expect(error.name).toBe("TypeError");
    expect(error.message).toMatch(/^x{1000}…$/);
    const hostile = new Proxy(new Error("hidden"), {
      get: () => {
        throw new Error("no");
      },
      getOwnPropertyDescriptor: () => {
        throw new Error("no");
      },
    });
    expect(reasonAfter({ type: "crash", error: hostile }).type).toBe("crash");
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    expect(reasonAfter(shutdown(revoked.proxy))).toEqual(shutdown("an object"));
    expect(reasonAfter(custom(revoked.proxy))).toEqual(custom("an object"));
    const child = new FailedChild(
      "db",
      custom(() => 1),
    );
    expect(reasonAfter(shutdown(child))).toMatchObject({
      type: "shutdown",
      detail: expect.stringMatching("db"),
    });
  });
});

describe("a text that is no signal", () => {
  /** Whether a text is decoded, or refused with the one error. */
  const isRefused = (decode: () => unknown): boolean => {
    try {
      decode();
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(FrameError);
      expect(error).toMatchObject({ code: "ERR_NODE_FRAME" });
      return true;
    }
  };

  test.each(
    [
      [
        "{}",
        "null",
        "1",
        "[",
        '"[]"',
        "[[]]",
        "[0]",
        "[0,1]",
        "[0,-1,1]",
        "[0,1.5,1]",
        '[0,"1",1]',
        "[99,1,2]",
      ],
      ["[8,1,2]", "[8,1,2,3]", '[8,"x",2,3,4]', "[8,1,2,-3,4]", '[8,1,2,3,[["ReplyTo",1],5],1]'],
      ['[8,1,2,3,{},3,["a",""]]', '[8,1,2,3,["a"],3,["0",""]]', '[8,1,2,3,null,3,["a",""]]'],
      [
        '[8,1,2,3,{"a":1},3,[5,""]]',
        '[8,1,2,3,{"a":1},3,["a"]]',
        '[8,1,2,3,{"a":1},3,[]]',
        '[8,1,2,3,{"a":1},3]',
      ],
      [
        '[8,1,2,3,{"__proto__":1},3,["__proto__",""]]',
        '[8,1,2,3,{"a":1},0,["a",""]]',
        '[8,1,2,3,{"a":1},3,"a"]',
      ],
      [
        '[0,1,{"a":1},3,["a",""]]',
        '[0,1,{"a":1},3,["a","5"]]',
        '[0,1,{"a":1},3,["a","0.1"],1]',
        '[0,1,{"a":1},1,["a","0.1"]]',
      ],
      ['[9,1,2,0,{"a":1},3,["a",""]]', '[4,1,2,"link",{"a":1},3,["a","0.1"]]', '[0,1,[],3,"call","take"]'],
      ['[8,1,2,3,[],0,"call",7]', '[0,1,[],0,"call","take"]', '[0,1,[],0,"call","take","5"]'],
      [
        "[9,1,2]",
        "[9,1,2,9,1]",
        "[9,1,-2,0,1]",
        '[9,1,2,2,"gone"]',
        "[9,1,2,3]",
        "[10,1]",
        "[10,1,2,3]",
        "[10,1,{}]",
      ],
      ["[1,1]", "[1,1,2,3]", "[1,null,2]", "[2,1,2]", "[2,1,2,9007199254740993]", "[5,1,2,{}]"],
      [
        '[4,1,2,"other","normal"]',
        '[4,1,2,"link"]',
        '[4,1,2,"link","nonsense"]',
        '[4,1,2,"link",{"type":"crash"}]',
      ],
      ['[4,1,2,"link",null]', '[7,1,2,3,{"type":"crash","error":{}}]', "[7,1,2,3]", "[7,1,2,3,[[1],5],1]"],
      ["[0,1,2,3]", "[0,1,[[9]],1]", "[0,1,[],1]", '[0,1,[["Pid",1],"0.x"],1]', '[0,1,[["Pid",1],7],1]'],
      [
        '[0,1,[["Pid",1],"2.5"],1]',
        '[0,1,[["Pid",1],"[1,2,3]"],1]',
        '[0,1,[["Pid",1],"0.99999999999999999"],1]',
      ],
      ['[0,1,[["Error",1],1],1]', '[0,1,[[1],["Error",2],1],2]', '[0,1,[[1,3],["Error",2],1,[4],5],2]'],
      ['[0,1,[["Buffer",1],{"buffer":2},{"length":3},4000000000],1]', '[0,1,[["Proto",1],1],1]'],
      ["[0,1,[],0,5,1]", '[0,1,[],0,"call",1]', '[0,1,7,0,"cast","x"]', '[0,1,[],0,"__proto__","x"]'],
      ['[0,1,{"type":"b"},0,"event","a"]', '[0,1,"x",0,"stop",""]', '[0,1,[],0,"constructor","x"]'],
    ].map((texts) => [texts]),
  )("is refused: %s [N976]", (texts) => {
    const { decoder } = nodes();
    for (const text of texts) {
      expect([text, isRefused(() => decoder.decode(text))]).toEqual([text, true]);
      expect([text, isRefused(() => decoder.decodeAll(`[${text}]`))]).toEqual([text, true]);
    }
  });

  test("is refused however deep it is nested, and plain values up to 500 levels arrive [N976]", () => {
    const { decoder } = nodes();
    const nested = (levels: number): string => `[0,1,${"[".repeat(levels)}${"]".repeat(levels)}]`;
    expect(isRefused(() => decoder.decode(nested(500)))).toBe(false);
    for (const levels of [501, 5_000, 100_000]) {
      expect(isRefused(() => decoder.decode(nested(levels)))).toBe(true);
      const objects = `[0,1,${'{"a":'.repeat(levels)}1${"}".repeat(levels)}]`;
      expect(isRefused(() => decoder.decode(objects))).toBe(true);
    }
    const chain = Array.from({ length: 100_000 }, (_, i) => `[${i + 1}]`);
    expect(isRefused(() => decoder.decode(`[0,1,[${chain.join()},1],1]`))).toBe(true);
  });

  test("throws nothing but that error, and has no effect: random JSON, bytes and changed signals [N976]", () => {
    const both = nodes();
    const { decoder, encoder, there } = both;
    const before = there.processes().length;
    const texts = examples(both).map((signal) => encoder.encode(signal));
    const changed = fc
      .tuple(
        fc.constantFrom(...texts),
        fc.array(fc.tuple(fc.nat(400), fc.nat(3), fc.string({ maxLength: 3 }))),
      )
      .map(([text, changes]) =>
        changes.reduce(
          (now, [at, cut, put]) => now.slice(0, at % now.length) + put + now.slice((at % now.length) + cut),
          text,
        ),
      );
    // Changes the parsed text, so that it stays JSON.
    const parts = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("Pid", "Error", "Buffer", "Proto", "Map", "__proto__", -1, -7),
    );
    const rewritten = fc
      .tuple(fc.constantFrom(...texts), fc.array(fc.tuple(fc.nat(30), parts), { minLength: 1, maxLength: 3 }))
      .map(([text, changes]) => rewrite(text, changes));
    const any = fc.oneof(
      changed,
      rewritten,
      fc.json(),
      fc.string(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("latin1")),
    );
    const seen = { refused: 0, decoded: 0 };
    fc.assert(
      fc.property(any, (text) => {
        seen[isRefused(() => decoder.decode(text)) ? "refused" : "decoded"]++;
        isRefused(() => decoder.decodeAll(text));
        isRefused(() => decoder.decodeAll(`[${text}]`));
      }),
      { numRuns: sized(2_000, 10, 5_000) },
    );
    expect(seen.refused).toBeGreaterThan(0);
    expect(seen.decoded).toBeGreaterThan(0);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(there.processes()).toHaveLength(before);
    expect(there.deadLetters).toBe(0);
  });
});

/** The text with other values at some of its places, counted in the order in which JSON writes them. */
function rewrite(text: string, changes: readonly (readonly [number, unknown])[]): string {
  let place = 0;
  return JSON.stringify(JSON.parse(text), (_, value: unknown) => {
    const change = changes.find(([at]) => at === place);
    place++;
    return change !== undefined && place > 1 ? change[1] : value;
  });
}
