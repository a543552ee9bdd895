// Whom the evidence of hosts accuses or suspects of ending programs. Nothing is shown while it is calm.

import type { JSX } from "preact";
import type { EvidenceView } from "../../../host/evidence/evidence-view.js";
import { Badge, type Column, Problem, Section, Table, Time } from "../parts/index.js";
import { live } from "../shell/feed.js";

/** One thing that evidence says. */
interface Said {
  readonly host: string;
  readonly subject: string;
  readonly what: "accused" | "suspected" | "searched";
  readonly why: string;
  readonly at?: number;
}

/** @param op - the operation that gives the evidence, such as `queues.evidence` */
export function Evidence({ op }: { readonly op: string }): JSX.Element | null {
  const { value, error } = live<readonly EvidenceView[]>(op).value;
  const rows = (value ?? []).flatMap(saidBy);
  if (rows.length === 0) return <Problem error={error} />;
  return (
    <Section title="Evidence: what ends programs">
      <Table
        label="Evidence: what ends programs"
        param="evidence"
        columns={columns}
        rows={rows}
        keyOf={({ host, what, subject }) => `${host} ${what} ${subject}`}
      />
    </Section>
  );
}

function saidBy({ host, marks, stood, search, others }: EvidenceView): Said[] {
  return [
    ...marks.map(({ subject, kind, at, ends = 1 }): Said => {
      const why = ends === 1 ? kind : `${kind}, ${ends} times`;
      return { host, subject, what: "accused", why, at };
    }),
    ...(stood === undefined ? [] : [suspect(host, stood.subject, stood.times)]),
    // The row of the host itself is among those of all hosts.
    ...others
      .filter(({ subject }) => subject !== "" && subject !== stood?.subject)
      .map((row): Said => ({ ...suspect(row.host, row.subject, row.times), at: row.at })),
    ...(search?.tested ?? []).map(
      (subject): Said => ({ host, subject, what: "searched", why: "runs, while others wait for the search" }),
    ),
  ];
}

const suspect = (host: string, subject: string, times: number): Said => ({
  host,
  subject,
  what: "suspected",
  why: `ran at the last ${times === 1 ? "end" : `${times} ends`} without a word; it is accused from the third on`,
});

const columns: readonly Column<Said>[] = [
  { title: "Subject", value: ({ subject }) => subject },
  {
    title: "Is",
    value: ({ what }) => what,
    cell: ({ what }) => <Badge tone={what === "accused" ? "bad" : "warn"}>{what}</Badge>,
  },
  { title: "Why", value: ({ why }) => why },
  {
    title: "When",
    value: ({ at }) => at,
    cell: ({ at }) => (at === undefined ? "–" : <Time at={at} />),
    align: "end",
  },
  { title: "Host", value: ({ host }) => host, isWide: true },
];
