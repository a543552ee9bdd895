// `signalbox top` as lines of text: those of a screen, and those for a pipe. Columns have the same widths in every picture, so that numbers stand
// still while they change.

import type { Incident, Overview } from "../../admin/history/operations.js";
import type { TopProcess } from "../../admin/system/processes/operations.js";
import { oneLine } from "../../process/printable.js";
import { count, lengthOf, type Style, whenText } from "../shell/style.js";
import { roomOf, type Sample, type TopOrder, type TopQuestion, type TopState } from "./top-machine.js";

/** How texts are painted. */
type Paint = Style<never>;

/** A column of processes. */
interface TopColumn {
  readonly title: string;
  readonly width: number;
  readonly align: "left" | "right";
  cell(process: TopProcess): string;
  /** The order that it shows. */
  readonly order?: TopOrder;
  /** Columns with a higher number give way first in a narrow window. Default: it always stays. */
  readonly rank?: number;
}

const GAP = "  ";
/** Least room for the name of a process, which comes last. */
const NAME_WIDTH = 16;
const PERCENT = 100;
const FEW = 10;
const MIB = 1_048_576;

/** A number a second, with one decimal while it is small. */
const perS = (n: number | undefined): string =>
  n === undefined ? "" : Math.abs(n) >= FEW || Number.isInteger(n) ? count(Math.round(n)) : n.toFixed(1);
const share = (n: number | undefined): string => (n === undefined ? "" : `${(n * PERCENT).toFixed(0)} %`);
const mebibytes = (bytes: number): string => `${count(Math.round(bytes / MIB))} MiB`;

const left = (title: string, width: number, cell: TopColumn["cell"], rank?: number): TopColumn => ({
  ...{ title, width, align: "left", cell },
  ...(rank !== undefined && { rank }),
});
const right = (
  title: string,
  width: number,
  cell: TopColumn["cell"],
  order?: TopOrder,
  rank?: number,
): TopColumn => ({
  ...{ title, width, align: "right", cell },
  ...(order !== undefined && { order }),
  ...(rank !== undefined && { rank }),
});

const COLUMNS: readonly TopColumn[] = [
  left("PID", 14, ({ pid }) => pid),
  right("MAILBOX", 9, ({ mailboxDepth }) => count(mailboxDepth), "mailbox"),
  right("GROWTH/S", 9, ({ growthPerS }) => perS(growthPerS), "growth", 4),
  right("HANDLED/S", 10, ({ handledPerS }) => perS(handledPerS), "handled", 1),
  right("BUSY", 5, ({ busy }) => share(busy), "busy", 2),
  right("AGE", 7, ({ ageMs }) => (ageMs === undefined ? "" : lengthOf(ageMs)), "age", 3),
  left("STATUS", 11, ({ status }) => status, 5),
  left("KIND", 12, ({ kind }) => kind ?? "", 6),
];

const nameOf = ({ name, label }: TopProcess): string =>
  name !== undefined && label !== undefined && name !== label ? `${name} (${label})` : (name ?? label ?? "");

/** In so many characters exactly. */
function inWidth(text: string, width: number, align: "left" | "right" = "left"): string {
  const letters = [...oneLine(text)];
  if (letters.length > width) return `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
  const space = " ".repeat(width - letters.length);
  return align === "right" ? space + letters.join("") : letters.join("") + space;
}

const cut = (text: string, width: number): string => inWidth(text, width).trimEnd();

/** The columns that a window has room for, the order's own among them. */
function columnsIn(width: number, by: TopOrder): readonly TopColumn[] {
  let shown = COLUMNS;
  const widthOf = (columns: readonly TopColumn[]): number =>
    columns.reduce((sum, one) => sum + one.width + GAP.length, NAME_WIDTH);
  while (widthOf(shown) > width) {
    const ranks = shown.filter(({ order }) => order !== by).map(({ rank = 0 }) => rank);
    const highest = Math.max(0, ...ranks);
    if (highest === 0) return shown;
    shown = shown.filter(({ rank, order }) => rank !== highest || order === by);
  }
  return shown;
}

/** A table of processes: a line of titles, and one for each. */
function processLines(
  processes: readonly TopProcess[],
  by: TopOrder,
  width: number | undefined,
): readonly string[] {
  const columns = width === undefined ? COLUMNS : columnsIn(width, by);
  const lineOf = (cell: (column: TopColumn) => string, name: string): string => {
    const line =
      columns.map((one) => inWidth(cell(one), one.width, one.align) + GAP).join("") + oneLine(name);
    return width === undefined ? line.trimEnd() : cut(line, width);
  };
  const titles = lineOf(({ title, order }) => (order === by ? `▼${title}` : title), "NAME");
  return [titles, ...processes.map((one) => lineOf(({ cell }) => cell(one), nameOf(one)))];
}

/** The line about the system. */
function systemLine({ overview, top }: Sample): string {
  const { name, id, uptimeMs, processes, handledPerS, memory } = overview;
  const parts = [
    `${name} (${id})`,
    `up ${lengthOf(uptimeMs)}`,
    `${count(processes)} processes`,
    ...(handledPerS === undefined ? [] : [`${perS(handledPerS)} handled/s`]),
    `heap ${mebibytes(memory.heapUsed)} of ${mebibytes(memory.heapTotal)}`,
    `rss ${mebibytes(memory.rss)}`,
    ...(top.matched < top.total ? [`${count(top.matched)} match`] : []),
  ];
  return parts.join(" · ");
}

/** Words for the kinds of incidents that people count. Others are listed when there are any. */
const WORDS: Readonly<Record<string, string>> = {
  crash: "crashes",
  restart: "restarts",
  gaveUp: "given up",
  deadLetter: "dead letters",
  discardedReply: "discarded replies",
  highWater: "full mailboxes",
  longTurn: "long turns",
  lateError: "late errors",
  reroute: "re-routes",
  undeliverable: "undeliverable",
  deadTuple: "dead tuples",
  topologyRestart: "topology restarts",
  breaker: "breaker changes",
  hospital: "in hospital",
  stranded: "stranded",
  storeOutage: "store outages",
  nodeUp: "nodes up",
  nodeDown: "nodes down",
  nodeRefused: "nodes refused",
};
const ALWAYS = new Set(["crash", "restart", "deadLetter"]);

/** What went wrong in the last minute, and in all. */
function countsLine({ counts, turns, breakers, at, keepsSince }: Overview): string {
  const found: Readonly<Record<string, { readonly total: number; readonly minute: number } | undefined>> =
    counts;
  const kinds = [...new Set([...ALWAYS, ...Object.keys(counts)])];
  const parts = kinds.flatMap((kind) => {
    const { total, minute } = found[kind] ?? { total: 0, minute: 0 };
    if (total === 0 && !ALWAYS.has(kind)) return [];
    return [`${WORDS[kind] ?? kind} ${count(total)}${minute === 0 ? "" : ` (+${count(minute)})`}`];
  });
  const late = turns.late === 0 ? [] : [`late turns ${count(turns.late)}`];
  const open = breakers.map(({ name, state, since }) => `${name} ${state} for ${lengthOf(at - since)}`);
  return [...parts, ...late, ...open, `kept for ${lengthOf(Math.max(0, at - keepsSince))}`].join(" · ");
}

/** One incident: when, what, where and why. */
function incidentLine({ lastAt, kind, count: times, path, label, pid, text }: Incident, now: number): string {
  const where = path ?? label ?? pid;
  const often = times > 1 ? ` ×${count(times)}` : "";
  return oneLine(
    `${whenText(lastAt, now)}  ${kind}${often}  ${where === undefined ? "" : `${where}: `}${text}`,
  );
}

/** How many incidents a picture has: the newest. */
const INCIDENTS = 3;
const newest = ({ recent }: Overview): readonly Incident[] =>
  [...recent].sort((a, b) => b.number - a.number).slice(0, INCIDENTS);
const HELP =
  "q quit · / search · esc all · space hold · order: m mailbox, g growth, h handled, b busy, a age";

/** The lines of a screen, as many as it has rows. */
export function screenLines(state: TopState, paint: Paint): readonly string[] {
  const { columns: width, rows, sample, problem, question, first } = state;
  const line = (text: string): string => cut(text, width);
  const footer = paint.dim(line(footerText(state)));
  if (sample === undefined)
    return [line(problem ?? "asks the program …"), ...blank(rows - 2), footer].slice(-rows);
  const { overview, top } = sample;
  const incidents = newest(overview).map((one) => paint.bad(line(incidentLine(one, overview.at))));
  const head = [
    line(systemLine(sample)),
    line(countsLine(overview)),
    ...incidents,
    ...blank(INCIDENTS - incidents.length),
    problem === undefined ? paint.dim(line(orderText(question))) : paint.bad(line(`no answer: ${problem}`)),
    "",
  ];
  const room = roomOf(state);
  const [titles = "", ...processes] = processLines(
    top.processes.slice(first, first + room),
    question.by,
    width,
  );
  const body = [paint.dim(titles), ...processes, ...blank(room - processes.length)];
  // A window may be lower than the head: the processes and the keys are cut last.
  return [...head, ...body]
    .slice(0, Math.max(0, rows - 1))
    .concat(footer)
    .slice(0, rows);
}

const blank = (lines: number): readonly string[] => Array.from({ length: Math.max(0, lines) }, () => "");

function footerText({ typed, isHeld }: TopState): string {
  if (typed !== undefined) return `/${typed}▏ enter searches, esc leaves`;
  return isHeld ? `held · ${HELP}` : HELP;
}

function orderText({ by, find, kind }: TopQuestion): string {
  const only = kind === undefined ? "" : ` of kind ${kind}`;
  return `processes${only} by ${by}${find === "" ? "" : ` with "${find}"`}`;
}

/** The same as text for a pipe, or for a terminal without a screen. @param width - of the terminal; undefined: nothing is cut */
export function sampleText(sample: Sample, question: TopQuestion, width: number | undefined): string {
  const { overview, top } = sample;
  const incidents = newest(overview).map((one) => incidentLine(one, overview.at));
  const head = [systemLine(sample), countsLine(overview), ...incidents].map((text) =>
    width === undefined ? oneLine(text) : cut(text, width),
  );
  const none =
    top.processes.length === 0 ? ["no processes"] : processLines(top.processes, question.by, width);
  return [...head, "", ...none].join("\n");
}
