// Rules about streams and the subscriptions to them.

import { formOf } from "../definition/grouping-form.js";
import { placeOf, type StormRule } from "./rule.js";

/** Rules that look at subscriptions. */
export const streamRules: readonly StormRule[] = [customGroupings];

function customGroupings({ subscriptions }: Parameters<StormRule>[0]): ReturnType<StormRule> {
  return subscriptions
    .filter(({ grouping }) => formOf(grouping) === undefined)
    .map((subscription) => ({
      ...{
        effect: "blocks",
        code: "custom-grouping",
        component: subscription.to,
        place: placeOf(subscription),
      },
      text: "its grouping is a function, which cannot run in Storm's JVM.",
      instead:
        "compute the key in the bolt that emits, as a field of its own, and group by grouping.fields of that field; or emit to a task " +
        "by the option `task`, and subscribe with grouping.direct().",
    }));
}
