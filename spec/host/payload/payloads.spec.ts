// What rows hold: marked with their codec, limited in size.

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ByteTransform,
  jsonCodec,
  type PayloadCodec,
  wrapCodec,
} from "../../../lib/host/payload/codec.js";
import {
  PayloadTooLargeError,
  PayloadUnreadableError,
  UnstorableValueError,
} from "../../../lib/host/payload/errors.js";
import { mark, referenceOf, type Stored, unmark } from "../../../lib/host/payload/marks.js";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import { refusal } from "./support.js";

const sealed = (name: string, key: Buffer): ByteTransform => ({
  name,
  encode: (bytes) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  },
  decode: (bytes) => {
    const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
    cipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]);
  },
});
const zipped: ByteTransform = {
  name: "deflate",
  encode: (b) => deflateRawSync(b),
  decode: (b) => inflateRawSync(b),
};
const KEY = randomBytes(32);
/** A codec that answers later, as one over WebCrypto does. */
const later: PayloadCodec = wrapCodec(jsonCodec(), {
  name: "later",
  encode: async (bytes) => bytes.map((byte) => byte ^ 0x55),
  decode: async (bytes) => bytes.map((byte) => byte ^ 0x55),
});
const shouting: PayloadCodec = {
  name: "shouting",
  encode: (value) => JSON.stringify(value).toUpperCase(),
  decode: (payload) => JSON.parse(String(payload).toLowerCase()),
};

describe("a codec of one's own", () => {
  const codecs: readonly (readonly [string, PayloadCodec])[] = [
    ["the default", jsonCodec()],
    ["an encrypting one", wrapCodec(jsonCodec(), sealed("aes", KEY))],
    [
      "a compressing and encrypting one",
      wrapCodec(wrapCodec(jsonCodec(), zipped), sealed("aes-deflate", KEY)),
    ],
    ["one that answers later", later],
    [
      "one that makes texts",
      {
        ...jsonCodec(),
        ...shouting,
        name: "x",
        encode: (v) => jsonCodec().encode(v),
        decode: (p) => jsonCodec().decode(p),
      },
    ],
  ];

  test.each(codecs)("gives values back: %s [J45]", async (_, codec) => {
    const payloads = new Payloads({ codec });
    for (const value of [undefined, null, { a: [1, "#x:@~!"] }, new Map([[new Date(0), 5n]]), "@1.2.3"]) {
      const stored = await payloads.store(value, "result");
      expect(isDeepStrictEqual(await payloads.load(stored), value)).toBe(true);
      expect(unmark(stored).codec).toBe(codec.name);
      expect(isDeepStrictEqual(await payloads.copyOf(value, "result"), value)).toBe(true);
    }
  });

  test("is waited for only if it answers later [J45]", () => {
    expect(new Payloads().store(1, "result")).toBe("1");
    expect(new Payloads().copyOf({ a: 1 }, "result")).toEqual({ a: 1 });
    expect(new Payloads({ codec: later }).store(1, "result")).toBeInstanceOf(Promise);
  });

  test("two values at once keep their own results [J45]", async () => {
    const payloads = new Payloads({ codec: later });
    const both = await Promise.all([
      payloads.copyOf({ a: 1 }, "result"),
      payloads.copyOf(new Date(5), "result"),
    ]);
    expect(both).toEqual([{ a: 1 }, new Date(5)]);
  });

  test("keeps the classes of errors that the host registers, also inside of others [J45]", async () => {
    class Lost extends Error {}
    const codec = wrapCodec(wrapCodec(jsonCodec(), zipped), sealed("aes", KEY));
    const payloads = new Payloads({ codec, errors: [Lost] });
    expect(await payloads.copyOf(new Lost("x"), "result")).toBeInstanceOf(Lost);
  });

  test("refuses at its path, with the place of the whole value before it [J43]", async () => {
    for (const codec of [jsonCodec(), wrapCodec(jsonCodec(), zipped)]) {
      const act = (): unknown => new Payloads({ codec }).store({ a: [() => 1] }, "result", 'step "charge"');
      const error = refusal(act);
      expect(error.path).toBe("result.a[0]");
      expect(error.message).toMatch(
        /^step "charge": result\.a\[0\] is the function \(anonymous\), which cannot/,
      );
    }
  });

  test.each<[string, unknown]>([
    ["codec", {}],
    ["codec.name", { ...shouting, name: "" }],
    ["codec.name", { ...shouting, name: "a:b" }],
    ["codec.name", { ...shouting, name: "json" }],
  ])("is checked: %s", (path, codec) => {
    expect(() => new Payloads({ codec: codec as PayloadCodec }, "")).toThrow(new RegExp(`^${path} must be`));
    expect(() => new Payloads({ readable: [codec as PayloadCodec] })).toThrow(/^payloads\.readable\[0\]/);
  });

  test("options are checked", () => {
    expect(() => new Payloads({ maxBytes: 0 })).toThrow(/payloads\.maxBytes must be/);
    expect(() => new Payloads({ apartByte: 0 } as object)).toThrow(/did you mean apartBytes/);
    const bad = { ...shouting, encode: () => 5 as unknown as string };
    expect(() => new Payloads({ codec: bad }).store(1, "result")).toThrow(
      /encode\(\) of the codec shouting must be/,
    );
  });
});

describe("a change of codec", () => {
  test("leaves old values readable: plain ones always, others while their codec is listed [J46]", async () => {
    const old = new Payloads({ codec: wrapCodec(jsonCodec(), sealed("aes-1", KEY)) });
    const plain = new Payloads();
    const texts = new Payloads({ codec: shouting });
    const stored = [old, plain, texts].map((payloads) => payloads.store({ a: 1 }, "result") as Stored);
    const now = new Payloads({
      codec: wrapCodec(jsonCodec(), sealed("aes-2", randomBytes(32))),
      readable: [wrapCodec(jsonCodec(), sealed("aes-1", KEY)), shouting],
    });
    expect(stored.map((one) => now.load(one))).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }]);
    expect(now.copyOf({ a: 2 }, "result")).toEqual({ a: 2 });
  });

  test("a codec that is missing, another key and damage are told apart [J46]", async () => {
    const sealing = new Payloads({ codec: wrapCodec(jsonCodec(), sealed("aes-1", KEY)) });
    const stored = sealing.store({ a: 1 }, "result") as Uint8Array;
    const read = (options: object, row: Stored = stored): PayloadUnreadableError => {
      try {
        new Payloads(options).load(row);
      } catch (error) {
        if (error instanceof PayloadUnreadableError) return error;
        throw error;
      }
      throw new Error("it was read");
    };
    expect(read({})).toMatchObject({
      codec: "aes-1",
      message:
        'a value written by the codec "aes-1" cannot be read: this host has only json; add the codec to readable',
    });
    const other = { codec: wrapCodec(jsonCodec(), sealed("aes-1", randomBytes(32))) };
    expect(read(other).message).toMatch(
      /^a value written by the codec "aes-1" cannot be read: another key, or damaged: /,
    );
    expect(read(other).cause).toBeInstanceOf(Error);
    for (const row of ["{", "", "~[", "~[[9]]", '!["Error"]', "#json", "@1", new Uint8Array(), "!-1", "~{}"])
      expect(read({}, row), String(row)).toBeInstanceOf(PayloadUnreadableError);
    const damaged = new Payloads({ codec: later }).load(mark("later", new Uint8Array([0])));
    await expect(damaged).rejects.toThrow(PayloadUnreadableError);
  });

  test("marks are read as they were written, and are told from values [J46]", () => {
    const names = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/);
    const payload = fc.oneof(fc.string(), fc.uint8Array());
    fc.assert(
      fc.property(names, payload, (codec, given) => {
        if (codec === "json") return;
        const back = unmark(mark(codec, given));
        expect(back.codec).toBe(codec);
        expect(isDeepStrictEqual(back.payload, given)).toBe(true);
        expect(referenceOf(mark(codec, given))).toBeUndefined();
      }),
    );
  });
});

describe("a large value", () => {
  test("over the limit is refused, with its size, the limit and what to do [J47]", async () => {
    const payloads = new Payloads({ maxBytes: 100 });
    expect(payloads.store("x".repeat(98), "result")).toHaveLength(100);
    expect(payloads.store("é".repeat(49), "result")).toHaveLength(51);
    expect(() => payloads.store("é".repeat(50), "result", 'step "load"')).toThrow(PayloadTooLargeError);
    expect(() => payloads.store("é".repeat(50), "result", 'step "load"')).toThrow(
      'step "load": result has 102 bytes, and maxBytes is 100: store it elsewhere and return its name, or raise maxBytes',
    );
    await expect(
      new Payloads({ codec: later, maxBytes: 100 }).store("x".repeat(99), "result"),
    ).rejects.toMatchObject({
      bytes: 102,
      maxBytes: 100,
    });
    expect(() => new Payloads().store("x".repeat(50 * 1_024 * 1_024), "result")).toThrow(
      /has 52428802 bytes/,
    );
  });
});

describe("a thrown value", () => {
  test.each<[string, unknown]>([
    ["an error that is too large", Object.assign(new RangeError("too far"), { body: "x".repeat(1_000) })],
    ["an error with a huge cause", new TypeError("too far", { cause: "x".repeat(1_000) })],
    ["a function", function far() {}],
    ["a symbol", Symbol("far")],
    ["an object that cannot be stored", { too: "far", callback: () => 1 }],
  ])("is always stored, in brief if need be: %s [J44]", async (_, thrown) => {
    for (const codec of [jsonCodec(), later]) {
      const payloads = new Payloads({ maxBytes: 900, codec });
      const back = (await payloads.load(await payloads.storeThrown(thrown))) as Error;
      expect(back).toBeInstanceOf(Error);
      expect(back.message).toMatch(/far/);
    }
  });

  test("is stored whole where it can be [J44]", () => {
    const payloads = new Payloads();
    const error = Object.assign(new RangeError("far"), { at: new Date(0) });
    expect(isDeepStrictEqual(payloads.load(payloads.storeThrown(error) as Stored), error)).toBe(true);
    expect(payloads.load(payloads.storeThrown("text") as Stored)).toBe("text");
    expect(new UnstorableValueError("a", "b", "c").retriable).toBe(false);
  });
});
