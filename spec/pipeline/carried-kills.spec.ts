// Three processes share one execution, with PostgreSQL as its ledger and JetStream as its queues. One of them is killed, and so is the
// broker, which then loses all that it had.

import { existsSync, readFileSync } from "node:fs";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { System } from "signalbox";
import { openStore, postgres } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executions, lineage, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { newFolder } from "../store/sqlite/support.js";
import { type ChildProgram, childProgram } from "../support/child-program.js";
import { noNats, startNats } from "../support/nats.js";
import { describePostgres, startPostgres } from "../support/postgres.js";
import { proving } from "../support/proof.js";
import type { CarriedPlan } from "./programs/carried-host.js";
import { until } from "./queues/waits.js";

const INPUTS = 400;
const OUTPUTS = 2 * INPUTS;

describePostgres("a pipeline of three processes over JetStream", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("programs/carried-host.ts", import.meta.url));
  });
  afterAll(() => program.remove());

  describe.skipIf(noNats !== undefined)(
    `with a broker${noNats === undefined ? "" : ` [skipped: ${noNats}]`}`,
    () => {
      it.runIf(proving)(
        "completes once, with exact counts, when a process is killed and the broker twice (bug 7) (bug 8) (bug 9)",
        async () => {
          using folder = newFolder();
          await using server = await startPostgres();
          await using broker = await startNats();
          const files = ["a", "b", "c"].map((name) => folder.file(name));
          const hosts = files.map((outputs) => {
            const plan: CarriedPlan = {
              ...{ connection: server.connection, broker: broker.address },
              ...{ inputs: INPUTS, outputs },
            };
            return program.start(JSON.stringify(plan));
          });
          const lines = (file: string): string[] =>
            existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
          const written = (): number => new Set(files.flatMap(lines)).size;
          await until(
            () => written() >= 100 && files.every((file) => lines(file).length > 0),
            "outputs of all",
          );
          hosts[1]?.signal("SIGKILL");
          await broker.kill();
          await broker.start();
          await until(() => written() >= 400, "outputs after the kill");
          await broker.wipe();
          await broker.start();
          const [first, killed, third] = await Promise.all(hosts.map(({ ended }) => ended));
          expect(killed?.signal).toBe("SIGKILL");
          const done = INPUTS + OUTPUTS;
          for (const host of [first, third]) expect(host?.stdout).toBe(`up\ncompleted ${INPUTS} ${done} 0\n`);
          // One output for each message, whoever wrote it; the message that the killed process had in work may be there twice.
          const all = files.flatMap(lines);
          const values = [...new Set(all)].map((line) => Number(line.split(" ")[1])).sort((a, b) => a - b);
          expect(values).toEqual([...Array(OUTPUTS).keys()]);
          const system = new System({ report: false });
          const store = await openStore(system, postgres(server.connection, { schema: "pipelines" }), [
            PIPELINE_SCHEMA,
          ]);
          const [row, ...others] = await store.scan(executions, {});
          expect(others).toEqual([]);
          expect(row).toMatchObject({ status: "completed", pending: 0, inputs: INPUTS, done, dead: 0 });
          expect(await store.count(messages, {})).toBe(0);
          expect(await store.count(lineage, {})).toBe(done);
          await store.close();
          // Nobody needs its channels any more.
          const client = await connect({ servers: broker.address });
          const manager = await jetstreamManager(client);
          expect(await manager.streams.names().next()).toEqual([]);
          await client.close();
          await system.stop();
        },
      );
    },
  );
});
