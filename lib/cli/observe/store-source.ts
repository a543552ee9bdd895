// What an observer in a command asks of a store that no program has open: its flows, executions and queues, as far as the store has their tables.

import { toJson } from "../../admin/json-view.js";
import { type AdminService, operationsIn } from "../../admin/post.js";
import { chosenOf } from "../../admin/protocol.js";
import { FLOW_SCHEMA } from "../../flow/journal/tables.js";
import { openOperations as openFlows } from "../../flow/operations/open-operations.js";
import { flowService } from "../../flow/operations/operations-table.js";
import type { ObserverSource } from "../../observer/feed/source.js";
import { PIPELINE_SCHEMA } from "../../pipeline/ledger/tables.js";
import { openOperations as openPipelines } from "../../pipeline/open-operations.js";
import { pipelineService } from "../../pipeline/operations/operations-table.js";
import { openOperations as openQueues } from "../../pipeline/queues/open-operations.js";
import { queueService } from "../../pipeline/queues/operations-table.js";
import { QUEUE_SCHEMA } from "../../pipeline/queues/tables.js";
import type { StoreContext, StoreSource } from "../../store/index.js";
import { PREFIX } from "../../store/sqlite/table-sql.js";

/** A source that has to be closed. */
export interface OpenSource extends ObserverSource {
  close(): Promise<void>;
}

/** What a store may have, by its tables. */
const SUBJECTS = { flows: FLOW_SCHEMA, pipelines: PIPELINE_SCHEMA, queues: QUEUE_SCHEMA } as const;

/** Opens the operations on a store. @throws Error when it cannot be opened, or has nothing to observe */
export async function openStoreAlone(store: StoreSource, context: StoreContext): Promise<OpenSource> {
  const tables = await tablesOf(store, context);
  const has = (subject: keyof typeof SUBJECTS): boolean =>
    tables === undefined || SUBJECTS[subject].tables.some(({ name }) => tables.has(PREFIX + name));
  const services: AdminService[] = [];
  const closes: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closes.splice(0).reverse()) await one();
  };
  try {
    if (has("flows")) {
      const flows = await openFlows(store, context);
      closes.push(() => flows.close());
      services.push(flowService(flows, () => true));
    }
    if (has("pipelines")) {
      const pipelines = await openPipelines(store, context);
      closes.push(() => pipelines.close());
      // No host is here: the operations do what a store alone can do.
      services.push(pipelineService(pipelines, () => true));
    }
    if (has("queues")) {
      const queues = await openQueues(store, context, {});
      closes.push(() => queues.close());
      services.push(queueService(queues.operations, async () => true));
    }
  } catch (error) {
    await close();
    throw error;
  }
  if (services.length === 0)
    throw new Error(`${store.label} has no flows, pipelines or queues: there is nothing to observe`);
  const operations = operationsIn(() => services);
  return {
    name: store.label,
    systems: [],
    names: operations.names,
    leaveOf: (op) => operations.find(op)[0]?.leave,
    look: async (op, args, signal) => {
      const { run } = await chosenOf(operations, op, args);
      return toJson(await run(args, signal));
    },
    close,
  };
}

/** The tables of a file: to open what it does not have would create it. Undefined for a database, which the hosts of others may share. */
async function tablesOf(store: StoreSource, context: StoreContext): Promise<ReadonlySet<string> | undefined> {
  if (store.file === undefined) return undefined;
  const opened = await store.open([], context);
  try {
    const sql = "select name from sqlite_master where type = 'table'";
    const { rows } = await opened.transaction((tx) => tx.execute<{ readonly name: string }>(sql));
    return new Set(rows.map(({ name }) => name));
  } finally {
    await opened.close();
  }
}
