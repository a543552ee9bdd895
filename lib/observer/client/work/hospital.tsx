// Why a flow stands aside, or did: its error, the ends of programs that are evidence against it, who decided what, and when it goes on.

import type { JSX } from "preact";
import type { FlowAside, FlowVisit } from "../../../flow/operations/aside.js";
import { plural } from "../model/format.js";
import { Badge, type Column, Section, Table, Time } from "../parts/index.js";
import { ScrollText } from "./json.js";

export function Hospital({ aside }: { readonly aside: FlowAside }): JSX.Element {
  const { isIn, until, visits, discharges, symptom, crashes } = aside;
  return (
    <Section title={isIn ? "In the hospital" : "Medical record"}>
      {symptom === undefined ? null : (
        <p class="problem">
          <strong>{symptom.name}</strong>: {symptom.message}{" "}
          {symptom.code === undefined ? null : <code>{symptom.code}</code>}
        </p>
      )}
      <dl class="facts">
        {symptom === undefined ? null : <dt>Kind</dt>}
        {symptom === undefined ? null : <dd>{symptom.kind}</dd>}
        <dt>Goes on</dt>
        <dd>
          {isIn ? (
            until === undefined ? (
              "when people discharge it, or its code is another one"
            ) : (
              <Time at={until} />
            )
          ) : (
            "it has left"
          )}
        </dd>
        <dt>Discharged</dt>
        <dd>{plural(discharges, "time")} at this place</dd>
        {crashes === 0 ? null : <dt>Evidence</dt>}
        {crashes === 0 ? null : (
          <dd>Its code has ended the program {plural(crashes, "time")} without progress since.</dd>
        )}
        {symptom?.evidence === undefined ? null : <dt>Last end</dt>}
        {symptom?.evidence === undefined ? null : (
          <dd>
            {symptom.evidence.kind}, <Time at={symptom.evidence.at} />, in life {symptom.evidence.life} of the
            host
          </dd>
        )}
      </dl>
      {symptom?.stack === undefined ? null : <ScrollText label="Stack" text={symptom.stack} />}
      {visits.length === 0 ? null : (
        <Table
          label="Visits"
          param="visits"
          columns={columns}
          rows={visits}
          keyOf={(visit) => visits.indexOf(visit)}
        />
      )}
    </Section>
  );
}

const columns: readonly Column<FlowVisit>[] = [
  { title: "When", value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { title: "At", value: ({ where }) => where },
  { title: "Error", value: ({ error }) => error },
  {
    title: "Evidence",
    value: ({ death }) => (death === undefined ? undefined : `${death.kind}, life ${death.life}`),
    help: "The end of a program for which it came",
  },
  {
    title: "Decision",
    value: ({ decision }) => decision,
    cell: ({ decision }) => <Badge tone={decision === "discharge" ? "info" : "bad"}>{decision}</Badge>,
  },
  {
    title: "By",
    value: ({ by }) => (by.length === 0 ? "nobody was competent" : by.join(", ")),
    isWide: true,
  },
];
