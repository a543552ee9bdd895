// The processes of the system.

import type { JSX } from "preact";
import type { ProcessSummary } from "../../../admin/system/operations.js";
import { Badge, type Column, Loading, Num, Page, Problem, Table } from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link } from "../shell/router.js";

const COLUMNS: readonly Column<ProcessSummary>[] = [
  { title: "Process", value: ({ label, pid }) => label ?? pid },
  { title: "Pid", value: ({ pid }) => pid, isWide: true },
  { title: "State", value: ({ status }) => status, cell: ({ status }) => <Badge>{status}</Badge> },
  {
    title: "Mailbox",
    value: ({ mailboxDepth }) => mailboxDepth,
    cell: (row) => <Num value={row.mailboxDepth} />,
    align: "end",
  },
  {
    title: "Handled",
    value: ({ handled }) => handled,
    cell: (row) => <Num value={row.handled} />,
    align: "end",
  },
];

function View(): JSX.Element {
  const { value, error } = live<{ readonly items: readonly ProcessSummary[] }>("system.processes", {
    limit: 500,
  }).value;
  return (
    <Page title="Processes">
      <Problem error={error} />
      {value === undefined ? (
        <Loading />
      ) : (
        <Table
          label="Processes"
          columns={COLUMNS}
          rows={value.items}
          keyOf={({ pid }) => pid}
          linkOf={({ pid }) => link("process", { id: pid })}
        />
      )}
    </Page>
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
