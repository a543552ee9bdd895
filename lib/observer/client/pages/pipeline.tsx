// One execution of a pipeline: the graph of its routes, its queues and sources, its dead letters, and what can be done with it.

import type { JSX } from "preact";
import type {
  DeadMessage,
  DelayedMessage,
  ExecutionDetails,
  MessageHeartbeats,
  QueueDepth,
  ReplayStarted,
  SourceState,
} from "../../../pipeline/operations/operations.js";
import type { RouteGraph, RouteNode } from "../../../pipeline/operations/route-graph.js";
import { ActButton } from "../actions/act-button.js";
import { GraphPicture } from "../graph/picture.js";
import { reasonField } from "../model/act-form.js";
import { letterOfPipeline } from "../model/dead-letter.js";
import { plural } from "../model/format.js";
import { jsonLine } from "../model/json-text.js";
import { cardsOfRoutes } from "../model/route-cards.js";
import {
  Badge,
  type Column,
  Empty,
  figureColumn,
  type Items,
  Looked,
  NO_ITEMS,
  Num,
  Page,
  Problem,
  Section,
  Table,
  Time,
  timeColumn,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { go, link, useRoute } from "../shell/router.js";
import { JsonText } from "../work/json.js";
import { Letters } from "../work/letters.js";
import { MessageSearch } from "../work/message-search.js";
import { MoveActs } from "../work/move-acts.js";
import { toneOf } from "../work/tones.js";

const PAGE = "pipeline";
const LETTERS = 100;
/** Each count of a queue ends here: a look costs the same however many messages there are. */
const AT_MOST = 10_000;

function View(): JSX.Element {
  const { params } = useRoute();
  const { id } = params;
  const look = live<ExecutionDetails>(id === undefined ? undefined : "pipelines.inspect", {
    id,
    atMost: AT_MOST,
  }).value;
  const { value } = look;
  if (id === undefined)
    return (
      <Page title="Execution">
        <Empty title="No execution was named">
          Open one from the <a href={link("pipelines")}>list of executions</a>.
        </Empty>
      </Page>
    );
  return (
    <Page
      title={id}
      subject="pipelines"
      about={value === undefined ? undefined : `Execution of pipeline ${value.pipeline}`}
      actions={value === undefined ? undefined : <Acts execution={value} />}
    >
      <Looked of={look}>{(execution) => <Execution execution={execution} key={id} />}</Looked>
    </Page>
  );
}

const isOver = (status: ExecutionDetails["status"]): boolean => status !== "running" && status !== "paused";

function Acts({
  execution: { id, status, stranded, dead },
}: {
  readonly execution: ExecutionDetails;
}): JSX.Element {
  const over = isOver(status) ? "The execution has ended." : undefined;
  const args = { args: () => ({ id }) };
  return (
    <div class="acts">
      {status === "paused" ? (
        <ActButton {...args} label="Resume" op="pipelines.resume" question={`Resume ${id}?`} />
      ) : (
        <ActButton {...args} label="Pause" op="pipelines.pause" question={`Pause ${id}?`} refusal={over}>
          <p>Workers get no more messages until it is resumed. Messages in work end first.</p>
        </ActButton>
      )}
      <ActButton
        label="Replay dead letters"
        op="pipelines.replay"
        question={`Replay the dead letters of ${id} in a new execution?`}
        refusal={dead === 0 ? "It has no dead letters." : undefined}
        fields={[
          { name: "newId", label: "Id of the new execution", kind: "text", help: "Empty: a new id" },
          reasonField(false),
        ]}
        args={(values) => ({ id, dead: true, ...values })}
        done={(answer) => {
          const { id: made, messages } = answer as ReplayStarted;
          go(PAGE, { id: made });
          return `${plural(messages, "message")} replayed.`;
        }}
      >
        <p>The dead letters go over to it. It runs with the configuration that the pipeline has now.</p>
      </ActButton>
      <ActButton
        label="Give up what is stranded"
        op="pipelines.giveUp"
        isDangerous
        question={`Give up all of ${id} that its pipeline has no part for?`}
        refusal={over ?? (stranded === undefined ? "Nothing is stranded." : undefined)}
        fields={[reasonField(true)]}
        args={(values) => ({ id, stranded: true, ...values })}
      >
        <p>Nothing comes of these messages. Their values are kept.</p>
      </ActButton>
      <ActButton
        {...args}
        label="Cancel"
        op="pipelines.cancel"
        isDangerous
        question={`Cancel ${id}?`}
        refusal={over}
      >
        <p>Messages in work are aborted and settle nothing. A cancelled execution does not come back.</p>
      </ActButton>
    </div>
  );
}

function Execution({ execution }: { readonly execution: ExecutionDetails }): JSX.Element {
  const {
    id,
    status,
    created,
    ended,
    pending,
    done,
    dead,
    dropped = 0,
    replays,
    stranded,
    error,
    queues,
    sources,
  } = execution;
  return (
    <>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <Badge tone={toneOf(status)}>{status}</Badge>
        </dd>
        <dt>Started</dt>
        <dd>
          <Time at={created} />
        </dd>
        {ended === undefined || ended === null ? null : <dt>Ended</dt>}
        {ended === undefined || ended === null ? null : (
          <dd>
            <Time at={ended} />
          </dd>
        )}
        <dt>Messages</dt>
        <dd>
          <Num value={pending} /> pending, <Num value={done} /> done, <Num value={dead} /> dead,{" "}
          <Num value={dropped} /> dropped
        </dd>
        {replays === undefined ? null : <dt>Replays</dt>}
        {replays === undefined ? null : (
          <dd>
            <a href={link(PAGE, { id: replays })}>{replays}</a>
          </dd>
        )}
      </dl>
      {error === undefined ? null : <p class="problem">{jsonLine(error, 1_000)}</p>}
      {stranded === undefined ? null : (
        <p class="problem">
          Stranded: its pipeline has no {stranded.map(({ part, name }) => `${part} ${name}`).join(", no ")}.
          Deploy a version that has it, move the messages, or give them up.
        </p>
      )}
      <Routes id={id} />
      <Section title="A message">
        <MessageSearch execution={id} />
      </Section>
      <DeadLetters id={id} count={dead} />
      <Delayed id={id} />
      <Section
        title="Queues"
        actions={
          <MoveActs id={id} of={queues} refusal={isOver(status) ? "The execution has ended." : undefined} />
        }
      >
        <Table
          label="Queues"
          param="queues"
          columns={queueColumns}
          rows={queues}
          keyOf={({ queue }) => queue}
          empty={<Empty title="All queues are empty" />}
        />
      </Section>
      {sources.length === 0 ? null : (
        <Section title="Sources">
          <Table
            label="Sources"
            param="sources"
            columns={sourceColumns}
            rows={sources}
            keyOf={({ name }) => name}
          />
        </Section>
      )}
      {execution.heartbeats === undefined ? null : <Beats id={id} rows={execution.heartbeats} />}
      <Section title="Configuration">
        <JsonText label="The configuration that was frozen at its start" value={execution.configuration} />
      </Section>
    </>
  );
}

function Routes({ id }: { readonly id: string }): JSX.Element {
  const { params } = useRoute();
  return (
    <Section title="Routes">
      <Looked of={live<RouteGraph>("pipelines.routes", { id }, 2).value}>
        {(graph) => {
          const of = graph.nodes.find(({ name }) => name === params.route);
          return (
            <>
              {graph.isLive ? null : (
                <p class="quiet">
                  No host of this program runs it: rates, latencies, gates and breakers are not known here.
                </p>
              )}
              <GraphPicture
                graph={cardsOfRoutes(graph)}
                label={`The routes of ${id}`}
                selected={of?.name}
                linkOf={(card) => link(PAGE, { id, route: card.id })}
              />
              {of === undefined ? null : <Route of={of} />}
              <Table
                label="Routes"
                param="by"
                columns={routeColumns}
                rows={graph.nodes}
                keyOf={({ name }) => name}
                linkOf={({ name }) => link(PAGE, { id, route: name })}
              />
            </>
          );
        }}
      </Looked>
    </Section>
  );
}

function Route({ of: { name, kind, gates, breakers } }: { readonly of: RouteNode }): JSX.Element {
  return (
    <section class="panel" aria-label={`${kind} ${name}`}>
      <h3>
        {name} <small>{kind}</small>
      </h3>
      {gates.length + breakers.length === 0 ? <p class="quiet">It has no gates and no breakers.</p> : null}
      <ul class="plain">
        {gates.map((gate) => (
          <li key={`gate ${gate.name}`}>
            Gate {gate.name}: <Badge tone={gate.waiting > 0 ? "warn" : "good"}>{gate.state}</Badge>,{" "}
            <Num value={gate.waiting} /> wait
            {gate.by === undefined ? "" : `, because of ${gate.by.join(", ")}`}
          </li>
        ))}
        {breakers.map((breaker) => (
          <li key={`breaker ${breaker.name}`}>
            Breaker {breaker.name}:{" "}
            <Badge tone={breaker.state === "closed" ? "good" : "bad"}>{breaker.state}</Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}

const routeColumns: readonly Column<RouteNode>[] = [
  { title: "Name", value: ({ name }) => name },
  { title: "Kind", value: ({ kind }) => kind },
  figureColumn("Rate", ({ perS }) => perS, { unit: "rate" }),
  figureColumn("Ready", ({ ready }) => ready, { atMost: AT_MOST }),
  figureColumn("Delayed", ({ delayed }) => delayed, { atMost: AT_MOST }),
  figureColumn("In work", ({ inWork }) => inWork),
  figureColumn("Limit", ({ limit }) => limit),
  figureColumn("p50", ({ p50Ms }) => p50Ms, { unit: "ms" }),
  figureColumn("p99", ({ p99Ms }) => p99Ms, { unit: "ms" }),
  figureColumn("Done", ({ done }) => done),
  figureColumn("Failed", ({ failed }) => failed),
  figureColumn("Dead", ({ dead }) => dead, { atMost: AT_MOST }),
];

function DeadLetters({ id, count }: { readonly id: string; readonly count: number }): JSX.Element {
  const look = live<Items<DeadMessage>>(count === 0 ? undefined : "pipelines.deadLetters", {
    id,
    limit: LETTERS,
  }).value;
  const acts = {
    retry: { op: "pipelines.retryDead", args: (message: string) => ({ id, which: message }) },
    edit: { op: "pipelines.editDead", args: (message: string) => ({ id, message }) },
    drop: { op: "pipelines.dropDead", args: (message: string) => ({ id, which: message }) },
    replay: { op: "pipelines.replay", args: (message: string) => ({ id, messages: [message] }) },
    retryAll: { op: "pipelines.retryDead", args: (which: object) => ({ id, which }) },
    dropAll: { op: "pipelines.dropDead", args: (which: object) => ({ id, which }) },
  };
  return (
    <Section title="Dead letters">
      <Looked of={count === 0 ? NO_ITEMS : look}>
        {({ items }) => (
          <Letters
            letters={items.map(letterOfPipeline)}
            total={count}
            acts={acts}
            linkOf={(message) => link("lineage", { id, message })}
          />
        )}
      </Looked>
    </Section>
  );
}

/** Messages that stand aside: those that wait for another attempt, and those in quarantine. */
function Delayed({ id }: { readonly id: string }): JSX.Element | null {
  const { value, error } = live<readonly DelayedMessage[]>("pipelines.delayed", { id, limit: 100 }).value;
  if (value === undefined || value.length === 0) return <Problem error={error} />;
  return (
    <Section title="Messages that wait for another attempt">
      <Table
        label="Messages that wait for another attempt"
        param="delayed"
        columns={delayedColumns}
        rows={value}
        keyOf={({ queue, id: message }) => `${queue} ${message}`}
        linkOf={({ id: message }) => link("lineage", { id, message })}
      />
    </Section>
  );
}

const delayedColumns: readonly Column<DelayedMessage>[] = [
  { title: "Message", value: ({ id }) => id },
  { title: "Queue", value: ({ queue }) => queue },
  {
    title: "Why",
    value: ({ why }) => why,
    cell: ({ why, ends }) => (
      <>
        <Badge tone={why === "quarantine" ? "bad" : "warn"}>{why}</Badge>{" "}
        {ends === 0 ? null : <small>ended its process {plural(ends, "time")}</small>}
      </>
    ),
    help: "quarantine: it has ended a process, by evidence; setback: a store was in the way",
  },
  timeColumn("Until", ({ until }) => until),
  { title: "Attempts", value: ({ attempts }) => attempts, align: "end" },
  { title: "Last error", value: ({ errors, setback }) => setback?.error ?? errors.at(-1), isWide: true },
];

function Beats({
  id,
  rows,
}: {
  readonly id: string;
  readonly rows: readonly MessageHeartbeats[];
}): JSX.Element {
  const columns: readonly Column<MessageHeartbeats>[] = [
    { title: "Message", value: ({ message }) => message },
    { title: "Queue", value: ({ queue }) => queue },
    { title: "Heartbeats", value: ({ heartbeats }) => jsonLine(heartbeats, 300) },
  ];
  return (
    <Section title="Heartbeats">
      <Table
        label="Heartbeats"
        param="beats"
        columns={columns}
        rows={rows}
        keyOf={({ message, queue }) => `${queue} ${message}`}
        linkOf={({ message }) => link("lineage", { id, message })}
      />
    </Section>
  );
}

const queueColumns: readonly Column<QueueDepth>[] = [
  { title: "Queue", value: ({ queue }) => queue },
  {
    title: "Route",
    value: ({ route }) => route,
    cell: ({ route }) => route ?? <Badge tone="bad">none takes from it</Badge>,
  },
  figureColumn("Ready", ({ ready }) => ready, { atMost: AT_MOST }),
  figureColumn("Delayed", ({ delayed }) => delayed, { atMost: AT_MOST }),
  figureColumn("Dead", ({ dead }) => dead, { atMost: AT_MOST }),
];

const sourceColumns: readonly Column<SourceState>[] = [
  { title: "Source", value: ({ name }) => name },
  figureColumn("Given", ({ given }) => given),
  {
    title: "State",
    value: ({ open }) => (open ? "open" : "ended"),
    cell: ({ open, dropped }) => (dropped === undefined ? (open ? "open" : "ended") : `given up: ${dropped}`),
  },
];

export const page: PageSpec = {
  name: PAGE,
  title: "Execution",
  group: "Work",
  needs: "pipelines",
  isHidden: true,
  View,
};
