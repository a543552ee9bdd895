// One process: what it is, whom it is linked to, its state as its definition shows it, and its messages as they come.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Incident } from "../../../admin/history/operations.js";
import type { PidList, ProcessDetails } from "../../../admin/system/operations.js";
import type { StateText, TraceLine, TraceText } from "../../../admin/system/processes/operations.js";
import { plural } from "../model/format.js";
import {
  Badge,
  type Column,
  Confirm,
  Copy,
  Empty,
  IncidentKindBadge,
  Loading,
  Num,
  Page,
  PidLink,
  Problem,
  Scroll,
  Section,
  Spark,
  statusTone,
  Table,
  Time,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import { act } from "../shell/operations.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

function View(): JSX.Element {
  const { params } = useRoute();
  const id = params.id;
  if (id === undefined)
    return (
      <Page title="Process">
        <Empty title="No process is chosen">
          Choose one of <a href={link("processes")}>all processes</a>.
        </Empty>
      </Page>
    );
  return <Process key={id} id={id} />;
}

function Process({ id }: { readonly id: string }): JSX.Element {
  const { params, set } = useRoute();
  const { value, error } = live<ProcessDetails>("system.process", { id }, 2).value;
  const isTraced = params.trace === "on";
  const isGone = error?.code === "ERR_NO_PROCESS";
  const trace = (
    <button
      type="button"
      class="button"
      aria-pressed={isTraced}
      onClick={() => set({ trace: isTraced ? undefined : "on" })}
    >
      {isTraced ? "End the trace" : "Trace"}
    </button>
  );
  return (
    <Page
      title={value?.name ?? value?.label ?? id}
      about={<span class="pid">{value?.pid ?? id}</span>}
      actions={
        isGone ? undefined : (
          <>
            {trace}
            {value === undefined ? null : <Hold process={value} />}
          </>
        )
      }
    >
      {isGone ? <Gone /> : <Problem error={error} />}
      {value === undefined && error === undefined ? <Loading /> : null}
      {value === undefined ? null : <Facts process={value} isGone={isGone} />}
      {isTraced ? <Trace id={id} /> : null}
      {isGone ? null : (
        <div class="columns">
          {value === undefined ? null : <Links process={value} />}
          <State id={id} />
        </div>
      )}
      <Incidents pid={value?.pid ?? id} />
    </Page>
  );
}

function Gone(): JSX.Element {
  return (
    <Empty title="This process has ended">
      A process that is restarted gets another pid. The <a href={link("tree")}>tree</a> has its successor, if
      it has one.
    </Empty>
  );
}

function Hold({ process: { pid, status } }: { readonly process: ProcessDetails }): JSX.Element {
  return status === "suspended" ? (
    <Confirm
      action="Resume"
      text={`${pid} goes on with the messages in its mailbox.`}
      run={() => act("system.resume", { id: pid })}
    />
  ) : (
    <Confirm
      action="Suspend"
      text={`${pid} handles no message until it is resumed. Its mailbox grows, and calls to it time out.`}
      run={() => act("system.suspend", { id: pid })}
    />
  );
}

/** Depths of the mailbox that the small chart shows. */
const COURSE = 60;

function Facts({
  process,
  isGone,
}: {
  readonly process: ProcessDetails;
  readonly isGone: boolean;
}): JSX.Element {
  const course = useRef<number[]>([]);
  course.current = [...course.current, process.mailboxDepth].slice(-COURSE);
  const { kind, status, mailboxDepth, handled, parent, trapExit, groups } = process;
  return (
    <dl class="facts-list card">
      <div>
        <dt>State</dt>
        <dd>
          {isGone ? <Badge tone="bad">ended</Badge> : <Badge tone={statusTone(status)}>{status}</Badge>}
        </dd>
      </div>
      <div>
        <dt>Kind</dt>
        <dd>{kind ?? "function or callbacks"}</dd>
      </div>
      <div>
        <dt>Mailbox</dt>
        <dd>
          <Num value={mailboxDepth} /> <Spark values={course.current} label="Depth of the mailbox" />
        </dd>
      </div>
      <div>
        <dt>Handled</dt>
        <dd>
          <Num value={handled} />
        </dd>
      </div>
      <div>
        <dt>Parent</dt>
        <dd>{parent === undefined || parent === null ? "none" : <PidLink pid={parent} />}</dd>
      </div>
      <div>
        <dt>Exits</dt>
        <dd>{trapExit ? "trapped as messages" : "end it"}</dd>
      </div>
      {groups.length === 0 ? null : (
        <div>
          <dt>Groups</dt>
          <dd>{groups.join(", ")}</dd>
        </div>
      )}
    </dl>
  );
}

function Links({
  process: { links, monitors, monitoredBy },
}: {
  readonly process: ProcessDetails;
}): JSX.Element {
  return (
    <Section title="Links">
      <Pids title="Linked" about="ends with them, and they with it" pids={links} />
      <Pids title="Monitors" about="is notified when they end" pids={monitors} />
      <Pids title="Monitored by" about="they are notified when it ends" pids={monitoredBy} />
    </Section>
  );
}

interface PidsProps {
  readonly title: string;
  readonly about: string;
  readonly pids: PidList;
}

function Pids({ title, about, pids: { count, first } }: PidsProps): JSX.Element {
  return (
    <div class="pids">
      <h3>
        {title} <span class="soft">{count === 0 ? "none" : `${count}, ${about}`}</span>
      </h3>
      {first.length === 0 ? null : (
        <ul>
          {first.map((pid) => (
            <li key={pid}>
              <PidLink pid={pid} />
            </li>
          ))}
          {count > first.length ? <li class="soft">and {count - first.length} more</li> : null}
        </ul>
      )}
    </div>
  );
}

function State({ id }: { readonly id: string }): JSX.Element {
  const { value, error } = live<StateText>("system.state", { id }).value;
  return (
    <Section
      title="State"
      actions={value?.text === undefined ? null : <Copy text={() => value.text ?? ""} />}
    >
      <Problem error={error} />
      {value?.problem === undefined ? null : <p class="soft">{value.problem}</p>}
      {value?.text === undefined ? (
        value !== undefined && value.problem === undefined ? (
          <Empty
            title="It has no state to show"
            code={"defineServer({ init, calls, format: (state) => ({ left: state.left }) })"}
          >
            Servers, state machines and tasks have one. A definition chooses by <code>format</code> what of it
            is shown.
          </Empty>
        ) : null
      ) : (
        <Scroll kind="state-text" label="State of the process">
          <pre>
            <code>
              {value.text}
              {value.truncated ? "\n…" : ""}
            </code>
          </pre>
        </Scroll>
      )}
    </Section>
  );
}

const TRACE: readonly Column<TraceLine>[] = [
  { title: "Number", value: ({ number }) => number, align: "end", isWide: true },
  { title: "When", value: ({ at }) => at, cell: ({ at }) => <Time at={at} isClock /> },
  { title: "What", value: ({ type }) => type, cell: ({ type }) => <Badge>{type}</Badge> },
  { title: "Text", value: ({ text }) => text, cell: ({ text }) => <code title={text}>{text}</code> },
];

function Trace({ id }: { readonly id: string }): JSX.Element {
  const { value, error } = live<TraceText>("system.trace", { id }, 2).value;
  return (
    <Section title="Trace">
      <Problem error={error} />
      {value === undefined ? (
        <Loading />
      ) : (
        <>
          <p class="soft">
            {value.ended ? "The process has ended. " : "It ends 15 s after the last look. "}
            {value.dropped > 0 ? `${plural(value.dropped, "earlier event")} left out. ` : ""}
            {value.contents ? null : (
              <>
                Contents of messages are not shown: they need <code>report: {"{ messages: true }"}</code> of
                the system.
              </>
            )}
          </p>
          <Table
            label="Trace"
            param="traced"
            sort="-Number"
            columns={TRACE}
            rows={value.events}
            keyOf={({ number }) => number}
            empty={<p class="soft">No message has come since the trace began.</p>}
          />
        </>
      )}
    </Section>
  );
}

const INCIDENTS: readonly Column<Incident>[] = [
  { title: "What", value: ({ kind }) => kind, cell: (one) => <IncidentKindBadge {...one} /> },
  { title: "When", value: ({ lastAt }) => lastAt, cell: ({ lastAt }) => <Time at={lastAt} /> },
  { title: "Text", value: ({ text }) => text },
];

function Incidents({ pid }: { readonly pid: string }): JSX.Element | null {
  const { value } = live<readonly Incident[]>("system.recent", { pid, limit: 50 }).value;
  if (value === undefined || value.length === 0) return null;
  return (
    <Section title="What went wrong">
      <Table
        label="Incidents of this process"
        param="incidents"
        columns={INCIDENTS}
        rows={value}
        keyOf={({ number }) => number}
        linkOf={({ number }) => link("incidents", { number })}
      />
    </Section>
  );
}

export const page: PageSpec = {
  name: "process",
  title: "Process",
  group: "System",
  needs: "system",
  isHidden: true,
  View,
};
