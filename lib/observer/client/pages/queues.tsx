// Queues: how deep each is, and the waiting messages, dead letters and heartbeats of one.

import type { JSX } from "preact";
import type { DeadLetterRecord } from "../../../pipeline/messages/dead-records.js";
import type { DeadLetter } from "../../../pipeline/queues/dead-letters.js";
import type { LiveQueueMessage } from "../../../pipeline/queues/live-messages.js";
import type { QueueHeartbeat } from "../../../pipeline/queues/message-beats.js";
import type { QueueSummary } from "../../../pipeline/queues/operations.js";
import { letterOfQueue } from "../model/dead-letter.js";
import { jsonLine } from "../model/json-text.js";
import {
  Badge,
  type Column,
  Empty,
  figureColumn,
  type Items,
  itemsOf,
  Listed,
  Looked,
  NO_ITEMS,
  Num,
  Page,
  Problem,
  Section,
  Table,
  timeColumn,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";
import { Evidence } from "../work/evidence.js";
import { Letters } from "../work/letters.js";

const PAGE = "queues";
const LETTERS = 100;
/** Each count ends here: a look costs the same however many messages there are. */
const AT_MOST = 10_000;
const CODE = `const queues = await openQueues(system, { store });
await queues.queue("orders").publish({ item: "lamp" });`;

function View(): JSX.Element {
  const { params } = useRoute();
  const list = live<Items<QueueSummary>>("queues.list", { limit: 500, atMost: AT_MOST }).value;
  const shown = list.value?.items.find(({ name }) => name === params.queue);
  return (
    <Page
      title="Queues"
      subject="queues"
      about="Durable queues: published messages wait here for subscribers."
    >
      <Listed
        of={list}
        label="Queues"
        columns={columns}
        rows={itemsOf}
        keyOf={({ name }) => name}
        linkOf={({ name }) => link(PAGE, { queue: name })}
        empty={{
          title: "No queue has messages or subscribers",
          code: CODE,
          children: "A queue is there as soon as something is published to it.",
        }}
      />
      <Evidence op="queues.evidence" />
      {shown === undefined ? null : <Queue queue={shown} key={shown.name} />}
      {params.queue !== undefined && shown === undefined && list.value !== undefined ? (
        <Empty title={`Queue ${params.queue} is empty`}>
          It has no messages, dead letters or subscribers.
        </Empty>
      ) : null}
    </Page>
  );
}

const columns: readonly Column<QueueSummary>[] = [
  { title: "Queue", value: ({ name }) => name },
  figureColumn("Ready", ({ ready }) => ready, { atMost: AT_MOST }),
  figureColumn("In flight", ({ inFlight }) => inFlight, { atMost: AT_MOST, help: "With a subscriber" }),
  figureColumn("Delayed", ({ delayed }) => delayed, { atMost: AT_MOST }),
  {
    title: "Dead",
    value: ({ dead }) => dead,
    cell: ({ dead }) =>
      dead > 0 ? (
        <Badge tone="bad">
          <Num value={dead} atMost={AT_MOST} />
        </Badge>
      ) : (
        "0"
      ),
    align: "end",
  },
];

function Queue({ queue: { name: queue, dead } }: { readonly queue: QueueSummary }): JSX.Element {
  const letters = live<Items<DeadLetter<unknown>>>(dead === 0 ? undefined : "queues.deadLetters", {
    queue,
    limit: LETTERS,
  }).value;
  const waits = live<readonly LiveQueueMessage[]>("queues.messages", {
    queue,
    state: "delayed",
    limit: 100,
  }).value;
  const records = live<Items<DeadLetterRecord>>("queues.deadRecords", { queue, limit: LETTERS }).value;
  const beats = live<readonly QueueHeartbeat[]>("queues.heartbeats", { queue, limit: 100 }).value;
  const acts = {
    retry: { op: "queues.retryDead", args: (which: string) => ({ queue, which }) },
    edit: { op: "queues.editDead", args: (id: string) => ({ queue, id }) },
    drop: { op: "queues.dropDead", args: (which: string) => ({ queue, which }) },
    retryAll: { op: "queues.retryDead", args: (which: object) => ({ queue, which }) },
    dropAll: { op: "queues.dropDead", args: (which: object) => ({ queue, which }) },
  };
  return (
    <>
      <Section title={`Dead letters of ${queue}`}>
        <Looked of={dead === 0 ? NO_ITEMS : letters}>
          {({ items }) => (
            <Letters
              letters={items.map((one) => letterOfQueue(queue, one))}
              total={dead}
              atMost={AT_MOST}
              acts={acts}
            />
          )}
        </Looked>
      </Section>
      {records.value === undefined || records.value.items.length === 0 ? (
        <Problem error={records.error} />
      ) : (
        <Section title="What people did with dead letters">
          <Table
            label="What people did with dead letters"
            param="records"
            columns={recordColumns}
            rows={records.value.items}
            keyOf={({ id, turn }) => `${turn} ${id}`}
          />
        </Section>
      )}
      <Problem error={waits.error} />
      {waits.value === undefined || waits.value.length === 0 ? null : (
        <Section title="Messages that wait">
          <Table
            label="Messages that wait for their time"
            param="waits"
            columns={waitColumns}
            rows={waits.value}
            keyOf={({ id }) => id}
          />
        </Section>
      )}
      {beats.value === undefined || beats.value.length === 0 ? null : (
        <Section title="Heartbeats">
          <Table
            label="Heartbeats of messages in work"
            param="beats"
            columns={beatColumns}
            rows={beats.value}
            keyOf={({ id }) => id}
          />
        </Section>
      )}
    </>
  );
}

const recordColumns: readonly Column<DeadLetterRecord>[] = [
  { title: "Message", value: ({ id }) => id },
  {
    title: "Was",
    value: ({ fate }) => fate,
    cell: ({ fate }) => <Badge tone={fate === "dropped" ? "bad" : "info"}>{fate}</Badge>,
  },
  timeColumn("When", ({ at }) => at),
  { title: "By", value: ({ by }) => by },
  { title: "Because", value: ({ reason }) => reason, isWide: true },
  { title: "Last error", value: ({ errors }) => errors.at(-1)?.split("\n", 1)[0], isWide: true },
];

const waitColumns: readonly Column<LiveQueueMessage>[] = [
  { title: "Message", value: ({ id }) => id },
  {
    title: "Why",
    value: ({ why }) => why,
    cell: ({ why, ends }) => (
      <>
        <Badge tone={why === "quarantine" ? "bad" : why === "publisher" ? "quiet" : "warn"}>{why}</Badge>{" "}
        {ends === 0 ? null : <small>ended its process {ends === 1 ? "once" : `${ends} times`}</small>}
      </>
    ),
    help: "quarantine: it has ended a process, by evidence; setback: a store was in the way; publisher: it was published for later",
  },
  timeColumn("Until", ({ until }) => until),
  { title: "Attempts", value: ({ attempts }) => attempts, align: "end" },
  { title: "Last error", value: ({ history }) => history.at(-1)?.error, isWide: true },
];

const beatColumns: readonly Column<QueueHeartbeat>[] = [
  { title: "Message", value: ({ id }) => id },
  timeColumn("When", ({ at }) => at),
  { title: "Progress", value: ({ progress }) => jsonLine(progress, 300) },
];

export const page: PageSpec = {
  name: PAGE,
  title: "Queues",
  group: "Work",
  needs: "queues",
  letter: "q",
  View,
};
