// Pipelines: the executions, with what they have done and what is dead.

import {
  EXECUTION_STATUSES,
  type ExecutionPage,
  type ExecutionSummary,
} from "../../../pipeline/operations/operations.js";
import { Badge, type Column, figureColumn, timeColumn } from "../parts/index.js";
import type { PageSpec } from "../shell/page-spec.js";
import { toneOf } from "../work/tones.js";
import { WorkList } from "../work/work-list.js";

const columns: readonly Column<ExecutionSummary>[] = [
  { title: "Id", value: ({ id }) => id },
  {
    title: "Pipeline",
    value: ({ pipeline, version = 1 }) => (version === 1 ? pipeline : `${pipeline} v${version}`),
  },
  {
    title: "State",
    value: ({ status }) => status,
    cell: ({ status, stranded }) => (
      <>
        <Badge tone={toneOf(status)}>{status}</Badge>{" "}
        {stranded === undefined ? null : <Badge tone="bad">stranded</Badge>}
      </>
    ),
  },
  figureColumn("Pending", ({ pending }) => pending, { help: "Live messages and open sources" }),
  figureColumn("Done", ({ done }) => done),
  {
    title: "Dead",
    value: ({ dead }) => dead,
    cell: ({ dead }) => (dead > 0 ? <Badge tone="bad">{dead}</Badge> : "0"),
    align: "end",
  },
  timeColumn("Started", ({ created }) => created),
  timeColumn("Ended", ({ ended }) => ended, { isWide: true }),
  { title: "Replays", value: ({ replays }) => replays, isWide: true },
];

export const page: PageSpec = {
  name: "pipelines",
  title: "Pipelines",
  group: "Work",
  needs: "pipelines",
  letter: "l",
  View: () => (
    <WorkList<ExecutionPage, ExecutionSummary>
      title="Pipelines"
      about="Executions of durable pipelines: messages on their way from sources through routes."
      subject="pipelines"
      pages={{ list: "pipelines", one: "pipeline" }}
      nouns={{ one: "execution", of: "pipeline", many: "Executions" }}
      ops={{ list: "pipelines.list", counts: "pipelines.counts", evidence: "pipelines.evidence" }}
      nameArg="pipeline"
      statuses={EXECUTION_STATUSES}
      columns={columns}
      rows={({ executions }) => executions}
      empty={{
        title: "No pipeline was started yet",
        code: `const host = await system.start(pipelineHost({ store, pipelines: [orders] }));
await host.start(orders, { id: "orders-7" });`,
        children:
          "A pipeline takes messages from sources through routes, remembers what became of each of them, and loses none in a crash.",
      }}
    />
  ),
};
