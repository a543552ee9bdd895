// The steps that outcomes of a route become, in their order.

import { System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Step } from "../../../lib/pipeline/ledger/ledger.js";
import type { ExecutionScope } from "../../../lib/pipeline/runtime/execution-scope.js";
import type { RoutePlan } from "../../../lib/pipeline/runtime/plan.js";
import { RouteMeter } from "../../../lib/pipeline/runtime/route-meter.js";
import { type BatchSettlement, RouteOutcomes } from "../../../lib/pipeline/runtime/route-outcomes.js";

const ERROR = new Error("refused");
const ITEMS = [{ value: "result", key: undefined }];

describe("the outcomes of a route with batches", () => {
  let system: System;
  beforeEach(() => {
    system = new System({ report: false });
  });
  afterEach(() => system.stop());

  /** Settles a batch of the messages a, b and c, and gives the steps for people. */
  function settled(
    failed: readonly number[],
    test: (() => boolean) | undefined = undefined,
  ): [readonly string[], BatchSettlement] {
    const steps: Step[] = [];
    const ledger = { submit: (step: Step) => void steps.push(step) };
    const scope = { kernel: system.kernel, ledger, catalogue: { stored: undefined } };
    const retry = { attempts: 3, backoff: { minMs: 1, maxMs: 1 } };
    const rules = { route: "r", exits: [{ queue: "out", test }], firstMatch: false, retry, maxHops: 100 };
    const plan = { name: "r", queue: "in", rules };
    const outcomes = new RouteOutcomes(
      plan as unknown as RoutePlan,
      scope as unknown as ExecutionScope,
      new RouteMeter(),
    );
    const members = ["a", "b", "c"].map((id) => {
      const message: Message = { id, queue: "in", value: id, key: undefined, attempts: 0, errors: [] };
      return { message, items: [], calls: undefined };
    });
    const failures = new Map(failed.map((i) => [i, ERROR]));
    const settlement = outcomes.batched(
      { key: undefined, members },
      { type: "emitted", items: ITEMS, failures, calls: undefined, remember: undefined },
    );
    return [steps.map(shown), settlement];
  }

  it("settle the messages that passed first, then those that failed alone [Y887]", () => {
    const [steps, { children, again }] = settled([0, 1]);
    expect(steps).toEqual(["emit c", "retry a", "retry b"]);
    expect([children, again]).toEqual([1, []]);
  });

  it("settle nothing together when all messages failed alone", () => {
    const [steps, { children, again }] = settled([0, 1, 2]);
    expect(steps).toEqual(["retry a", "retry b", "retry c"]);
    expect([children, again]).toEqual([0, []]);
  });

  it("try the messages that passed one by one when a condition throws, and only those", () => {
    const [steps, { children, again }] = settled([1], () => {
      throw ERROR;
    });
    expect(steps).toEqual(["retry b"]);
    const ids = again.map(({ members }) => members.map(({ message }) => message.id));
    expect([children, ids]).toEqual([0, [["a"], ["c"]]]);
  });
});

function shown(step: Step): string {
  if (step.type === "emit") return `emit ${step.messages.map(({ id }) => id).join(" ")}`;
  return step.type === "retry" ? `retry ${step.message.id}` : step.type;
}
