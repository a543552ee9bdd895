// Whoever changes an execution waits for the answer as long as they say: by a timeout or a signal, through a host, beside it, and over a socket.

import { CallTimeoutError, System } from "signalbox";
import { openPipelineOperations } from "signalbox/pipeline";
import { type TestClock, testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import type { Ask } from "../../../lib/admin/protocol.js";
import { type PipelineHost, type PipelineRun, pipelineHost } from "../../../lib/pipeline/host.js";
import { ExecutionOutcomeUnknownError } from "../../../lib/pipeline/operations/errors.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { pipelineService, remoteOperations } from "../../../lib/pipeline/operations/operations-table.js";
import type { OperationWaitOptions } from "../../../lib/pipeline/operations/waits.js";
import { HeldSource } from "../../support/held-store.js";
import { lines, pipeline, SLOW } from "./answer-drills.js";

/** A host with an execution, and the operations as one reaches them. */
interface Reached {
  readonly clock: TestClock;
  readonly store: HeldSource;
  readonly host: PipelineHost;
  readonly run: PipelineRun;
  readonly operations: PipelineOperations;
}

/** An operation that is asked for with a wait, and what is found when it has taken place. */
interface Waited {
  readonly operation: string;
  /** The execution that the error names. */
  readonly of: string;
  readonly values: readonly string[];
  ask(on: Reached, wait: OperationWaitOptions): Promise<unknown>;
  seen(on: Reached): Promise<unknown>;
  readonly expected: unknown;
}

const start: Waited = {
  ...{ operation: "start", of: "new", values: [SLOW] },
  ask: ({ host }, wait) =>
    host.start(pipeline, {
      id: "new",
      messages: { to: lines, values: [SLOW] },
      ...wait,
    }),
  seen: async ({ host }) => (await host.get("new").status()).inputs,
  expected: 1,
};
const giveUp: Waited = {
  ...{ operation: "giveUp", of: "there", values: [SLOW] },
  ask: ({ operations }, wait) => operations.giveUp("there", { all: true, reason: "late", ...wait }),
  seen: async ({ run }) => (await run.completed()).dropped,
  expected: 1,
};
const move: Waited = {
  ...{ operation: "move", of: "there", values: [SLOW] },
  ask: ({ operations }, wait) => operations.move("there", { to: "other", queues: ["lines"], ...wait }),
  seen: async ({ run }) => (await run.lineage("10.10")).message.changes?.map(({ what }) => what),
  expected: ["moved"],
};
const replay: Waited = {
  ...{ operation: "replay", of: "again", values: ["quick"] },
  ask: ({ operations }, wait) => operations.replay("there", { id: "again", dead: true, ...wait }),
  seen: async ({ host }) => (await host.operations.status("again")).inputs,
  expected: 1,
};

/** The operations over the protocol of the socket, with what JSON leaves of the arguments. */
function overSocket(on: PipelineOperations): PipelineOperations {
  const { operations } = pipelineService(on, () => true);
  const ask: Ask = async (op, args, signal = new AbortController().signal) =>
    (await operations.get(op)?.run(JSON.parse(JSON.stringify(args)), signal)) as never;
  return remoteOperations(ask);
}

type Way = "a host" | "a handle on the store" | "the socket";

async function reached(way: Way, { values }: Waited): Promise<Reached> {
  const clock = testClock();
  const store = new HeldSource();
  const system = new System({ report: false, environment: clock.environment });
  onTestFinished(() => void system.stop({ timeoutMs: 0 }));
  const host = await clock.until(system.start(pipelineHost({ pipelines: [pipeline], store })));
  const run = await clock.until(host.start(pipeline, { id: "there", messages: { to: lines, values } }));
  if (!values.includes(SLOW)) await clock.until(run.completed());
  const opened = await clock.until(openPipelineOperations(system, store, { pipelines: [pipeline] }));
  const ways = {
    "a host": () => host.operations,
    "a handle on the store": () => opened,
    "the socket": () => overSocket(host.operations),
  };
  store.hold();
  return { clock, store, host, run, operations: ways[way]() };
}

const ALL: readonly (readonly [string, Way, Waited])[] = [
  ["start", "a host", start],
  ...(["a host", "a handle on the store", "the socket"] as const).flatMap((way) =>
    [giveUp, move, replay].map((waited) => [waited.operation, way, waited] as const),
  ),
];

const NO_ANSWER = "no answer yet";

/** The error of an operation, once it has one. */
function errorOf(asked: Promise<unknown>): () => unknown {
  let error: unknown = NO_ANSWER;
  asked.catch((thrown: unknown) => {
    error = thrown;
  });
  return () => error;
}

test.each(ALL)(
  "%s through %s ends after its timeoutMs, as unknown, and may take place all the same [Y640]",
  async (_name, way, waited) => {
    const on = await reached(way, waited);
    const error = errorOf(waited.ask(on, { timeoutMs: 2_000 }));
    await on.clock.advance(1_999);
    expect(error()).toBe(NO_ANSWER);
    await on.clock.advance(1);
    expect(error()).toBeInstanceOf(ExecutionOutcomeUnknownError);
    expect(error()).toMatchObject({
      operation: waited.operation,
      executionId: waited.of,
    });
    expect((error() as Error).cause).toBeInstanceOf(CallTimeoutError);
    on.store.release();
    await on.clock.advance(1);
    expect(await on.clock.until(waited.seen(on))).toEqual(waited.expected);
  },
);

test.each(ALL)(
  "%s through %s ends with the reason of its signal, and may take place all the same [Y641]",
  async (_name, way, waited) => {
    const on = await reached(way, waited);
    const caller = new AbortController();
    const error = errorOf(waited.ask(on, { signal: caller.signal }));
    await on.clock.advance(2_000);
    expect(error()).toBe(NO_ANSWER);
    const reason = new Error("the caller has gone");
    caller.abort(reason);
    await on.clock.advance(1);
    expect(error()).toBe(reason);
    on.store.release();
    await on.clock.advance(1);
    expect(await on.clock.until(waited.seen(on))).toEqual(waited.expected);
  },
);

test.each(ALL)(
  "%s through %s has no limit of its own, as with Infinity [Y642]",
  async (_name, way, waited) => {
    for (const wait of [{}, { timeoutMs: Number.POSITIVE_INFINITY }]) {
      const on = await reached(way, waited);
      const asked = waited.ask(on, wait);
      const error = errorOf(asked);
      await on.clock.advance(60_000);
      expect(error()).toBe(NO_ANSWER);
      on.store.release();
      await on.clock.until(asked);
      expect(await on.clock.until(waited.seen(on))).toEqual(waited.expected);
    }
  },
);

test.each(ALL)(
  "%s through %s does nothing with a wait that is none, or one that has ended before [Y643]",
  async (_name, way, waited) => {
    const on = await reached(way, waited);
    on.store.release();
    const refused = { code: "ERR_OPTION" };
    const waits = [
      { timeoutMs: -1 },
      { timeoutMs: Number.NaN },
      { timeoutMs: null as never },
      { signal: {} as never },
    ];
    for (const wait of waits)
      await expect(on.clock.until(waited.ask(on, wait))).rejects.toMatchObject(refused);
    const reason = new Error("gone before");
    await expect(on.clock.until(waited.ask(on, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    // Nothing was begun under the id, and nothing was given up or moved.
    const { pending, dropped } = await on.clock.until(on.run.status());
    expect({ pending, dropped }).toEqual({
      pending: waited.values.includes(SLOW) ? 1 : 0,
      dropped: undefined,
    });
    const { executions } = await on.clock.until(on.host.operations.list());
    expect(executions.map(({ id }) => id)).toEqual(["there"]);
  },
);
