// Passing errors of stores and databases under adapters and consumers of queues: with the default options, none of them is an attempt.

import {
  DeadLetterError,
  definePipeline,
  openQueues,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { openStore, SqlError, type Store, StoreError } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { deadLetters, executions, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { QUEUE_DEFAULTS } from "../../lib/pipeline/queues/limits.js";
import { done } from "../../lib/pipeline/queues/status.js";
import { StoreUnreachableError } from "../../lib/store/postgres/errors.js";
import { explored } from "../support/proof.js";

/** More often than any message is tried by default. */
const TIMES = 8;

/** As drivers of PostgreSQL make it. */
const fromServer = (code: string): Error =>
  Object.assign(new Error("said by the server"), { code, severity: "ERROR" });
const coded = (code: string): Error => Object.assign(new Error("said below"), { code });

/** What a store or a database says, and passes. */
const PASSING: Readonly<Record<string, () => Error>> = {
  serialization: () => fromServer("40001"),
  lock: () => fromServer("55P03"),
  cancelled: () => fromServer("57014"),
  full: () => fromServer("53100"),
  standby: () => fromServer("25006"),
  statement: () => new SqlError("select 1", "no", "53300"),
  unreachable: () => new StoreUnreachableError("shop", 1, "nothing", coded("ECONNREFUSED")),
  disk: () => new StoreError("the store failed", { cause: coded("ENOSPC") }),
  busy: () => coded("SQLITE_BUSY"),
  wrapped: () => new Error("could not book", { cause: fromServer("40P01") }),
};
/** Whatever else an adapter meets: an error of the message, or of another service. */
const OTHERS: Readonly<Record<string, () => Error>> = {
  service: () => coded("ECONNREFUSED"),
  file: () => coded("ENOSPC"),
  duplicate: () => fromServer("23505"),
  "own code": () => coded("40001"),
  final: () => Object.assign(fromServer("40001"), { retriable: false }),
};
const ALL = { ...PASSING, ...OTHERS };

/** Throws the error of a name as often as it is said, and counts by name. */
class Troubles {
  readonly calls: Record<string, number> = {};
  readonly attempts: Record<string, number> = {};

  meet(name: string, attempt: number, times: number): void {
    const call = (this.calls[name] ?? 0) + 1;
    this.calls[name] = call;
    this.attempts[name] = attempt;
    if (call <= times) throw ALL[name]?.();
  }
}

const each = (names: object, count: number): Record<string, number> =>
  Object.fromEntries(Object.keys(names).map((name) => [name, count]));

async function pipelineOf(sim: Simulation, values: readonly string[], troubles: Troubles, times: number) {
  const inbox = queue<string>("inbox");
  const work = route("work", { from: inbox, concurrency: values.length }).via("work", (value, ctx) =>
    troubles.meet(value, ctx.attempt, times),
  );
  const definition = definePipeline("count", { routes: [work] });
  const node = sim.node("shop", (of): Promise<PipelineHost> => {
    return of.system().start(pipelineHost({ store: of.store, pipelines: [definition] }));
  });
  const host = await node.ready();
  const run = await host.start(definition, { id: "one", messages: { to: inbox, values } });
  const read = async (): Promise<Store> => {
    node.crash();
    return openStore(sim.system({ name: "reader" }), node.store, [PIPELINE_SCHEMA]);
  };
  return { run, read };
}

describe("a passing error of a store", () => {
  it("is no attempt of a message of a pipeline; other errors are [Y420]", async () => {
    await explored(
      async (sim) => {
        const troubles = new Troubles();
        const { run, read } = await pipelineOf(sim, Object.keys(ALL), troubles, TIMES);
        await run.completed();
        const store = await read();
        const [row] = await store.scan(executions, {});
        expect(row).toMatchObject({ status: "completed", dead: Object.keys(OTHERS).length });
        const dead = await store.scan(deadLetters, {});
        expect(dead.map(({ body }) => JSON.parse(String(body))).sort()).toEqual(Object.keys(OTHERS).sort());
        expect(troubles.attempts).toMatchObject(each(PASSING, 1));
        expect(troubles.calls).toMatchObject(each(PASSING, TIMES + 1));
        await store.close();
      },
      { quick: 1, share: 0.01, seed: 420 },
    );
  });

  it("that does not pass makes a message wait longer and longer, which its record says [Y421]", async () => {
    await explored(
      async (sim) => {
        const troubles = new Troubles();
        const { run } = await pipelineOf(sim, ["serialization"], troubles, Number.POSITIVE_INFINITY);
        const windowMs = 600_000;
        await sim.sleep(windowMs);
        const before = troubles.calls.serialization ?? 0;
        await sim.sleep(windowMs);
        const again = (troubles.calls.serialization ?? 0) - before;
        expect(again).toBeGreaterThan(0);
        // Pauses of 30 s, give or take what chance adds to them, leave room for twenty.
        expect(again).toBeLessThan(100);
        const { message } = await run.lineage("10.10");
        expect(message).toMatchObject({ status: "delayed", attempt: 0, errors: [] });
        expect(message.setback).toEqual({
          times: troubles.calls.serialization,
          error: expect.stringMatching(/said by the server/),
        });
      },
      { quick: 1, share: 0.01, seed: 421 },
    );
  });

  it("is no attempt of a message of a durable queue; other errors are [Y422]", async () => {
    await explored(
      async (sim) => {
        const troubles = new Troubles();
        const queues = await openQueues(sim.system(), { store: sim.store() });
        const inbox = queues.queue<string>("inbox");
        await inbox.publishMany(Object.keys(ALL).map((value) => ({ value })));
        await inbox.subscribe({ concurrency: Object.keys(ALL).length }, ({ value, attempt }) => {
          troubles.meet(value, attempt, TIMES);
          return done;
        });
        for (;;) {
          const { ready, inFlight, delayed } = await inbox.counts();
          if (ready + inFlight + delayed === 0) break;
          await sim.sleep(1_000);
        }
        const dead = await inbox.deadLetters.list();
        expect(dead.map(({ value }) => value).sort()).toEqual(Object.keys(OTHERS).sort());
        expect(troubles.attempts).toMatchObject(each(PASSING, 1));
        expect(troubles.calls).toMatchObject(each(PASSING, TIMES + 1));
        await queues.close();
      },
      { quick: 1, share: 0.01, seed: 422 },
    );
  });

  it("stands once in the history of a message of a durable queue, with how often it was met [Y423]", async () => {
    await explored(
      async (sim) => {
        const queues = await openQueues(sim.system(), { store: sim.store() });
        const inbox = queues.queue<string>("inbox");
        let calls = 0;
        await inbox.publish("one");
        await inbox.subscribe({}, () => {
          throw ++calls <= TIMES ? fromServer("40001") : new Error("its own");
        });
        const { attempts } = QUEUE_DEFAULTS.queue;
        while ((await inbox.counts()).dead === 0) await sim.sleep(1_000);
        const [letter] = await inbox.deadLetters.list();
        expect(letter).toMatchObject({ attempts });
        const [setback, ...failures] = letter?.history ?? [];
        expect(setback).toMatchObject({
          setbacks: TIMES,
          error: expect.stringMatching(/said by the server/),
        });
        expect(failures.map(({ setbacks }) => setbacks)).toEqual(Array(attempts).fill(undefined));
        await queues.close();
      },
      { quick: 1, share: 0.01, seed: 423 },
    );
  });
});

describe("a message of a durable queue", () => {
  it("waits as long as its handler's error asks, if that is longer than the queue's own wait [Y424]", async () => {
    await explored(
      async (sim) => {
        const queues = await openQueues(sim.system(), { store: sim.store() });
        const inbox = queues.queue<string>("inbox");
        const asked: (() => object)[] = [
          () => Object.assign(new Error("busy"), { retryAfterMs: 90_000 }),
          () => Object.assign(new Error("busy"), { response: { headers: { "retry-after": "120" } } }),
        ];
        const at: number[] = [];
        await inbox.publish("one");
        await inbox.subscribe({}, () => {
          const error = asked[at.push(sim.now) - 1];
          if (error !== undefined) throw error();
          return done;
        });
        while (at.length <= asked.length) await sim.sleep(1_000);
        const [first, second, third] = at as [number, number, number];
        expect(second - first).toBeGreaterThanOrEqual(90_000);
        expect(third - second).toBeGreaterThanOrEqual(120_000);
        await queues.close();
      },
      { quick: 1, share: 0.01, seed: 424 },
    );
  });
});

/** Errors that say that no other attempt helps. */
const FINAL: Readonly<Record<string, () => Error>> = {
  plain: () => Object.assign(new Error("its own"), { retriable: false }),
  asking: () => Object.assign(new Error("busy"), { retriable: false, retryAfterMs: 90_000 }),
  passing: () => Object.assign(fromServer("40001"), { retriable: false }),
  "given up": () => new DeadLetterError("its own"),
};

describe("an error that says `retriable: false`", () => {
  it("is the last attempt of a message, in a route and in a durable queue [Y580]", async () => {
    await explored(
      async (sim) => {
        const values = Object.keys(FINAL);
        const tried: Record<string, string[]> = { route: [], queue: [] };
        const work = (where: string, value: string): never => {
          tried[where]?.push(value);
          throw FINAL[value]?.();
        };
        const system = sim.system();
        const inbox = queue<string>("inbox");
        const fails = route("fails", { from: inbox }).via("fails", (value) => work("route", value));
        const definition = definePipeline("final", { routes: [fails] });
        const host = await system.start(pipelineHost({ store: sim.store(), pipelines: [definition] }));
        const run = await host.start(definition, { messages: { to: inbox, values } });
        const queues = await openQueues(system, { store: sim.store() });
        const durable = queues.queue<string>("inbox");
        await durable.publishMany(values.map((value) => ({ value })));
        await durable.subscribe({}, ({ value }) => work("queue", value));

        expect((await run.completed()).dead).toBe(values.length);
        while ((await durable.counts()).dead < values.length) await sim.sleep(1_000);
        expect(tried.route?.sort()).toEqual([...values].sort());
        expect(tried.queue?.sort()).toEqual([...values].sort());
        await queues.close();
      },
      { quick: 1, share: 0.01, seed: 580 },
    );
  });
});
