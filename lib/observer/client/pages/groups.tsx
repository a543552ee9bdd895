// Dispatch groups: who is a member and how busy, what waits for a slot, and which dispatches had to go to another member.

import type { JSX } from "preact";
import type { Incident } from "../../../admin/history/operations.js";
import type { ConsumerSummary, GroupSummary } from "../../../admin/system/operations.js";
import { numberText, plural } from "../model/format.js";
import { type Reroute, rerouteFigures } from "../model/reroutes.js";
import {
  Badge,
  Bar,
  type Column,
  Empty,
  figureColumn,
  type Items,
  itemsOf,
  Listed,
  Num,
  Page,
  PidLink,
  Problem,
  Section,
  Table,
  Time,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

const PAGE = "groups";
const CODE = `const pickers = new ConsumerGroup({ name: "pickers" });
const picker = consumer((order) => pack(order), { group: pickers });
// … { id: "picker-1", start: picker } among the children, then:
await system.dispatch(pickers, order);`;

function View(): JSX.Element {
  const { params } = useRoute();
  const list = live<Items<GroupSummary>>("system.groups", { limit: 200 }).value;
  const items = list.value?.items ?? [];
  const shown = items.find(({ pid }) => pid === params.id) ?? items[0];
  return (
    <Page
      title="Dispatch groups"
      about="Work that is handed to one of several consumers, and to another one when that one ends."
    >
      <Listed
        of={list}
        label="Groups"
        columns={columns}
        rows={itemsOf}
        keyOf={({ pid }) => pid}
        linkOf={({ pid }) => link(PAGE, { id: pid })}
        empty={{
          title: "No group has had consumers in this system",
          code: CODE,
          children:
            "When a consumer exits before it has settled a dispatch, the dispatch goes to another member. Each such re-route is shown here.",
        }}
      />
      {shown === undefined ? null : <Group group={shown} key={shown.pid} />}
    </Page>
  );
}

const columns: readonly Column<GroupSummary>[] = [
  { title: "Group", value: ({ name }) => name },
  {
    title: "Consumers",
    value: ({ consumers }) => consumers,
    cell: ({ consumers }) => (consumers === 0 ? <Badge tone="warn">none</Badge> : <Num value={consumers} />),
    align: "end",
  },
  figureColumn("In flight", ({ inFlight }) => inFlight, { help: "Given to a consumer, and not settled" }),
  {
    title: "Waiting",
    value: ({ waiting }) => waiting,
    cell: ({ waiting }) => (waiting > 0 ? <Badge tone="warn">{waiting}</Badge> : "0"),
    align: "end",
    help: "Dispatches that wait for a consumer with a slot",
  },
];

function Group({ group: { pid, name } }: { readonly group: GroupSummary }): JSX.Element {
  const history = live<readonly Incident[]>("system.recent", { kind: "reroute", limit: 500 }).value;
  const { reroutes, medianMs, longestMs, unplaced } = rerouteFigures(history.value ?? [], name);
  return (
    <>
      <Section title={`Members of ${name}`} actions={<PidLink pid={pid} label="its process" />}>
        <Listed
          of={live<Items<ConsumerSummary>>("system.consumers", { id: pid, limit: 500 }, 2).value}
          label={`Members of ${name}`}
          param="members"
          columns={memberColumns}
          rows={itemsOf}
          keyOf={({ place }) => place}
          empty={{
            title: "It has no consumers now",
            children: "Dispatches wait until one joins, or until their deadline.",
          }}
        />
      </Section>
      <Section title="Re-routes">
        <Problem error={history.error} />
        {reroutes.length === 0 ? (
          <Empty title="No dispatch has changed its consumer">
            Re-routes are recorded while somebody looks, or all the time with history() among the children.
          </Empty>
        ) : (
          <>
            <p>
              {plural(reroutes.length, "re-route")}
              {medianMs === undefined
                ? ""
                : `, half of them within ${numberText(medianMs, "ms")}, the longest ${numberText(longestMs as number, "ms")}`}
              {unplaced === 0
                ? ""
                : `; ${plural(unplaced, "dispatch", "dispatches")} found no other consumer`}
              .
            </p>
            <Table
              label="Re-routes"
              param="routes"
              columns={rerouteColumns}
              rows={reroutes}
              keyOf={({ number }) => number}
            />
          </>
        )}
      </Section>
    </>
  );
}

/** A limit that is none comes as the text `Infinity`. */
const limitOf = (limit: number): string => (Number.isFinite(Number(limit)) ? String(limit) : "∞");

const memberColumns: readonly Column<ConsumerSummary>[] = [
  { title: "Consumer", value: ({ id }) => id },
  { title: "Process", value: ({ pid }) => pid, cell: ({ pid }) => <PidLink pid={pid} /> },
  {
    title: "Takes more",
    value: ({ pressure }) => pressure,
    cell: ({ pressure }) => (
      <Badge tone={pressure === "accept" ? "good" : pressure === "defer" ? "warn" : "bad"}>{pressure}</Badge>
    ),
    help: "accept: it has a free slot; defer: all are taken; reject: its mailbox is full, too",
  },
  {
    title: "Slots taken",
    value: ({ inFlight }) => inFlight,
    cell: ({ inFlight, maxInFlight }) => (
      <>
        <Bar
          share={inFlight / Number(maxInFlight)}
          tone={inFlight >= Number(maxInFlight) ? "warn" : "info"}
          label={`${inFlight} of ${limitOf(maxInFlight)} slots`}
        />{" "}
        <Num value={inFlight} />/{limitOf(maxInFlight)}
      </>
    ),
    align: "end",
  },
  {
    title: "Mailbox",
    value: ({ bufferDepth }) => bufferDepth,
    cell: ({ bufferDepth, maxBuffer }) => (
      <>
        <Num value={bufferDepth} />/{limitOf(maxBuffer)}
      </>
    ),
    align: "end",
  },
  figureColumn("Delivered", ({ delivered }) => delivered),
  { title: "Weight", value: ({ weight }) => weight, align: "end", isWide: true },
];

const rerouteColumns: readonly Column<Reroute>[] = [
  { title: "When", value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  {
    title: "Envelope",
    value: ({ reroute }) => reroute.envelope,
    cell: ({ reroute }) => <a href={link("message", { find: reroute.envelope })}>{reroute.envelope}</a>,
  },
  { title: "From", value: ({ reroute }) => reroute.from },
  { title: "To", value: ({ reroute }) => reroute.to, cell: ({ reroute }) => reroute.to ?? "none" },
  { title: "Attempt", value: ({ reroute }) => reroute.attempt, align: "end" },
  figureColumn("Took", ({ reroute }) => reroute.tookMs, { unit: "ms" }),
  { title: "Because", value: ({ reason, text }) => reason ?? text, isWide: true },
];

export const page: PageSpec = {
  name: PAGE,
  title: "Dispatch groups",
  group: "Work",
  needs: "system",
  letter: "d",
  View,
};
