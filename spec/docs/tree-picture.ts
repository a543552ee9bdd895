// Draws the supervision tree of a running system as an SVG: its processes, their links, who monitors whom, and who was there before.

import { type ExitReason, inspect, type Pid, type ProcessInfo, type System } from "signalbox";

/** A process that crashed. */
export interface Crash {
  readonly label: string | undefined;
  readonly pid: string;
  readonly error: string;
}

/** A line of text in a box. Those about a crashed predecessor have a colour of their own. */
interface Line {
  readonly text: string;
  readonly was?: boolean;
}

/** One process, ready to be drawn. */
interface Box {
  readonly info: ProcessInfo;
  readonly title: string;
  readonly lines: readonly Line[];
}

/** What a picture shows. */
export interface Tree {
  readonly boxes: readonly Box[];
  readonly crashes: readonly Crash[];
}

const errorOf = (reason: ExitReason): string | undefined =>
  reason.type === "crash" && reason.error instanceof Error ? reason.error.message : undefined;

/** Keeps the crashes of a system from now on. The result looks at the system once its processes are idle. */
export function watch(system: System): () => Promise<Tree> {
  const crashes: Crash[] = [];
  system.events.on("exit", ({ pid, reason }) => {
    const error = errorOf(reason);
    if (error !== undefined) crashes.push({ label: pid.label, pid: bare(pid), error });
  });
  return lookAt(system, crashes);
}

/**
 * Looks at a system whose crashes are known, once its processes are idle. Nothing listens before: with a listener of exits each dispatch
 * has a process, which takes a number (decision 176).
 */
export function lookAt(system: System, crashes: readonly Crash[]): () => Promise<Tree> {
  return async () => {
    await system.idle();
    const infos = system.processes().flatMap((pid) => system.info(pid) ?? []);
    const boxes = await Promise.all(infos.map((info) => boxOf(system, info, crashes)));
    return { boxes, crashes };
  };
}

interface SupervisorState {
  readonly strategy: string;
  readonly intensity: number;
  readonly periodMs: number;
}

const isSupervisor = (state: unknown): state is SupervisorState =>
  typeof state === "object" && state !== null && "strategy" in state && "intensity" in state;

/** Characters of a state that fit into a box. A longer one is not shown. */
const MOST_STATE = 30;

/** Plain data of a server. The library's own processes hold objects of its classes. */
const isPlain = (state: unknown): state is Record<string, unknown> =>
  typeof state === "object" && state !== null && !("isHelper" in state);

async function boxOf(system: System, info: ProcessInfo, crashes: readonly Crash[]): Promise<Box> {
  const state: unknown = await inspect(system, info.pid).state();
  // A restarted child has the label of the one before.
  const before = crashes.filter(({ label }) => label === info.label);
  const lines: Line[] = [{ text: `${bare(info.pid)}, ${info.status}` }];
  if (isSupervisor(state)) {
    const { strategy, intensity, periodMs } = state;
    lines.push({ text: strategy }, { text: `restarts: at most ${intensity} in ${periodMs / 1_000} s` });
  } else if (isPlain(state)) {
    const text = JSON.stringify(state).replaceAll('"', "").replaceAll(":", ": ").replaceAll(",", ", ");
    if (text.length <= MOST_STATE) lines.push({ text: `state ${text}` });
  }
  for (const { pid, error } of before)
    lines.push({ text: `was ${pid}, crashed:`, was: true }, { text: `“${error}”`, was: true });
  return { info, title: info.label ?? "process", lines };
}

const bare = (pid: Pid): string => `<${pid.node.name}.${pid.id}>`;

const WIDTH = 244;
const GAP = 20;
const LINE = 18;
const heightOf = ({ lines }: Box): number => 34 + LINE * lines.length;

interface Placed extends Box {
  readonly x: number;
  readonly y: number;
}

/** The rows from top to bottom: roots with children, their children, and so on; last those without any tie of a tree. */
function rowsOf({ boxes }: Tree): readonly (readonly Box[])[] {
  const pids = new Set<Pid>(boxes.map(({ info }) => info.pid));
  const childrenOf = (row: readonly Box[]): readonly Box[] =>
    row.flatMap(({ info: { pid } }) => boxes.filter((box) => box.info.parent === pid));
  const roots = boxes.filter(({ info: { parent } }) => parent === undefined || !pids.has(parent));
  const rows: (readonly Box[])[] = [];
  for (
    let row: readonly Box[] = roots.filter(({ info }) => info.links.length > 0);
    row.length > 0;
    row = childrenOf(row)
  )
    rows.push(row);
  const single = roots.filter(({ info }) => info.links.length === 0);
  return single.length === 0 ? rows : [...rows, single];
}

function place(rows: readonly (readonly Box[])[]): {
  readonly placed: readonly Placed[];
  readonly width: number;
  readonly height: number;
} {
  const wide = Math.max(...rows.map((row) => row.length));
  const width = GAP + wide * (WIDTH + GAP);
  const placed: Placed[] = [];
  let y = GAP;
  for (const row of rows) {
    const start = (width - row.length * (WIDTH + GAP) + GAP) / 2;
    placed.push(...row.map((box, i) => ({ ...box, x: start + i * (WIDTH + GAP), y })));
    y += Math.max(...row.map(heightOf)) + 2 * GAP;
  }
  return { placed, width, height: y - GAP };
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Says what the picture shows, for those who do not see it. */
export function describeTree({ boxes, crashes }: Tree): string {
  const [root] = boxes.filter(({ info }) => info.links.length > 0 && info.parent === undefined);
  const children = boxes.filter(({ info }) => info.parent !== undefined);
  const names = children.map(({ title }) => title).join(", ");
  const again = crashes.map(({ label }) => label).join(", ");
  return `A running supervision tree. ${root?.title} has the children ${names}. Crashed and restarted: ${again}.`;
}

const STYLE = `
  svg { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; }
  .page { fill: #ffffff; } .box { fill: #f3f6fa; stroke: #59636e; } .title { font-weight: bold; }
  .link { stroke: #0a57c2; } .monitor { stroke: #59636e; stroke-dasharray: 4 4; } .was { fill: #b3261e; }
  path { fill: none; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3; } .page { fill: #0d1117; } .box { fill: #1c2330; stroke: #9198a1; }
    .link { stroke: #6cb0ff; } .monitor { stroke: #9198a1; } .was { fill: #ff9b94; }
  }
`;

function drawBox(box: Placed): string {
  const { x, y, title, lines } = box;
  const texts = lines.map(({ text, was }, i) => {
    const kind = was ? ' class="was"' : "";
    return `<text${kind} x="${x + 12}" y="${y + 24 + LINE * (i + 1)}">${escaped(text)}</text>`;
  });
  return [
    `<rect class="box" x="${x}" y="${y}" width="${WIDTH}" height="${heightOf(box)}" rx="8"/>`,
    `<text class="title" x="${x + 12}" y="${y + 24}">${escaped(title)}</text>`,
    ...texts,
  ].join("\n  ");
}

/** A tie between two boxes, from the edge of the upper one to that of the lower one. */
function drawTie(kind: "link" | "monitor", one: Placed, other: Placed): string {
  const [above, below] = one.y < other.y ? [one, other] : [other, one];
  const from = { x: above.x + WIDTH / 2, y: above.y + heightOf(above) };
  const to = { x: below.x + WIDTH / 2, y: below.y };
  const middle = (from.y + to.y) / 2;
  return `<path class="${kind}" d="M${from.x} ${from.y} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}"/>`;
}

/** The picture. It brings its own background, light or dark as its reader has it. */
export function drawTree(tree: Tree): string {
  const { placed, width, height } = place(rowsOf(tree));
  const boxOfPid = new Map<Pid, Placed>(placed.map((box) => [box.info.pid, box]));
  const ties = placed.flatMap((box) => [
    ...tiesTo("link", box, box.info.links),
    ...tiesTo("monitor", box, box.info.monitors),
  ]);
  function tiesTo(kind: "link" | "monitor", box: Placed, pids: readonly Pid[]): string[] {
    return pids.flatMap((pid) => {
      const other = boxOfPid.get(pid);
      // Links go both ways and are drawn once.
      return other === undefined || (kind === "link" && other.y < box.y) ? [] : [drawTie(kind, box, other)];
    });
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
  <title id="title">${escaped(describeTree(tree))}</title>
  <style>${STYLE}  </style>
  <rect class="page" width="${width}" height="${height}" rx="8"/>
  ${ties.join("\n  ")}
  ${placed.map(drawBox).join("\n  ")}
</svg>
`;
}
