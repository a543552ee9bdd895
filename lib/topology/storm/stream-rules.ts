// Rules about streams and the subscriptions to them.

import type { Blueprint, Subscription } from "../definition/blueprint.js";
import { formOf } from "../definition/grouping-form.js";
import type { StormFinding } from "./finding.js";
import { about, placeOf, type StormRule } from "./rule.js";

/** Rules about streams. */
export const streamRules: readonly StormRule[] = [customGroupings, direct, mixed, unread, values];

function customGroupings({ subscriptions }: Blueprint): readonly StormFinding[] {
  return subscriptions
    .filter(({ grouping }) => formOf(grouping) === undefined)
    .map((subscription) =>
      about(
        "blocks",
        "custom-grouping",
        subscription.to,
        {
          text: "its grouping is a function, which cannot run in Storm's JVM.",
          instead:
            "compute the key in the bolt that emits, as a field of its own, and group by grouping.fields of that field; or emit to a task " +
            "by the option `task`, and subscribe with grouping.direct().",
        },
        placeOf(subscription),
      ),
    );
}

/** The streams that are read, each with its subscriptions. */
function readStreams({ subscriptions }: Blueprint): readonly (readonly Subscription[])[] {
  const read = new Map<string, Subscription[]>();
  for (const subscription of subscriptions) {
    const key = `${subscription.from}.${subscription.stream}`;
    const known = read.get(key);
    if (known === undefined) read.set(key, [subscription]);
    else known.push(subscription);
  }
  return [...read.values()];
}

const isDirect = ({ grouping }: Subscription): boolean => formOf(grouping)?.kind === "direct";

/** Storm's `Task.getOutgoingTasks`: an emit to a task reaches direct subscribers alone, and any other emit must meet none. */
function direct(blueprint: Blueprint): readonly StormFinding[] {
  return readStreams(blueprint).flatMap((all) =>
    all.filter(isDirect).map((subscription) =>
      all.every(isDirect)
        ? about(
            "differs",
            "direct-emit",
            subscription.to,
            {
              text: "under Storm an emit without `task` on this stream ends the worker, and one to a task that does not read it is dropped and counts as done.",
              instead:
                "emit on this stream with `task` always, with ids that came with `onTasks` or with a tuple.",
            },
            placeOf(subscription),
          )
        : about(
            "blocks",
            "direct-beside-others",
            subscription.to,
            {
              text: "other subscriptions of this stream are not direct. Storm refuses each emit on such a stream, with or without `task`.",
              instead: "emit on a stream of its own what goes to a task that the emit names.",
            },
            placeOf(subscription),
          ),
    ),
  );
}

/** Our program emits without anchors on a stream that is read unanchored only. */
function mixed(blueprint: Blueprint): readonly StormFinding[] {
  return readStreams(blueprint)
    .filter((all) => all.some(({ anchored }) => anchored))
    .flatMap((all) =>
      all
        .filter(({ anchored }) => !anchored)
        .map((subscription) =>
          about(
            "differs",
            "mixed-anchoring",
            subscription.to,
            {
              text: "another bolt reads this stream anchored, and Storm anchors an emit for all its readers: a failure here fails the tree, too.",
              instead: "emit on a stream of its own what is read unanchored.",
            },
            placeOf(subscription),
          ),
        ),
    );
}

function unread({ components, subscriptions }: Blueprint): readonly StormFinding[] {
  return components.flatMap(({ name, streams }) =>
    Object.keys(streams)
      .filter((stream) => stream !== "dead")
      .filter((stream) => !subscriptions.some((one) => one.from === name && one.stream === stream))
      .map((stream) =>
        about(
          "differs",
          "unread-stream",
          name,
          {
            text: "no bolt reads this stream. Each of its tuples is written to Storm all the same, which drops it.",
            instead: "leave out the stream, or what emits on it.",
          },
          `${name}.${stream}`,
        ),
      ),
  );
}

/** Between our tasks a value is handed over as it is. */
function values({ components, subscriptions }: Blueprint): readonly StormFinding[] {
  return components.flatMap(({ name, streams }) =>
    Object.entries(streams)
      .filter(([stream]) => subscriptions.some((one) => one.from === name && one.stream === stream))
      .flatMap(([stream, fields]) => {
        const any = Object.keys(fields).filter((one) => fields[one]?.type === "value");
        if (any.length === 0) return [];
        const said = {
          text: `values of ${any.join(", ")} travel as JSON: a Date arrives as a text, a Map as an empty object, and a function not at all.`,
          instead: "emit what JSON can carry, and make richer values of it in the bolt that reads them.",
        };
        return [about("differs", "json-values", name, said, `${name}.${stream}`)];
      }),
  );
}
