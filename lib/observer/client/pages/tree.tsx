// The supervision tree, now or at any time of the last ten minutes: who was restarted, how much of the intensity was used, and the story of
// each crash.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Incident } from "../../../admin/history/operations.js";
import type { ChildSummary, SupervisorSummary } from "../../../admin/system/operations.js";
import { durationText, plural } from "../model/format.js";
import {
  histogram,
  LOOK_BACK_MS,
  marksOf,
  openAtFirst,
  rootsOf,
  storyOf,
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
import { serverNow } from "../shell/clock.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

/** Supervisors that show their children at a time: each is a live view, and a viewer has 16 of them. */
const OPEN_MOST = 12;
/** Children of a supervisor that are shown. */
const CHILDREN_MOST = 100;
const TICKS = 60;

/** What every branch of the tree needs. */
interface TreeView {
  readonly supervisors: readonly SupervisorSummary[];
  readonly past: readonly Incident[];
  readonly at: number;
  readonly isPast: boolean;
  readonly open: ReadonlySet<string>;
  toggle(pid: string): void;
}

function View(): JSX.Element {
  const { params, set } = useRoute();
  const supervisors = live<{ readonly items: readonly SupervisorSummary[] }>("system.supervisors", {
    limit: 500,
  }).value;
  const recent = live<readonly Incident[]>("system.recent", { limit: 500 }).value;
  const items = supervisors.value?.items;
  const open = useOpen(items);
  const isPast = params.at !== undefined;
  const at = isPast ? Number(params.at) : serverNow.value;
  const incidents = recent.value ?? [];
  const past = until(incidents, at);
  const number = params.incident === undefined ? undefined : Number(params.incident);
  return (
    <Page
      title="Tree"
      about="Supervisors and their children, with what was restarted in the last ten minutes."
    >
      <Problem error={supervisors.error ?? recent.error} />
      {items === undefined ? (
        <Loading />
      ) : items.length === 0 ? (
        <NoSupervisors />
      ) : (
        <>
          <Slider
            incidents={incidents}
            at={isPast ? at : undefined}
            set={(next) => set({ at: next, incident: undefined })}
          />
          <div class={number === undefined ? "tree-page" : "tree-page beside"}>
            <ul class="tree" aria-label="Supervision tree">
              {rootsOf(items).map((root) => (
                <Branch key={root.pid} one={root} view={{ supervisors: items, past, at, isPast, ...open }} />
              ))}
            </ul>
            {number === undefined ? null : <Panel incidents={incidents} number={number} />}
          </div>
        </>
      )}
    </Page>
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
function useOpen(items: readonly SupervisorSummary[] | undefined): Pick<TreeView, "open" | "toggle"> {
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
  set(at: number | undefined): void;
}

/** The last ten minutes, with bars where something was restarted. */
function Slider({ incidents, at, set }: SliderProps): JSX.Element {
  const to = serverNow.value;
  const from = to - LOOK_BACK_MS;
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
  return (
    <div class="slider">
      <svg viewBox={`0 0 ${TICKS * 4} 24`} preserveAspectRatio="none" aria-hidden="true">
        {counts.map((count, n) => (
          <rect key={n} x={n * 4} width="3" y={24 - (count / most) * 24} height={(count / most) * 24} />
        ))}
      </svg>
      <input
        type="range"
        min={-LOOK_BACK_MS / 1_000}
        max="0"
        step="1"
        value={back}
        onInput={move}
        aria-label="Time that the tree is shown at"
        aria-valuetext={back === 0 ? "now" : `${durationText(-back * 1_000)} ago`}
      />
      <div class="slider-legend">
        <span>10 min ago</span>
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

function Branch({ one, view }: { readonly one: SupervisorSummary; readonly view: TreeView }): JSX.Element {
  const isOpen = view.open.has(one.pid);
  const used = usedAt(view.past, one, view.at) ?? 0;
  const shown = view.isPast ? used : one.restarts;
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
        <PidLink pid={one.pid} label={one.name ?? one.label} />
        <span class="soft">
          {one.strategy}, {plural(one.children, "child", "children")}
        </span>
        <Intensity {...one} used={shown} />
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

function Children({ one, view }: { readonly one: SupervisorSummary; readonly view: TreeView }): JSX.Element {
  const { value, error } = live<{ readonly items: readonly ChildSummary[] }>("system.children", {
    id: one.pid,
    limit: CHILDREN_MOST,
  }).value;
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  const below = new Map(view.supervisors.map((each) => [each.pid, each]));
  return (
    <ul>
      {value.items.map((child) => {
        const supervisor = typeof child.pid === "string" ? below.get(child.pid) : undefined;
        return supervisor === undefined ? (
          <Leaf key={child.place} child={child} supervisor={one.pid} view={view} />
        ) : (
          <Branch key={child.place} one={supervisor} view={view} />
        );
      })}
      {one.children > value.items.length ? (
        <li class="soft">
          and {plural(one.children - value.items.length, "more child", "more children")}, see{" "}
          <a href={link("processes")}>Processes</a>
        </li>
      ) : null}
    </ul>
  );
}

const STATUS: Readonly<Record<string, Tone>> = { running: "good", restarting: "warn", stopped: "quiet" };

interface LeafProps {
  readonly child: ChildSummary;
  readonly supervisor: string;
  readonly view: TreeView;
}

function Leaf({ child: { id, pid, status }, supervisor, view }: LeafProps): JSX.Element {
  const { set } = useRoute();
  const marks = marksOf(view.past, supervisor, id, view.at);
  const state = !view.isPast ? status : marks.isDown ? "restarting" : "running";
  return (
    <li>
      <div class="node">
        {typeof pid === "string" ? <PidLink pid={pid} label={id} /> : <span>{id}</span>}
        <Badge tone={STATUS[state] ?? "quiet"}>{state}</Badge>
        {marks.latest === undefined ? null : (
          <button type="button" class="mark" onClick={() => set({ incident: marks.latest?.number })}>
            {plural(marks.restarts, "restart")}, <Time at={marks.latest.lastAt} />
          </button>
        )}
      </div>
    </li>
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
