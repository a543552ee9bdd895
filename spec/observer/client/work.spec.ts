// What pages about work say: values, dead letters, sessions with nodes, and re-routes.

import { expect, test } from "vitest";
import type { Incident } from "../../../lib/admin/history/operations.js";
import {
  isEditable,
  letterOfPipeline,
  letterOfQueue,
} from "../../../lib/observer/client/model/dead-letter.js";
import { jsonLine, jsonText } from "../../../lib/observer/client/model/json-text.js";
import { nodeWords } from "../../../lib/observer/client/model/node-words.js";
import { rerouteFigures } from "../../../lib/observer/client/model/reroutes.js";

test("a value is cut between characters, and says how much is left", () => {
  expect(jsonText({ n: 1 })).toEqual({ text: '{\n  "n": 1\n}', left: 0 });
  expect(jsonText("ab😀cd", 4)).toEqual({ text: '"ab', left: 5 });
  expect(jsonText(undefined)).toEqual({ text: "undefined", left: 0 });
});

test.each([
  [{ name: "PaymentError", message: "no money\nat all" }, "PaymentError: no money at all"],
  ["a\n b", "a b"],
  [[1, 2], "[1,2]"],
  [null, ""],
  ["x".repeat(200), `${"x".repeat(119)}…`],
])("a cell shows %j as %j", (value, line) => {
  expect(jsonLine(value)).toBe(line);
});

test("dead letters of pipelines and of queues show all of their attempts", () => {
  const errors = ["Error: first\n at a", "Error: last\n at b"];
  const dead = { id: "10.13", queue: "parse", route: "parse", adapter: "json", value: 1, errors, at: 9 };
  expect(letterOfPipeline(dead)).toMatchObject({
    place: "route parse, adapter json",
    last: "Error: last",
    attempts: [{ number: 1 }, { number: 2 }],
  });
  const history = [
    { attempt: 1, at: 3, error: "Error: crashed", evidence: "uncaught" },
    { attempt: 1, at: 4, error: "Error: busy", setbacks: 7 },
  ];
  expect(
    letterOfQueue("mail", { id: "u", value: 1, key: undefined, attempts: 1, history, at: 9 }),
  ).toMatchObject({
    place: "queue mail",
    attempts: [
      { note: "ended its process: uncaught" },
      { note: "no attempt: the store failed 7 times in a row" },
    ],
  });
});

test("bytes cannot be edited as text", () => {
  expect([isEditable({ a: 1 }), isEditable("Uint8Array, 3 bytes: 010203"), isEditable("3 bytes")]).toEqual([
    true,
    false,
    true,
  ]);
});

test("a session without credit, with losses or without a sign of life needs a look", () => {
  const session = {
    ...{ epoch: "e1", version: 3, uptimeMs: 5, inFlight: 0, gaps: 0, ends: 0, lost: 0, refused: 0 },
    ...{
      credit: { frames: 4, size: 9 },
      queued: { signals: 2, bytes: 8 },
      roundTripMs: 1,
      lastRoundTripMs: 1,
    },
  };
  const noCredit = { ...session, credit: { frames: 0, size: 9 } };
  expect(nodeWords({ state: "up", session })).toEqual({ tone: "good", why: undefined });
  expect(nodeWords({ state: "up", session: noCredit }).why).toBe(
    "no credit: 2 signals wait for the other node",
  );
  expect(nodeWords({ state: "up", session: { ...session, lost: 1 } }).tone).toBe("warn");
  expect(nodeWords({ state: "here" }).tone).toBe("quiet");
  expect([nodeWords({ state: "absent" }).tone, nodeWords({ state: "suspect" }).tone]).toEqual([
    "bad",
    "warn",
  ]);
});

test("re-routes are those of the group, with their times", () => {
  const incident = (number: number, more: Partial<Incident>): Incident => ({
    ...{ number, at: number, lastAt: number, kind: "reroute", count: 1, text: "" },
    ...more,
  });
  const reroute = { group: "pickers", envelope: "e", from: "a", to: "b", attempt: 2 };
  const incidents = [
    incident(1, { reroute: { ...reroute, tookMs: 5 } }),
    incident(2, { reroute: { ...reroute, tookMs: 1 } }),
    incident(3, { reroute: { ...reroute, tookMs: 9 } }),
    incident(4, { reroute: { ...reroute, to: undefined } }),
    incident(5, { reroute: { ...reroute, group: "others", tookMs: 70 } }),
    incident(6, { kind: "crash" }),
  ];
  expect(rerouteFigures(incidents, "pickers")).toMatchObject({ medianMs: 5, longestMs: 9, unplaced: 1 });
  expect(rerouteFigures(incidents, "pickers").reroutes).toHaveLength(4);
  expect(rerouteFigures([], undefined)).toEqual({
    reroutes: [],
    medianMs: undefined,
    longestMs: undefined,
    unplaced: 0,
  });
});
