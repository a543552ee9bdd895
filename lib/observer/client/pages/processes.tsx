// The first processes by some figure: the deepest mailboxes, the busiest, the oldest. Never all of them: a walk in short slices finds the
// first, and what is looked for.

import type { JSX } from "preact";
import type { TopOrder, TopProcess, TopProcesses } from "../../../admin/system/processes/operations.js";
import { numberText } from "../model/format.js";
import {
  Badge,
  Bar,
  Choice,
  type Column,
  Empty,
  Loading,
  Num,
  Page,
  Problem,
  Search,
  statusTone,
  Table,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

const ORDERS: readonly (readonly [order: TopOrder, text: string])[] = [
  ["mailbox", "Deepest mailbox"],
  ["growth", "Fastest growing"],
  ["handled", "Most messages a second"],
  ["busy", "Busiest"],
  ["age", "Oldest"],
];
/** How many of them are shown: a table of these is quick to draw and to send. */
const MOST = 200;

const COLUMNS: readonly Column<TopProcess>[] = [
  { title: "Process", value: ({ name, label, pid }) => name ?? label ?? pid },
  { title: "Pid", value: ({ pid }) => pid, cell: ({ pid }) => <span class="pid">{pid}</span>, isWide: true },
  { title: "Kind", value: ({ kind }) => kind, isWide: true },
  {
    title: "State",
    value: ({ status }) => status,
    cell: ({ status }) => <Badge tone={statusTone(status)}>{status}</Badge>,
    isWide: true,
  },
  {
    title: "Mailbox",
    value: ({ mailboxDepth }) => mailboxDepth,
    cell: ({ mailboxDepth }) => <Num value={mailboxDepth} />,
    align: "end",
    help: "Messages and signals that wait",
  },
  {
    title: "Growth",
    value: ({ growthPerS }) => growthPerS,
    cell: ({ growthPerS }) => <Num value={growthPerS} unit="rate" />,
    align: "end",
    isWide: true,
    help: "By how many messages the mailbox grows a second",
  },
  {
    title: "Handled",
    value: ({ handledPerS }) => handledPerS,
    cell: ({ handledPerS }) => <Num value={handledPerS} unit="rate" />,
    align: "end",
    help: "Messages and signals handled a second",
  },
  {
    title: "Busy",
    value: ({ busy }) => busy,
    cell: ({ busy }) => <Busy share={busy} />,
    align: "end",
    isWide: true,
    help: "Share of the time of the thread, by samples",
  },
  {
    title: "Age",
    value: ({ ageMs }) => ageMs,
    cell: ({ ageMs }) => <Num value={ageMs} unit="ms" />,
    align: "end",
    isWide: true,
  },
];

function Busy({ share }: { readonly share: number | undefined }): JSX.Element {
  if (share === undefined) return <Num value={undefined} />;
  const text = numberText(share, "percent");
  return (
    <>
      <Bar share={share} tone={share > 0.5 ? "bad" : share > 0.2 ? "warn" : "info"} label={text} />{" "}
      <Num value={share} unit="percent" />
    </>
  );
}

function View(): JSX.Element {
  const { params } = useRoute();
  const find = params.find;
  const { value, error } = live<TopProcesses>("system.top", {
    by: params.by ?? "mailbox",
    limit: MOST,
    find,
  }).value;
  return (
    <Page
      title="Processes"
      about={value === undefined ? undefined : <About top={value} />}
      actions={
        <>
          <Choice label="Order" param="by" options={ORDERS} />
          <Search label="Label, name, pid or kind" />
        </>
      }
    >
      <Problem error={error} />
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <Table
          label="Processes"
          columns={COLUMNS}
          rows={value.processes}
          total={value.matched}
          keyOf={({ pid }) => pid}
          linkOf={({ pid }) => link("process", { id: pid })}
          empty={<None find={find} />}
        />
      )}
    </Page>
  );
}

function About({ top: { total, matched, walkMs } }: { readonly top: TopProcesses }): JSX.Element {
  return (
    <>
      <Num value={total} /> processes{matched === total ? "" : ", "}
      {matched === total ? null : <Num value={matched} />}
      {matched === total ? "" : " of them match"}. The last walk over all of them took{" "}
      <Num value={walkMs} unit="ms" />.
    </>
  );
}

function None({ find }: { readonly find: string | undefined }): JSX.Element {
  if (find === undefined)
    return (
      <Empty
        title="No process runs"
        code={`system.spawn({ handle: (ctx, message) => { /* … */ } }, { label: "clerk" });`}
      >
        Everything that runs is a process: servers, supervisors, dispatches, topologies.
      </Empty>
    );
  return (
    <Empty
      title={`No process has “${find}” in its label, name, pid or kind`}
      code={`system.spawn(body, { label: "order/17" });`}
    >
      A process is found by the label that it is given when it is started.
    </Empty>
  );
}

export const page: PageSpec = {
  name: "processes",
  title: "Processes",
  group: "System",
  needs: "system",
  letter: "p",
  View,
};
