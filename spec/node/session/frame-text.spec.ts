import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BYE_REASONS, decodeFrame, encodeFrame, type Frame } from "../../../lib/node/session/frame-text.js";

const number = fc.maxSafeNat();
const counter = number.map((one) => Math.max(1, one));
const credit = fc.record({ frames: number, size: number });
const ends = { from: counter, to: counter };
const receipt = { ...ends, ack: number, credit };
const versions = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.nat(9))
  .map(([least, more]) => ({ least, most: least + more }));

const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    type: fc.constant("hello" as const),
    from: counter,
    to: number,
    versions,
    credit,
    capabilities: fc.array(fc.stringMatching(/^[a-z][\w.-]{0,5}$/), { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant("data" as const),
    ...receipt,
    seq: counter,
    count: counter,
    body: fc.array(fc.json()).map((texts) => `[${texts.join(",")}]`),
  }),
  fc.record({
    type: fc.constant("part" as const),
    ...receipt,
    seq: counter,
    isLast: fc.boolean(),
    body: fc.string({ unit: "binary" }),
  }),
  fc.record({
    type: fc.constant("beat" as const),
    ...receipt,
    asks: fc.boolean(),
    at: number,
    echo: number,
    held: number,
  }),
  fc.record({
    type: fc.constant("bye" as const),
    from: counter,
    to: number,
    reason: fc.constantFrom(...BYE_REASONS),
  }),
  fc.record({ type: fc.constant("versions" as const), versions }),
);

describe("the text of a frame", () => {
  test("gives the frame again [N1003]", () => {
    fc.assert(
      fc.property(frames, (frame) => {
        expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
      }),
    );
  });

  test("that is not exactly of the form is no frame, whatever it is; nothing throws [N1004]", () => {
    const edits = fc.record({ at: fc.nat(200), cut: fc.nat(3), put: fc.string({ maxLength: 3 }) });
    let refused = 0;
    fc.assert(
      fc.property(frames, edits, (frame, { at, cut, put }) => {
        const text = encodeFrame(frame);
        const edited = text.slice(0, at) + put + text.slice(at + cut);
        const read = decodeFrame(edited);
        // A text that is read is that of the frame that was read.
        if (read === undefined) refused++;
        else expect(encodeFrame(read)).toBe(edited);
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(200);
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: "binary" }), (value, text) => {
        if (typeof value !== "string") expect(decodeFrame(value)).toBeUndefined();
        decodeFrame(text);
      }),
    );
    const hostile = ["", "D", "D 1 2 3", `B ${"9".repeat(400)} 1 0 0 0 0 0 0 0`, "B 01 1 0 0 0 0 0 0 0"];
    for (const one of [...hostile, "D 1 1 1 0 1 1 1\n1", "E 1 1 whatever", "V 3 2", "S 0 0 1 1 1 1 "])
      expect(decodeFrame(one), one).toBeUndefined();
  });
});
