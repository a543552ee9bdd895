// Flows: how many are in each state, and the list with its filters.

import type { JSX } from "preact";
import type { FlowCounts, FlowPage, FlowSummary } from "../../../flow/operations/operations.js";
import { FLOW_STATUSES } from "../../../flow/operations/operations.js";
import {
  Badge,
  Choice,
  type Column,
  Empty,
  Loading,
  Page,
  Problem,
  Search,
  Table,
  Time,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";
import { Counts } from "../work/counts.js";
import { Evidence } from "../work/evidence.js";
import { Pager } from "../work/pager.js";
import { toneOf } from "../work/tones.js";

const PAGE = "flows";

const CODE = `const flows = await system.start(flowHost({ store, flows: [checkout] }));
await flows.start(checkout, order, { id: "order-17" });`;

function View(): JSX.Element {
  const { params } = useRoute();
  const { status, name, find, cursor } = params;
  const args = {
    limit: 100,
    ...(status !== undefined && { status }),
    ...(name !== undefined && { name }),
    ...(find !== undefined && { idPrefix: find }),
    ...(cursor !== undefined && { cursor }),
  };
  const { value, error } = live<FlowPage>("list", args).value;
  const counts = live<FlowCounts>("counts").value;
  const isFiltered = status !== undefined || name !== undefined || find !== undefined;
  return (
    <Page
      title="Flows"
      about="Durable flows: each continues at its last recorded step after a crash."
      actions={
        <>
          <Search label="Id begins with" />
          <Search label="Name of the flow" param="name" />
          <Choice
            label="State"
            param="status"
            options={[["", "all states"], ...FLOW_STATUSES.map((one) => [one, one] as const)]}
          />
        </>
      }
    >
      <Problem error={counts.error} />
      {counts.value === undefined ? null : <Counts page={PAGE} {...counts.value} />}
      <Problem error={error} />
      <Evidence op="evidence" />
      {value === undefined && error === undefined ? <Loading /> : null}
      {value === undefined ? null : (
        <>
          <Table
            label="Flows"
            columns={columns}
            rows={value.flows}
            keyOf={({ id }) => id}
            linkOf={({ id }) => link("flow", { id })}
            empty={
              isFiltered || cursor !== undefined ? (
                <Empty title="No flow fits">Loosen a filter, or look for the beginning of an id.</Empty>
              ) : (
                <Empty title="No flow was started yet" code={CODE}>
                  A flow is a function whose steps are recorded, so that it goes on after a crash where it
                  was.
                </Empty>
              )
            }
          />
          <Pager next={value.next} />
        </>
      )}
    </Page>
  );
}

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
  {
    title: "Started",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Time at={createdAt} />,
    align: "end",
  },
  {
    title: "Changed",
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
    align: "end",
  },
  {
    title: "Due",
    value: ({ dueAt }) => dueAt,
    cell: ({ dueAt }) => (dueAt === undefined ? "–" : <Time at={dueAt} />),
    align: "end",
    isWide: true,
  },
  { title: "Queue", value: ({ queue }) => queue, isWide: true },
  {
    title: "Problem",
    value: ({ problem }) => problem,
    cell: ({ problem }) => <span class="line">{problem ?? ""}</span>,
    isWide: true,
  },
];

export const page: PageSpec = {
  name: PAGE,
  title: "Flows",
  group: "Work",
  needs: "flows",
  letter: "f",
  View,
};
