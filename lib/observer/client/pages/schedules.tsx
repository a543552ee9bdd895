// Schedules of flows: when each is due next and was due last, what it has left out, and the buttons that pause it.

import type { JSX } from "preact";
import type { ScheduleInfo } from "../../../flow/schedules/schedules.js";
import { ActButton } from "../actions/act-button.js";
import { exceptionWords, ruleWords } from "../model/flow-queues.js";
import { durationText } from "../model/format.js";
import {
  Badge,
  type Column,
  Empty,
  figureColumn,
  Listed,
  Page,
  Section,
  Time,
  timeColumn,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

const PAGE = "schedules";
const MOST = 500;
const CODE = `const nightly = schedule("nightly", { cron: "30 2 * * *", flow: report });
await system.start(flowHost({ store, flows: [report], schedules: [nightly] }));`;

function View(): JSX.Element {
  const { params } = useRoute();
  const list = live<readonly ScheduleInfo[]>("schedules", { limit: MOST }).value;
  const shown = list.value?.find(({ name }) => name === params.schedule);
  return (
    <Page title="Schedules" subject="flows" about="Flows that start by themselves, at their times.">
      <Listed
        of={list}
        label="Schedules"
        columns={columns}
        rows={(all) => all}
        keyOf={({ name }) => name}
        linkOf={({ name }) => link(PAGE, { schedule: name })}
        empty={{
          title: "No schedule is in this store",
          code: CODE,
          children:
            "A schedule starts a flow at each of its times, and once, however many hosts share the store. It remembers times that passed while no host ran.",
        }}
      />
      {shown === undefined ? null : <Schedule schedule={shown} key={shown.name} />}
      {params.schedule !== undefined && shown === undefined && list.value !== undefined ? (
        <Empty title={`There is no schedule ${params.schedule}`}>
          It was removed, or its host declares it no more.
        </Empty>
      ) : null}
    </Page>
  );
}

const columns: readonly Column<ScheduleInfo>[] = [
  { title: "Schedule", value: ({ name }) => name },
  { title: "Flow", value: ({ flow }) => flow },
  { title: "Rule", value: ({ rules }) => ruleWords(rules) },
  {
    title: "Next",
    value: ({ due }) => due,
    cell: ({ paused, due }) =>
      paused ? <Badge tone="warn">paused</Badge> : due === undefined ? "never" : <Time at={due} />,
    align: "end",
  },
  timeColumn("Last", ({ fired }) => fired, { help: "The last due time that started a flow" }),
  {
    title: "Last flow",
    value: ({ last }) => last,
    cell: ({ last }) => (last === undefined ? "–" : <a href={link("flow", { id: last })}>{last}</a>),
    isWide: true,
  },
  figureColumn("Skipped", ({ skipped }) => skipped, {
    help: "Due times that started nothing: they were missed, or met a running flow",
  }),
];

function Schedule({ schedule }: { readonly schedule: ScheduleInfo }): JSX.Element {
  const { name, flow, paused, rules, due } = schedule;
  const { missed, overlap } = exceptionWords(rules);
  return (
    <Section
      title={name}
      actions={
        paused ? (
          <ActButton
            label="Resume"
            op="resumeSchedule"
            question={`Resume schedule ${name}?`}
            args={() => ({ name })}
          >
            <p>It goes on from now. Due times in the meantime are skipped.</p>
          </ActButton>
        ) : (
          <ActButton
            label="Pause"
            op="pauseSchedule"
            question={`Pause schedule ${name}?`}
            args={() => ({ name })}
          >
            <p>It starts nothing until it is resumed. Flows that it has started go on.</p>
          </ActButton>
        )
      }
    >
      <ul class="plain">
        <li>
          It starts flow <strong>{flow}</strong>: {ruleWords(rules)}
          {rules.jitterMs > 0 ? `, each up to ${durationText(rules.jitterMs)} later` : ""}.
        </li>
        {paused || due !== undefined ? null : <li>It has no due time any more.</li>}
        <li>{missed}</li>
        <li>{overlap}</li>
      </ul>
    </Section>
  );
}

export const page: PageSpec = {
  name: PAGE,
  title: "Schedules",
  group: "Work",
  needs: "flows",
  letter: "h",
  View,
};
