// Flows: how many are in each state, and the list with its filters.

import type { FlowPage, FlowSummary } from "../../../flow/operations/operations.js";
import { FLOW_STATUSES } from "../../../flow/operations/operations.js";
import { Badge, type Column, timeColumn } from "../parts/index.js";
import type { PageSpec } from "../shell/page-spec.js";
import { toneOf } from "../work/tones.js";
import { WorkList } from "../work/work-list.js";

const columns: readonly Column<FlowSummary>[] = [
  { title: "Id", value: ({ id }) => id },
  { title: "Flow", value: ({ name, version }) => (version === 1 ? name : `${name} v${version}`) },
  {
    title: "State",
    value: ({ status }) => status,
    cell: ({ status, wish }) => (
      <>
        <Badge tone={toneOf(status)}>{status}</Badge>
        {wish === undefined ? null : <small> {wish} requested</small>}
      </>
    ),
  },
  timeColumn("Started", ({ createdAt }) => createdAt),
  timeColumn("Changed", ({ updatedAt }) => updatedAt),
  timeColumn("Due", ({ dueAt }) => dueAt, { isWide: true }),
  { title: "Queue", value: ({ queue }) => queue, isWide: true },
  {
    title: "Problem",
    value: ({ problem }) => problem,
    cell: ({ problem }) => <span class="line">{problem ?? ""}</span>,
    isWide: true,
  },
];

export const page: PageSpec = {
  name: "flows",
  title: "Flows",
  group: "Work",
  needs: "flows",
  letter: "f",
  View: () => (
    <WorkList<FlowPage, FlowSummary>
      title="Flows"
      about="Durable flows: each continues at its last recorded step after a crash."
      subject="flows"
      pages={{ list: "flows", one: "flow" }}
      nouns={{ one: "flow", of: "flow", many: "Flows" }}
      ops={{ list: "list", counts: "counts", evidence: "evidence" }}
      nameArg="name"
      statuses={FLOW_STATUSES}
      columns={columns}
      rows={({ flows }) => flows}
      empty={{
        title: "No flow was started yet",
        code: `const flows = await system.start(flowHost({ store, flows: [checkout] }));
await flows.start(checkout, order, { id: "order-17" });`,
        children:
          "A flow is a function whose steps are recorded, so that it goes on after a crash where it was.",
      }}
    />
  ),
};
