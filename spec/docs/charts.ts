// Writes docs/charts.md and its pictures from the measurements in docs/performance.

import { type Chart, drawChart } from "./chart.js";
import { chartOf, type Measurement, tableOf } from "./figures.js";

interface Section {
  readonly title: string;
  readonly text: string;
  /** Name of the picture in docs/images. */
  readonly picture: string;
  readonly measurement: Measurement;
  readonly others: Parameters<typeof chartOf>[2];
  readonly only: readonly string[];
}

/** What is in docs/performance, by file. */
export interface Measurements {
  readonly processes: Measurement;
  readonly services: Measurement;
  readonly durable: Measurement;
}

export function sections({ processes, services, durable }: Measurements): Section[] {
  return [
    {
      title: "Processes and messages",
      text: "Beside Erlang/OTP with one scheduler, and the actors of nact and XState.",
      picture: "chart-processes.svg",
      measurement: processes,
      others: ["otp", "nact", "xstate"],
      only: [
        ...[
          "ping-pong",
          "ring",
          "fan-in",
          "spawn-monitor-exit",
          "linked-crash",
          "call",
          "call-await",
          "skynet",
        ],
        "idle-linked-process",
      ],
    },
    {
      title: "Servers and state machines",
      text: "Beside `gen_server` and `gen_statem` of OTP, and a machine of XState, which sends no reply.",
      picture: "chart-servers.svg",
      measurement: services,
      others: ["otp", "xstate"],
      only: ["server-call", "server-call-await", "server-call-outside", "state-machine"],
    },
    {
      title: "Libraries for one thing",
      text: "A limit of promises and a pool of threads do less than a process does: they have no links, no restarts and no deadlines.",
      picture: "chart-libraries.svg",
      measurement: services,
      others: ["plimit", "piscina"],
      only: ["task-stream", "pool-job"],
    },
    {
      title: "Durable work",
      text: "Steps of durable flows on the same PostgreSQL as DBOS, and messages through three queues on SQLite beside BullMQ on Redis.",
      picture: "chart-durable.svg",
      measurement: durable,
      others: ["dbos", "bullmq"],
      only: ["flow-steps-postgres", "pipeline-sqlite-stages"],
    },
  ];
}

const chart = ({ title, measurement, others, only }: Section): Chart =>
  chartOf(title, measurement, others, only);

export const drawSection = (section: Section): string => drawChart(chart(section));

/** The text of docs/charts.md. */
export function chartsPage(all: readonly Section[]): string {
  const parts = all.map((section) => {
    const { title, text, picture, measurement } = section;
    const { command, load, machine } = measurement;
    const otp = machine.otp === null ? "" : `, OTP ${machine.otp}`;
    return `## ${title}

${text}

![${title}: a bar for each figure of the table below](images/${picture})

${tableOf(chart(section))}

${machine.cpu}, Node ${machine.node}${otp}; ${load}. Measured with

    ${command}
`;
  });
  return `# Performance in pictures

How fast signalbox is beside Erlang/OTP and beside other libraries on Node, as bars. The longest bar of a program fills the width; the
figure at its right says how many times better signalbox is, and below 1 that it is worse.

[Performance](performance.md) says what one operation of each program is, how it is measured, what falls short and why. The figures below come from
the files in [docs/performance](performance/), and \`npm run docs:charts\` draws them.

${parts.join("\n")}`;
}
