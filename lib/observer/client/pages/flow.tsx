// One flow: what it does and waits for, its journal as a timeline, its visits to the hospital, and what can be done with it.

import type { JSX } from "preact";
import type {
  FlowDetails,
  FlowSummary,
  FlowTimeline,
  WaitingMessage,
} from "../../../flow/operations/operations.js";
import { type ShownTimeline, shownTimeline } from "../model/timeline.js";
import {
  Badge,
  type Column,
  Empty,
  Looked,
  Num,
  Page,
  Problem,
  Section,
  Table,
  Time,
  timeColumn,
} from "../parts/index.js";
import { useAsked } from "../shell/asked.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";
import { FlowActs } from "../work/flow-acts.js";
import { Hospital } from "../work/hospital.js";
import { JsonText } from "../work/json.js";
import { TimelineView } from "../work/timeline-view.js";
import { toneOf } from "../work/tones.js";

const PAGE = "flow";
/** Entries of the journal that are read at each look, and when somebody wants to see more. */
const ENTRIES = 200;
const MOST_ENTRIES = 1_000;

function View(): JSX.Element {
  const { id, entries } = useRoute().params;
  const limit = entries === undefined ? ENTRIES : MOST_ENTRIES;
  const look = live<FlowTimeline>(id === undefined ? undefined : "timeline", { id, limit }).value;
  const { value } = look;
  if (id === undefined)
    return (
      <Page title="Flow">
        <Empty title="No flow was named">
          Open one from the <a href={link("flows")}>list of flows</a>.
        </Empty>
      </Page>
    );
  const flow = value?.flow;
  return (
    <Page
      title={id}
      subject="flows"
      about={flow === undefined ? undefined : `Flow ${flow.name}, version ${flow.version}`}
      actions={
        value === undefined ? undefined : <FlowActs flow={value.flow} started={value.children.length} />
      }
    >
      <Looked of={look}>{(timeline) => <Flow look={timeline} key={id} />}</Looked>
    </Page>
  );
}

function Flow({ look }: { readonly look: FlowTimeline }): JSX.Element {
  const { flow, aside, heartbeats, progress, children, mail, isCut } = look;
  const { set } = useRoute();
  const timeline = shownTimeline(look);
  return (
    <>
      <Facts look={look} />
      {aside === undefined ? null : <Hospital aside={aside} />}
      <Waits look={look} timeline={timeline} />
      <Section
        title="Journal"
        actions={
          isCut ? (
            <button type="button" class="button small" onClick={() => set({ entries: MOST_ENTRIES })}>
              Read more of it
            </button>
          ) : undefined
        }
      >
        {isCut ? <p class="quiet">This is the end of its journal: earlier entries were not read.</p> : null}
        <TimelineView flow={flow} timeline={timeline} />
      </Section>
      {heartbeats === undefined ? null : (
        <Section title="Heartbeats">
          <JsonText label="Heartbeats of the steps that run" value={heartbeats} />
        </Section>
      )}
      {progress === undefined ? null : (
        <Section title="Progress">
          <JsonText label="The last progress of the flow" value={progress} />
        </Section>
      )}
      {children.length === 0 ? null : (
        <Section title="Children">
          <Table
            label="Flows that it started"
            param="children"
            columns={childColumns}
            rows={children}
            keyOf={(one) => one.id}
            linkOf={(one) => link(PAGE, { id: one.id })}
          />
        </Section>
      )}
      {mail.length === 0 ? null : (
        <Section title="Messages that wait">
          <Table
            label="Messages that it has not received"
            param="mail"
            columns={mailColumns}
            rows={mail}
            keyOf={(one) => `${one.topic} ${one.id}`}
          />
        </Section>
      )}
      <Values id={flow.id} when={flow.status} />
    </>
  );
}

function Facts({ look: { flow, generation, holder } }: { readonly look: FlowTimeline }): JSX.Element {
  const { id, status, wish, createdAt, updatedAt, finishedAt, dueAt, parent, queue, problem } = flow;
  return (
    <>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <Badge tone={toneOf(status)}>{status}</Badge> {wish === undefined ? null : `${wish} requested`}
        </dd>
        <dt>Started</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
        <dt>{finishedAt === undefined ? "Changed" : "Ended"}</dt>
        <dd>
          <Time at={finishedAt ?? updatedAt} />
        </dd>
        {dueAt === undefined ? null : <dt>Due</dt>}
        {dueAt === undefined ? null : (
          <dd>
            <Time at={dueAt} />
          </dd>
        )}
        {parent === undefined ? null : <dt>Started by</dt>}
        {parent === undefined ? null : (
          <dd>
            <a href={link(PAGE, { id: parent })}>{parent}</a>
          </dd>
        )}
        {queue === undefined ? null : <dt>Queue</dt>}
        {queue === undefined ? null : <dd>{queue}</dd>}
        {generation === 0 ? null : <dt>Journal</dt>}
        {generation === 0 ? null : (
          <dd>
            begun anew <Num value={generation} /> times
          </dd>
        )}
        <dt>Host</dt>
        <dd>{holder === undefined ? "none holds it" : `token ${holder}`}</dd>
        <dt>Trace</dt>
        <dd>
          <a href={link("message", { find: id })}>its messages</a>
        </dd>
      </dl>
      {problem === undefined ? null : <p class="problem">{problem}</p>}
    </>
  );
}

interface WaitsProps {
  readonly look: FlowTimeline;
  readonly timeline: ShownTimeline;
}

/** The answer to "why does it not go on?". */
function Waits({ look: { flow, at }, timeline: { open } }: WaitsProps): JSX.Element | null {
  const { status, dueAt } = flow;
  if (status === "paused") return <p>It was paused. It goes on when it is resumed.</p>;
  if (status === "pending")
    return (
      <p>
        {dueAt !== undefined && dueAt > at
          ? "Its start is planned for later."
          : "It waits for a host that has a place for it."}
      </p>
    );
  if (open.length === 0) return null;
  return (
    <Section title="What it waits for">
      <ul class="plain">
        {open.map(({ kind, key, status: state, dueAt: due, attempts }) => (
          <li key={key}>
            <Badge tone={toneOf(state)}>{state}</Badge> <strong>{key}</strong> <small>{kind}</small>
            {attempts.length > 0 ? `, attempt ${attempts.at(-1)?.attempt} failed` : ""}
            {due === undefined ? "" : state === "retrying" ? ", next attempt " : ", until "}
            {due === undefined ? null : <Time at={due} />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What does not change while it runs is asked for once. @param when - the state of the flow: at its end there is an outcome */
function Values({ id, when }: { readonly id: string; readonly when: string }): JSX.Element | null {
  const { value, error } = useAsked<FlowDetails>("inspect", { id }, when);
  if (value === undefined) return error === undefined ? null : <Problem error={error} />;
  return (
    <>
      <Section title="Input">
        <JsonText label="Input" value={value.input} />
      </Section>
      {value.status === "completed" ? (
        <Section title="Result">
          <JsonText label="Result" value={value.result} />
        </Section>
      ) : null}
      {value.error === undefined ? null : (
        <Section title="Error">
          <JsonText label="Error" value={value.error} />
        </Section>
      )}
    </>
  );
}

const childColumns: readonly Column<FlowSummary>[] = [
  { title: "Id", value: ({ id }) => id },
  { title: "Flow", value: ({ name }) => name },
  {
    title: "State",
    value: ({ status }) => status,
    cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
  },
  timeColumn("Started", ({ createdAt }) => createdAt),
  { title: "Problem", value: ({ problem }) => problem, cell: ({ problem }) => problem ?? "", isWide: true },
];

const mailColumns: readonly Column<WaitingMessage>[] = [
  { title: "Topic", value: ({ topic }) => topic },
  { title: "Id", value: ({ id }) => id },
  {
    title: "From",
    value: ({ sender }) => sender,
    cell: ({ sender }) =>
      sender === undefined ? "outside" : <a href={link(PAGE, { id: sender })}>{sender}</a>,
  },
  timeColumn("Sent", ({ at }) => at),
];

export const page: PageSpec = {
  name: PAGE,
  title: "Flow",
  group: "Work",
  needs: "flows",
  isHidden: true,
  View,
};
