// Changes from the page: what a person typed is checked before it is sent, and what would be refused is not offered.

import { describe, expect, test } from "vitest";
import { FLOW_STATUSES } from "../../../lib/flow/operations/operations.js";
import {
  type ActField,
  filledForm,
  REASON_CHARACTERS,
  reasonField,
} from "../../../lib/observer/client/model/act-form.js";
import { type FlowAct, refusalOf } from "../../../lib/observer/client/model/flow-acts.js";

describe("a form", () => {
  test("nothing is sent without the reason that an operation demands", () => {
    expect(filledForm([reasonField(true)], { reason: "  " })).toEqual({
      ok: false,
      problems: { reason: "this is needed" },
    });
    expect(filledForm([reasonField(true)], { reason: " the bank is back " })).toEqual({
      ok: true,
      values: { reason: "the bank is back" },
    });
    expect(filledForm([reasonField(false)], {})).toEqual({ ok: true, values: {} });
    expect(filledForm([reasonField(true)], { reason: "x".repeat(REASON_CHARACTERS + 1) }).ok).toBe(false);
  });

  const field = (kind: ActField["kind"]): ActField => ({
    name: "it",
    label: "It",
    kind,
    choices: ["a", "b"],
  });

  test.each([
    ["json", '{"n": [1, null]}', { n: [1, null] }],
    ["json", "0", 0],
    ["number", "12", 12],
    ["choice", "b", "b"],
    ["text", "a b", "a b"],
  ] as const)("%s: %j is %j", (kind, text, value) => {
    expect(filledForm([field(kind)], { it: text })).toEqual({ ok: true, values: { it: value } });
  });

  test.each([
    ["json", "{n: 1}", "no JSON"],
    ["number", "-3", "whole number"],
    ["number", "1.5", "whole number"],
    ["choice", "c", "one of the list"],
  ] as const)("%s: %j is refused beside its field", (kind, text, problem) => {
    expect(filledForm([field(kind)], { it: text })).toEqual({
      ok: false,
      problems: { it: expect.stringContaining(problem) },
    });
  });

  test("a field that was left alone has its initial value", () => {
    expect(filledForm([{ ...field("number"), initial: "4" }], {})).toEqual({ ok: true, values: { it: 4 } });
  });
});

test("of a flow, only what its state allows is offered", () => {
  const acts: readonly FlowAct[] = ["pause", "resume", "cancel", "kill", "retry", "discharge", "fork"];
  const offered = FLOW_STATUSES.map((status) => [
    status,
    acts.filter((act) => refusalOf(act, status) === undefined).join(" "),
  ]);
  expect(Object.fromEntries(offered)).toEqual({
    pending: "pause cancel kill fork",
    running: "pause cancel kill fork",
    waiting: "pause cancel kill fork",
    paused: "resume cancel kill fork",
    hospitalized: "cancel kill retry discharge fork",
    completed: "fork",
    failed: "retry fork",
    cancelled: "fork",
    killed: "fork",
  });
});
