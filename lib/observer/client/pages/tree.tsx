// The supervision tree, now or at any time of the last ten minutes: who was restarted, how much of the intensity was used, and the story of
// each crash.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Incident } from "../../../admin/history/operations.js";
import type { PastEnd, PastTree } from "../../../admin/history/past-tree.js";
import type { ChildSummary, SupervisorSummary } from "../../../admin/system/operations.js";
import { clipped, durationText, plural, visible } from "../model/format.js";
import {
  histogram,
  marksOf,
  openAtFirst,
  rootsOf,
  sliderRange,
  storyOf,
  type TreeChild,
  type TreeSupervisor,
  until,
  usedAt,
} from "../model/tree.js";
import {
  Badge,
  Bar,
  CrashStory,
  Empty,
  Loading,
  Page,
  PidLink,
  Problem,
  Time,
  type Tone,
} from "../parts/index.js";
import { useAsked, useLatest } from "../shell/asked.js";
import { serverNow } from "../shell/clock.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

/** Supervisors that show their children at a time: each is a live view, and a viewer has 16 of them. */
const OPEN_MOST = 12;
/** Children of a supervisor that are shown. */
const CHILDREN_MOST = 100;
const TICKS = 60;
/** How often the page asks since when the tree is known, and when it changed last. */
const AGAIN_MS = 5_000;

/** What every branch of the tree needs. */
interface TreeView {
  readonly supervisors: readonly TreeSupervisor[];
  readonly past: readonly Incident[];
  readonly at: number;
  readonly isPast: boolean;
  readonly open: ReadonlySet<string>;
  toggle(pid: string): void;
}

function View(): JSX.Element {
  const { params, set } = useRoute();
  const isPast = params.at !== undefined;
  const asked = isPast ? Number(params.at) : serverNow.value;
  const now = live<{ readonly items: readonly SupervisorSummary[] }>(
    isPast ? undefined : "system.supervisors",
    { limit: 500 },
  ).value;
  const begin = useAsked<PastTree>("system.treeAt", { limit: 1 }, Math.floor(serverNow.value / AGAIN_MS));
  const past = useLatest<PastTree>(isPast ? "system.treeAt" : undefined, { at: asked });
  const recent = live<readonly Incident[]>("system.recent", { limit: 500 }).value;
  const tree = isPast ? past.value : undefined;
  const items = isPast ? tree?.supervisors : now.value?.items;
  const open = useOpen(items);
  const at = tree?.at ?? asked;
  const incidents = recent.value ?? [];
  const number = params.incident === undefined ? undefined : Number(params.incident);
  const error = isPast ? past.error : now.error;
  return (
    <Page
      title="Tree"
      about="Supervisors and their children, with what was restarted in the last ten minutes."
    >
      <Problem error={error ?? recent.error} />
      <Slider
        incidents={incidents}
        at={isPast ? at : undefined}
        since={(tree ?? begin.value)?.since}
        earlier={(tree ?? begin.value)?.earlier}
        later={tree?.later}
        set={(next) => set({ at: next, incident: undefined })}
      />
      {items === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : items.length === 0 ? (
        isPast ? (
          <Empty title="No supervisor ran at that time">Move the slider to another time.</Empty>
        ) : (
          <NoSupervisors />
        )
      ) : (
        <div class={number === undefined ? "tree-page" : "tree-page beside"}>
          <div>
            <ul class="tree" aria-label={isPast ? "Supervision tree at that time" : "Supervision tree"}>
              {rootsOf(items).map((root) => (
                <Branch
                  key={root.pid}
                  one={root}
                  view={{ supervisors: items, past: until(incidents, at), at, isPast, ...open }}
                />
              ))}
            </ul>
            {tree === undefined ? null : <LeftOut tree={tree} />}
          </div>
          {number === undefined ? null : <Panel incidents={incidents} number={number} />}
        </div>
      )}
    </Page>
  );
}

/** Supervisors of the past that are not shown. */
function LeftOut({ tree: { more, isPartial } }: { readonly tree: PastTree }): JSX.Element | null {
  if (more === 0 && !isPartial) return null;
  return (
    <p class="soft">
      {more > 0 ? `${plural(more, "more supervisor", "more supervisors")} ran then. ` : ""}
      {isPartial ? "There were more supervisors than the history keeps." : ""}
    </p>
  );
}

function NoSupervisors(): JSX.Element {
  return (
    <Empty
      title="No supervisor runs in this system"
      code={`const Shop = supervisor({ children: [{ id: "stock", start: Stock }] });
await system.start(Shop);`}
    >
      A supervisor starts its children in order, and restarts them when they crash.
    </Empty>
  );
}

/** Which supervisors show their children. The address has them once the reader has changed something. */
function useOpen(items: readonly TreeSupervisor[] | undefined): Pick<TreeView, "open" | "toggle"> {
  const { params, set } = useRoute();
  const text = params.open;
  const first = useMemo(() => openAtFirst(items ?? [], OPEN_MOST), [items?.map(({ pid }) => pid).join(" ")]);
  const open = text === undefined ? first : new Set(text === "none" ? [] : text.split(" "));
  const toggle = (pid: string): void => {
    const next = open.has(pid) ? [...open].filter((one) => one !== pid) : [...open, pid].slice(-OPEN_MOST);
    set({ open: next.length === 0 ? "none" : next.join(" ") });
  };
  return { open, toggle };
}

interface SliderProps {
  readonly incidents: readonly Incident[];
  /** Undefined: now. */
  readonly at: number | undefined;
  /** From when on the tree is known. */
  readonly since: number | undefined;
  /** When the tree changed next, before and behind that time. */
  readonly earlier: number | undefined;
  readonly later: number | undefined;
  set(at: number | undefined): void;
}

/** The last ten minutes, as far as they are known, with bars where something was restarted. */
function Slider({ incidents, at, since, earlier, later, set }: SliderProps): JSX.Element {
  const { from, to, isShort } = sliderRange(serverNow.value, since);
  const counts = histogram(
    incidents.filter(({ kind }) => kind === "crash" || kind === "restart"),
    from,
    to,
    TICKS,
  );
  const most = Math.max(1, ...counts);
  const back = at === undefined ? 0 : Math.round((at - to) / 1_000);
  const move = (event: Event): void => {
    const seconds = Number((event.currentTarget as HTMLInputElement).value);
    set(seconds === 0 ? undefined : Math.round(to + seconds * 1_000));
  };
  const length = durationText(to - from);
  return (
    <div class="slider">
      <svg viewBox={`0 0 ${TICKS * 4} 24`} preserveAspectRatio="none" aria-hidden="true">
        {counts.map((count, n) => (
          <rect key={n} x={n * 4} width="3" y={24 - (count / most) * 24} height={(count / most) * 24} />
        ))}
      </svg>
      <input
        type="range"
        min={(from - to) / 1_000}
        max="0"
        step="1"
        value={back}
        onInput={move}
        aria-label="Time that the tree is shown at"
        aria-valuetext={back === 0 ? "now" : `${durationText(-back * 1_000)} ago`}
      />
      <div class="slider-legend">
        <span>
          {length} ago{isShort ? ", where the history begins" : ""}
        </span>
        <span>
          <Step to={earlier} set={set}>
            ◂ Earlier change
          </Step>{" "}
          <Step to={later} set={set}>
            Later change ▸
          </Step>
        </span>
        {at === undefined ? (
          <strong>Now</strong>
        ) : (
          <span>
            Shown as of <Time at={at} />{" "}
            <button type="button" class="button small" onClick={() => set(undefined)}>
              Back to now
            </button>
          </span>
        )}
      </div>
    </div>
  );
}

interface StepProps {
  readonly to: number | undefined;
  readonly children: string;
  set(at: number): void;
}

/** Moves to the next change of the tree. It stays where it is without one, so that its neighbour does not move. */
function Step({ to, children, set }: StepProps): JSX.Element {
  return (
    <button
      type="button"
      class="button small"
      disabled={to === undefined}
      onClick={() => {
        if (to !== undefined) set(to);
      }}
    >
      {children}
    </button>
  );
}

function Branch({ one, view }: { readonly one: TreeSupervisor; readonly view: TreeView }): JSX.Element {
  const isOpen = view.open.has(one.pid);
  const used = usedAt(view.past, one, view.at) ?? 0;
  const shown = one.restarts ?? used;
  return (
    <li>
      <div class="node supervisor">
        <button
          type="button"
          class="twist"
          aria-expanded={isOpen}
          aria-label={`Children of ${one.label ?? one.pid}`}
          onClick={() => view.toggle(one.pid)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
        <Who pid={one.pid} label={one.name ?? one.label} ended={one.ended} />
        <span class="soft">
          {one.strategy}
          {one.children === undefined ? "" : `, ${plural(one.children, "child", "children")}`}
        </span>
        <Intensity {...one} used={shown} />
        <Ended ended={one.ended} />
      </div>
      {isOpen ? <Children one={one} view={view} /> : null}
    </li>
  );
}

function Intensity({
  intensity,
  periodMs,
  used,
}: {
  readonly intensity: number;
  readonly periodMs: number;
  readonly used: number;
}): JSX.Element {
  // Infinity is a text on the wire.
  if (typeof intensity !== "number") return <span class="soft">restarts without a limit</span>;
  const share = intensity === 0 ? 0 : used / intensity;
  const text = `${used} of ${intensity} restarts in ${durationText(periodMs)} used`;
  return (
    <span class="intensity">
      <Bar share={share} tone={share >= 1 ? "bad" : share >= 0.5 ? "warn" : "good"} label={text} />
      <span class="soft">{text}</span>
    </span>
  );
}

interface ChildrenProps {
  readonly one: TreeSupervisor;
  readonly view: TreeView;
}

function Children({ one, view }: ChildrenProps): JSX.Element {
  return one.listed === undefined ? (
    <LiveChildren one={one} view={view} />
  ) : one.childrenSince === undefined ? (
    <ChildList one={one} view={view} items={one.listed} />
  ) : (
    <p class="soft">
      Its children of that time are no longer known, as too much has changed since. They are from{" "}
      <Time at={one.childrenSince} /> on.
    </p>
  );
}

function LiveChildren({ one, view }: ChildrenProps): JSX.Element {
  const { value, error } = live<{ readonly items: readonly ChildSummary[] }>("system.children", {
    id: one.pid,
    limit: CHILDREN_MOST,
  }).value;
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  return <ChildList one={one} view={view} items={value.items} />;
}

function ChildList({
  one: { pid: supervisor, children = 0 },
  view,
  items,
}: ChildrenProps & { readonly items: readonly TreeChild[] }): JSX.Element {
  const below = new Map(view.supervisors.map((each) => [each.pid, each]));
  return (
    <ul>
      {items.map((child, n) => {
        const branch = typeof child.pid === "string" ? below.get(child.pid) : undefined;
        return branch === undefined ? (
          <Leaf key={n} child={child} supervisor={supervisor} view={view} />
        ) : (
          <Branch key={n} one={branch} view={view} />
        );
      })}
      {children > items.length ? (
        <li class="soft">
          and {plural(children - items.length, "more child", "more children")}
          {view.isPast ? "" : ", see "}
          {view.isPast ? null : <a href={link("processes")}>Processes</a>}
        </li>
      ) : null}
    </ul>
  );
}

const STATUS: Readonly<Record<string, Tone>> = { running: "good", restarting: "warn", stopped: "quiet" };

interface LeafProps {
  readonly child: TreeChild;
  readonly supervisor: string;
  readonly view: TreeView;
}

function Leaf({ child, supervisor, view }: LeafProps): JSX.Element {
  const { set } = useRoute();
  const { id, pid, status, reason, ended } = child;
  const { restarts, latest } = marksOf(view.past, supervisor, id);
  return (
    <li>
      <div class="node">
        {typeof pid === "string" ? <Who pid={pid} label={id} ended={ended} /> : <span>{id}</span>}
        <Badge tone={STATUS[status] ?? "quiet"}>{status}</Badge>
        {latest === undefined ? null : (
          <button type="button" class="mark" onClick={() => set({ incident: latest.number })}>
            {plural(restarts, "restart")}, <Time at={latest.lastAt} />
          </button>
        )}
        {typeof pid === "string" || reason === undefined ? null : (
          <span class="soft why">ended: {clipped(visible(reason), 120)}</span>
        )}
        <Ended ended={ended} />
      </div>
    </li>
  );
}

/** A process of the tree. One that has ended has no page. */
function Who({
  pid,
  label,
  ended,
}: {
  readonly pid: string;
  readonly label: string | undefined;
  readonly ended: PastEnd | undefined;
}): JSX.Element {
  if (ended === undefined) return <PidLink pid={pid} label={label} />;
  return (
    <s class="pid" title={pid}>
      {clipped(visible(label ?? pid), 40)}
    </s>
  );
}

function Ended({ ended }: { readonly ended: PastEnd | undefined }): JSX.Element | null {
  if (ended === undefined) return null;
  return (
    <span class="soft why">
      ✕ ended <Time at={ended.at} />
      {ended.reason === undefined ? "" : `: ${clipped(visible(ended.reason), 120)}`}
    </span>
  );
}

function Panel({
  incidents,
  number,
}: {
  readonly incidents: readonly Incident[];
  readonly number: number;
}): JSX.Element {
  const { set } = useRoute();
  const story = storyOf(incidents, number);
  return (
    <section class="card panel" aria-label="The story of a crash">
      <button type="button" class="button small close" onClick={() => set({ incident: undefined })}>
        Close
      </button>
      {story === undefined ? (
        <p class="soft">This incident is no longer kept.</p>
      ) : (
        <CrashStory story={story} />
      )}
    </section>
  );
}

export const page: PageSpec = {
  name: "tree",
  title: "Tree",
  group: "System",
  needs: "system",
  letter: "t",
  View,
};
