// What goes wrong now, and what has changed since a minute ago. Each figure is a link to its cause.

import type { JSX } from "preact";
import type { Overview } from "../../../admin/history/operations.js";
import { countText, durationText } from "../model/format.js";
import { ofKind, TROUBLES } from "../model/incidents.js";
import {
  Chart,
  Empty,
  INCIDENT_COLUMNS,
  KEEP_HISTORY,
  Loading,
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
import { link } from "../shell/router.js";

function View(): JSX.Element {
  const { value, error } = live<Overview>("system.overview", {}, 2).value;
  return (
    <Page title="Now" about={value === undefined ? undefined : <About overview={value} />}>
      <Problem error={error} />
      {value === undefined ? error === undefined ? <Loading /> : null : <Glance overview={value} />}
    </Page>
  );
}

function About({ overview: { name, uptimeMs, keepsSince } }: { readonly overview: Overview }): JSX.Element {
  return (
    <>
      {name} has run for {durationText(Math.floor(uptimeMs / 1_000) * 1_000)}. What went wrong is kept since{" "}
      <Time at={keepsSince} />.
    </>
  );
}

function Glance({ overview }: { readonly overview: Overview }): JSX.Element {
  return (
    <>
      <div class="tiles">
        {TROUBLES.map(({ title, kinds }) => {
          const total = kinds.reduce((sum, kind) => sum + (overview.counts[kind]?.total ?? 0), 0);
          const minute = kinds.reduce((sum, kind) => sum + (overview.counts[kind]?.minute ?? 0), 0);
          return (
            <Tile
              key={title}
              title={title}
              href={link("incidents", { kind: kinds.length === 1 ? kinds[0] : undefined })}
              value={total}
              tone={minute > 0 ? "bad" : total > 0 ? "warn" : "quiet"}
              about={minute > 0 ? `${countText(minute)} in the last minute` : "none in the last minute"}
            />
          );
        })}
        <Tile
          title="Breakers open"
          href={link("incidents", { kind: "breaker" })}
          value={overview.breakers.length}
          tone={overview.breakers.length > 0 ? "bad" : "quiet"}
          about={overview.breakers.map(({ name, state }) => `${name} ${state}`).join(", ") || "all closed"}
        />
      </div>
      <Courses overview={overview} />
      <div class="columns">
        <Minute overview={overview} />
        <Deepest overview={overview} />
      </div>
      <Section title="Latest" actions={<a href={link("incidents")}>All that is kept</a>}>
        <Table
          label="Latest incidents"
          columns={INCIDENT_COLUMNS}
          rows={overview.recent}
          keyOf={({ number }) => number}
          linkOf={({ number }) => link("incidents", { number })}
          empty={
            <Empty title="Nothing has gone wrong since somebody looked" code={KEEP_HISTORY}>
              Crashes, restarts, dead letters and late turns are kept while somebody looks at the system. To
              keep them always, start the history with your service:
            </Empty>
          }
        />
      </Section>
    </>
  );
}

/** Figures of the whole system, over the time that the page has been open. */
function Courses({
  overview: { id, at, processes, handledPerS, memory },
}: {
  readonly overview: Overview;
}): JSX.Element {
  return (
    <div class="charts">
      <Chart label="Messages handled" name={`handled ${id}`} at={at} value={handledPerS} unit="rate" />
      <Chart label="Processes" name={`processes ${id}`} at={at} value={processes} />
      <Chart label="Heap" name={`heap ${id}`} at={at} value={memory.heapUsed} unit="bytes" />
    </div>
  );
}

interface TileProps {
  readonly title: string;
  readonly href: string;
  readonly value: number;
  readonly tone: "bad" | "warn" | "quiet";
  readonly about: string;
}

function Tile({ title, href, value, tone, about }: TileProps): JSX.Element {
  return (
    <a class={`tile ${tone}`} href={href}>
      <span class="tile-title">{title}</span>
      <span class="tile-value">
        <Num value={value} />
      </span>
      <span class="tile-about">{about}</span>
    </a>
  );
}

/** What is not as it was a minute ago. */
function Minute({ overview: { minute } }: { readonly overview: Overview }): JSX.Element {
  return (
    <Section title="Since a minute ago">
      {minute.length === 0 ? (
        <p class="soft">Nothing has changed that is counted here.</p>
      ) : (
        <dl class="changes">
          {minute.map(({ what, before, now }) => (
            <div key={what}>
              <dt>{ofKind(what)}</dt>
              <dd>
                <Num value={before} /> <span aria-hidden="true">→</span>
                <span class="off-screen">is now</span>{" "}
                <strong>
                  <Num value={now} />
                </strong>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}

function Deepest({ overview: { deepest } }: { readonly overview: Overview }): JSX.Element {
  return (
    <Section title="Deepest mailboxes" actions={<a href={link("processes")}>All processes</a>}>
      {deepest.length === 0 ? (
        <p class="soft">Every mailbox is empty.</p>
      ) : (
        <ol class="ranks">
          {deepest.map(({ pid, label, name, mailboxDepth }) => (
            <li key={pid}>
              <PidLink pid={pid} label={name ?? label} />
              <Num value={mailboxDepth} />
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

export const page: PageSpec = {
  name: "now",
  title: "Now",
  group: "System",
  needs: "system",
  letter: "n",
  View,
};
