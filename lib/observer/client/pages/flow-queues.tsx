// Queues of flows: how many run and wait in each, its limits, what holds flows back, and whose flows they are.

import type { JSX } from "preact";
import type { QueueInfo } from "../../../flow/queues/info.js";
import type { QueueKeyInfo, QueueKeys } from "../../../flow/queues/key-counts.js";
import { limitWords, waitWords } from "../model/flow-queues.js";
import { Badge, type Column, Empty, figureColumn, Listed, Num, Page, Section } from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

const PAGE = "flow-queues";
/** Each count ends here: a look costs the same however many flows there are. */
const AT_MOST = 10_000;
const KEYS = 100;
const CODE = `flowHost({
  store, flows: [mail],
  queues: { emails: { concurrency: 5, rate: { limit: 100, period: "1 min" }, perKey: { concurrency: 1 } } },
});
await flows.start(mail, "hello", { queue: "emails", key: "ada" });`;

function View(): JSX.Element {
  const { params } = useRoute();
  const list = live<readonly QueueInfo[]>("queues", { atMost: AT_MOST }).value;
  const shown = list.value?.find(({ name }) => name === params.queue);
  return (
    <Page
      title="Flow queues"
      subject="flows"
      about="Where flows wait for a slot, so that only so many run at once, and only so many start in a time."
    >
      <Listed
        of={list}
        label="Queues of flows"
        columns={columns}
        rows={(all) => all}
        keyOf={({ name }) => name}
        linkOf={({ name }) => link(PAGE, { queue: name })}
        empty={{
          title: "No host has declared a queue, and no flow waits in one",
          code: CODE,
          children:
            "A queue limits the flows of all hosts together. Flows of different keys take turns, and a rate limits how many start in a time.",
        }}
      />
      {shown === undefined ? null : <Queue queue={shown} key={shown.name} />}
      {params.queue !== undefined && shown === undefined && list.value !== undefined ? (
        <Empty title={`Queue ${params.queue} is not here`}>
          No host has declared it, and no flow waits in it.
        </Empty>
      ) : null}
    </Page>
  );
}

const bounded = { atMost: AT_MOST };

const columns: readonly Column<QueueInfo>[] = [
  { title: "Queue", value: ({ name }) => name },
  figureColumn("Running", ({ running }) => running, {
    ...bounded,
    help: "Flows that hold a slot, over all hosts",
  }),
  {
    title: "Waiting",
    value: ({ waiting }) => waiting,
    cell: ({ waiting }) =>
      waiting === 0 ? (
        "0"
      ) : (
        <Badge tone="warn">
          <Num value={waiting} atMost={AT_MOST} />
        </Badge>
      ),
    align: "end",
  },
  figureColumn("Held by rate", ({ heldByRate }) => heldByRate, {
    ...bounded,
    help: "Those that could run now without the rate. Rates of keys are not counted",
  }),
  figureColumn("Started", ({ recent }) => recent, {
    ...bounded,
    help: "Within the period of its rate",
    isWide: true,
  }),
  { title: "Limits", value: ({ limits }) => limitWords(limits), isWide: true },
];

function Queue({ queue }: { readonly queue: QueueInfo }): JSX.Element {
  const { name, limits } = queue;
  const why = waitWords(queue);
  return (
    <Section title={name}>
      <p>
        Limits: {limitWords(limits)}. {why ?? "No flow waits."}
      </p>
      <Listed
        of={live<QueueKeys>("queueKeys", { queue: name, limit: KEYS, atMost: AT_MOST }).value}
        label={`Keys of ${name}`}
        param="keys"
        columns={keyColumns}
        rows={({ keys }) => keys}
        keyOf={({ key }) => key}
        empty={{ title: "No flow runs or waits in it" }}
        below={({ more }) =>
          more ? (
            <p class="quiet">There are more keys: the counts of the last ones may be too small.</p>
          ) : null
        }
      />
    </Section>
  );
}

const keyColumns: readonly Column<QueueKeyInfo>[] = [
  { title: "Key", value: ({ key }) => key, cell: ({ key }) => (key === "" ? <em>none</em> : key) },
  figureColumn("Waiting", ({ waiting }) => waiting, bounded),
  figureColumn("Running", ({ running }) => running, bounded),
];

export const page: PageSpec = {
  name: PAGE,
  title: "Flow queues",
  group: "Work",
  needs: "flows",
  letter: "u",
  View,
};
