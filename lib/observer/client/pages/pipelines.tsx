// Pipelines: the executions, with what they have done and what is dead.

import type { JSX } from "preact";
import {
  EXECUTION_STATUSES,
  type ExecutionCounts,
  type ExecutionPage,
  type ExecutionSummary,
} from "../../../pipeline/operations/operations.js";
import {
  Badge,
  Choice,
  type Column,
  Empty,
  Loading,
  Num,
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

const CODE = `const host = await system.start(pipelineHost({ store, pipelines: [orders] }));
await host.start(orders, { id: "orders-7" });`;

function View(): JSX.Element {
  const { params } = useRoute();
  const { status, name, find, cursor } = params;
  const args = {
    limit: 100,
    ...(status !== undefined && { status }),
    ...(name !== undefined && { pipeline: name }),
    ...(find !== undefined && { idPrefix: find }),
    ...(cursor !== undefined && { cursor }),
  };
  const { value, error } = live<ExecutionPage>("pipelines.list", args).value;
  const counts = live<ExecutionCounts>("pipelines.counts").value;
  const isFiltered = status !== undefined || name !== undefined || find !== undefined || cursor !== undefined;
  return (
    <Page
      title="Pipelines"
      about="Executions of durable pipelines: messages on their way from sources through routes."
      actions={
        <>
          <Search label="Id begins with" />
          <Search label="Name of the pipeline" param="name" />
          <Choice
            label="State"
            param="status"
            options={[["", "all states"], ...EXECUTION_STATUSES.map((one) => [one, one] as const)]}
          />
        </>
      }
    >
      <Problem error={counts.error} />
      {counts.value === undefined ? null : <Counts page="pipelines" {...counts.value} />}
      <Problem error={error} />
      <Evidence op="pipelines.evidence" />
      {value === undefined && error === undefined ? <Loading /> : null}
      {value === undefined ? null : (
        <>
          <Table
            label="Executions"
            columns={columns}
            rows={value.executions}
            keyOf={({ id }) => id}
            linkOf={({ id }) => link("pipeline", { id })}
            empty={
              isFiltered ? (
                <Empty title="No execution fits">Loosen a filter, or look for the beginning of an id.</Empty>
              ) : (
                <Empty title="No pipeline was started yet" code={CODE}>
                  A pipeline takes messages from sources through routes, remembers what became of each of
                  them, and loses none in a crash.
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
  {
    title: "Pending",
    value: ({ pending }) => pending,
    cell: ({ pending }) => <Num value={pending} />,
    align: "end",
    help: "Live messages and open sources",
  },
  { title: "Done", value: ({ done }) => done, cell: ({ done }) => <Num value={done} />, align: "end" },
  {
    title: "Dead",
    value: ({ dead }) => dead,
    cell: ({ dead }) => (dead > 0 ? <Badge tone="bad">{dead}</Badge> : "0"),
    align: "end",
  },
  {
    title: "Started",
    value: ({ created }) => created,
    cell: ({ created }) => <Time at={created} />,
    align: "end",
  },
  {
    title: "Ended",
    value: ({ ended }) => ended,
    cell: ({ ended }) => (ended === undefined || ended === null ? "–" : <Time at={ended} />),
    align: "end",
    isWide: true,
  },
  { title: "Replays", value: ({ replays }) => replays, isWide: true },
];

export const page: PageSpec = {
  name: "pipelines",
  title: "Pipelines",
  group: "Work",
  needs: "pipelines",
  letter: "l",
  View,
};
