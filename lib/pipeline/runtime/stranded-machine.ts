// When executions that a host cannot run count as stranded, in a store that several hosts share. Another host may have their version, and
// a host that is being replaced is away for a moment. So people are notified only when no host has offered the version for a while. Pure.

/** A version of a pipeline. */
export interface PipelineVersion {
  readonly pipeline: string;
  readonly version: number;
}

export interface StrandedState {
  /** Since when no host offers a version, by its key; whether that was reported already. */
  readonly absent: ReadonlyMap<string, { readonly since: number; readonly isSaid: boolean }>;
}

export interface StrandedEvent {
  readonly type: "looked";
  /** The versions of executions in flight that this host cannot run. */
  readonly wanted: readonly PipelineVersion[];
  /** The versions that the present hosts can run. */
  readonly offered: readonly PipelineVersion[];
  readonly now: number;
}

/** Executions of this version are stranded: no host has the pipeline, or none has the version. */
export interface StrandedEffect extends PipelineVersion {
  readonly type: "stranded";
  readonly lacks: "no pipeline" | "no version";
}

/** How long no host may offer a version before its executions count as stranded, in milliseconds: hosts are replaced within that time. */
export const ABSENT_MS = 30_000;

export const initial: StrandedState = { absent: new Map() };

/** Tells versions apart. */
export const versionKey = ({ pipeline, version }: PipelineVersion): string => `${version} ${pipeline}`;

export function decide(
  { absent: before }: StrandedState,
  { wanted, offered, now }: StrandedEvent,
): [StrandedState, readonly StrandedEffect[]] {
  const versions = new Set(offered.map(versionKey));
  const names = new Set(offered.map(({ pipeline }) => pipeline));
  const absent = new Map<string, { readonly since: number; readonly isSaid: boolean }>();
  const effects: StrandedEffect[] = [];
  for (const { pipeline, version } of wanted) {
    const key = versionKey({ pipeline, version });
    if (versions.has(key) || absent.has(key)) continue;
    const { since, isSaid } = before.get(key) ?? { since: now, isSaid: false };
    const isDue = now - since >= ABSENT_MS;
    if (isDue && !isSaid) {
      const lacks = names.has(pipeline) ? "no version" : "no pipeline";
      effects.push({ type: "stranded", pipeline, version, lacks });
    }
    absent.set(key, { since, isSaid: isSaid || isDue });
  }
  return [{ absent }, effects];
}
