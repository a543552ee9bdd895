// Queues whose server is killed, or whose broker forgets: nothing is lost, and nothing is handled twice that was settled.

import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { System } from "signalbox";
import { memory, openStore, postgres, type StoreSource } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { CarrierError, LetterTooLargeError } from "../../../lib/pipeline/messages/errors.js";
import { jetstream } from "../../../lib/pipeline/messages/jetstream.js";
import { openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { done } from "../../../lib/pipeline/queues/status.js";
import { production } from "../../../lib/process/production.js";
import { describeNats, startNats } from "../../support/nats.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";
import { gate, until } from "./waits.js";

const SOON = { backoff: { minMs: 1, maxMs: 1 } };

/** Publishes and handles while `strike` happens in the middle. */
async function throughStrike(queues: Queues, strike: () => Promise<void>): Promise<void> {
  const queue = queues.queue<number>("struck", { attempts: 100, ...SOON });
  const results = queues.queue<number>("results");
  const ids = [...Array(60).keys()];
  const publish = async (from: number, to: number): Promise<void> => {
    for (const value of ids.slice(from, to)) {
      // As a client does that got no answer: again, under the same id.
      for (let isDone = false; !isDone; )
        isDone = await queue.publish(value, { id: `m${value}` }).then(
          () => true,
          () => false,
        );
    }
  };
  await publish(0, 20);
  const half = gate();
  const seen: number[] = [];
  const subscription = await queue.subscribe(
    { concurrency: 4, prefetch: 4 },
    async ({ value, publish: child }) => {
      await child(results, value);
      seen.push(value);
      if (seen.length >= 10) half.open();
      return done;
    },
  );
  await half.opened;
  const struck = strike();
  await publish(20, 60);
  await struck;
  await publish(0, 60);
  const outputs: number[] = [];
  const collected = await results.subscribe({}, ({ value }) => {
    outputs.push(value);
    return done;
  });
  await until(() => outputs.length >= 60, "the output");
  await subscription.stop();
  await collected.stop();
  expect(outputs.sort((a, b) => a - b)).toEqual(ids);
  for (const one of [queue, results])
    expect(await one.counts()).toEqual({ ready: 0, inFlight: 0, delayed: 0, dead: 0 });
}

async function withQueues(
  options: Parameters<typeof openQueues>[1],
  body: (queues: Queues) => Promise<void>,
): Promise<void> {
  const system = new System({ report: false });
  const queues = await openQueues(system, options);
  try {
    await body(queues);
  } finally {
    await queues.close();
    await system.stop();
  }
}

/** A client of its own, as an administrator has one. */
async function natsAt(servers: string) {
  const connection = await connect({ servers });
  const manager = await jetstreamManager(connection);
  return { connection, manager, [Symbol.asyncDispose]: () => connection.close() };
}

describePostgres("queues on PostgreSQL", () => {
  it.runIf(proving)("lose and double nothing when the server is killed", async () => {
    await using server = await startPostgres({ fsync: true });
    await withQueues({ store: postgres(server.connection, { leaseMs: 1_000 }) }, (queues) =>
      throughStrike(queues, async () => {
        await server.kill();
        await server.start();
      }),
    );
  });
});

describeNats("queues over JetStream", () => {
  it("lose and double nothing when the broker is killed, is away for long, and comes back (bug 31) (bug 32) [Y68]", async () => {
    await using server = await startNats();
    const connection = { reconnectTimeWait: 20, reconnectJitter: 0 };
    await withQueues(
      { store: memory(), carrier: jetstream({ servers: server.address, answerMs: 200, connection }) },
      (queues) =>
        throughStrike(queues, async () => {
          await server.kill();
          // The client alone would give up after ten attempts.
          await server.refuse(12);
          await server.start();
        }),
    );
  });

  it("lose and double nothing when the broker forgets everything (bug 9) [Y83]", async () => {
    await using server = await startNats();
    await withQueues(
      { store: memory(), carrier: jetstream({ servers: server.address, answerMs: 200 }) },
      (queues) =>
        throughStrike(queues, async () => {
          await server.wipe();
          await server.start();
        }),
    );
  });

  it("carry messages that are larger than the broker allows: it gets their numbers alone (bug 37)", async () => {
    await using server = await startNats();
    const carrier = jetstream({ servers: server.address });
    await withQueues({ store: memory(), carrier }, async (queues) => {
      const queue = queues.queue<string>("large");
      await queue.publish("x".repeat(3_000_000));
      let size = 0;
      await queue.subscribe({}, ({ value }) => {
        size = value.length;
        return done;
      });
      await until(() => size > 0);
      expect(size).toBe(3_000_000);
    });
    const context = { environment: production, after: () => undefined };
    const open = await carrier.open(context);
    const letter = { id: "1", body: "x".repeat(2_000_000) };
    await expect(open.publish("large", [letter])).rejects.toThrow(LetterTooLargeError);
    await open.close();
  });

  it("go on when an administrator removes the consumer, and when a stranger publishes to the stream", async () => {
    await using server = await startNats();
    const carrier = jetstream({ servers: server.address });
    await using client = await natsAt(server.address);
    await withQueues({ store: memory(), carrier }, async (queues) => {
      const queue = queues.queue<number>("q");
      const seen: number[] = [];
      const subscription = await queue.subscribe({}, ({ value }) => {
        seen.push(value);
        return done;
      });
      await queue.publish(1);
      await until(() => seen.length === 1);
      const [stream] = await client.manager.streams.names().next();
      for (const body of ["", "stranger", "1.5", "-1", "1e99"])
        client.connection.publish((stream as string).replace("_", "."), body);
      await client.manager.consumers.delete(stream as string, "subscribers");
      await queue.publish(2);
      await until(() => seen.length === 2, "the second message");
      await until(async () => (await client.manager.streams.info(stream as string)).state.messages === 0);
      await subscription.stop();
      expect(seen).toEqual([1, 2]);
    });
  });

  it("name a broker that is not there", async () => {
    const system = new System({ report: false });
    const carrier = jetstream({ servers: "127.0.0.1:1", answerMs: 200 });
    await expect(openQueues(system, { store: memory(), carrier })).rejects.toThrow(CarrierError);
    await system.stop();
  });
});

describe("jetstream", () => {
  it("names options that are wrong", () => {
    expect(() => jetstream({ servers: "" })).toThrow(/servers\[0\]/);
    expect(() => jetstream({ servers: [] })).toThrow(/servers must be the address/);
    expect(() => jetstream({ servers: "a", connection: "me" as never })).toThrow(
      /connection must be an object/,
    );
    expect(() => jetstream({ server: "a" } as never)).toThrow(/did you mean servers/);
    expect(() => jetstream({ servers: "a", prefix: "a.b" })).toThrow(/prefix.*a letter first/);
    expect(() => jetstream({ servers: "a", replicas: 0 })).toThrow(/replicas/);
    expect(() => jetstream({ servers: "a", answerMs: 0 })).toThrow(/answerMs/);
  });
});

describe("a subscriber whose claim is taken away while its handler runs", () => {
  it("settles nothing, and the message is handled again (bug 6)", async () => {
    const store: StoreSource = memory({ shared: true });
    const system = new System({ report: false });
    const other = await openStore(system, store, []);
    await withQueues({ store }, async (queues) => {
      const queue = queues.queue<string>("q", { attempts: 5 });
      await queue.publish("x");
      const begun = gate();
      const late = gate();
      const attempts: number[] = [];
      let isAborted = false;
      const subscription = await queue.subscribe({}, async ({ attempt, signal }) => {
        attempts.push(attempt);
        signal.addEventListener("abort", () => {
          isAborted = true;
        });
        if (attempts.length > 1) return done;
        begun.open();
        await late.opened;
        return done;
      });
      await begun.opened;
      const [claim] = await other.claims("queues/q/");
      await other.revoke(claim?.name as string, claim?.token as number);
      late.open();
      await until(() => attempts.length === 2, "the second attempt");
      await subscription.stop();
      // What was interrupted is no attempt.
      expect([attempts, isAborted]).toEqual([[1, 1], true]);
      expect(await queue.counts()).toEqual({ ready: 0, inFlight: 0, delayed: 0, dead: 0 });
    });
    await other.close();
    await system.stop();
  });
});
