// The stream of events is read in whatever pieces it comes.

import { fc, test } from "@fast-check/vitest";
import { expect, it } from "vitest";
import {
  MAX_EVENT,
  readStream,
  type StreamEvent,
  streamBegin,
} from "../../../lib/observer/client/model/event-stream.js";

const TEXT =
  ': hello\n\nevent: whole\ndata: {"a":1}\n\nevent:change\r\ndata: one\r\ndata:two\r\n\r\ndata\n\nid: 7\nretry: 5\n\ndata: é\r\rdata: open\n';
const EVENTS: readonly StreamEvent[] = [
  { type: "whole", data: '{"a":1}' },
  { type: "change", data: "one\ntwo" },
  { type: "message", data: "" },
  { type: "message", data: "é" },
];

function read(pieces: readonly string[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  let state = streamBegin;
  for (const piece of pieces) {
    const [next, read] = readStream(state, piece);
    state = next;
    events.push(...read);
  }
  return events;
}

test.prop([fc.array(fc.nat({ max: TEXT.length }))])("in any pieces, the same events come", (cuts) => {
  const places = [0, ...cuts.sort((a, b) => a - b), TEXT.length];
  const pieces = places.slice(1).map((end, n) => TEXT.slice(places[n], end));
  expect(read(pieces)).toEqual(EVENTS);
});

it("character by character too", () => {
  expect(read([...TEXT])).toEqual(EVENTS);
});

it("an event that does not end is not kept", () => {
  expect(() => read(["data: ", "x".repeat(MAX_EVENT)])).toThrow(RangeError);
  expect(() =>
    read([`data: ${"x".repeat(MAX_EVENT / 2)}\n`, `data: ${"x".repeat(MAX_EVENT / 2)}\n`]),
  ).toThrow(RangeError);
});
