// The demonstration: the program is killed in the middle of a file, and goes on. Then a better schema accepts what was set aside.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import Database from "libsql";
import { System } from "signalbox";
import { jsonLines, pipelineHost, type SqlTarget, sqliteTarget } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { z } from "zod";
import { ingestion, type Sale, saleSchema, TABLE } from "./ingestion.js";

/** 298 sales, one whose cents are text, one without a shop, and one that is not in UTF-8. */
function salesFile(): Buffer {
  const lines = Array.from({ length: 300 }, (_, n) => {
    const sale = { id: `sale-${n}`, shop: n === 150 ? "" : "north", cents: n };
    return JSON.stringify(n === 50 ? { ...sale, cents: String(n) } : sale);
  });
  return Buffer.from(`${lines.join("\n")}\n{"id":"sale-300","shop":"Café","cents":300}\n`, "latin1");
}

/** Some tills write cents as text: the second version of the schema takes both. */
const betterSchema = z.object({
  id: z.string().min(1),
  shop: z.string().min(1),
  cents: z.coerce.number().int(),
});

/** One run of the program: it goes on where the last one ended. */
async function program(folder: string, schema: z.ZodType<Sale>, written = (): void => undefined) {
  const sales = new Database(join(folder, "sales.db"));
  sales.exec(TABLE);
  const target = sqliteTarget(sales);
  const database: SqlTarget = {
    ...target,
    async run(sql, values) {
      await target.run(sql, values);
      written();
    },
  };
  const source = jsonLines("file", { path: join(folder, "sales.jsonl"), damaged: "pass" });
  const pipeline = ingestion({ source, database, schema });
  const system = new System({ name: "ingestion" });
  const store = sqlite(join(folder, "jobs.db"));
  const host = await system.start(pipelineHost({ store, pipelines: [pipeline] }));
  const run = await host.start(pipeline, { id: "monday" });
  const rows = (): number => sales.prepare("select id from sales").all().length;
  return { run, rows, stop: () => system.stop() };
}

/** Dies when two batches are in the database, and the pipeline does not know of the second one yet. */
async function doomed(folder: string): Promise<void> {
  let writes = 0;
  const { run } = await program(folder, saleSchema, () => {
    if (++writes === 2) process.kill(process.pid, "SIGKILL");
  });
  await run.completed();
}

async function demonstrate(folder: string): Promise<void> {
  writeFileSync(join(folder, "sales.jsonl"), salesFile());
  const child = fork(fileURLToPath(import.meta.url), ["--doomed", folder]);
  const [, signal] = await once(child, "exit");
  console.log(`the first program was ended by ${signal}`);

  const second = await program(folder, saleSchema);
  const { inputs, dead } = await second.run.completed();
  console.log(`the second one completed: ${inputs} records, ${second.rows()} in the database, ${dead} dead`);
  for await (const { id, errors } of second.run.deadLetters())
    console.log(`  ${id}: ${errors.at(-1)?.split("\n")[0]?.replace(folder, "")}`);
  await second.stop();

  const third = await program(folder, betterSchema);
  const again = await third.run.replay({ dead: true, id: "monday, mended" });
  const replayed = await again.completed();
  console.log(`replayed ${replayed.inputs}: ${third.rows()} in the database, ${replayed.dead} still dead`);
  await third.stop();
}

if (process.argv[2] === "--doomed") await doomed(process.argv[3] ?? "");
else {
  const folder = mkdtempSync(join(tmpdir(), "ingestion-"));
  await demonstrate(folder);
  rmSync(folder, { recursive: true });
}
