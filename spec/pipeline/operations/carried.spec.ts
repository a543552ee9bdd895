// What people do with messages of an execution that a real broker carries: dead letters in place, replays and moves.

import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { memory, type StoreSource } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { type PipelineHost, pipelineHost } from "../../../lib/pipeline/host.js";
import { jetstream } from "../../../lib/pipeline/messages/jetstream.js";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { until } from "../queues/waits.js";
import { all, lines, system, words } from "./support.js";

const terms = queue<string>("terms");
const WORDS = 30;
const line = Array.from({ length: WORDS }, (_, n) => `w${n}`).join(" ");

describeNats("with a JetStream server", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNats();
  });
  afterAll(() => server.stop());

  /** How many streams there are, and how many messages these hold. */
  async function held(): Promise<{ readonly streams: number; readonly messages: number }> {
    const client = await connect({ servers: server.address });
    const all = await (await jetstreamManager(client)).streams.list().next();
    await client.close();
    return { streams: all.length, messages: all.reduce((sum, { state }) => sum + state.messages, 0) };
  }

  describe.each([
    ["a store of one process", () => memory(), ["a"]],
    ["a store that two hosts share", () => memory({ shared: true }), ["a", "b"]],
  ] as const)("an execution in %s", (_, newStore, names) => {
    /** Lines into words, which are refused as long as `isBad`. Held words wait, and never come to an end. */
    async function job(): Promise<
      { readonly hosts: readonly PipelineHost[] } & ReturnType<typeof pipelineOf>
    > {
      const made = pipelineOf();
      const store: StoreSource = newStore();
      const hosts: PipelineHost[] = [];
      for (const _name of names) {
        const carrier = jetstream({ servers: server.address, answerMs: 500 });
        hosts.push(
          await system().start(pipelineHost({ pipelines: [made.pipeline], store, carrier, drainMs: 10 })),
        );
      }
      return { ...made, hosts };
    }

    function pipelineOf() {
      const refusing = { isOn: true, isHolding: false };
      const seen: string[] = [];
      const split = route("split", { from: lines })
        .via("split", (text) => many(text.split(" ")))
        .to(words);
      const check = route("check", { from: words, concurrency: 4, retry: { attempts: 1 } })
        .via("check", async (word, { signal }) => {
          if (refusing.isHolding) await new Promise((over) => signal.addEventListener("abort", over));
          if (refusing.isOn) throw new Error(`${word} is refused`);
          return word;
        })
        .to(terms);
      const take = route("take", { from: terms, concurrency: 4 }).via("take", (word) => void seen.push(word));
      return { refusing, seen, pipeline: definePipeline("job", { routes: [split, check, take] }) };
    }

    it("goes on with dead letters that are retried or edited after it had completed and its channels were gone [Y604]", async () => {
      const { hosts, refusing, seen, pipeline } = await job();
      const run = await (hosts[0] as PipelineHost).start(pipeline, {
        id: "one",
        messages: { to: lines, values: [line] },
      });
      expect(await run.completed()).toMatchObject({ done: 1 + WORDS, dead: WORDS });
      await until(async () => (await held()).streams === 0, "the end of all channels");
      refusing.isOn = false;
      const [edited, dropped, ...others] = (await all(run.deadLetters())).map(({ id }) => id);
      await run.editDead(edited as string, "edited");
      await run.dropDead(dropped as string, { reason: "a test" });
      expect(await run.retryDead(others)).toEqual({ letters: WORDS - 2 });
      const ends = await Promise.all(hosts.map((host) => host.get("one").completed()));
      for (const { done, dead, pending } of ends)
        expect({ done, dead, pending }).toEqual({ done: 2 * WORDS, dead: 0, pending: 0 });
      expect(seen).toHaveLength(WORDS - 1);
      expect(new Set(seen).size).toBe(WORDS - 1);
      expect(seen).toContain("edited");
      await until(async () => (await held()).streams === 0, "the end of all channels");
    });

    it("goes on with dead letters that are retried while the server is killed, and loses all that it had [Y604]", async () => {
      const { hosts, refusing, seen, pipeline } = await job();
      const run = await (hosts[0] as PipelineHost).start(pipeline, {
        id: "one",
        messages: { to: lines, values: [line] },
      });
      await run.completed();
      refusing.isOn = false;
      await server.wipe();
      expect(await run.retryDead({})).toEqual({ letters: WORDS });
      await server.start();
      const ends = await Promise.all(hosts.map((host) => host.get("one").completed()));
      for (const { done, dead } of ends) expect({ done, dead }).toEqual({ done: 1 + 2 * WORDS, dead: 0 });
      expect(seen.toSorted()).toEqual(line.split(" ").toSorted());
    });

    it("replays its dead letters into another one, each once [Y604]", async () => {
      const { hosts, refusing, seen, pipeline } = await job();
      const host = hosts[0] as PipelineHost;
      const run = await host.start(pipeline, { id: "one", messages: { to: lines, values: [line] } });
      await run.completed();
      refusing.isOn = false;
      const replay = await host.operations.replay("one", { dead: true });
      expect(await host.get(replay.id).completed()).toMatchObject({ dead: 0, pending: 0 });
      expect(seen.toSorted()).toEqual(line.split(" ").toSorted());
    });

    it("moves messages that the server holds to another route, where each is done once [Y605]", async () => {
      const { hosts, refusing, seen, pipeline } = await job();
      Object.assign(refusing, { isOn: false, isHolding: true });
      const run = await (hosts[0] as PipelineHost).start(pipeline, {
        id: "one",
        messages: { to: lines, values: [line] },
      });
      await until(async () => (await run.status()).done === 1, "the words");
      await until(async () => (await held()).messages > 0, "messages of the server");
      const completed = Promise.all(hosts.map((host) => host.get("one").completed()));
      const moved = await run.move({ to: "take", queues: ["words"], by: "ada", reason: "a test" });
      expect(moved).toEqual({ messages: WORDS, more: false });
      for (const { done, dead } of await completed)
        expect({ done, dead }).toEqual({ done: 1 + WORDS, dead: 0 });
      expect(seen.toSorted()).toEqual(line.split(" ").toSorted());
      await until(async () => (await held()).streams === 0, "the end of all channels");
    });
  });
});
