// Parts that an execution needs and a definition does not have: then nothing takes its messages, and it cannot end. Pure.

import type { AnyPipeline } from "./pipeline.js";

/** A part that an execution needs, and that its pipeline does not have. */
export interface MissingPart {
  /**
   * `pipeline`: no definition has this name. `version`: none of its name has this version, or goes on with it. `queue`: the execution has messages in it, and no route takes from it. `source`: the execution
   * has not read it to its end.
   */
  readonly part: "pipeline" | "version" | "queue" | "source";
  /** The name that is missing. */
  readonly name: string;
}

/** The messages and sources that an execution still has. */
export interface RemainingWork {
  readonly pipeline: string;
  readonly version: number;
  /** Queues with messages that are not settled. */
  readonly queues: readonly string[];
  /** Sources that may give more. */
  readonly sources: readonly string[];
}

/** The parts that a pipeline has. */
export interface PipelineParts {
  readonly queues: ReadonlySet<string>;
  readonly sources: ReadonlySet<string>;
}

export function partsOf({ options: { routes, sources = [] } }: AnyPipeline): PipelineParts {
  return {
    queues: new Set(routes.map(({ options }) => options.from.name)),
    sources: new Set(sources.map(({ source }) => source.name)),
  };
}

/** The parts of a definition; or none, because no definition has the name, or none of that name has the version. */
export type KnownParts = PipelineParts | "no pipeline" | "no version";

/** The parts that the execution needs and that are not there. Empty: it can end. */
export function missingParts(work: RemainingWork, parts: KnownParts): readonly MissingPart[] {
  if (parts === "no pipeline") return [{ part: "pipeline", name: work.pipeline }];
  if (parts === "no version") return [{ part: "version", name: String(work.version) }];
  const of = (
    part: MissingPart["part"],
    names: readonly string[],
    known: ReadonlySet<string>,
  ): MissingPart[] => names.filter((name) => !known.has(name)).map((name) => ({ part, name }));
  return [...of("queue", work.queues, parts.queues), ...of("source", work.sources, parts.sources)];
}

const WHY: Readonly<Record<MissingPart["part"], string>> = {
  pipeline: "no pipeline has the name",
  version: "no definition of the pipeline has or goes on with the version",
  queue: "no route takes from the queue",
  source: "the pipeline has no source",
};

/** For people. */
export function missingText(missing: readonly MissingPart[]): string {
  return missing.map(({ part, name }) => `${WHY[part]} "${name}"`).join(", ");
}
